#!/usr/bin/env python3
"""Makes the files in data/: TEST DATA with the shape of real results, nothing in it was measured. Times
follow a simple pipeline, with some chance from a fixed seed, so that the same files come out on every
machine.

  tests/report/make_data.py [DIRECTORY]      writes them (default: data/ beside this file)

test_data.py fails when data/ is not what this program makes.
"""
import json
import math
import random
import statistics
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
SIZES = [4, 64, 1024, 8192, 65536, 262144, 1048576, 4194304]
SEGMENTS = [8192, 32768, 131072]
LINK, COPY, BETWEEN, INSIDE = 119.5, 9000.0, 20.0, 1.0
# Shape or way to join the nodes: hops over n nodes, and how often a link carries a segment.
SHAPES = {"linear": (lambda n: 1, lambda n: n - 1), "chain": (lambda n: n - 1, lambda n: 1),
          "binary": (lambda n: math.ceil(math.log2(n)), lambda n: 2), "binomial": (lambda n: math.ceil(math.log2(n)), math.log2),
          "double_tree": (lambda n: math.ceil(math.log2(n)) + 1, lambda n: 1.1)}
JOINS = ["double_tree"] # of SHAPES, those that are no shape of a tree


def configurations():
    rows = []
    for collective in ("bcast", "allreduce"):
        for shape in SHAPES:
            for segment in SEGMENTS:
                rows.append({
                    "id": f"han-{shape}-shm-{segment // 1024}K", "collective": collective, "algorithm": "han", "segment_bytes": segment,
                    "shapes": f"node:{'binary' if shape in JOINS else shape} core:linear", "modules": "node:p2p core:shm",
                    "between_nodes": shape if shape in JOINS else "tree", "trees": 1, "leaders": 1,
                    "heuristic": shape != "binomial" and segment != 131072})
    return rows


def pipeline_us(row, size, nodes):
    """What such a configuration takes; the chance comes on top."""
    shape = row["shapes"].split()[0].split(":")[1] if row["between_nodes"] == "tree" else row["between_nodes"]
    hops, copies = (its(nodes) for its in SHAPES[shape])
    segment = min(size, row["segment_bytes"])
    segments = math.ceil(size / segment)
    one = copies * segment / LINK + 6 * copies + segment / COPY
    ways = 1.7 if row["collective"] == "allreduce" else 1
    return ways * (hops * (2.5 * BETWEEN + 0.5 * one) + segments * one)


def native_us(collective, size, nodes):
    rounds = math.ceil(math.log2(nodes))
    slow = 1 if size < 16384 else 4.5 if collective == "bcast" else 2.4
    return rounds * (BETWEEN + 25) * (2 if collective == "allreduce" else 1) + slow * size / LINK


def tune(nodes, exhaustive):
    """exhaustive: with all measurements and predictions; else only what was chosen, as a short run would
    leave it."""
    chance = random.Random(nodes)
    rows = configurations()
    document = {"program": "hanpmpi_tune", "version": "0.1.0", "date": "2026-01-01T00:00:00Z", "mpi": "TEST DATA, no MPI",
                "machine": "TEST DATA made by tests/report/make_data.py, not measured",
                "layout": {"nodes": nodes, "ranks_per_node": [4, 4], "ranks": 4 * nodes},
                "limits": {"link_bytes_per_us": LINK, "copy_bytes_per_us": COPY, "between_us": BETWEEN, "inside_us": INSIDE},
                "configurations": rows}
    measured, predicted, choices, host = [], [], [], []
    for collective in ("bcast", "allreduce"):
        for size in SIZES:
            case = {"collective": collective, "bytes": size}
            times, models = {}, {"lockstep": {}, "events": {}}
            for row in (row for row in rows if row["collective"] == collective):
                us = pipeline_us(row, size, nodes)
                times[row["id"]] = round(us * (0.94 + 0.14 * chance.random()), 1)
                models["lockstep"][row["id"]] = round(us * (1.02 + 0.35 * chance.random()), 1)
                models["events"][row["id"]] = round(us * (0.92 + 0.16 * chance.random()), 1)
            native = round(native_us(collective, size, nodes) * (0.95 + 0.1 * chance.random()), 1)
            host.append({**case, "us": native})
            measured += [{**case, "configuration": name, "us": us} for name, us in times.items()]
            measured.append({**case, "configuration": "native", "us": native})
            predicted += [{**case, "configuration": name, "model": model, "us": us}
                          for model, its in models.items() for name, us in its.items()]
            choices += chosen(case, rows, {**times, "native": native}, models["lockstep"], chance)
    document.update(tasks=tasks(rows), searches=searches(measured, rows), choices=choices, host=host)
    if exhaustive:
        document.update(measured=measured, predicted=predicted)
    return document


def chosen(case, rows, times, expected, chance):
    kept = {row["id"] for row in rows if row["collective"] == case["collective"] and row["heuristic"]}
    best = min(times, key=times.get)
    names = {"exhaustive": best, "heuristic": min(kept, key=lambda name: (times[name], name)), "task": min(expected, key=expected.get),
             "task+heuristic": min(kept, key=lambda name: (expected[name], name))}
    result = []
    for search, name in names.items():
        again = round(times[best] * (0.98 + 0.04 * chance.random()), 1)
        us = again if name == best else round(times[name] * (0.98 + 0.04 * chance.random()), 1)
        result.append({"search": search, **case, "configuration": name, "us": us, "best_us": again})
    return result


def tasks(rows):
    return [{"collective": "bcast", "configuration": row["id"], "segment_bytes": row["segment_bytes"], "task": task,
             "us": round(row["segment_bytes"] / rate + BETWEEN, 1)}
            for row in rows if row["collective"] == "bcast" for task, rate in (("ib", LINK), ("sb", COPY), ("sbib", 0.97 * LINK))]


def searches(measured, rows):
    """20 repetitions of everything; the tasks need one segment each."""
    kept = {row["id"] for row in rows if row["heuristic"]} | {"native"}
    whole = [row["us"] for row in measured]
    part = [row["us"] for row in measured if row["configuration"] in kept]
    a_task = statistics.median(whole)
    counts = {"exhaustive": len(whole), "heuristic": len(part), "task": 3 * len(rows),
              "task+heuristic": 3 * sum(row["heuristic"] for row in rows)}
    seconds = {"exhaustive": sum(whole), "heuristic": sum(part), "task": counts["task"] * a_task,
               "task+heuristic": counts["task+heuristic"] * a_task}
    return [{"name": name, "seconds": round(20 * seconds[name] / 1e6, 2), "measurements": counts[name]} for name in counts]


def rules():
    def rule(nodes, sizes, segment, shape, more=None):
        return {"collective": "bcast", "nodes": nodes, "bytes": sizes, "algorithm": "han", "segment_bytes": segment,
                "shapes": f"node:{shape} core:linear", "modules": "node:p2p core:shm", "between_nodes": "tree", **(more or {})}
    return {"about": "TEST DATA made by tests/report/make_data.py", "rules": [
        {"collective": "bcast", "nodes": [1, 1], "bytes": [1, 16384], "algorithm": "flags"},
        {"collective": "bcast", "nodes": [1, 1], "bytes": [16385, None], "algorithm": "han", "segment_bytes": 131072,
         "modules": "core:single_copy"},
        rule([2, 4], [4096, 32767], 32768, "linear", {"ranks_per_node": [2, 16]}),
        rule([2, 4], [32768, None], 32768, "chain"),
        rule([5, 16], [65536, 524287], 8192, "binary"),
        rule([5, 16], [524288, None], 16384, "binary", {"between_nodes": "double_tree"}),
        rule([17, None], [1, 8191], 8192, "knomial8"),
        rule([17, None], [8192, 524287], 4096, "binary"),
        rule([17, None], [524288, None], 32768, "binary", {"between_nodes": "double_tree"})]}


def compact(document):
    """JSON with a line for each row of a list."""
    members = []
    for name, value in document.items():
        text = json.dumps(value)
        if isinstance(value, list):
            text = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "]"
        members.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def files():
    """{name: text}"""
    return {"tune_4_nodes.json": compact(tune(4, True)), "tune_2_nodes.json": compact(tune(2, False)),
            "tune_8_nodes.json": compact(tune(8, False)), "rules.json": compact(rules())}


def main():
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (directory / name).write_text(text)


if __name__ == "__main__":
    main()
