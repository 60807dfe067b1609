#!/usr/bin/python3
"""RESULTS.md and the table in examples/README.md are what `reproduce --render` makes of the figures in docs/results today. Argument: a folder to work in."""
import os
import shutil
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def main():
    try:
        import matplotlib # noqa: F401
    except ImportError:
        print("skipped: needs python3-matplotlib")
        return 77
    work = os.path.abspath(sys.argv[1])
    figures, text, readme = os.path.join(work, "results"), os.path.join(work, "RESULTS.md"), os.path.join(work, "README.md")
    shutil.rmtree(figures, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "docs", "results"), figures)
    shutil.copy(os.path.join(ROOT, "examples", "README.md"), readme)
    subprocess.run([sys.executable, os.path.join(ROOT, "tests", "bench", "reproduce"), "--render", "--output", figures, "--text", text,
                    "--readme", readme], check=True)
    with open(readme) as made, open(os.path.join(ROOT, "examples", "README.md")) as kept:
        if made.read() != kept.read():
            print("the table in examples/README.md is not what the figures say; write it: tests/bench/reproduce --render")
            return 1
    with open(text) as made, open(os.path.join(ROOT, "RESULTS.md")) as kept:
        made, kept = made.read().replace(os.path.relpath(figures, ROOT), "docs/results"), kept.read()
    if made != kept:
        print("RESULTS.md is not what the figures say; write it: tests/bench/reproduce --render")
        return 1
    pictures = [line.split("](")[1].rstrip(")") for line in kept.splitlines() if line.startswith("![")]
    missing = [path for path in pictures if not os.path.exists(os.path.join(ROOT, path))]
    print(f"{len(pictures)} pictures, missing: {missing or 'none'}")
    return 1 if missing or not pictures else 0


if __name__ == "__main__":
    sys.exit(main())
