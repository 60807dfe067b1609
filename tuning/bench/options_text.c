#include "options_text.h"

const struct argp_option bench_option_descriptions[] = {
    {0, 0, 0, 0, "What is measured:", 1},
    {"collective", 'c', "LIST", 0, "of %s (default: the first four)", 1},
    {"bytes", 'b', "LIST|MIN:MAX", 0,
     "message sizes in bytes; suffixes K, M, G (2^10, 2^20, 2^30). A range goes up by --factor (default "
     "8:4M). From allgather on, the size of one block: what one rank has for another",
     1},
    {"pattern", KEY_PATTERN, "NAME", 0,
     "sizes of the blocks of reduce_scatter and the collectives that end in v or w: equal; ragged: 0 to "
     "twice --bytes, "
     "pseudo-random; sparse: 95 of 100 empty; hot: one rank has most. Default ragged",
     1},
    {"factor", KEY_FACTOR, "F", 0, "from one size of a range to the next (default 2)", 1},
    {"datatype", 'd', "NAME", 0,
     "of %s, the last one a derived type with holes; also in lower case and without MPI_ (default "
     "MPI_DOUBLE)",
     1},
    {"op", 'o', "NAME", 0,
     "of %s, the last one a user-defined operation on vector that is not commutative (default: the first one "
     "that is "
     "defined on the datatype)",
     1},
    {"root", 'R', "RANK|rotate", 0,
     "root of bcast, reduce, gather(v) and scatter(v); rotate: another one each repetition (default 0)", 1},
    {"buffers", 'B', "WHICH", 0,
     "warm: the same buffers each time, filled just before; cold: another part each time of regions larger "
     "than the "
     "last-level cache; both (default warm)",
     1},
    {"cold-bytes", KEY_COLD_BYTES, "BYTES", 0,
     "what the cold regions of the ranks of a node have together (default: twice the last-level cache)", 1},
    {"arrival", 'a', "LIST", 0,
     "how the ranks arrive: none (all at once), ascending (rank r of p after r/(p-1) of the skew), late (one "
     "rank after "
     "the skew, another one each time), random (uniform). Default none",
     1},
    {"skew", KEY_SKEW, "LIST", 0,
     "first to last arrival, as multiples of the host MPI's median time of the same case (default 0.5,1)", 1},
    {"seed", KEY_SEED, "N", 0, "of late and random (default 1)", 1},
    {0, 0, 0, 0, "Non-blocking collectives:", 2},
    {"overlap", KEY_OVERLAP, 0, 0,
     "measure MPI_Ibcast and its siblings: alone, beside the blocking call, and with a computation while "
     "they are "
     "under way; how much of their time it hides",
     2},
    {"persistent", KEY_PERSISTENT, 0, 0,
     "with --overlap: MPI_Start of persistent ones instead, made once for all repetitions (MPI_Bcast_init "
     "and its siblings, "
     "of MPI 4)",
     2},
    {"tests", KEY_TESTS, "LIST", 0,
     "calls of MPI_Test during the computation, evenly spread; each number is measured (default 0,20)", 2},
    {"compute", KEY_COMPUTE, "F", 0,
     "length of the computation, as a multiple of the collective's own time (default 1)", 2},
    {0, 0, 0, 0, "The MPI against itself:", 3},
    {"guidelines", KEY_GUIDELINES, 0, 0,
     "measure the host MPI's collectives against mock-ups, which are made of its other collectives and must "
     "not "
     "be faster. Defaults: all collectives that have mock-ups, --bytes 8:1M, --factor 8",
     3},
    {0, 0, 0, 0, "The library's side:", 4},
    {"hint", 'H', "KEY=VALUE", 0,
     "info key for the library's communicator (hanpmpi.h); may be given several times", 4},
    {"force", KEY_FORCE, 0, 0, "take every call that can be taken, whatever the rules say", 4},
    {"sync", KEY_SYNC, "WHOSE", 0,
     "whose barrier separates repetitions, of both sides: host, or library (with more ranks than cores and "
     "an MPI that "
     "spins, the host MPI's barrier is most of what is measured). Default host",
     4},
    {0, 0, 0, 0, "How long:", 5},
    {"seconds", 's', "S", 0,
     "time for the repetitions of one row (default 1); at least 10 repetitions are made, and rounds to warm "
     "up come "
     "before",
     5},
    {"repeat", 'n', "N", 0, "exactly N repetitions instead", 5},
    {"warmup", KEY_WARMUP, "N", 0,
     "repetitions of one round to warm up (default 5); rounds follow until times are stable", 5},
    {0, 0, 0, 0, "Output:", 6},
    {"json", KEY_JSON, "FILE", 0,
     "everything, with machine, versions, settings and all quartiles; - is standard output", 6},
    {"raw", KEY_RAW, 0, 0, "the time of every repetition, in the JSON file", 6},
    {"csv", KEY_CSV, "FILE", 0, "the rows of the table; - is standard output", 6},
    {"help", BENCH_KEY_HELP, 0, 0, "this", 6},
    {"version", BENCH_KEY_VERSION, 0, 0, "version of hanpmpi_bench", 6},
    {0},
};

const char bench_options_doc[] =
    "Measures MPI collectives: the library against the host MPI, interleaved inside one run. Without "
    "the library "
    "it measures the host MPI alone.\n\n"
    "  LD_PRELOAD=libhanpmpi.so mpirun -np 16 hanpmpi_bench --collective bcast"
    "\v"
    /* clang-format off */
    "Columns. Times are microseconds, medians over the repetitions.\n"
    "  bytes, reps   size of the message or of a block, repetitions\n"
    "  t_min, t_avg, t_max\n"
    "                fastest rank, mean of the ranks, slowest rank. t_max is what a\n"
    "                collective costs. With an arrival pattern: from the last\n"
    "                rank's arrival; a rank that was done by then counts as 0\n"
    "  first         from the first rank's arrival to the last rank's end (with\n"
    "                arrival patterns)\n"
    "  skew          from the first rank's arrival to the last one's, as asked for\n"
    "  ratio         t_max of the host by t_max of the library: above 1 the library\n"
    "                is faster\n"
    "  q1, q3        quartiles of that ratio over the repetitions\n"
    "  taken         share of the library side's calls that it ran; when it is not\n"
    "                100%, why it passed calls through: the ratio then shows the\n"
    "                host against itself; mockup: against other collectives of its\n"
    "                own\n"
    "  busbw         bus bandwidth as NCCL-tests define it, MB/s (10^6 bytes): bytes\n"
    "                by t_max, times 2(p-1)/p for allreduce, times p-1 for blocks\n"
    "  bound         microseconds that no algorithm can beat, measured in the same\n"
    "                run: the largest of ceil(log2 p) message latencies, the bytes\n"
    "                that must pass a node's link by its bandwidth, the bytes that\n"
    "                must be read and written on a node by its copy bandwidth\n"
    "  reached       bound by t_max. Calls of a few microseconds may show more than\n"
    "                1: ranks leave the barrier that starts them up to a message\n"
    "                latency apart\n\n"
    "Columns with --overlap. Medians of the slowest rank's times, microseconds.\n"
    "  tests         calls of MPI_Test during the computation\n"
    "  blocking      MPI_Bcast\n"
    "  pure          MPI_Ibcast, MPI_Wait; p/b: pure by blocking. With --persistent:\n"
    "                MPI_Start, MPI_Wait\n"
    "  compute       the computation alone: as long as that side's pure, times\n"
    "                --compute\n"
    "  both          MPI_Ibcast, the computation, MPI_Wait\n"
    "  IMB%          overlap by Intel's IMB-NBC: 100 (pure + compute - both) by the\n"
    "                smaller of pure and compute\n"
    "  OSU%          overlap by osu_ibcast: 100 (1 - (both - compute) / pure). Both\n"
    "                from 0 to 100; the same unless compute is shorter than pure\n"
    "  ratio         of the host's time by the library's: blocking, pure, both\n"
    "  taken         share of the library side's non-blocking calls that it ran\n\n"
    "Columns with --guidelines. Medians of the slowest rank's times, microseconds.\n"
    "  collective    of the host MPI\n"
    "  mock-up       what it can be made of, and the time of that\n"
    "  ratio         of the collective's time by the mock-up's: above 1 the mock-up is\n"
    "                faster; q1, q3: quartiles over the repetitions\n"
    "  guideline     broken: ratio is above 1.05 and q1 above 1; else kept\n\n"
    "Every result is validated, every element; a wrong one ends the run with exit\n"
    "code 1. Bad options: exit code 2."
    /* clang-format on */
    ;
