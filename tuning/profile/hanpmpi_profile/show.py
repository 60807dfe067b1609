"""hanpmpi_profile show: the views as tables in a terminal, or as JSON."""
from . import views


def document(its, found):
    result = {"program": "hanpmpi_profile", "file": its.path, "cautions": list(its.cautions())}
    for _, view in found:
        result.update({member: table.json() for member, table in view.tables.items()})
    return result


def made(its):
    return [(module, module.make(its)) for module, _ in views.all_views()]


def lines(its, most, everything):
    yield from (f"CAUTION: {text}" for text in its.cautions())
    for module, in_terminal in views.all_views():
        if not (in_terminal or everything):
            continue
        view = module.make(its)
        if view.lacks:
            yield from ["", f"{module.TITLE}: {view.lacks}"]
        for table in view.tables.values():
            yield from ["", module.TITLE, *table.plain(most)]
