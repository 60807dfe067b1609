"""Records added up by whatever a view asks for: by call, by call site, by size."""
import functools

from .words import NO_BYTES, ratio


def once(function):
    """Recordings do not change, and several views ask for the same sums: they are kept with the recording."""
    @functools.wraps(function)
    def kept(its):
        if function.__name__ not in its.kept:
            its.kept[function.__name__] = function(its)
        return its.kept[function.__name__]
    return kept


class Split:
    """What share of a call's time was waiting for others, from the sampled arrivals: of its own communicator and
    size, else of its call site; None where nothing was sampled."""

    def __init__(self, its):
        self.own, self.site = {}, {}
        for row in its.arrival:
            for table, key in ((self.own, (row["call"], row["site"], row.get("comm"), row.get("bin"))), (self.site, (row["call"], row["site"]))):
                waited, both = table.get(key, (0.0, 0.0))
                table[key] = waited + row["waited_s"], both + row["waited_s"] + row["transfer_s"]

    def waited_share(self, record):
        call, site = record["call"], record["site"]
        for table, key in ((self.own, (call, site, record.get("comm"), record.get("bin"))), (self.site, (call, site))):
            waited, both = table.get(key, (0.0, 0.0))
            if both > 0:
                return waited / both
        return None


class Totals:
    """The sum of some records."""

    def __init__(self):
        self.count, self.bytes, self.time_s = 0, 0, 0.0
        self.min_s, self.max_s = None, 0.0
        self.slowest_rank_s, self.mean_rank_s = 0.0, 0.0
        self.histogram = {}
        self.handled, self.accelerated, self.accelerated_s = 0, 0, 0.0
        self.told_s, self.waited_s = 0.0, 0.0 # time of which is known what was waiting, and that
        self.before_s = self.after_s = None
        self.sized, self.bins = 0, set()

    def add(self, record, waited_share):
        count, time_s = record["count"], record["time_s"]
        self.count += count
        self.bytes += record["bytes"]
        self.time_s += time_s
        if count and "min_s" in record:
            self.min_s = record["min_s"] if self.min_s is None else min(self.min_s, record["min_s"])
        self.max_s = max(self.max_s, record.get("max_s", 0.0))
        if record.get("ranks") and "rank_max_s" in record:
            self.slowest_rank_s += record["rank_max_s"]
            self.mean_rank_s += time_s / record["ranks"]
        for k, number in record.get("histogram", []):
            self.histogram[k] = self.histogram.get(k, 0) + number
        if "accelerated" in record:
            self.handled += count
            self.accelerated += record["accelerated"]
            self.accelerated_s += time_s * (ratio(record["accelerated"], count) or 0)
        if waited_share is not None:
            self.told_s += time_s
            self.waited_s += waited_share * time_s
        for name in ("before_s", "after_s"):
            if name in record:
                setattr(self, name, (getattr(self, name) or 0.0) + record[name])
        if record.get("bin", NO_BYTES) != NO_BYTES:
            self.sized += count
            self.bins.add(record["bin"])

    @property
    def mean_s(self):
        return ratio(self.time_s, self.count)

    @property
    def mean_bytes(self):
        return ratio(self.bytes, self.sized)

    @property
    def imbalance(self):
        """The slowest rank's time by the mean; of several records the most that it can be."""
        return ratio(self.slowest_rank_s, self.mean_rank_s)

    @property
    def waited_share(self):
        return ratio(self.waited_s, self.told_s)

    @property
    def accelerated_share(self):
        """Of the calls; None: none of them is one that the library handles."""
        return ratio(self.accelerated, self.handled)

    def quantile_s(self, share):
        """The upper end of the histogram's bin in which it lies."""
        number = sum(self.histogram.values())
        seen = 0
        for k in sorted(self.histogram):
            seen += self.histogram[k]
            if number and seen >= share * number:
                return 2.0**k * 1e-9
        return None


def total(its, key):
    """{key(record): Totals}, the most time first; records whose key is None are left out."""
    split, result = Split(its), {}
    for record in its.records:
        name = key(record)
        if name is not None:
            if name not in result:
                result[name] = Totals()
            result[name].add(record, split.waited_share(record))
    return dict(sorted(result.items(), key=lambda row: (-row[1].time_s, str(row[0]))))


@once
def by_call(its):
    """{name of the call: Totals}"""
    return total(its, lambda record: its.call_name(record["call"]))


def site_key(its, call, site):
    return its.call_name(call), its.places[site].key


@once
def by_site(its):
    """{(name of the call, key of the place): (Place, kind of call, Totals)}"""
    places, kinds = {}, {}

    def key(record):
        name = site_key(its, record["call"], record["site"])
        places.setdefault(name, its.places[record["site"]])
        kinds.setdefault(name, its.call_kind(record["call"]))
        return name
    return {name: (places[name], kinds[name], totals) for name, totals in total(its, key).items()}


@once
def everything(its):
    return total(its, lambda record: "").get("", Totals())
