"""Finds the best of an MPI's collective algorithms on this machine and writes the files that have the MPI use them: programs gain
without the library.

  hanpmpi_tune --teach openmpi -o rules -- mpirun -np 16
  hanpmpi_tune --teach mpich -o rules.json -- mpiexec -n 16 -f hosts
  hanpmpi_tune --teach intel -o adjust.sh -- mpirun -n 16

The words behind -- start a job on the nodes and with the number of ranks that programs will have."""
import argparse
import json
import os
import signal
import sys

from . import verify, wisdom
from .campaign import Campaign
from .choose import MARGIN, choose, choose_uniform, finalists, geometric_mean
from .hosts import HOSTS
from .jobs import JobFailed, Launcher
from .model import COLLECTIVES, DEFAULT, OF_BLOCKS, About, Table, bytes_text, keep_default
from .trouble import BadOption, Trouble

FAILED, BAD_OPTION = 1, 2
# From the script that starts this; jobs must not see them, for the library complains of settings that it does not know.
FOLDER, VERSION = (os.environ.pop(f"HANPMPI_TEACH_{word}", "") for word in ("BIN", "VERSION"))
# Of the time; verifying has the rest.
MEASURING, DECIDING, VERIFYING = 0.4, 0.1, 0.25
VERIFY_TURNS = 6
# A cell that is not faster by so much with the files is given back to the default.
KEPT = 1.05


def print_line(text):
    print(f"hanpmpi_tune: {text}", file=sys.stderr, flush=True)


# ---- options ----


def number_of_bytes(text):
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    digits = text[:-1] if factor > 1 else text
    if not digits.isdigit() or not 0 < int(digits) * factor < 1 << 31:
        raise argparse.ArgumentTypeError(f"{text!r}: accepted are sizes from 1 to 2G-1, with K, M or G")
    return int(digits) * factor


def list_of_bytes(text):
    """In multiples of 8, the size of an element."""
    sizes = sorted({number_of_bytes(word) for word in text.split(",")})
    if any(size % 8 for size in sizes):
        raise argparse.ArgumentTypeError(f"{text!r}: accepted are multiples of 8, with commas between them")
    return sizes


def segment_sizes(text):
    return [number_of_bytes(word) for word in text.split(",") if word]


def collectives(text):
    names = text.split(",")
    if not names or not set(names) <= set(COLLECTIVES):
        raise argparse.ArgumentTypeError(f"{text!r}: accepted are {', '.join(COLLECTIVES)}")
    return [name for name in COLLECTIVES if name in names]


def positive(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"{text!r}: accepted are numbers above 0")
    return value


def parse(arguments):
    parser = argparse.ArgumentParser(prog="hanpmpi_tune --teach", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="%(prog)s openmpi|mpich|intel [options] -- mpirun [its options]", allow_abbrev=False,
                                     epilog="Exit status: 0; 1: a job failed or a file cannot be written; 2: bad options.")
    parser.add_argument("--teach", required=True, choices=HOSTS, help="the MPI whose launcher stands behind --")
    parser.add_argument("-o", "--output", metavar="FILE", help="the host MPI's file; others get this name with .env, .json, ... (required, but with --dry-run)")
    parser.add_argument("-c", "--collectives", type=collectives, default=list(COLLECTIVES), metavar="LIST", help=f"default: {','.join(COLLECTIVES)}")
    parser.add_argument("-b", "--bytes", type=list_of_bytes, default=list_of_bytes("8,64,512,4K,32K,128K,512K,2M"), metavar="LIST",
                        help="sizes of a message, multiples of 8 (default 8,64,512,4K,32K,128K,512K,2M)")
    parser.add_argument("--block-bytes", type=list_of_bytes, metavar="LIST",
                        help="sizes of a block (default: those of --bytes with which the blocks of all ranks are up to 4M; at least the smallest)")
    parser.add_argument("--segments", type=segment_sizes, default=segment_sizes("8K,64K"), metavar="LIST",
                        help="sizes of a segment to try, where an algorithm has them, besides whole messages (default 8K,64K)")
    parser.add_argument("--margin", type=positive, default=100 * MARGIN, metavar="PERCENT", help="by which an algorithm must be faster than the default "
                        f"(default {100 * MARGIN:g})")
    parser.add_argument("-s", "--seconds", type=positive, default=300.0, help="time to use, about (default 300)")
    parser.add_argument("--patience", type=positive, default=30.0, metavar="SECONDS", help="after so many without a sign of life a job hangs (default 30)")
    parser.add_argument("--from-wisdom", action="store_true", help="only where the library's earlier runs found the host MPI slower (hanpmpi_info --wisdom)")
    parser.add_argument("--no-verify", action="store_true", help="write the files without running with them")
    parser.add_argument("--results", metavar="FILE", help="every figure, as JSON")
    parser.add_argument("--dry-run", action="store_true", help="print what would be tried")
    parser.add_argument("--program", metavar="FILE", help="the hanpmpi_teach.<mpi> to start (default: the one beside hanpmpi_tune)")
    parser.add_argument("--mpi-library", metavar="FILE", help="MPICH's libmpi, where it is not the one that rank 0 says it has loaded")
    parser.add_argument("--version", action="version", version=f"hanpmpi_tune {VERSION}")
    own, launcher = (arguments[:arguments.index("--")], arguments[arguments.index("--") + 1:]) if "--" in arguments else (arguments, [])
    options = parser.parse_args(own)
    if not launcher:
        raise BadOption("behind -- comes what starts an MPI job, such as: -- mpirun -np 16")
    if not options.output and not options.dry_run:
        raise BadOption("--output FILE is required: where the MPI's file is written to")
    options.launcher = launcher
    return options


# ---- the job ----


def find_program(options, host):
    if options.program:
        names = [options.program]
    else:
        names = [os.path.join(FOLDER, f"hanpmpi_teach.{mpi}") for mpi in host.PROGRAMS]
    for name in names:
        if os.access(name, os.X_OK):
            return name
    raise BadOption(f"{' and '.join(names)} cannot be run: build hanpmpi with the mpicc of {host.NAME} in PATH, or name the program with --program")


def ask(launcher, host):
    about = None
    try:
        for line in launcher.run(["ask", *host.CVARS], {}):
            about = line
    except JobFailed as problem:
        raise Trouble(f"a job of {' '.join(launcher.words)} failed: {problem}\n{launcher.said}") from None
    if about is None:
        raise Trouble(f"a job of {' '.join(launcher.words)} said nothing\n{launcher.said}")
    return About(about["version"], about["ranks"], about["nodes"], about["ranks_per_node"], about["libraries"],
                 {cvar["name"]: cvar for cvar in about["cvars"]})


def find_out(options, launcher, host):
    about = ask(launcher, host)
    version = " ".join(about.version.split())[:60]
    if not host.recognises(about.version):
        raise BadOption(f"--teach {options.teach}: but {options.launcher[0]} runs {launcher.program} with {version}; accepted are "
                        f"{', '.join(HOSTS)} with their own launchers")
    if about.ranks < 2:
        raise BadOption(f"{' '.join(options.launcher)} starts one rank: a collective has two at least (does the launcher belong to {host.NAME}?)")
    print_line(f"{version}; {about.ranks} ranks on {about.nodes} node{'s' if about.nodes > 1 else ''}")
    return host.prepare(about, options)


def sizes_of(options, about):
    blocks = options.block_bytes or [size for size in options.bytes if size * about.ranks <= 4 << 20] or options.bytes[:1]
    return {collective: [0] if collective == "barrier" else blocks if collective in OF_BLOCKS else options.bytes
            for collective in options.collectives}


# ---- the files ----


def check_output(path):
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK) or os.path.isdir(path) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        raise Trouble(f"--output {path}: it cannot be written; name a file in a folder that can")


def write(path, content):
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(content)
    except OSError as problem:
        raise Trouble(f"{path}: {problem.strerror}") from None


def write_all(host, knowledge, path, choices):
    """The files of the MPI, and, where they need more settings than themselves, a script. Returns the settings."""
    path = os.path.abspath(path)
    written = host.files(knowledge, choices)
    for suffix, content in written.items():
        write(path + suffix, content)
    settings = host.settings(knowledge, path, written)
    if path not in settings.values() and written.keys() == {""}:
        return settings, [path]
    write(path + ".env", "".join(f"export {name}='{value}'\n" for name, value in settings.items()))
    for stale in (".han", ".posix"): # of an earlier run, which would not fit
        if stale not in written and os.path.exists(path + stale):
            os.remove(path + stale)
    return settings, [path + suffix for suffix in written] + [path + ".env"]


# ---- the order of things ----


def decide(options, launcher, host, knowledge, variants, table):
    """The finalists, measured again: their table."""
    only, sizes = {}, {}
    for collective in COLLECTIVES:
        candidates = candidates_of(variants, collective)
        if collective in host.uniform(knowledge):
            choices = choose_uniform(table, collective, candidates, options.margin / 100)
            found = {choice.bytes: [choice.candidate.name] for choice in choices if choice.candidate}
        else:
            found = finalists(table, collective, candidates, options.margin / 100)
        if found:
            sizes[collective] = list(found)
            only.update({(collective, size): names for size, names in found.items()})
    if not only:
        return Table()
    print_line(f"in {len(only)} cells something seems faster than the default: once more")
    return Campaign(launcher, print_line, only).measure(variants, sizes, DECIDING * options.seconds, final=True)


def candidates_of(variants, collective):
    return [candidate for variant in variants for candidate in variant.candidates.get(collective, []) if candidate.name != DEFAULT]


def make_choices(host, knowledge, table, decided, variants, margin):
    """table: of all candidates; decided: of the finalists, where there are any. A cell without any keeps the default."""
    found = {}
    for collective in COLLECTIVES:
        way = choose_uniform if collective in host.uniform(knowledge) else choose
        final = {choice.bytes: choice for choice in way(decided, collective, candidates_of(variants, collective), margin)}
        choices = [final.get(choice.bytes, choice) for choice in choose(table, collective, [], margin)]
        if choices:
            found[collective] = choices
    return found


def taught(choices):
    return {collective: of for collective, of in choices.items() if any(choice.candidate for choice in of)}


def give_back(choices, rows, uniform):
    """What is not faster in jobs of its own goes back to the default, of a collective with one choice for all sizes all of them or none;
    returns how many cells that are."""
    slower = [row.choice for row in rows if row.choice.candidate and row.choice.collective not in uniform and row.ratio < KEPT]
    for collective in uniform:
        ratios = [row.ratio for row in rows if row.choice.candidate and row.choice.collective == collective]
        if ratios and (geometric_mean(ratios) < KEPT or min(ratios) < 1 / KEPT):
            slower += choices[collective]
    keep_default(slower)
    return len(slower)


def list_candidates(variants, sizes):
    for collective, of in sizes.items():
        print(f"{collective}, {', '.join(map(bytes_text, of))} bytes:")
        for variant in variants:
            for candidate in variant.candidates.get(collective, []):
                print(f"    {variant.name + ': ' if variant.name else ''}{candidate.name}")


def save_results(path, options, knowledge, table, choices, rows):
    about = knowledge.about
    document = {"mpi": about.version.split("\n")[0], "ranks": about.ranks, "nodes": about.nodes, "command": options.launcher,
                "us": [{"collective": collective, "bytes": size, "us": times} for (collective, size), times in sorted(table.times.items())],
                "refused": [{"collective": collective, "candidate": name, "bytes": size, "why": why}
                            for (collective, name), (size, why) in sorted(table.refused.items())],
                "choices": [{"collective": choice.collective, "bytes": choice.bytes, "taught": choice.candidate.name if choice.candidate else None,
                             "default_us": choice.default_us, "us": choice.us, "gain": choice.gain} for of in choices.values() for choice in of],
                "verified": [{"collective": row.choice.collective, "bytes": row.choice.bytes,
                              "taught": row.choice.candidate.name if row.choice.candidate else None, "default_us": row.default_us,
                              "taught_us": row.taught_us, "ratio": row.ratio} for row in rows]}
    write(path, json.dumps(document, indent=1) + "\n")


def print_refused(table):
    for (collective, name), (size, why) in sorted(table.refused.items()):
        print_line(f"{collective}: {name} is left out{'' if size is None else f' at {bytes_text(size)}'}: {why}")


def verify_once(options, launcher, settings, choices):
    own = [choice for of in taught(choices).values() for choice in of]
    print_line(f"{len(own)} cells with the files and without")
    return verify.measure(launcher, {"default": {}, "taught": settings}, own, VERIFY_TURNS, VERIFYING * options.seconds / (2 * VERIFY_TURNS * len(own)))


def verified(options, launcher, host, knowledge, choices):
    """Writes the files, without what is not faster in jobs of its own, or makes them fail. Returns the rows, which are from jobs with the
    files as they are in the end, so that they are not those that happened to be good; and what is written."""
    final = False
    while True:
        settings, paths = write_all(host, knowledge, options.output, taught(choices))
        if options.no_verify or not taught(choices):
            return [], paths
        try:
            rows = verify_once(options, launcher, settings, choices)
        except verify.TaughtFailed as problem:
            print_line(f"a job with the files failed: {problem}")
            print_line(f"given back to the default: {host.withdraw(knowledge, choices)}")
            continue
        returned = 0 if final else give_back(choices, rows, host.uniform(knowledge))
        if not returned:
            return rows, paths
        print_line(f"{returned} cells are not faster with the files and keep the default")
        final = True


def teach(options):
    host = HOSTS[options.teach]
    if options.output:
        check_output(options.output)
    launcher = Launcher(options.launcher, find_program(options, host), options.patience)
    knowledge = find_out(options, launcher, host)
    sizes = sizes_of(options, knowledge.about)
    for collective, why in host.left_out(knowledge).items():
        if sizes.pop(collective, None):
            print_line(f"{collective} is left out: {why}")
    if options.from_wisdom:
        sizes = wisdom.slower_cells(wisdom.read(wisdom.beside(launcher.program)), host, knowledge.about, sizes)
        print_line(f"wisdom: the host MPI is slower in {sum(map(len, sizes.values()))} of the cells asked for; only these are measured")
    variants = host.variants(knowledge, list(sizes), options.segments)
    if options.dry_run:
        list_candidates(variants, sizes)
        return 0
    for variant in variants:
        variant.environment.update(host.job_environment())
    campaign = Campaign(launcher, print_line)
    campaign.measure(variants, sizes, MEASURING * options.seconds)
    print_refused(campaign.table)
    decided = decide(options, launcher, host, knowledge, variants, campaign.table)
    choices = make_choices(host, knowledge, campaign.table, decided, variants, options.margin / 100)
    rows, paths = verified(options, launcher, host, knowledge, choices)
    report(options, host, knowledge, campaign.table, choices, rows, paths)
    return 0


def report(options, host, knowledge, table, choices, rows, paths):
    if options.results:
        save_results(options.results, options, knowledge, table, choices, rows)
    missing = sum(map(len, sizes_of(options, knowledge.about).values())) - sum(map(len, choices.values()))
    if rows:
        print(verify.text(rows))
        print(verify.summary(rows))
    if not table.times:
        print("nothing was measured; the files change nothing")
    elif not taught(choices):
        print(f"nothing to improve: {host.NAME}'s default is the best of its own here, within {options.margin:g}%; the files change nothing")
    if missing and not options.from_wisdom:
        print_line(f"{missing} cells were not measured (left out, or the time was up: --seconds) and are the default's")
    print(f"written: {', '.join(paths)}")
    print(f"use: . {paths[-1]}; {host.NAME}'s launcher hands these settings on")


def main(arguments=None):
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the job is ended, too
    try:
        return teach(parse(sys.argv[1:] if arguments is None else arguments))
    except BadOption as problem:
        print_line(problem)
        return BAD_OPTION
    except Trouble as problem:
        print_line(problem)
        return FAILED
    except KeyboardInterrupt:
        print_line("ended by a signal")
        return FAILED
