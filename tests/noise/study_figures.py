"""What study.py computes from the raw figures of slowdown: slow-downs with their spread, delays per rank, tables.

A study is a dictionary (it is written as JSON):
  title, kind ("measured" or "simulated"), machine, mpi, date, commands, ranks, bytes, delay_seconds
  calls[collective][side][noise][block] = [seconds of the slowest rank, per call]
  noise[collective][side][noise] = share of the ranks' time that was lost, as measured
  finish[collective][side][delayed rank][repetition] = [seconds, per rank]      delayed rank "-1": nobody
  trees[collective] = {"description", "parents"}
"""
import random
import statistics

SIDE_TITLES = {"ours": "hanpmpi", "host": "host MPI", "control": "Waitall control"}


def side_title(side):
    if side.startswith("forced_"):
        return f"SMPI, forced {side[len('forced_'):]}"
    return SIDE_TITLES.get(side, f"SMPI, {side} selector")


def read_lines(text, study):
    """Adds the output of one run of slowdown to the study."""
    lost = {}
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "info":
            read_info(words[1], words[2:], study)
        elif words[0] == "call":
            collective, side, noise, block, seconds = words[1:]
            blocks = study["calls"].setdefault(collective, {}).setdefault(side, {}).setdefault(noise, {})
            blocks.setdefault(block, []).append(float(seconds))
        elif words[0] == "noise":
            collective, side, noise, _, _, seconds, of_seconds = words[1:]
            sums = lost.setdefault((collective, side, noise), [0.0, 0.0])
            sums[0] += float(seconds)
            sums[1] += float(of_seconds)
        elif words[0] == "finish":
            collective, side, delayed, repetition, rank, seconds = words[1:]
            runs = study["finish"].setdefault(collective, {}).setdefault(side, {}).setdefault(delayed, [])
            if rank == "0":
                runs.append([])
            runs[-1].append(float(seconds))
    for (collective, side, noise), (seconds, of_seconds) in lost.items():
        study["noise"].setdefault(collective, {}).setdefault(side, {})[noise] = seconds / of_seconds


def read_info(key, words, study):
    if key.startswith("tree_"):
        study["trees"].setdefault(key[len("tree_"):], {})["description"] = " ".join(words)
    elif key.startswith("parents_"):
        study["trees"].setdefault(key[len("parents_"):], {})["parents"] = [int(word) for word in words]
    elif key == "mpi":
        study["mpi"] = " ".join(words).split(". Copyright")[0]
    elif key in ("ranks", "bytes"):
        study[key] = int(words[0])
    elif key == "delay_seconds": # a simulated study knows it; its runs without a delayed rank say something else
        study.setdefault(key, float(words[0]))


def is_off(noise):
    return noise == "off"


def share(noise):
    return 0.0 if is_off(noise) else float(noise.rstrip("%"))


def mean_of(blocks, chosen):
    calls = [seconds for block in chosen for seconds in blocks[block]]
    return sum(calls) / len(calls)


def slow_down(levels, noise, draws=1000):
    """Mean time under noise over mean time without, in per cent above 1; its 90% interval (bootstrap over blocks); the two
    means in seconds. Blocks of one number belong together: they ran one after the other, with the same noise."""
    calm, noisy = levels["off"], levels[noise]
    names = sorted(noisy)
    if not set(names) <= set(calm): # a simulation: without noise it always gives the same, and ran once
        calm = dict.fromkeys(names, next(iter(calm.values())))
    before, after = mean_of(calm, names), mean_of(noisy, names)
    generator = random.Random(1)
    ratios = []
    for _ in range(draws):
        chosen = generator.choices(names, k=len(names))
        ratios.append(100 * (mean_of(noisy, chosen) / mean_of(calm, chosen) - 1))
    ratios.sort()
    low, high = ratios[int(0.05 * draws)], ratios[int(0.95 * draws) - 1]
    return 100 * (after / before - 1), low, high, before, after


def levels_of(study, collective):
    levels = set()
    for side in study["calls"][collective].values():
        levels |= {noise for noise in side if not is_off(noise)}
    return sorted(levels, key=share)


def sides_of(table):
    order = list(SIDE_TITLES)
    return sorted(table, key=lambda side: (order.index(side) if side in order else len(order), side))


def later(study, collective, side, delayed):
    """Per rank: how many seconds later it finishes than without a delay, median against median."""
    runs = study["finish"][collective][side]

    def medians(repetitions):
        return [statistics.median(run[rank] for run in repetitions) for rank in range(len(repetitions[0]))]

    return [noisy - calm for noisy, calm in zip(medians(runs[delayed]), medians(runs["-1"]))]


def descendants(parents, rank):
    """The ranks below this one in the tree."""
    below = {rank}
    while True:
        more = {child for child, parent in enumerate(parents) if parent in below} - below
        if not more:
            return below - {rank}
        below |= more


def affected(collective, parents, rank):
    """Whose data passes through the rank: its descendants in a broadcast, its ancestors in a reduce."""
    if collective == "bcast":
        return descendants(parents, rank)
    above = set()
    while parents[rank] >= 0:
        rank = parents[rank]
        above.add(rank)
    return above


def tables(study):
    """The study as Markdown."""
    lines = [f"## {study['title']}", "", f"{study['kind'].capitalize()}. {study['machine']}. {study['mpi']}. {study['date']}.", ""]
    lines += [f"    {command}" for command in study["commands"]] + [""]
    for collective, sides in study["calls"].items():
        lines += [f"### {collective.capitalize()} of {study['bytes'] / 2**20:g} MiB, {study['ranks']} ranks", "",
                  "| side | noise | time without | time under noise | slow-down | 90% interval | added | noise as measured |",
                  "|---|---|---|---|---|---|---|---|"]
        for side in sides_of(sides):
            for noise in levels_of(study, collective):
                percent, low, high, before, after = slow_down(sides[side], noise)
                measured = study["noise"][collective][side][noise]
                lines.append(f"| {side_title(side)} | {noise} | {1e3 * before:.3g} ms | {1e3 * after:.3g} ms | {percent:+.1f}% "
                             f"| {low:+.1f} to {high:+.1f}% | {1e3 * (after - before):+.3g} ms | {100 * measured:.1f}% |")
        lines.append("")
    for collective, sides in study["finish"].items():
        parents = study["trees"][collective]["parents"]
        for delayed in (name for name in sides["ours"] if name != "-1"):
            below = affected(collective, parents, int(delayed))
            relation = "descendants" if collective == "bcast" else "ancestors"
            lines += [f"### {collective.capitalize()}: rank {delayed} enters {1e3 * study['delay_seconds']:.3g} ms late", "",
                      f"Mean over ranks of how much later they finish. Its {relation} in the library's tree: {len(below)} ranks.", "",
                      f"| side | rank {delayed} | {relation} | all others |", "|---|---|---|---|"]
            for side in sides_of(sides):
                delay = later(study, collective, side, delayed)
                groups = [[delay[int(delayed)]], [delay[rank] for rank in sorted(below)],
                          [delay[rank] for rank in range(len(delay)) if rank not in below and rank != int(delayed)]]
                cells = [f"{1e3 * sum(group) / len(group):+.3g} ms" if group else "none" for group in groups]
                lines.append(f"| {side_title(side)} | " + " | ".join(cells) + " |")
            lines.append("")
    return "\n".join(lines)
