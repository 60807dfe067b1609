"""Can the texts of a picture be read? Shared by the tests of all that draws with hanpmpi_report's style."""


def texts(figure):
    """Every text that can be seen, with its box."""
    import matplotlib.text
    renderer = figure.canvas.get_renderer()
    beyond = labels_beyond_the_axes(figure)
    return [(text, text.get_window_extent(renderer)) for text in figure.findobj(matplotlib.text.Text)
            if text.get_visible() and text.get_text().strip() and text not in beyond]


def labels_beyond_the_axes(figure):
    """Labels of ticks outside an axis' limits: they exist, but are not drawn."""
    found = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        found |= {label for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high for label in (tick.label1, tick.label2)}
    return found


def check(case, name, figure, fewest=8, drawn=False):
    """No text leaves the picture or overlaps another; there are more than `fewest`. drawn: it has been, in its pixels, just before."""
    if not drawn:
        figure.canvas.draw()
    shown = texts(figure)
    case.assertGreater(len(shown), fewest, name)
    for i, (text, box) in enumerate(shown):
        case.assertTrue(0 <= box.x0 and 0 <= box.y0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1,
                        f"{name}: {text.get_text()} leaves the picture")
        for other, its in shown[i + 1:]:
            if text.get_rotation() == other.get_rotation() == 30:
                continue # their upright boxes overlap where they do not
            case.assertFalse(box.x0 < its.x1 and its.x0 < box.x1 and box.y0 < its.y1 and its.y0 < box.y1,
                             f"{name}: {text.get_text()!r} and {other.get_text()!r} overlap")
