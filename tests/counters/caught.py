#!/usr/bin/env python3
"""caught.py: passes when a test of a broken library notices it: fails and says why, or never ends.

    caught.py --evidence REGEX --limit SECONDS -- COMMAND...

Evidence is what the test prints when it finds something wrong; a failure without it (a library that does not
load, a crash of the launcher) is no catch. NONE is for the control: the command must pass.
"""
import argparse
import os
import re
import signal
import subprocess
import sys

SHOWN = 6  # lines of evidence


def run(command, limit_s):
    """(exit status or None when it did not end in time, output). Ends the whole group of processes."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=limit_s)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return None, output


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evidence", required=True, help="regular expression, or NONE")
    parser.add_argument("--limit", required=True, type=float, help="seconds after which the command hangs")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()

    status, output = run(args.command, args.limit)
    if args.evidence == "NONE":
        print(output[-3000:])
        print("control: passes" if status == 0 else f"control: exit status {status}, should have passed")
        return 0 if status == 0 else 1
    if status is None:
        print(f"caught: still running after {args.limit:g} s")
        return 0
    evidence = [line.strip() for line in output.splitlines() if re.search(args.evidence, line)]
    if status != 0 and evidence:
        print(f"caught, {len(evidence)} lines such as")
        print("\n".join(f"    {line[:200]}" for line in evidence[:SHOWN]))
        return 0
    print(output[-3000:])
    print(f"NOT caught: exit status {status}, {len(evidence)} lines of evidence")
    return 1


if __name__ == "__main__":
    sys.exit(main())
