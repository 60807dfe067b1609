"""Numbers as people write them."""
from hanpmpi_report.configurations import bytes_text

NO_BYTES = -1 # the bin of calls that have no bytes


def seconds_text(seconds):
    """Three digits: 12.3 s, 4.56 ms, 789 us."""
    if seconds is None:
        return "-"
    size = abs(seconds)
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if size >= 0.9995 * unit:
            return f"{digits(seconds / unit)} {name}"
    return f"{digits(seconds * 1e9)} ns" if seconds else "0 s"


def digits(value, count=3):
    """So many significant digits, without an exponent: 12345, 12.3, 0.00123."""
    if value == 0:
        return "0"
    if abs(value) < 10**count: # 99.96 has become 100
        value = float(f"{value:.{count}g}")
    places = count - len(str(int(abs(value)))) if abs(value) >= 1 else count - 1
    return f"{value:,.{max(places, 0)}f}"


def percent_text(share):
    return "-" if share is None else f"{100 * share + 0.0:.1f}%" # + 0.0: no -0.0


def signed_percent_text(share):
    return "-" if share is None else f"{100 * share + 0.0:+.1f}%"


def count_text(count):
    """Whole numbers as they are, means with three digits."""
    if count is None:
        return "-"
    return f"{count:,.0f}" if count == int(count) or abs(count) >= 1000 else digits(count)


def factor_text(factor):
    return "-" if factor is None else f"{factor:.2f}"


def size_text(count):
    """Bytes; a mean is rounded to three digits."""
    if count is None:
        return "-"
    unit = 2 ** min(30, max(0, round(count).bit_length() - 1) // 10 * 10)
    return bytes_text(float(f"{count / unit:.{3 if count / unit < 1000 else 4}g}") * unit if unit > 1 else round(count))


def bin_text(which):
    """The sizes of a bin by its largest."""
    return "none" if which == NO_BYTES else bytes_text(2**which)


def ratio(part, whole):
    """None where there is no whole."""
    return part / whole if whole else None


def cut(text, most):
    """The end of a name says least: it is what is left out."""
    return text if len(text) <= most else text[:most - 1] + "…"
