#!/usr/bin/env python3
"""test_words: words that the glossary of the project replaced by another do not come back.

usage: test_words.py SOURCE_DIR
       test_words.py --self-check

REFUSED has each with the word that is used instead. Read are src/, include/, docs/*.md and *.md at the top; a phrase may go over
the end of a line.

--self-check puts each of them into a small tree, in each place, and wants it reported.
"""
import glob
import os
import re
import sys
import tempfile

REFUSED = {
    "host's own": "the host MPI's",
    "MPI's own": "the host MPI's",
    "MPI below": "the host MPI",
    "way up": "fan-in",
    "way down": "fan-out",
}

# path -> phrases that mean something else there.
ALLOWED = {
    "src/topo_tree/shape.c": ("way down",),  # a search that halves what is below a position
}

WHERE = ("src/**/*", "include/**/*", "docs/*.md", "*.md")
# What separates words: in a comment that goes on in the next line, its star, too.
GAP = r"(?:[ \t]+|[ \t]*\n[ \t/*#>]*)"


def pattern_of(phrase):
    return re.compile(r"\b" + GAP.join(map(re.escape, phrase.split())) + r"s?\b", re.IGNORECASE)


def problems(root):
    patterns = {phrase: pattern_of(phrase) for phrase in REFUSED}
    paths = {path for where in WHERE for path in glob.glob(os.path.join(root, where), recursive=True) if os.path.isfile(path)}
    for path in sorted(paths):
        name = os.path.relpath(path, root)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for phrase, pattern in patterns.items():
            if phrase in ALLOWED.get(name, ()):
                continue
            for match in pattern.finditer(text):
                yield f'{name}:{text.count(chr(10), 0, match.start()) + 1}: "{phrase}": say {REFUSED[phrase]}'
    for name in sorted(ALLOWED):
        if os.path.join(root, name) not in paths:
            yield f"{name} is in ALLOWED, but not there"


# ---- self-check ----

PLACES = ("src/base/a.c", "src/base/a.def", "include/hanpmpi/a.h", "docs/a.md", "README.md")
# What is no fault.
FINE = "SMPI's own algorithms, its own MPI calls, halfway up, a byway down; the host MPI's request\n"


def problems_of(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in {**{allowed: "" for allowed in ALLOWED}, **files}.items():
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        return list(problems(root))


def self_check():
    found = problems_of({place: FINE for place in PLACES})
    failures = [f"no fault: {problem}" for problem in found]
    for phrase in REFUSED:
        first, second = phrase.split()
        for text in (f"/* On the {phrase}. */\n", f"/* On the {first}\n * {second} */\n", f"{phrase.capitalize()}, too\n"):
            for place in PLACES:
                if not any(problem.startswith(f"{place}:1: ") and f'"{phrase}"' in problem for problem in problems_of({place: text})):
                    failures.append(f"not noticed in {place}: {text!r}")
    for name, phrases in ALLOWED.items():
        failures += [f"not allowed: {problem}" for problem in problems_of({name: f"/* {phrases[0]} */\n"})]
    return failures


def main(arguments):
    found = self_check() if arguments == ["--self-check"] else list(problems(*arguments))
    for problem in found:
        print(problem, file=sys.stderr)
    if not found:
        print("the words are those of the glossary")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
