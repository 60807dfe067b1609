"""MPICH: the algorithms of MPIR_<Collective>, and in the memory of a node those of ch4's POSIX module.

MPIR_CVAR_<COLLECTIVE>_INTRA_ALGORITHM and MPIR_CVAR_<COLLECTIVE>_POSIX_INTRA_ALGORITHM force one; MPICH looks at them in each call, and
what they may be is in their description. Its tables of decisions are JSON (src/mpi/coll/src/csel.c), two of which are written anew:

  the file           MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE: the algorithms
  the file .posix    MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE: where the POSIX module's are used

A file stands for the whole table, so the host MPI's, which is in its library, is read from there and put around what is taught. A
forced algorithm that cannot serve a call gives way; one that a table names is called whatever comes. So the table asks first."""
import dataclasses
import json
import os
import re

from ..choose import ranges
from ..model import COLLECTIVES, DEFAULT, OF_BLOCKS, Candidate, Variant, keep_default_everywhere
from ..trouble import Trouble

NAME = "MPICH"
PROGRAMS = ("mpich", "mpiabi")
CVARS = ("MPIR_CVAR_",)

# What the table calls the size that it decides on: that of the message, or of the blocks of all ranks together (get_avg_msgsize and
# get_total_msgsize in csel.c).
SIZE = {collective: "total_msg_size" for collective in ("allgather", "reduce_scatter_block", "gather", "scatter")}
SIZE.update({collective: "avg_msg_size" for collective in ("bcast", "reduce", "allreduce", "alltoall")})
# An algorithm with parameters is called with those of the table, which has no defaults (csel_container.c), and when it is forced with
# those of control variables. Others with parameters are left out.
PARAMETERS = {
    ("bcast", "tree"): {"tree_type": "MPIR_CVAR_BCAST_TREE_TYPE", "k": "MPIR_CVAR_BCAST_TREE_KVAL", "is_non_blocking": "MPIR_CVAR_BCAST_IS_NON_BLOCKING",
                        "topo_overhead": "MPIR_CVAR_BCAST_TOPO_OVERHEAD", "topo_diff_groups": "MPIR_CVAR_BCAST_TOPO_DIFF_GROUPS",
                        "topo_diff_switches": "MPIR_CVAR_BCAST_TOPO_DIFF_SWITCHES", "topo_same_switches": "MPIR_CVAR_BCAST_TOPO_SAME_SWITCHES"},
    ("bcast", "pipelined_tree"): {"tree_type": "MPIR_CVAR_BCAST_TREE_TYPE", "k": "MPIR_CVAR_BCAST_TREE_KVAL",
                                  "is_non_blocking": "MPIR_CVAR_BCAST_IS_NON_BLOCKING", "chunk_size": "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE",
                                  "recv_pre_posted": "MPIR_CVAR_BCAST_RECV_PRE_POST"},
    ("allreduce", "recursive_multiplying"): {"k": "MPIR_CVAR_ALLREDUCE_RECURSIVE_MULTIPLYING_KVAL"},
    ("allreduce", "recexch"): {"k": "MPIR_CVAR_ALLREDUCE_RECEXCH_KVAL", "single_phase_recv": "MPIR_CVAR_ALLREDUCE_RECEXCH_SINGLE_PHASE_RECV"},
    ("allgather", "k_brucks"): {"k": "MPIR_CVAR_ALLGATHER_BRUCKS_KVAL"},
    ("alltoall", "k_brucks"): {"k": "MPIR_CVAR_ALLTOALL_BRUCKS_KVAL"},
    ("barrier", "k_dissemination"): {"k": "MPIR_CVAR_BARRIER_DISSEM_KVAL"},
    ("barrier", "recexch"): {"k": "MPIR_CVAR_BARRIER_RECEXCH_KVAL", "single_phase_recv": "MPIR_CVAR_BARRIER_RECEXCH_SINGLE_PHASE_RECV"},
}
HAS_PARAMETERS = re.compile(r"tree|^k_|recexch|multiplying|ccl")
RADIX = "k"
RADICES = (2, 4, 8)
# Calls itself on the node's communicator, which on one node is as large, and a table says the same for that.
CALLS_ITSELF = re.compile(r"^smp")
PAGE_BYTES = 4096  # larger pages are multiples of it


@dataclasses.dataclass
class Knowledge:
    about: object
    accepted: set  # algorithms by their names in the tables
    generic: dict  # the host MPI's table
    posix: dict


def recognises(version):
    return version.startswith("MPICH")


# ---- the library ----


def read_tables(data):
    """The names of algorithms, and the tables by the module whose algorithms they name."""
    accepted = {match.group(1).decode() for match in re.finditer(rb"algorithm=(MPI[\w]+)\0", data)}
    tables, decoder = [], json.JSONDecoder()
    for match in re.finditer(rb'\{\s*"collective=', data):
        text = data[match.start():match.start() + (1 << 18)].split(b"\0")[0].decode("ascii", "replace")
        try:
            tables.append(decoder.raw_decode(text)[0])
        except ValueError:
            continue
    generic = [table for table in tables if "algorithm=MPIR_" in json.dumps(table)]
    posix = [table for table in tables if "algorithm=MPIDI_POSIX_" in json.dumps(table)]
    return accepted, max(generic, key=lambda table: len(json.dumps(table)), default=None), posix[0] if posix else {}


def prepare(about, arguments):
    paths = [path for path in ([arguments.mpi_library] if arguments.mpi_library else about.libraries) if os.path.exists(path)]
    for path in paths:
        with open(path, "rb") as file:
            accepted, generic, posix = read_tables(file.read())
        if generic:
            return Knowledge(about, accepted, generic, posix)
    raise Trouble(f"MPICH's own table of decisions is in none of: {', '.join(paths) or 'nothing'}; name its library with --mpi-library FILE")


def job_environment():
    return {"MPIR_CVAR_COLLECTIVE_FALLBACK": "error"}  # an algorithm that cannot serve a call must not pass for the one that does


# ---- candidates ----


def values(cvar, known):
    """{word: number} of a control variable: from MPI_T, or from its description, where "word - what it does" stand in their order. In
    4.0 and others the ends of its lines are lost, so that a word is the end of something that is known."""
    if cvar.get("words"):
        return cvar["words"]
    text = cvar.get("help", "")
    if "\n" in text:
        words = re.findall(r"^\s*(\w+)\s+-\s", text, re.M)
    else:
        ends = re.findall(r"(\S+)\s+-\s", text)
        words = [max((word for word in known if end.endswith(word) and end[:-len(word)][-1:] != "_"), key=len, default=end) for end in ends]
    return {word: number for number, word in enumerate(words)}


def _words(knowledge):
    """What the names of algorithms end with: MPIR_Bcast_intra_tree, MPIDI_POSIX_mpi_bcast_release_gather."""
    found = (re.fullmatch(r"MPIR_\w+?_(?:intra|inter|allcomm)_(\w+)|MPIDI_POSIX_mpi_[a-z]+_(\w+)", name) for name in knowledge.accepted)
    return {match.group(1) or match.group(2) for match in found if match} | {"auto", "mpir"}


def _of(knowledge, name):
    cvar = knowledge.about.cvars.get(name)
    return values(cvar, _words(knowledge)) if cvar and cvar["changes"] else {}


def _title(collective):
    return collective.capitalize()


def _table_name(knowledge, collective, word):
    for kind in ("intra", "allcomm"):
        name = f"MPIR_{_title(collective)}_{kind}_{word}"
        if name in knowledge.accepted:
            return name
    return None


def _with_parameters(knowledge, collective, word):
    """(name behind the algorithm's, settings, parameters of the table) for each set of parameters worth a try."""
    if not HAS_PARAMETERS.search(word):
        yield "", {}, {}
        return
    cvars = PARAMETERS.get((collective, word))
    if not cvars or any(knowledge.about.cvars.get(cvar, {}).get("value") is None for cvar in cvars.values()):
        return
    parameters = {key: knowledge.about.cvars[cvar]["value"] for key, cvar in cvars.items()}
    radix = cvars.get(RADIX)
    if radix is None or not knowledge.about.cvars[radix]["changes"]:
        yield "", {}, parameters
        return
    for k in sorted({*RADICES, parameters[RADIX]}):
        if k <= max(2, knowledge.about.ranks):
            yield f" k={k}", {radix: k}, {**parameters, RADIX: k}


def _candidates(knowledge, collective):
    upper = collective.upper()
    generic_cvar, posix_cvar = f"MPIR_CVAR_{upper}_INTRA_ALGORITHM", f"MPIR_CVAR_{upper}_POSIX_INTRA_ALGORITHM"
    posix = _of(knowledge, posix_cvar)
    # The POSIX module comes before the others; where its table is silent, they run.
    aside = {posix_cvar: posix["mpir"]} if "mpir" in posix and f"collective={collective}" in knowledge.posix else {}
    yield Candidate(DEFAULT)
    if aside:
        yield Candidate("mpir", aside, {"posix": None})
    for word, number in posix.items():
        name = f"MPIDI_POSIX_mpi_{collective}_{word}"
        if name in knowledge.accepted:
            yield Candidate(f"posix {word}", {posix_cvar: number}, {"posix": name})
    for word, number in _of(knowledge, generic_cvar).items():
        name = _table_name(knowledge, collective, word)
        if not name or CALLS_ITSELF.search(word):
            continue
        for suffix, settings, parameters in _with_parameters(knowledge, collective, word):
            rule = {"algorithm": name, "parameters": parameters, **({"posix": None} if aside else {})}
            yield Candidate(word + suffix, {generic_cvar: number, **aside, **settings}, rule)


def variants(knowledge, collectives, _segments):
    return [Variant("", {}, {collective: list(_candidates(knowledge, collective)) for collective in collectives})]


def withdraw(_knowledge, choices):
    return keep_default_everywhere(choices)


def uniform(_knowledge):
    return {}


def left_out(knowledge):
    return {collective: "this MPICH has no variable that chooses its algorithm" for collective in COLLECTIVES
            if not _of(knowledge, f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM")}


# ---- files ----


def _leaf(algorithm, parameters=()):
    return {f"algorithm={algorithm}": {f"{key}={value}": {} for key, value in dict(parameters).items()}}


def _guarded(collective, rule, default):
    """An algorithm where it may be called, else the default: what coll_algorithms.txt says of them, on the safe side."""
    tree = _leaf(rule["algorithm"], rule["parameters"])
    if collective in ("reduce", "allreduce"):
        if "scatter" in rule["algorithm"]:
            tree = {"count<pow2": default, "count=any": tree}
        tree = {"is_op_built_in=yes": tree, "is_op_built_in=no": default}
    if collective in ("reduce", "allreduce", "reduce_scatter_block"):
        tree = {"is_commutative=yes": tree, "is_commutative=no": default}
    if collective == "alltoall":
        tree = {"is_sendbuf_inplace=yes": default, "is_sendbuf_inplace=no": tree}
    return tree


def _by_size(collective, choices, ranks, tree_of, default):
    """tree_of(candidate): the tree of a choice; None: it says nothing about this table."""
    branches, size = [], SIZE.get(collective)
    for found in ranges(choices):
        tree = tree_of(found.candidate) if found.candidate else None
        branches.append((found.most, default if tree is None else tree))
    if size is None or len(branches) == 1:
        return branches[-1][1]
    factor = ranks if size == "total_msg_size" else 1
    tree = {f"{size}<{(most + 1) * factor}": branch for most, branch in branches[:-1]}
    tree[f"{size}=any"] = branches[-1][1]
    return tree


def _by_ranks(sizes, taught, default):
    """taught on communicators of these sizes, elsewhere the default."""
    tree = {}
    for ranks in sizes:
        if ranks > 1 and f"comm_size<={ranks - 1}" not in tree:
            tree[f"comm_size<={ranks - 1}"] = default
        tree[f"comm_size<={ranks}"] = taught
    tree["comm_size=any"] = default
    return tree


def _sizes_of(about, collective):
    """Also of the parts of the communicator that a collective in two levels runs on, as they were measured."""
    parts = {about.ranks_per_node, about.nodes} if about.nodes > 1 and collective not in OF_BLOCKS else set()
    return sorted({about.ranks, *parts} - {1})


def _generic(knowledge, choices):
    table = dict(knowledge.generic)
    for collective, of in choices.items():
        own = table[f"collective={collective}"]
        default = own["comm_type=intra"]
        taught = _by_size(collective, of, knowledge.about.ranks,
                          lambda candidate: _guarded(collective, candidate.rule, default) if "algorithm" in candidate.rule else None, default)
        table[f"collective={collective}"] = {**own, "comm_type=intra": _by_ranks(_sizes_of(knowledge.about, collective), taught, default)}
    return table


def _posix(knowledge, choices):
    """All of it is for processes of one thread. Nothing is said by a condition that cannot be: the others' algorithms run."""
    table = dict(knowledge.posix)
    for collective, of in choices.items():
        own = table[f"collective={collective}"]["comm_type=intra"]
        default = own.get("is_multi_threaded=no", own)
        some = f"MPIDI_POSIX_mpi_{collective}_release_gather"

        def tree_of(candidate, some=some, collective=collective, default=default):
            if "posix" not in candidate.rule:
                return None
            if candidate.rule["posix"] is None:
                return {"is_multi_threaded=yes": _leaf(some)}
            tree = _leaf(candidate.rule["posix"])
            return {"is_commutative=yes": tree, "is_commutative=no": default} if collective in ("reduce", "allreduce") else tree

        taught = _by_size(collective, of, knowledge.about.ranks, tree_of, default)
        table[f"collective={collective}"] = {"comm_type=intra": {"is_multi_threaded=no": _by_ranks(_sizes_of(knowledge.about, collective), taught,
                                                                                                 default)}}
    return table


def _has(choices, key):
    return any(choice.candidate and key in choice.candidate.rule for choice in choices)


def _text(table):
    """MPICH maps the file and reads it as a string, so it must not end with a page: behind that there may be no zero."""
    text = json.dumps(table, indent=1) + "\n"
    return text if len(text) % PAGE_BYTES else text + "\n"


def files(knowledge, choices):
    written = {"": _text(_generic(knowledge, {collective: of for collective, of in choices.items() if _has(of, "algorithm")}))}
    posix = {collective: of for collective, of in choices.items() if _has(of, "posix")}
    if posix:
        written[".posix"] = _text(_posix(knowledge, posix))
    return written


def settings(_knowledge, path, written):
    found = {"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": path}
    if ".posix" in written:
        found["MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE"] = path + ".posix"
    return found
