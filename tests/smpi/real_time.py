#!/usr/bin/env python3
"""real_time.py: nothing of the library asks the machine for what SMPI simulates.

usage: real_time.py smpi_helpers.h libhanpmpi-smpi.a

The header replaces functions by SMPI's own. An object that calls the machine's nevertheless was compiled without it: its source belongs
to `simulated` in src/pmpi_wrappers/smpi/CMakeLists.txt.
"""
import re
import subprocess
import sys

MEMORY = {"malloc", "calloc", "realloc", "free"} # stay the machine's: SMPI_NO_OVERRIDE_MALLOC


def main():
    header, library = sys.argv[1:]
    with open(header, encoding="utf-8") as file:
        replaced = set(re.findall(r"^#define (\w+).* smpi_\w+", file.read(), re.MULTILINE)) - MEMORY
    if not {"clock_gettime", "nanosleep", "getpid"} <= replaced:
        sys.exit(f"{header}: not understood; it replaces {' '.join(sorted(replaced))}")
    undefined = subprocess.run(["nm", "-A", "-P", "--undefined-only", library], check=True, capture_output=True, text=True).stdout
    wrong = [line for line in undefined.splitlines() if line.rsplit(": ", 1)[1].split()[0] in replaced]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
