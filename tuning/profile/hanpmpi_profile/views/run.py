"""What ran: the program, the MPI, the ranks, the time, and what of it was in MPI."""
from ..tables import Table, name
from ..words import count_text, percent_text, seconds_text
from . import View

TITLE = "The run"


def watching_text(its):
    """What watching buffers took (HANPMPI_PROFILE_WATCH), and what it left out for that; None: there was none."""
    if not any("watch_s" in row for row in its.per_rank):
        return None
    left_out = sum(row.get("watches_left_out", 0) for row in its.per_rank)
    text = f"{percent_text(its.share(sum(row.get('watch_s', 0.0) for row in its.per_rank)))} of it"
    return f"{text}; {count_text(left_out)} watches left out, to take no more" if left_out else text


def make(its):
    document = its.document
    threads = document.get("thread_level")
    rows = [("command", its.command), ("started", document.get("started")), ("MPI", its.mpi), ("hanpmpi", document.get("library")),
            ("ranks", its.layout_text), ("threads", threads and f"{threads}; {document.get('threads_seen', '?')} seen in MPI calls"),
            ("run time", f"{seconds_text(its.longest_s)} (longest rank)"),
            ("in MPI", f"{percent_text(its.share(its.mpi_s))} of it, mean over the ranks"),
            ("watching", watching_text(its)),
            ("MPI calls", f"{count_text(sum(record['count'] for record in its.records) / its.present)} a process")]
    return View({"run": Table([name("what", ""), name("value", "")], [{"what": what, "value": value} for what, value in rows if value])})
