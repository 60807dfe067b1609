"""Messages that came before their receive was posted, as the MPI counts them (MPI_T)."""
from ..tables import Column, Table
from ..words import count_text, percent_text
from . import View

TITLE = "Unexpected messages"


def make(its):
    found = its.document.get("unexpected")
    if not isinstance(found, dict):
        return View(lacks="no \"unexpected\": it was not asked for (HANPMPI_PROFILE_UNEXPECTED=1), there were no receives, or this MPI "
                          "offers no such count (MPI_T)")
    samples = found["samples"]
    rows = [{"samples": samples, "with_any": found["with_any"] / samples, "mean": found["messages"] / samples, "most": found["most"]}]
    return View({"unexpected": Table([Column("samples", "looked at before a receive", count_text), Column("with_any", "some were there", percent_text),
                                      Column("mean", "messages, mean", count_text), Column("most", "most", count_text)], rows,
                                     "of the receive's communicator; the host MPI's messages inside collectives are not among them")})
