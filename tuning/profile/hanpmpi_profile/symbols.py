"""Names of addresses in program files: function, file and line where the file has debug information, function and
offset where it has symbols. By the tools that know all formats: addr2line, nm and readelf of binutils (or LLVM's
of the same options), one process of each for a file, for all addresses in it."""
import bisect
import dataclasses
import os
import re
import shutil
import subprocess
from typing import Optional

TOOL_SECONDS = 300 # gigabytes of debug information take a minute
FORTRAN_MODULE = re.compile(r"__(\w+?)_MOD_(\w+)$") # gfortran
INTEL_MODULE = re.compile(r"(\w+?)_mp_(\w+?)_$") # Intel's Fortran
FORTRAN_FILE = re.compile(r"\.(f|for|ftn|f90|f95|f03|f08)$", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Name:
    """Where an address is; what is not known is None."""
    function: Optional[str] = None
    file: Optional[str] = None
    line: Optional[int] = None
    offset: Optional[int] = None # from the start of the function, where there is no line


def without_arguments(name):
    """mesh::Grid::refine of mesh::Grid::refine(int, std::vector<int>) const."""
    end = name.rfind(")")
    if end < 0 or name[end + 1:] not in ("", " const"):
        return name
    depth = 0
    for at in range(end, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            return name[:at] if at > 0 and not name[:at].endswith("operator") else name
    return name


def plain_function(name, file):
    """What the programmer calls it: C++ comes demangled from the tools, Fortran does not."""
    if name == "MAIN__":
        return "main program"
    for pattern in (FORTRAN_MODULE, INTEL_MODULE):
        match = pattern.match(name)
        if match:
            return f"{match[1]}::{match[2]}"
    if file and FORTRAN_FILE.search(file):
        return name.rstrip("_")
    return without_arguments(name)


def run(words, text=None):
    """Standard output, or None: the tool is not there, or cannot read the file."""
    tool = next((found for found in map(shutil.which, (words[0], f"llvm-{words[0]}")) if found), None)
    if tool is None:
        return None
    try:
        done = subprocess.run([tool, *words[1:]], input=text, capture_output=True, text=True, errors="replace", timeout=TOOL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def build_id(path):
    match = re.search(r"Build ID: ([0-9a-f]+)", run(["readelf", "-n", path]) or "")
    return match and match[1]


def lines_of(path, addresses):
    """{address: [(function or None, file or None, line or None), ...]}, inlined functions first."""
    text = run(["addr2line", "-a", "-f", "-i", "-C", "-e", path], "".join(f"{address:#x}\n" for address in addresses))
    found, here, function = {}, None, None
    for line in (text or "").splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            here, function = found.setdefault(int(line, 16), []), None
        elif here is not None and function is None:
            function = line
        elif here is not None:
            file, _, number = re.sub(r" \(discriminator \d+\)$", "", line).rpartition(":")
            known = file not in ("", "??") and number.isdigit() and int(number) > 0
            here.append((None if function == "??" else function, file if known else None, int(number) if known else None))
            function = None
    return found


def functions_of(path):
    """Sorted addresses of the functions and their names; those of a stripped file are the ones it exports."""
    for options in ([], ["-D"]):
        starts, names = [], []
        for line in (run(["nm", "-n", "-C", "--defined-only", *options, path]) or "").splitlines():
            parts = line.split(" ", 2)
            if len(parts) == 3 and parts[1] in "TtWwiI":
                starts.append(int(parts[0], 16))
                names.append(parts[2].split("@")[0])
        if starts:
            return starts, names
    return [], []


def name_all(path, recorded_id, offsets):
    """({offset: [Name, ...] innermost first}, what is wrong or None)."""
    if not os.path.isfile(path):
        return {}, f"{path} is not there: its call sites are offsets"
    found_id = build_id(path) if recorded_id else None
    if recorded_id and found_id and found_id != recorded_id:
        return {}, f"{path} is not the file that was recorded (build ID {found_id[:12]}, recorded {recorded_id[:12]}): its call sites are offsets"
    offsets = sorted(set(offsets))
    lines = lines_of(path, offsets)
    result, without = {}, []
    for offset in offsets:
        names = [Name(plain_function(function, file), file, line) for function, file, line in lines.get(offset, []) if function and file]
        if names:
            result[offset] = names
        else:
            without.append(offset)
    if without:
        starts, functions = functions_of(path)
        for offset in without:
            at = bisect.bisect_right(starts, offset) - 1
            if at >= 0:
                result[offset] = [Name(plain_function(functions[at], None), offset=offset - starts[at])]
    if not shutil.which("addr2line") and not shutil.which("llvm-addr2line"):
        return result, "addr2line is not there (package binutils): call sites have no lines"
    return result, None
