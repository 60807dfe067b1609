"""The views: a file each, with its numbers, its table and its picture. A new one is a file and a row here.

A view has TITLE, and make(its), which returns a View. Its draw is called with hanpmpi_report's style, which needs
matplotlib, and only for the page."""
import dataclasses
from typing import Callable, Dict, Optional

from ..tables import Table


@dataclasses.dataclass
class View:
    """tables: {member of the JSON: Table}; draw(style) returns a figure; lacks: what the recording does not have, and
    is therefore not shown."""
    tables: Dict[str, Table] = dataclasses.field(default_factory=dict)
    draw: Optional[Callable] = None
    lacks: str = ""


def all_views():
    """[(module, is it printed by `show` without --all?)], in the order in which they are shown."""
    from . import (accelerated, arrival, calls, communicators, latency, memory, peers, ranks, run, share, simultaneous, sites, size_frequency,
                   size_time, slack, types, unexpected, waits)
    return [(run, True), (share, True), (sites, True), (accelerated, True), (calls, False), (size_time, True), (size_frequency, False),
            (latency, False), (types, False), (memory, False), (communicators, False), (ranks, True), (arrival, True), (waits, True), (slack, True),
            (peers, False), (simultaneous, False), (unexpected, False)]
