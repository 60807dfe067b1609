"""Where the library's earlier runs have found the host MPI slower than something else: there it is worth teaching. Wisdom knows
nothing of the host MPI's algorithms, so it says what to measure, and no more."""
import json
import os
import re
import subprocess

from .model import COLLECTIVES
from .trouble import Trouble

SLOWER = 1.1
HOST = "0"


def read(info):
    """hanpmpi_info --wisdom --json"""
    try:
        done = subprocess.run([info, "--wisdom", "--json"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Trouble(f"--from-wisdom: {info} cannot be run: {problem}") from None
    if done.returncode:
        raise Trouble(f"--from-wisdom: {info} --wisdom --json failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def beside(program):
    return os.path.join(os.path.dirname(program), "hanpmpi_info")


def _letters(text):
    """The files' names keep only some of them: Open MPI v4.1 is open-mpi-v4.1, Intel(R) intel-r."""
    return re.sub(r"[^a-z]", "", re.sub(r"\br\b", "", text.lower()))


def slower_cells(document, host, about, sizes):
    """Of the sizes ({collective: [bytes]}) those in whose bin (a power of two) the host MPI's was slower, on such a layout."""
    found = set()
    for mpi in document["mpis"]:
        if not _letters(mpi["mpi"]).startswith(_letters(host.NAME)):
            continue
        for finding in mpi["findings"]:
            times = {candidate[0]: candidate[1] for candidate in finding["candidates"] if candidate}
            chosen = finding["candidates"][finding["chosen"]]
            if (finding["collective"] in COLLECTIVES and finding["nodes"] == about.nodes and finding["ranks"][1] == about.ranks_per_node
                    and chosen and HOST in times and times[HOST] > SLOWER * chosen[1]):
                found.add((finding["collective"], finding["bin"]))
    kept = {collective: [size for size in of if (collective, size.bit_length()) in found] for collective, of in sizes.items()}
    return {collective: of for collective, of in kept.items() if of}
