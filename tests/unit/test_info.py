#!/usr/bin/env python3
"""test_info: the options of hanpmpi_info, its JSON, and that its answers do not contradict each other."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

COLLECTIVES = ("bcast", "reduce", "allreduce", "barrier")


def run(*arguments, code=0, **settings):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HANPMPI_")}
    environment.update({"HANPMPI_CACHE": "off", **settings})
    done = subprocess.run([OPTIONS.info, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, (arguments, settings, done)
    return done.stdout if code == 0 else done.stderr


def objects(*arguments, **settings):
    document = json.loads(run("--json", *arguments, **settings))
    assert document["program"] == "hanpmpi_info" and document["version"] == OPTIONS.version, document
    return document


def help_and_version():
    for option in ("-h", "--help", "-?"):
        said = run(option)
        assert "--json" in said and "--version" in said and "  -h " in said, said
    for option in ("-V", "--version"):
        assert run(option).strip() == f"hanpmpi {OPTIONS.version}"
    assert "accepted" in run("--json", "--explain", "bcast", code=64)


def algorithms_name_their_variable():
    said = run("--algorithms")
    for name in COLLECTIVES:
        assert f"\n{name}: HANPMPI_{name.upper()} or info key hanpmpi_{name}\n" in "\n" + said, name
    listed = objects("--algorithms")
    assert list(listed["collectives"]) == list(COLLECTIVES)
    for name, its in listed["collectives"].items():
        assert its["variable"] == f"HANPMPI_{name.upper()}"
        for row in its["algorithms"]:
            assert f"  {row['name']} " in said and row["description"] in said, row
    for kind in ("shapes", "modules", "between_nodes"):
        assert listed[kind] and all(row["name"] in said and row["description"] in said for row in listed[kind]), kind
    assert listed["levels"] == ["node", "package", "numa", "l3", "core"]


def settings():
    rows = {row["variable"]: row for row in objects("--knobs", HANPMPI_SEGMENT_BYTES="32KiB")["knobs"]}
    assert rows["HANPMPI_SEGMENT_BYTES"]["value"] == "32768" and rows["HANPMPI_SEGMENT_BYTES"]["set_by"] == "environment"
    assert rows["HANPMPI_GUARD"]["value"] == "1" and rows["HANPMPI_GUARD"]["set_by"] == "default"
    assert objects()["knobs"] == objects("--knobs")["knobs"]
    assert all(row["scope"] in ("job", "rank") and row["text"] and row["accepted"] for row in rows.values())


def machine():
    assert objects("--machine-name")["machine"] == run("--machine-name").strip()
    assert objects("--probes")["mpis"] == []
    with tempfile.TemporaryDirectory() as folder:
        name = objects("--machine-name")["machine"]
        with open(os.path.join(folder, f"{name}-mpich.json"), "w", encoding="ascii") as file:
            json.dump({"format": 1, "library": OPTIONS.version, "machine": name, "mpi": "mpich", "probes": {"flag_us": 0.5}}, file)
        found = objects("--probes", HANPMPI_CACHE=folder)
        assert [its["mpi"] for its in found["mpis"]] == ["mpich"] and found["mpis"][0]["probes"]["flag_us"] == 0.5
        assert found["mpis"][0]["probes"]["copy_rate"] is None
    assert objects("--backends")["backends"], "no backend in the build tree"


def topology():
    found = objects("--topology", "--machine", "node:2 package:2 core:2", "--root", "3", "--bytes", "32KiB")
    assert (found["ranks"], found["nodes"], found["root"], found["bytes"]) == (8, 2, 3, 32768)
    assert [its["rank"] for its in found["tree"]] == list(range(8))
    assert [its["rank"] for its in found["tree"] if its["parent"] is None] == [3]
    assert [its["node"] for its in found["tree"]] == [0] * 4 + [1] * 4
    assert [its["level"] for its in found["levels"]] == ["node", "package", "core"]


def runs(explained):
    """The algorithm that --explain says runs."""
    words = re.search(r"^  runs +(.*)$", explained, re.MULTILINE)[1]
    return "native" if words.startswith("the host MPI") else words.split(",")[0].split(" ")[0]


def answers_agree():
    """--topology and --explain, on one node and on several, by the built-in rules, by knobs and by a file."""
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "rules.json")
        with open(rules, "w", encoding="ascii") as file:
            json.dump({"rules": [{"collective": "bcast", "nodes": [1, 1], "algorithm": "han"},
                                 {"collective": "reduce", "algorithm": "native"}]}, file)
        ways = ({}, {"HANPMPI_SHARED_MEMORY": "0"}, {"HANPMPI_READ_PEERS": "off"}, {"HANPMPI_GUARD": "0"},
                {"HANPMPI_ALLREDUCE": "han", "HANPMPI_BARRIER": "native"}, {"HANPMPI_RULES": rules})
        for way in ways:
            for collective in COLLECTIVES:
                for nodes, cores in ((1, 2), (1, 4), (2, 4), (16, 4)):
                    for size in ("8", "4K", "64KiB", "4M") if collective != "barrier" else ("0",):
                        seen = objects("--topology", "--machine", f"node:{nodes} core:{cores}", "--collective", collective,
                                       "--bytes", size, **way)
                        explained = run("--explain", f"{collective} nodes={nodes} ppn={cores} bytes={size}", **way)
                        assert seen["algorithm"] == runs(explained), (way, collective, nodes, cores, size, seen["algorithm"], explained)


def main():
    for case in (help_and_version, algorithms_name_their_variable, settings, machine, topology, answers_agree):
        case()
        print(f"{case.__name__}: ok", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--info", help="hanpmpi_info")
    parser.add_argument("--version", help="of the library")
    OPTIONS = parser.parse_args()
    sys.exit(main())
