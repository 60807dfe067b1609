"""report.md: sections, tables and pictures in the order in which they are added, and at the end what could
not be drawn. One Report writes into one folder, by one thread."""
import os
import re
import sys

from . import style


def complain(text):
    print(f"hanpmpi_report: {text}", file=sys.stderr)


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", " ")


class Report:
    def __init__(self, directory, search):
        self.directory = directory
        self.search = search # whose choices are the library's; None: the first that is there
        self.lines, self.missing, self.pictures = [], [], []
        self.sections = 0

    def section(self, text):
        """Of one picture or table."""
        self.sections += 1
        self.heading(3, text)

    def heading(self, level, text):
        self.lines += ["#" * level + " " + text, ""]

    def text(self, text):
        self.lines += [text, ""]

    def table(self, header, rows):
        """Rows of texts and numbers; columns of numbers stand on the right."""
        columns = list(zip(*rows))[1:]
        sides = ["---:" if all(re.match(r"$|[-+]?\d[\d.,]*%?$", cell(value)) for value in column) else "---" for column in columns]
        self.lines += ["| " + " | ".join(map(cell, header)) + " |", "|" + "|".join(["---", *sides]) + "|"]
        self.lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
        self.lines.append("")

    def picture(self, made, name, description):
        """Writes the figure as name.svg and name.png and shows it here."""
        style.save(made, self.directory, name)
        self.pictures.append(name)
        self.lines += [f"[![{description}]({name}.png)]({name}.svg)", ""]

    def lacks(self, its, what):
        """What a file does not have, and what is therefore not shown."""
        self.missing.append(f"{os.path.basename(its.path)}: {what}")
        complain(f"{its.path}: {what}")

    def write(self, title):
        """Returns the path of report.md."""
        lines = [f"# {title}", "", *self.lines]
        if self.missing:
            lines += ["## Not shown", "", *(f"- {text}" for text in self.missing), ""]
        path = os.path.join(self.directory, "report.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines).rstrip("\n") + "\n")
        return path
