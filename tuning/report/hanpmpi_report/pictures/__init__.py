"""The pictures: a file each, with its numbers, its drawing and its table. A new one is a file and a row
here."""
import os

from . import against_size, choice_map, predictions, search_quality, search_time

# Of one file: function(report, its).
OF_ONE = {"hanpmpi_tune": [against_size.add_tune, predictions.add, search_time.add, search_quality.add]}
# Of several: function(report, inputs).
OF_ALL = [against_size.add_bench, choice_map.add]


def draw_all(report, inputs):
    report.heading(2, "Files")
    report.table(["file", "what", "layout", "MPI", "date"],
                 [[os.path.basename(its.path), its.kind, its.layout_text, its.mpi,
                   its.document.get("date", its.document.get("ended", ""))] for its in inputs])
    for its in inputs:
        if its.kind in OF_ONE:
            report.heading(2, f"{its.name}: {its.layout_text}")
        for add in OF_ONE.get(its.kind, []):
            add(report, its)
    for add in OF_ALL:
        add(report, inputs)
