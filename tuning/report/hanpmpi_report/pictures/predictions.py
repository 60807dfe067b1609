"""Predicted against measured time of every configuration and size, for both models: a picture a collective, a
table a configuration."""
import statistics

from .. import style
from ..configurations import NATIVE
from ..inputs import MODELS

BAND = 0.15


def errors(its, collective):
    """{model: [(configuration id, bytes, measured us, predicted us)]}, where both are known."""
    found = {}
    for (name, size, identity, model), row in its.predicted.items():
        measured = its.measured.get((collective, size, identity))
        if name == collective and identity != NATIVE and measured:
            found.setdefault(model, []).append((identity, size, measured["us"], row["us"]))
    return {model: found[model] for model in MODELS if model in found}


def error(point):
    """How far off a prediction is, as a share of what was measured."""
    return abs(point[3] - point[2]) / point[2]


def median_error(points):
    return statistics.median(map(error, points))


def percent(share):
    return f"{100 * share:.1f}%"


def draw(title, subtitle, found):
    made, (plot, by_size) = style.figure(5.3, columns=2, width_ratios=[1.25, 1])
    every = [us for points in found.values() for point in points for us in point[2:]]
    low, high = min(every) / 1.3, max(every) * 1.3
    plot.plot([low, high], [low, high], color=style.DARK, linewidth=1)
    plot.fill_between([low, high], [(1 - BAND) * low, (1 - BAND) * high], [(1 + BAND) * low, (1 + BAND) * high], color=style.GREY,
                      alpha=0.25, linewidth=0, label=f"at most {100 * BAND:.0f}% off")
    for model, points in found.items():
        plot.plot([point[2] for point in points], [point[3] for point in points], linestyle="none", marker=style.MODEL_MARKERS[model],
                  markersize=4, alpha=0.65, markeredgewidth=0, color=style.MODEL_COLORS[model],
                  label=f"{MODELS[model]}: median error {percent(median_error(points))}, {len(points)} points")
    plot.set_title("configurations and sizes")
    draw_by_size(by_size, found)
    for which in ("x", "y"):
        style.time_axis(plot, which, low, high)
    plot.set(xlim=(low, high), ylim=(low, high), aspect="equal", xlabel="measured: time of the slowest rank", ylabel="predicted")
    style.finish(made, title, subtitle, *plot.get_legend_handles_labels())
    return made


def draw_by_size(plot, found):
    """The median error of all configurations, and its quartiles, against the message size."""
    sizes = sorted({point[1] for points in found.values() for point in points if point[1]})
    for model, points in found.items():
        there, low, middle, high = [], [], [], []
        for size in sizes:
            off = sorted(100 * error(point) for point in points if point[1] == size)
            if off:
                quartiles = statistics.quantiles(off, n=4, method="inclusive") if len(off) > 1 else 3 * off
                there.append(size)
                for one, value in zip((low, middle, high), quartiles):
                    one.append(value)
        plot.plot(there, middle, marker=style.MODEL_MARKERS[model], color=style.MODEL_COLORS[model])
        plot.fill_between(there, low, high, color=style.MODEL_COLORS[model], alpha=0.2, linewidth=0)
    style.size_axis(plot, sizes)
    plot.set_ylim(bottom=0)
    plot.set_title("error (%): median and quartiles")


def summary(report, found):
    report.table(["model", "points", "median error", "largest error", f"at most {100 * BAND:.0f}% off"],
                 [[MODELS[model], len(points), percent(median_error(points)), percent(max(map(error, points))),
                   percent(sum(error(point) <= BAND for point in points) / len(points))] for model, points in found.items()])


def table(report, its, collective, found):
    """A row a configuration, in the order of the file."""
    header = ["configuration", "settings", "sizes"]
    header += [f"{MODELS[model]}: {what}" for model in found for what in ("median error", "largest")]
    rows = []
    for (name, identity), configuration in its.configurations.items():
        points = {model: [point for point in of_model if point[0] == identity] for model, of_model in found.items()}
        if name != collective or not any(points.values()):
            continue
        row = [identity, configuration.label, len({point[1] for of_model in points.values() for point in of_model})]
        for of_model in points.values():
            row += [percent(median_error(of_model)), percent(max(map(error, of_model)))] if of_model else ["", ""]
        rows.append(row)
    report.table(header, rows)


def add(report, its):
    lacking = [name for name in ("predicted", "measured") if not getattr(its, name)]
    if lacking:
        report.lacks(its, f"no \"{lacking[0]}\": predictions are not shown")
        return
    for collective in its.collectives():
        found = errors(its, collective)
        if not found:
            report.lacks(its, f"nothing of {collective} is both predicted and measured: its predictions are not shown")
            continue
        title = f"{collective}: predicted against measured"
        report.section(title)
        report.picture(draw(title, f"{its.layout_text}; every configuration and size that was both predicted and measured", found),
                       f"{its.name}_predictions_{collective}", f"{title}, {its.layout_text}")
        summary(report, found)
        table(report, its, collective, found)
