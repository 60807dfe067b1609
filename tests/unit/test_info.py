#!/usr/bin/env python3
"""test_info: the options of hanpmpi_info, its JSON, and that its answers do not contradict each other."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

COLLECTIVES = ("bcast", "reduce", "allreduce", "barrier", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter",
               "reduce_scatter_block", "gather", "gatherv", "scatter", "scatterv", "scan", "exscan")


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
    assert "accepted" in run("--json", "--forget", code=64)
    assert f"accepted are {', '.join(COLLECTIVES)}\n" in run("--topology", "--collective", "bcats", code=64)


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
    if OPTIONS.backends:
        assert objects("--backends")["backends"], "no backend in the build tree"


def topology():
    found = objects("--topology", "--machine", "node:2 package:2 core:2", "--root", "3", "--bytes", "32KiB")
    assert (found["ranks"], found["nodes"], found["root"], found["bytes"]) == (8, 2, 3, 32768)
    assert [its["rank"] for its in found["tree"]] == list(range(8))
    assert [its["rank"] for its in found["tree"] if its["parent"] is None] == [3]
    assert [its["node"] for its in found["tree"]] == [0] * 4 + [1] * 4
    assert [its["level"] for its in found["levels"]] == ["node", "package", "core"]
    # Of this machine the cores that may be used; here the last one, whatever its number.
    usable = os.sched_getaffinity(0)
    assert 1 <= objects("--topology")["ranks"] <= len(usable)
    os.sched_setaffinity(0, {max(usable)})
    assert objects("--topology")["ranks"] == 1
    os.sched_setaffinity(0, usable)


def segments_where_there_are_any():
    """An algorithm that cuts nothing into segments has none, as text and as JSON."""
    one_node = ("--topology", "--machine", "core:4", "--bytes", "8")
    for way, named, segment in (({"HANPMPI_BCAST": "han"}, "han, segments of 32 KiB", 32768), ({"HANPMPI_BCAST": "flags"}, "flags", None)):
        assert f": {named}\n\n" in run(*one_node, **way), way
        assert objects(*one_node, **way)["segment_bytes"] == segment, way
    assert ": han\n\n" in run(*one_node, "--collective", "barrier", HANPMPI_BARRIER="han")


def memory_of_a_node():
    """What a rank reserves, by the layout and the knobs, as JSON and as text."""
    layout = ("--topology", "--machine", "node:2 package:2 core:2")
    usual = objects(*layout)["node_memory"]
    assert (usual["ranks"], usual["levels"], usual["slots"], usual["slot_bytes"]) == (4, 2, 8, 131072), usual
    assert usual["slots_bytes_per_rank"] == 2 * 2 * 8 * 131072, usual
    few = objects(*layout, HANPMPI_SLOTS="4", HANPMPI_SLOT_BYTES="1000")["node_memory"]
    assert (few["slots"], few["slot_bytes"], few["slots_bytes_per_rank"]) == (4, 1024, 2 * 2 * 4 * 1024), few
    cells = usual["bytes_per_rank"] - usual["slots_bytes_per_rank"]
    assert 2 * 8 * 16384 < cells < 2 * 8 * 16384 + 8192, usual
    assert abs(few["bytes_per_rank"] - few["slots_bytes_per_rank"] - cells) < 4096, (few, usual)
    assert (usual["pool_rings"], usual["pool_bytes_per_rank"]) == (8, 4096 + 8 * 8 * 131072), usual
    two = objects(*layout, HANPMPI_POOL_RINGS="2", HANPMPI_SLOTS="3", HANPMPI_SLOT_BYTES="1000")["node_memory"]
    assert two["pool_bytes_per_rank"] == 4096 + 2 * 4096, two  # whole pages
    assert objects(*layout, HANPMPI_POOL_RINGS="0")["node_memory"]["pool_bytes_per_rank"] == 0
    said = run(*layout)
    for part in ("lends to its communicators: 8196 KiB (8 rings of 1 MiB); while there are any, the communicators' own get pages for small messages only", f"{usual['bytes_per_rank'] // 1024} KiB reserved by each of 4 ranks", "4 MiB for slots (levels: 2, each with 2 x 8 of 128 KiB)"):
        assert part in said, (part, said)
    for machine, way in (("node:2 package:2 core:2", {"HANPMPI_SHARED_MEMORY": "0"}), ("node:4 core:1", {})):
        assert objects("--topology", "--machine", machine, **way)["node_memory"] is None, machine
        assert "memory shared" not in run("--topology", "--machine", machine, **way), machine


def runs(explained):
    """The algorithm that --explain says runs."""
    words = re.search(r"^  runs +(.*)$", explained, re.MULTILINE)[1]
    return "native" if words.startswith("the host MPI") else words.split(",")[0].split(" ")[0]


def explained_as_json():
    """The same answer as the text's, for each MPI whose probes are there."""
    call = "allreduce nodes=4 ppn=3-4 bytes=1M"
    answers = objects("--explain", call)["answers"]
    assert len(answers) == 1 and answers[0]["mpi"] is None, answers
    answer, said = answers[0], run("--explain", call)
    assert (answer["collective"], answer["bytes"]) == ("allreduce", 1 << 20), answer
    assert answer["layout"] == {"nodes": 4, "ranks_per_node": [3, 4], "shares_memory": True}, answer
    assert [its["runs"] for its in answer["candidates"]] == [True] + [False] * (len(answer["candidates"]) - 1), answer
    assert runs(said) == answer["candidates"][0]["algorithm"]
    for its in answer["candidates"]:
        assert f" {its['what']} " in said and "expected_us" not in its, (its, said)
    with tempfile.TemporaryDirectory() as folder:
        name = objects("--machine-name")["machine"]
        for mpi in ("mpich", "open-mpi"):
            write(folder, f"{name}-{mpi}.json", json.dumps({"format": 1, "library": OPTIONS.version, "machine": name, "mpi": mpi,
                                                            "probes": {"flag_us": 0.5, "copy_rate": 5000, "reduce_rate": 5000, "cores": 4}}))
        call = "bcast ppn=4 bytes=8"
        answers = objects("--explain", call, HANPMPI_CACHE=folder)["answers"]
        assert [its["mpi"] for its in answers] == ["mpich", "open-mpi"], answers
        assert all("bound_us" in its and "expected_us" in its["candidates"][0] for its in answers), answers
    assert f"not understood; accepted: a collective ({', '.join(COLLECTIVES)})" in run("--json", "--explain", "bcats", code=1)


def answers_agree():
    """--topology and --explain, on one node and on several, by the built-in rules, by knobs and by a file."""
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "rules.json")
        with open(rules, "w", encoding="ascii") as file:
            json.dump({"rules": [{"collective": "bcast", "nodes": [1, 1], "algorithm": "han"},
                                 {"collective": "reduce", "algorithm": "native"}]}, file)
        ways = ({}, {"HANPMPI_SHARED_MEMORY": "0"}, {"HANPMPI_READ_PEERS": "off"}, {"HANPMPI_GUARD": "0"},
                {"HANPMPI_ALLREDUCE": "han", "HANPMPI_BARRIER": "native"}, {"HANPMPI_RULES": rules})
        questions = [(way, collective, layout, size) for way in ways for collective in COLLECTIVES[:5] for layout in ((1, 2), (1, 4), (2, 4), (16, 4))
                     for size in (("8", "4K", "64KiB", "4M") if collective != "barrier" else ("0",))]
        # A step that has no factor in common with the numbers of layouts and of sizes: each way has all of both.
        for way, collective, (nodes, cores), size in questions[::5 if OPTIONS.sample else 1]:
            seen = objects("--topology", "--machine", f"node:{nodes} core:{cores}", "--collective", collective, "--bytes", size, **way)
            explained = run("--explain", f"{collective} nodes={nodes} ppn={cores} bytes={size}", **way)
            assert seen["algorithm"] == runs(explained), (way, collective, nodes, cores, size, seen["algorithm"], explained)


def svg_of(text):
    """(arrows, texts) of a picture."""
    root = xml.etree.ElementTree.fromstring(text)
    name = "{http://www.w3.org/2000/svg}"
    return ([its for its in root.iter(name + "path") if "marker-end" in its.attrib],
            [its.text for its in root.iter(name + "text")])


def schedules_are_listed():
    listed = {row["name"]: row for row in objects("--schedules")["schedules"]}
    said = run("--schedules")
    for name, row in listed.items():
        assert row["built_in"] and row["patterns"], row
        assert f"\n{name}: {row['text']}\n" in said, name
        for parameter in row["parameters"]:
            assert f"  {parameter['name']}=N: {parameter['text']}" in said, parameter
    allgather = next(its for its in listed["recursive_doubling"]["patterns"] if its["pattern"] == "allgather")
    assert allgather["power_of_two"] and not allgather["keeps_order"] and "allgather (power of two)" in said
    gather = next(its for its in listed["linear"]["patterns"] if its["pattern"] == "gather")
    assert gather["direct"] and not allgather["direct"] and "gather (direct)" in said
    # Each of them can be asked for, verified and drawn: nothing but its row is needed.
    for name, row in listed.items():
        for its in row["patterns"]:
            with tempfile.NamedTemporaryFile(suffix=".svg") as picture, tempfile.NamedTemporaryFile("w", suffix=".net") as network:
                network.write("hosts a b c on s0; hosts d on s1; s0 - s1 10gbit")
                network.flush()
                text = f"{its['pattern']} {name} " + (f"network={network.name}" if its["network"] else "ranks=4")
                assert "\nverified: " in run("--schedule", text, "--verify", "--svg", picture.name), text
                svg_of(picture.read())


def schedule_as_text():
    said = run("--schedule", "allgather bruck ranks=12 radix=3", "--verify")
    assert said.startswith("allgather bruck ranks=12 radix=3\n"), said
    for line in (r"  rounds     5\b", r"  messages   60$", r"  sent       11 blocks by the busiest rank", r"rank 0$", r"rank 11$",
                 r"     5      5      3  0-2 +9  9-11 +store +0$"):
        assert re.search(line, said, re.MULTILINE), (line, said)
    assert "  scratch    0 " in said
    said = run("--schedule", "allgather ring nodes=5,4,3", "--verify")
    assert said.startswith("allgather ring ranks=12 nodes=5,4,3\n"), said
    for line in (r"  messages   42$", r"     5 +\d+      5  0-4 +9  9-11 +store +1$", r"verified: "):
        assert re.search(line, said, re.MULTILINE), (line, said)
    long = run("--schedule", "allgather ring ranks=64")
    assert re.search(r"^  and 40 more$", long, re.MULTILINE), long
    for text, reason in (("allgathr", "is no pattern; accepted are bcast"), ("bcast ring ranks=4", "is no algorithm for bcast"),
                         ("allgather ring", "ranks=N is missing"), ("allgather ring ranks=4 radix=2", "accepted are ranks=N"),
                         ("bcast chain ranks=4 nodes=2 leaders=all", "it takes one leader per node"),
                         ("missing/file.json", "missing/file.json: No such file or directory")):
        assert reason in run("--schedule", text, code=1), text


def schedule_as_file_and_picture():
    with tempfile.TemporaryDirectory() as folder:
        svg, mine, bad = (os.path.join(folder, name) for name in ("ring.svg", "mine.json", "bad.json"))
        said = run("--schedule", "allreduce ring ranks=5", "--svg", svg, "--json", mine)
        with open(svg, encoding="utf-8") as file:
            arrows, texts = svg_of(file.read())
        assert len(arrows) == 8 * 5 + 3 and "allreduce ring ranks=5" in texts, texts
        with open(mine, encoding="ascii") as file:
            text = file.read()
        assert json.loads(text)["positions"] == 5
        again = run("--schedule", mine, "--verify")
        assert again.split("\n", 2)[2].startswith(said.split("\n", 2)[2]) and again.startswith("allreduce mine ranks=5\n"), again
        for option in ("--json", "--json=-"):
            assert run("--schedule", mine, option) == text
        assert json.loads(run("--json", "--schedule", "allreduce ring ranks=5")) == json.loads(text)

        with open(bad, "w", encoding="ascii") as file:
            file.write(text.replace('"reduce_left"', '"store"', 1))
        reason = f"{bad}: position "
        assert reason in run("--schedule", bad, code=1)
        with open(os.path.join(folder, "ring.json"), "w", encoding="ascii") as file:
            file.write(text)
        done = subprocess.run([OPTIONS.info, "--json", "--schedules"], env={**os.environ, "HANPMPI_SCHEDULES": folder},
                              capture_output=True, text=True, check=True)
        rows = {row["name"]: row for row in json.loads(done.stdout)["schedules"]}
        assert rows["ring"]["built_in"] and not rows["mine"]["built_in"] and "bad" not in rows
        assert done.stderr.count("warning: ") == 2 and reason in done.stderr, done.stderr
        assert '"ring" is the name of a built-in algorithm' in done.stderr, done.stderr
        os.remove(bad)
        os.remove(os.path.join(folder, "ring.json"))
        assert run("--schedule", "allreduce mine", HANPMPI_SCHEDULES=folder).startswith("allreduce mine ranks=5\n")

        refused = run("--schedule", "allgather ring ranks=100", "--svg", svg, code=1)
        assert "100 ranks and 99 rounds are too many for a picture: at most 64 ranks" in refused
        assert os.path.getsize(svg) > 0, "the picture that was there is gone"
        assert "No such file" in run("--schedule", "allgather ring ranks=4", "--json", os.path.join(folder, "no/x.json"), code=1)
    for words in (("--json", "x.json"), ("--verify",), ("--cost", "network=x"), ("--schedule", "bcast chain ranks=2", "x")):
        run(*words, code=64)


def schedule_costs():
    with tempfile.TemporaryDirectory() as folder:
        network = os.path.join(folder, "two.net")
        with open(network, "w", encoding="ascii") as file:
            file.write("hosts a b on s0 1gbit 10us\n")
        ask = ("--schedule", "bcast binomial ranks=2", "--cost")
        said = run(*ask, f"network={network} bytes=125000 send_us=2 recv_us=3")
        # 125000 bytes at 1 Gbit/s, two links of 10 us, and the processors.
        time = re.search(r"^  time +([0-9.]+) us", said, re.MULTILINE)
        assert time and abs(float(time[1]) - 1025) < 1, said
        assert "busiest link: a to s0, 125000 bytes, 1000.00 us" in said or "busiest link: s0 to b, 125000 bytes, 1000.00 us" in said
        for text, reason in (("bytes=8", "network=FILE is missing"), (f"network={network} byte=8", '"byte=8" is not accepted'),
                             (f"network={network} bytes=x", "a whole number"), (f"network={network} send_us=-1", "a number from 0 on"),
                             (f"network={network} order=x", "order=block, order=round_robin and order=over_switches are"),
                             ("network=/nowhere.net", "/nowhere.net: No such file")):
            assert reason in run(*ask, text, code=1), text


def network():
    with tempfile.TemporaryDirectory() as folder:
        tree, svg, copy = (os.path.join(folder, name) for name in ("chain.net", "chain.svg", "copy.json"))
        with open(tree, "w", encoding="ascii") as file:
            file.write("links 1gbit\nhosts a[0-3] on s0\nhosts b[0-3]:2 on s1\nhosts c[0-2] d on s2\ns0 - s1; s1 - s2 500mbit/1gbit 5us\nqueue 64KB\n")
        said = run("--network", tree)
        assert "12 machines, 3 switches, room for 16 ranks, ports that hold 64 KB\n" in said, said
        assert re.search(r"─ a0 to a3, 4 hosts +1 Gbit/s\n", said) and "b0 to b3, 4 hosts of 2 ranks" in said, said

        # Of 16 ranks 4 are on s0 and 4 on s2; an allgather's ring takes each trunk once a step.
        said = run("--network", tree, "--collective", "allgather ring bytes=1000", "--svg", svg)
        assert "busiest link: s1 to s2, 15000 bytes, 240.00 us" in said, said
        with open(svg, encoding="utf-8") as file:
            paths, texts = svg_of(file.read())
        assert {"s0", "s1", "s2", "a0 to a3, 4 hosts"} <= set(texts), texts
        assert any("240 us, 100%" in text for text in texts), texts
        # Ranks in turns: no rank's neighbour is on its host, so that those of two ranks send twice.
        said = run("--network", tree, "--collective", "allgather ring bytes=1000", "--order", "round_robin")
        busiest = re.search(r"busiest link: (\w+) to (\w+), (\d+) bytes", said)
        assert busiest and busiest[3] == "30000" and "in turns" in said, said
        # Pairs of ranks on either side of s1 - s2: 12 and 4, each a block.
        said = run("--network", tree, "--collective", "alltoall pairwise ranks=16 bytes=1000", "--order", "block")
        assert f"busiest link: s1 to s2, {12 * 4 * 1000} bytes" in said, said

        with open(copy, "w", encoding="ascii") as file:
            file.write(run("--network", tree, "--json"))
        for order in ("block", "round_robin"):  # the copy's top is another switch, perhaps
            said = [run("--network", name, "--collective", "alltoall pairwise bytes=1000", "--order", order).splitlines()[1:] for name in (tree, copy)]
            hosts = [sorted(" ".join(line.strip("│├└─ ").split()) for line in lines if "hosts" in line) for lines in said]
            assert said[0][:2] == said[1][:2] and hosts[0] == hosts[1] and len(hosts[0]) == 3, said

        with open(svg, "w", encoding="ascii") as file:
            file.write("there before")
        for words, reason in ((("--collective", "alltoall pairwise bytes=x"), '"bytes=x" is not accepted'), (("--collective", "alltoall nothing"), "accepted are"),
                              (("--order", "diagonal"), "one of block round_robin over_switches")):
            assert reason in run("--network", tree, *words, "--svg", svg, code=1), words
        assert "expected two switches" in run("--network", write(folder, "loop.net", "s0 - s0\n"), code=1)
        many = write(folder, "many.net", "".join(f"hosts h{i} on s {i + 1}mbit\n" for i in range(2001)))
        assert "too many rows" in run("--network", many, code=1)
        assert run("--network", many, "--svg", "-", code=1).strip().endswith("accepted are 2000")
        with open(svg, encoding="ascii") as file:
            assert file.read() == "there before"
    run("--order", "block", code=64)


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def main():
    for case in (help_and_version, algorithms_name_their_variable, settings, machine, topology, segments_where_there_are_any, memory_of_a_node, explained_as_json, answers_agree, schedules_are_listed,
                 schedule_as_text, schedule_as_file_and_picture, schedule_costs, network):
        case()
        print(f"{case.__name__}: ok", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--info", help="hanpmpi_info")
    parser.add_argument("--version", help="of the library")
    parser.add_argument("--backends", action="store_true", help="they are built")
    parser.add_argument("--sample", action="store_true", help="a fifth of the questions whose answers are compared")
    OPTIONS = parser.parse_args()
    sys.exit(main())
