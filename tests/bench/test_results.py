#!/usr/bin/python3
"""RESULTS.md, docs/results/*.md, the block of README.md and the table in examples/README.md are what `reproduce --render` makes of the figures in docs/results today. Argument: a folder to work in."""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def read(path):
    with open(path) as file:
        return file.read()


def contradictions(readme):
    """Rows of the table in README.md whose ratio is not that of the times beside it, as they are rounded."""
    unit = {"us": 1.0, "ms": 1e3}
    rows = re.findall(r"\| ([\d.]+) (us|ms) \| ([\d.]+) (us|ms) \| ([\d.]+)", readme)
    return [row for row in rows if abs(float(row[2]) * unit[row[3]] / (float(row[0]) * unit[row[1]]) / float(row[4]) - 1) > 0.1]


def main():
    try:
        import matplotlib # noqa: F401
    except ImportError:
        print("skipped: needs python3-matplotlib")
        return 77
    work = os.path.abspath(sys.argv[1])
    figures = os.path.join(work, "results")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "docs", "results"), figures)
    kept = {"RESULTS.md": "RESULTS.md", "README.md": "README.md", "examples.md": "examples/README.md"}
    for made, path in kept.items():
        shutil.copy(os.path.join(ROOT, path), os.path.join(work, made))
    subprocess.run([sys.executable, os.path.join(ROOT, "tests", "bench", "reproduce"), "--render", "--output", figures, "--text", os.path.join(work, "RESULTS.md"),
                    "--readme", os.path.join(work, "README.md"), "--examples", os.path.join(work, "examples.md")], check=True)
    kept.update({f"results/{name}": f"docs/results/{name}" for name in os.listdir(figures) if name.endswith(".md")})
    pictures = []
    for made, path in kept.items():
        made, text = read(os.path.join(work, made)).replace(os.path.relpath(figures, ROOT), "docs/results"), read(os.path.join(ROOT, path))
        if made != text:
            print(f"{path} is not what the figures say; write it: tests/bench/reproduce --render")
            return 1
        pictures += [os.path.join(os.path.dirname(path), line.split("](")[1].rstrip(")")) for line in text.splitlines() if line.startswith("![")]
    if contradictions(read(os.path.join(ROOT, "README.md"))):
        print(f"README.md contradicts itself: {contradictions(read(os.path.join(ROOT, 'README.md')))}")
        return 1
    missing = [path for path in pictures if not os.path.exists(os.path.join(ROOT, path))]
    print(f"{len(pictures)} pictures, missing: {missing or 'none'}")
    return 1 if missing or not pictures else 0


if __name__ == "__main__":
    sys.exit(main())
