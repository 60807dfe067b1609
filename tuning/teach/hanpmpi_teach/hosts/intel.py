"""Intel MPI: I_MPI_ADJUST_<COLLECTIVE>, which it reads when a job starts. The file is a shell script that exports them.

Algorithms are numbers. How many there are is in the Developer Reference ("I_MPI_ADJUST Family Environment Variables", 2019 to 2021.14), whose
lists are below; the library refuses those that it does not have. A value is NUMBER:LEAST-MOST@RANKS;..., and what no condition covers is
left to the MPI. The size of a collective of blocks is that of a block."""
import dataclasses

from ..choose import ranges
from ..model import DEFAULT, Candidate, Variant, keep_default_everywhere

NAME = "Intel MPI"
PROGRAMS = ("mpich",)
CVARS = ("I_MPI_",)

ALGORITHMS = {
    "allgather": ("recursive doubling", "Bruck's", "ring", "topology aware gatherv + bcast", "knomial"),
    "allreduce": ("recursive doubling", "Rabenseifner's", "reduce + bcast", "topology aware reduce + bcast", "binomial gather + scatter",
                  "topology aware binomial gather + scatter", "Shumilin's ring", "ring", "knomial", "topology aware SHM-based flat",
                  "topology aware SHM-based knomial", "topology aware SHM-based knary"),
    "alltoall": ("Bruck's", "isend/irecv + waitall", "pairwise exchange", "Plum's"),
    "barrier": ("dissemination", "recursive doubling", "topology aware dissemination", "topology aware recursive doubling", "binomial gather + scatter",
                "topology aware binomial gather + scatter", "topology aware SHM-based flat", "topology aware SHM-based knomial",
                "topology aware SHM-based knary"),
    "bcast": ("binomial", "recursive doubling", "ring", "topology aware binomial", "topology aware recursive doubling", "topology aware ring",
              "Shumilin's", "knomial", "topology aware SHM-based flat", "topology aware SHM-based knomial", "topology aware SHM-based knary"),
    "gather": ("binomial", "topology aware binomial", "Shumilin's"),
    "reduce": ("Shumilin's", "binomial", "topology aware Shumilin's", "topology aware binomial", "Rabenseifner's", "topology aware Rabenseifner's",
               "knomial", "topology aware SHM-based flat", "topology aware SHM-based knomial", "topology aware SHM-based knary",
               "topology aware SHM-based binomial"),
    "scatter": ("binomial", "topology aware binomial", "Shumilin's"),
}
MOST_BYTES = 2147483647


@dataclasses.dataclass
class Knowledge:
    about: object


def recognises(version):
    return version.startswith("Intel(R) MPI")


def prepare(about, _arguments):
    return Knowledge(about)


def job_environment():
    return {}


def variable(collective):
    return f"I_MPI_ADJUST_{collective.upper()}"


def variants(_knowledge, collectives, _segments):
    """A job for each number, in which it is the algorithm of all collectives."""
    collectives = [collective for collective in collectives if collective in ALGORITHMS]
    found = [Variant("", {}, {collective: [Candidate(DEFAULT)] for collective in collectives})]
    for number in range(1, max((len(ALGORITHMS[collective]) for collective in collectives), default=0) + 1):
        mine = [collective for collective in collectives if number <= len(ALGORITHMS[collective])]
        found.append(Variant(f"algorithms {number}", {variable(collective): str(number) for collective in mine},
                             {collective: [Candidate(ALGORITHMS[collective][number - 1], {}, {"number": number})] for collective in mine}))
    return found


def withdraw(_knowledge, choices):
    return keep_default_everywhere(choices)


def uniform(_knowledge):
    return {}


def left_out(_knowledge):
    return {"reduce_scatter_block": "the Developer Reference lists no algorithms"}


def value(choices, ranks):
    parts = [f"{found.candidate.rule['number']}:{found.least}-{MOST_BYTES if found.most is None else found.most}@{ranks}-{ranks}"
             for found in ranges(choices) if found.candidate]
    return ";".join(parts)


def _settings(knowledge, choices):
    values = {variable(collective): value(of, knowledge.about.ranks) for collective, of in choices.items()}
    return {name: text for name, text in values.items() if text}


def files(knowledge, choices):
    lines = [f"# Intel MPI, for communicators of {knowledge.about.ranks} ranks: written by hanpmpi_tune --teach intel"]
    return {"": "\n".join(lines + [f'export {name}="{text}"' for name, text in _settings(knowledge, choices).items()]) + "\n"}


def settings(_knowledge, _path, written):
    """As the script sets them."""
    pairs = (line[len("export "):].split("=", 1) for line in written[""].splitlines() if line.startswith("export "))
    return {name: text.strip('"') for name, text in pairs}
