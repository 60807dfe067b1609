"""Messages that came before their receive was posted, as the MPI counts them (MPI_T)."""
from ..tables import Column, Table
from ..words import count_text, percent_text, size_text
from . import View

TITLE = "Unexpected messages"


def make(its):
    found = its.document.get("unexpected")
    if not isinstance(found, dict):
        return View(lacks="no \"unexpected\": this MPI offers no such count (MPI_T)")
    messages, size = found.get("messages"), found.get("bytes")
    sent = sum(row[2] for row in its.peers)
    rows = [{"messages": messages, "bytes": size, "of_sent": messages / sent if sent and messages is not None else None}]
    return View({"unexpected": Table([Column("messages", "messages", count_text), Column("bytes", "bytes", size_text),
                                      Column("of_sent", "by those sent point to point", percent_text)], rows,
                                     "the MPI's own messages inside collectives are among them")})
