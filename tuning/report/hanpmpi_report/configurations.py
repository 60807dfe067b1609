"""What a configuration is called, in a word and in full, and which colour it has."""
import dataclasses
from typing import Optional

NATIVE = "native"
BUILT_IN = "built-in" # no rule of the file holds, so that the library's own rules decide
SETTLED = (NATIVE, BUILT_IN, "flags", "single_copy") # there is nothing to set
NATIVE_COLOR = "#bbbbbb"
# By what a configuration mainly is: Okabe and Ito's colours for what the rules use most, Tol's for the rest.
FAMILY_COLORS = {
    "built-in rules": "#e8e4d8", "flags": "#e69f00", "shm": "#ddcc77", "single_copy": "#882255", "linear": "#f0e442", "chain": "#009e73", "binary": "#56b4e9",
    "binomial": "#d55e00", "knomial4": "#44aa99", "knomial8": "#117733", "double_tree": "#cc79a7", "ring": "#0072b2",
    "recursive_doubling": "#999933", "rabenseifner": "#332288", "tree": "#661100"}
OTHER_COLORS = ("#cc6677", "#88ccee", "#aa4499", "#6699cc", "#aa4466") # what has none there: an algorithm is one file of the library
MOST_WHITE, MOST_BLACK = 0.6, 0.35 # mixed into a family's lightest and darkest shade


def bytes_text(count, space=" "):
    """4 B, 1 KiB, 1.5 MiB; space="": 4, 1K, 1.5M."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g}" + (space + name if space else name[0])
    return f"{count:g}" + (space + "B" if space else "")


def level_value(text, level):
    """Of "node:chain core:linear" what stands for a level, or None."""
    for word in text.split():
        name, _, value = word.partition(":")
        if name == level and value:
            return value
    return None


@dataclasses.dataclass(frozen=True)
class Configuration:
    """The settings that a call runs with. Two with the same settings are equal, whatever file they are
    from."""
    algorithm: str
    segment_bytes: Optional[int] = None
    shapes: str = ""
    modules: str = ""
    between_nodes: str = "tree"
    trees: int = 1
    leaders: int = 1
    one_node: bool = False

    @classmethod
    def of(cls, row, one_node):
        """From a row of `configurations` in tune.json, or a rule."""
        if row["algorithm"] in SETTLED or row["collective"] == "barrier": # the settings say how data moves in segments
            return cls(row["algorithm"])
        given = {field.name: row[field.name] for field in dataclasses.fields(cls) if row.get(field.name) is not None}
        return cls(**given, one_node=one_node)

    @property
    def family(self):
        """The word that tells most: how the nodes are joined; on one node, what moves the data."""
        if self.algorithm not in ("han", "flat"):
            return {NATIVE: "host MPI", BUILT_IN: "built-in rules"}.get(self.algorithm, self.algorithm)
        if self.one_node and self.algorithm == "han":
            return level_value(self.modules, "core") or "han"
        joined = self.between_nodes if self.between_nodes not in ("tree", "auto") else level_value(self.shapes, "node")
        return joined or self.algorithm

    @property
    def segment(self):
        """As short as a cell of a map needs it; nothing where nothing is cut."""
        return "" if self.segment_bytes is None else bytes_text(self.segment_bytes, space="")

    @property
    def label(self):
        """In full, for legends and tables."""
        words = [self.family]
        if self.segment:
            words.append(bytes_text(self.segment_bytes))
        if self.algorithm == "flat" and self.family != "flat":
            words.append("flat")
        inside = level_value(self.modules, "core")
        if self.algorithm == "han" and inside and inside != self.family:
            words.append(inside)
        words += [f"{count} {name}" for count, name in ((self.trees, "trees"), (self.leaders, "leaders")) if count != 1]
        return ", ".join(words)


def colors(configurations):
    """{configuration: colour}: a hue for each family; within one, darker for longer segments. Depends on the
    set alone."""
    families = {}
    for configuration in sorted(set(configurations), key=lambda its: (its.family, its.segment_bytes or 0, repr(its))):
        families.setdefault(configuration.family, []).append(configuration)
    others = [family for family in families if family not in FAMILY_COLORS]
    hues = {family: OTHER_COLORS[i % len(OTHER_COLORS)] for i, family in enumerate(others)} | FAMILY_COLORS
    result = {}
    for family, members in families.items():
        for i, member in enumerate(members):
            result[member] = NATIVE_COLOR if member.algorithm == NATIVE else shade(
                hues[family], i, len(members))
    return result


def shade(color, i, count):
    """The i-th of so many shades of a colour, from light to dark; an only one is the colour itself."""
    place = 0 if count == 1 else 2 * i / (count - 1) - 1 # -1: lightest, 0: the colour, 1: darkest
    towards, share = (255, -place * MOST_WHITE) if place < 0 else (0, place * MOST_BLACK)
    parts = (int(color[at:at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (towards - part)):02x}" for part in parts)
