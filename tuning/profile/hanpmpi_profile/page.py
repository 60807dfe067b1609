"""hanpmpi_profile html: one page with all views, which needs nothing else: pictures are SVG in the page, no script,
no network."""
import html
import re

from hanpmpi_report import style

from . import __version__, show

MOST_ROWS = 25
CSS = """
body { font: 15px/1.45 "DejaVu Sans", Verdana, sans-serif; color: #222; max-width: 1000px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; margin-bottom: 0.2em; } h2 { font-size: 1.15em; margin: 2em 0 0.5em; border-bottom: 1px solid #ddd; }
table { border-collapse: collapse; font-size: 13px; } th, td { padding: 2px 9px; text-align: right; white-space: nowrap; }
th { color: #555; border-bottom: 1px solid #999; font-weight: normal; } tr:nth-child(even) td { background: #f6f6f6; }
.left { text-align: left; } .wide { overflow-x: auto; } .note { color: #666; font-size: 13px; }
.caution { background: #fff3d6; border-left: 4px solid #d55e00; padding: 6px 12px; } svg { max-width: 100%; height: auto; }
nav a { margin-right: 1em; white-space: nowrap; }
"""


def inline(svg, prefix):
    """The picture without what only a file needs, and with names that no other picture of the page has: of those that
    it uses itself."""
    svg = svg[svg.index("<svg"):]
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda match: f' id="{prefix}-{match[1]}"' if match[1] in used else "", svg)
    return re.sub(r'(url\(#|href="#)', rf'\g<1>{prefix}-', svg)


def sections(its):
    """[(name in the page, title, HTML)]"""
    result = []
    for module, view in show.made(its):
        anchor = module.__name__.rpartition(".")[2]
        lines = [f"<p class=note>Not shown: {html.escape(view.lacks)}.</p>"] if view.lacks else []
        figure = view.draw(style) if view.draw else None
        if figure is not None:
            lines.append(inline(style.svg(figure), anchor))
        for table in view.tables.values():
            lines += table.page(MOST_ROWS)
        result.append((anchor, module.TITLE, "\n".join(lines)))
    return result


def text(its):
    style.use()
    found = sections(its)
    title = html.escape(its.subtitle)
    return "\n".join([
        "<!DOCTYPE html>", "<html lang=en>", "<head><meta charset=utf-8>", f"<title>{title}</title>", f"<style>{CSS}</style></head>", "<body>",
        f"<h1>{title}</h1>", f"<p class=note>{html.escape(its.path)}, {html.escape(str(its.document.get('started', 'date unknown')))}; hanpmpi_profile "
        f"{__version__}</p>", *(f"<p class=caution>{html.escape(caution)}</p>" for caution in its.cautions()),
        "<nav>" + " ".join(f'<a href="#{anchor}">{html.escape(name)}</a>' for anchor, name, _ in found) + "</nav>",
        *(f'<h2 id="{anchor}">{html.escape(name)}</h2>\n{body}' for anchor, name, body in found), "</body></html>", ""])
