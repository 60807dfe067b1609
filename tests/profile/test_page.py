"""The page: every view, pictures that can be read, nothing from a network; and what is left when parts of a recording
are missing."""
import collections
import re
import unittest
from html.parser import HTMLParser
from unittest import mock
from xml.etree import ElementTree

from builder import Builder, rich
from harness import ProfileCase

try:
    import matplotlib # noqa: F401
except ImportError:
    raise unittest.SkipTest("needs python3-matplotlib") from None

import readable
from hanpmpi_profile import views
from hanpmpi_profile.recording import read
from hanpmpi_report import style

PICTURES = {"share", "sites", "calls", "size_time", "size_frequency", "latency", "types", "memory", "communicators", "ranks", "arrival", "waits", "slack", "peers",
            "simultaneous"}


class Balanced(HTMLParser):
    """Every element is closed by its own end."""
    ALONE = {"meta", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs[name] for name in ("href", "src", "xlink:href") if name in attrs]
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.ALONE:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()


class Page(ProfileCase):
    def page(self, its):
        target = self.folder / "page.html"
        code, out, err = self.run_profile("html", self.file(its), "-o", target)
        self.assertEqual((code, out), (0, ""), err)
        return target.read_text(), err

    def test_all_views(self):
        figures, svg = {}, style.svg

        def keep(figure):
            figures[figure.texts[0].get_text()] = figure
            return svg(figure)
        with mock.patch.object(style, "svg", keep):
            text, err = self.page(rich())
        self.assertEqual(set(figures), {module.TITLE for module, _ in views.all_views() if module.__name__.rpartition(".")[2] in PICTURES})
        for title, figure in figures.items():
            readable.check(self, title, figure, fewest=4)
        found = Balanced()
        found.feed(text)
        self.assertEqual(found.open, [])
        self.assertEqual([name for name, times in collections.Counter(found.ids).items() if times > 1], [], "each name once")
        self.assertEqual([link for link in found.links if not link.startswith(("#", "data:image/png;base64,"))], [], "nothing from elsewhere")
        self.assertLessEqual({link[1:] for link in found.links if link.startswith("#")}, set(found.ids))
        self.assertNotIn("<script", text)
        self.assertNotRegex(text, r"@import|url\((?!#)")
        for module, _ in views.all_views():
            self.assertIn(f">{module.TITLE}</h2>", text)
        self.assertNotIn("Not shown:", text)
        self.assertIn("page.html: 15 pictures", err)
        self.assertIn("lost: 3 records did not fit", text)
        for svg in re.findall(r"<svg.*?</svg>", text, re.S):
            ElementTree.fromstring(svg)
            self.assertIn("<text", svg, "text is text")

    def test_dollars_are_no_formulas(self):
        its = Builder().record("MPI_Bcast", "a", 1.0)
        its.document["sites"][0] = {"python": ["$x^.py:1 $f"]}
        self.assertRegex(self.page(its)[0], r"<text[^>]*>Bcast +\$f \(\$x\^\.py:1\)</text>")

    def test_names_from_outside_stay_text(self):
        its = Builder().record("MPI_Bcast", "a", 1.0).having(command=["<script>alert(1)</script>"])
        its.document["communicators"][0]["name"] = "<b>&rows"
        text, _ = self.page(its)
        self.assertNotIn("<script", text)
        self.assertNotIn("<b>", text)
        self.assertIn("&lt;b&gt;&amp;rows", text)

    def check_pictures(self, its, names):
        its = read(str(self.file(its)))
        style.use()
        for module, _ in views.all_views():
            name = module.__name__.rpartition(".")[2]
            if name in names:
                readable.check(self, name, module.make(its).draw(style), fewest=4)

    def test_pictures_of_much(self):
        """Long names, more than fit, values over decades."""
        its = rich()
        for i in range(40):
            its.record(f"MPI_{'Neighbor_alltoallw_init' if i % 2 else 'Scan'}_{i}", f"a rather long name {i}", 10.0 ** (-i / 8), count=16 * 3**i // 2**i + 16,
                       size_bin=i % 34, type=f"vector of something quite long {i}")
        its.document["sites"][0] = {"python": ["a_very_long_name_of_a_module.py:1234 an_even_longer_name_of_a_function_in_it"]}
        self.check_pictures(its, ("calls", "sites", "size_time", "types"))

    def test_pictures_of_little(self):
        self.check_pictures(Builder(ranks=1, nodes=1).record("MPI_Barrier", "a", 1.0, size_bin=-1), ("share", "calls", "size_frequency", "ranks"))

    def test_pictures_of_many_ranks(self):
        its = Builder(ranks=3000, nodes=30).record("MPI_Bcast", "a", 1.0)
        its.having(peers=[[rank, (rank * 7) % 3000, 10 + rank, 8 << rank % 20] for rank in range(3000)])
        self.check_pictures(its, ("peers", "ranks"))

    def test_what_is_missing_is_said(self):
        its = Builder().record("MPI_Barrier", "a", 1.0, size_bin=-1, bytes_each=0, type=None, memory=None, histogram=None, comm=-1).having(communicators=[])
        text, _ = self.page(its)
        for words in ("no &quot;type&quot;", "no &quot;memory&quot;", "no &quot;histogram&quot;", "no &quot;communicators&quot;", "no &quot;arrival&quot;",
                      "no &quot;waits&quot;", "no &quot;slack&quot;", "no &quot;peers&quot;", "no &quot;simultaneous&quot;", "no &quot;unexpected&quot;"):
            self.assertIn(f"Not shown: {words}", text)
        text, _ = self.page({"format": "hanpmpi-profile", "version": 1, "ranks": 2})
        self.assertIn("Not shown: no records", text)


if __name__ == "__main__":
    unittest.main()
