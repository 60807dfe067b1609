"""Tables of numbers: printed to a terminal, put into a page, or given as JSON, from the same rows."""
import dataclasses
import html
import textwrap
from typing import Callable, List

from .words import cut

NAME_MOST = 96 # characters of a name in a terminal
WRAPPED = 120 # characters of a line of prose


@dataclasses.dataclass(frozen=True)
class Column:
    """key: its member in a row and in JSON; text: how a value is printed; left: names stand on the left, numbers on
    the right."""
    key: str
    head: str
    text: Callable = str
    left: bool = False


def name(key, head):
    return Column(key, head, str, True)


@dataclasses.dataclass
class Table:
    columns: List[Column]
    rows: List[dict] # values as JSON can have them
    note: str = ""
    most: int = 0 # rows that are printed; 0: all. JSON has all

    def texts(self, most=None):
        shown = self.rows[:most] if most else self.rows
        return [[column.text(row.get(column.key)) for column in self.columns] for row in shown]

    def left_out(self, most=None):
        return max(0, len(self.rows) - most) if most else 0

    def plain(self, most=None):
        """Lines for a terminal."""
        cells = [[cut(cell, NAME_MOST) for cell in row] for row in [[column.head for column in self.columns], *self.texts(most)]]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) if column.left else cell.rjust(width) for cell, width, column in zip(row, widths, self.columns)).rstrip()
                 for row in cells]
        if self.left_out(most):
            lines.append(f"... and {self.left_out(most)} more (--most 0 shows all)")
        return lines + (textwrap.wrap(f"({self.note})", WRAPPED) if self.note else [])

    def page(self, most=None):
        """HTML."""
        def row(kind, texts):
            return "<tr>" + "".join(f"<{kind}{' class=left' if column.left else ''}>{html.escape(text)}</{kind}>"
                                    for text, column in zip(texts, self.columns)) + "</tr>"
        lines = ["<div class=wide><table>", row("th", [column.head for column in self.columns]), *(row("td", texts) for texts in self.texts(most)),
                 "</table></div>"]
        if self.left_out(most):
            lines.append(f"<p class=note>... and {self.left_out(most)} more: hanpmpi_profile show --most 0</p>")
        return lines + ([f"<p class=note>{html.escape(self.note)}</p>"] if self.note else [])

    def json(self):
        return [{column.key: row.get(column.key) for column in self.columns} for row in self.rows]
