"""Who sends to whom: a map of the point-to-point messages."""
from ..tables import Column, Table
from ..words import count_text, percent_text, size_text
from . import View
from .bars import log_ticks

TITLE = "Point-to-point messages: source and destination"
MOST_SQUARES = 256 # a side; more ranks share one


def hottest(its):
    """{rank: (messages to it, bytes to it)}"""
    found = {}
    for _, destination, messages, size in its.peers:
        before = found.get(destination, (0, 0))
        found[destination] = before[0] + messages, before[1] + size
    return found


def make(its):
    if not its.peers:
        return View(lacks="no \"peers\": there are no point-to-point messages")
    messages = sum(row[2] for row in its.peers) or 1
    size = sum(row[3] for row in its.peers) or 1
    rows = [{"source": source, "destination": destination, "messages": count, "bytes": bytes_, "of_messages": count / messages, "of_bytes": bytes_ / size}
            for source, destination, count, bytes_ in sorted(its.peers, key=lambda row: (-row[3], -row[2], row[:2]))]

    def draw(style):
        from matplotlib.colors import LogNorm
        from matplotlib.ticker import MaxNLocator
        step = -(-its.ranks // MOST_SQUARES)
        side = -(-its.ranks // step)
        made, axes = style.figure(4.4, columns=2)
        for plot, which, label in ((axes[0], 2, "messages"), (axes[1], 3, "bytes")):
            squares = [[0.0] * side for _ in range(side)]
            for row in its.peers:
                if row[0] < its.ranks and row[1] < its.ranks:
                    squares[int(row[0]) // step][int(row[1]) // step] += row[which]
            most = max(map(max, squares)) or 1
            least = min((value for line in squares for value in line if value > 0), default=1)
            lowest, end = min(least, most / 10), side * step - 0.5
            image = plot.imshow([[value or float("nan") for value in line] for line in squares], origin="upper", extent=(-0.5, end, end, -0.5),
                                norm=LogNorm(lowest, most), cmap="viridis_r", interpolation="nearest", aspect="equal")
            for axis in (plot.xaxis, plot.yaxis):
                axis.set_major_locator(MaxNLocator(8, integer=True))
            plot.set_xlabel("destination rank")
            plot.set_ylabel("source rank")
            plot.set_title(label)
            plot.grid(visible=False)
            bar = made.colorbar(image, ax=plot, fraction=0.046, pad=0.03)
            log_ticks(bar.ax.yaxis, lowest, most, size_text if which == 3 else count_text, 2 if which == 3 else 10)
        style.finish(made, TITLE, its.subtitle, note=f"{step} x {step} ranks a square." if step > 1 else "")
        return made
    return View({"peers": Table([Column("source", "from rank", count_text), Column("destination", "to rank", count_text),
                                 Column("messages", "messages", count_text), Column("of_messages", "of all", percent_text),
                                 Column("bytes", "bytes", size_text), Column("of_bytes", "of all", percent_text)], rows)}, draw)
