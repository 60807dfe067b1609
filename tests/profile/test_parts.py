"""Parts of a job that did not come to MPI_Finalize: put together they say what one recording would, and what is missing."""
import json
import os
import unittest

from builder import Builder
from harness import ProfileCase
from hanpmpi_profile import parts
from hanpmpi_profile.recording import WRITTEN

TERM, ABORT = "was ended by SIGTERM", "has called MPI_Abort with code 3"
RANKS = 4


def part(rank, why=TERM, ranks=RANKS, job="5f-1-2", order=("a", "b"), run_s=10.0):
    """What a rank leaves: rank + 1 seconds in a Bcast at a, 2 in each of two Barriers at b; its sites in an order of its own."""
    its = Builder(ranks=ranks, run_s=run_s)
    its.document["per_rank"] = [{"rank": rank, "run_s": run_s, "mpi_s": 0.0, "calls": 0}]
    its.having(nodes=[f"host-{rank // 2}"], node_of_rank=[0], job=job, lost={"records": rank, "sites": 0}, simultaneous=[[0, 10], [rank, 1]],
               incomplete=f"rank {rank} {why}: this is its part alone", peers=[[rank, 0, 5, 40]])
    its.document["communicators"] = [{"name": "", "size": 0, "made": 0}, {"name": f"row {rank // 2}", "size": 2, "made": 3},
                                     {"name": "MPI_COMM_WORLD", "size": ranks, "made": 1}][::1 if rank % 2 else -1]
    world = its.document["communicators"].index({"name": "MPI_COMM_WORLD", "size": ranks, "made": 1})
    one = {"ranks": 1, "comm": world}
    for site in order:
        if site == "a":
            its.record("MPI_Bcast", "a", rank + 1.0, count=1, rank_min_s=rank + 1.0, rank_max_s=rank + 1.0, min_s=rank + 1.0, max_s=rank + 1.0,
                       histogram=[[30 + rank % 2, 1]], accelerated=rank % 2, **one)
        else:
            its.record("MPI_Barrier", "b", 4.0, count=2, size_bin=-1, bytes_each=0, rank_min_s=4.0, rank_max_s=4.0, min_s=1.0 + rank / 8, max_s=3.0,
                       histogram=[[31, 2]], **one)
    its.wait("MPI_Isend", order[0], "MPI_Wait", order[1], 10, 1.0, 2.0, 80)
    its.slack("MPI_Bcast", "a", "touch" if rank % 2 else "untouched", 2, 0.5, 1, 0.25)
    return its


def written(its):
    """As the library writes it: a line a key."""
    document = its.document
    head = {key: value for key, value in document.items() if key not in WRITTEN}
    return json.dumps(head)[:-1] + "".join(f",\n\"{key}\":{json.dumps(document[key])}" for key in WRITTEN if key in document) + "}\n"


def cut_in(its, key):
    """The file ends in the first row of a key."""
    text = written(its)
    return text[:text.index(f"\n\"{key}\":") + len(key) + 8]


class Parts(ProfileCase):
    def leave(self, ranks, name="run.json", **more):
        return [self.file(written(part(rank, order="ab" if rank % 3 else "ba", **more)), f"{name}.rank-{rank}") for rank in ranks]

    def test_sums(self):
        """By hand: 1 + 2 + 3 + 4 seconds in Bcast, 4 x 4 in Barrier, whatever the numbers of sites and calls in a part."""
        self.leave(range(RANKS))
        its = parts.open_all([self.folder / "run.json"])
        self.assertEqual(len(its.records), 2)
        bcast, barrier = (next(row for row in its.records if its.call_name(row["call"]) == call) for call in ("MPI_Bcast", "MPI_Barrier"))
        wanted = {"time_s": 10.0, "count": 4, "ranks": 4, "bytes": 32, "min_s": 1.0, "max_s": 4.0, "rank_min_s": 1.0, "rank_max_s": 4.0, "accelerated": 2,
                  "histogram": [[30, 2], [31, 2]]}
        self.assertEqual({name: bcast[name] for name in wanted}, wanted)
        wanted = {"time_s": 16.0, "count": 8, "ranks": 4, "min_s": 1.0, "max_s": 3.0, "rank_min_s": 4.0, "histogram": [[31, 8]]}
        self.assertEqual({name: barrier[name] for name in wanted}, wanted)
        self.assertNotEqual(its.places[bcast["site"]].key, its.places[barrier["site"]].key)
        self.assertEqual({its.comm_text(row["comm"]) for row in its.records}, {"MPI_COMM_WORLD (4)"})
        self.assertEqual({(row["name"], row["made"]) for row in its.communicators}, {("", 0), ("MPI_COMM_WORLD", 1), ("row 0", 3), ("row 1", 3)})
        self.assertEqual(sorted(its.peers), [[rank, 0, 5, 40] for rank in range(RANKS)])
        self.assertEqual(its.simultaneous, [[0, 41], [1, 1], [2, 1], [3, 1]])
        self.assertEqual((its.document["lost"], its.run_s, its.node_of_rank), ({"records": 6, "sites": 0}, 40.0, [0, 0, 1, 1]))
        self.assertEqual([(row["count"], row["between_s"], row["wait_s"]) for row in its.waits], [(20, 2.0, 4.0)] * 2) # two orders: two pairs of sites
        self.assertEqual({row["how"]: (row["samples"], row["after_s"], row["before_samples"], row["before_s"]) for row in its.slack},
                         {"touch": (4, 1.0, 2, 0.5), "untouched": (4, 1.0, 2, 0.5)})
        self.assertEqual([row["rank"] for row in its.per_rank], list(range(RANKS)))

    def test_every_way_to_name_them(self):
        """By the recording's name, by the folder, one by one in any order: the same."""
        files = self.leave(range(RANKS))
        shown = self.text("show", "--all", self.folder / "run.json")
        for arguments in ([self.folder], files, files[::-1], files[1:] + files[:1]):
            self.assertEqual(self.text("show", "--all", *arguments), shown)
        for line in ("CAUTION: incomplete: the job has not come to MPI_Finalize: these are the parts of 4 of its 4 ranks, without arrivals and sequence",
                     "CAUTION: incomplete: ranks 0, 1, 2, 3 were ended by SIGTERM"):
            self.assertIn(line, shown.splitlines())
        self.assertNotIn("left no part", shown)

    def test_every_command(self):
        self.leave(range(RANKS))
        path = self.folder / "run.json"
        self.assertIn("waiting and transfer not told apart", self.text("overlap", path))
        self.assertIn("CAUTION: incomplete: the job", self.text("advice", path))
        self.assertEqual(len(self.json("show", path)["cautions"]), 3) # and what was lost
        code, _, err = self.run_profile("html", path, "-o", self.folder / "page.html")
        self.assertTrue(code == 0 and (self.folder / "page.html").exists() or "needs matplotlib" in err, err)
        for arguments in (["scaling", path], ["diff", path, path]): # sums over all ranks are compared here
            code, out, err = self.run_profile(*arguments)
            self.assertEqual((code, out), (1, ""))
            self.assertIn("4 of its ranks left what they recorded, each in a file of its own, which show, html, overlap and advice put together", err)

    def test_killed_rank(self):
        """It leaves nothing; the others' sums are shares of their own time, and calls a process are those of these."""
        self.leave((0, 2))
        self.file(written(part(3, ABORT)), "run.json.rank-3")
        found = self.json("show", self.folder / "run.json")
        self.assertEqual(found["cautions"][:4], [
            "incomplete: the job has not come to MPI_Finalize: these are the parts of 3 of its 4 ranks, without arrivals and sequence",
            "incomplete: rank 1 left no part: killed, or still running", "incomplete: ranks 0, 2 were ended by SIGTERM",
            "incomplete: rank 3 has called MPI_Abort with code 3"])
        rows = {row["call"]: row for row in found["calls"]}
        self.assertAlmostEqual(rows["MPI_Bcast"]["share"], (1 + 3 + 4) / 30)
        self.assertAlmostEqual(rows["MPI_Barrier"]["calls_a_process"], 2)

    def test_cut_part(self):
        """Of a part that is cut in its records the whole rows count; of one with less nothing does, and that is said."""
        self.leave((0, 1))
        self.file(cut_in(part(2), "peers"), "run.json.rank-2")
        self.file(cut_in(part(3), "sites"), "run.json.part-3")
        found = self.json("show", self.folder / "run.json")
        self.assertIn("parts of 3 of its 4 ranks", found["cautions"][0])
        (three,) = (text for text in found["cautions"] if "run.json.part-3" in text)
        self.assertIn("incomplete: nothing can be read of ", three)
        self.assertIn("ends in the middle", three)
        (two,) = (text for text in found["cautions"] if "rank 2: " in text)
        self.assertIn("rank 2: the file ends in the middle; \"peers\" is not complete, and missing is all of waits, arrival, sequence", two)
        self.assertFalse([text for text in found["cautions"] if "left no part" in text])
        self.assertAlmostEqual({row["call"]: row for row in found["calls"]}["MPI_Bcast"]["share"], (1 + 2 + 3) / 30)

    def test_no_part_that_can_be_read(self):
        for rank in (0, 1):
            self.file(cut_in(part(rank), "sites"), f"run.json.rank-{rank}")
        self.file("", "run.json.rank-2")
        code, out, err = self.run_profile("show", self.folder / "run.json")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("run.json.rank-0: ends in the middle", err)

    def test_two_jobs(self):
        """Of one name, since the second did not take away what the first had left; or named together."""
        self.leave((0, 2))
        self.file(written(part(1, job="60-1-2").having(started="2026-01-02T00:00:00Z")), "run.json.rank-1")
        code, out, err = self.run_profile("show", self.folder / "run.json")
        self.assertEqual((code, out), (1, ""))
        for wanted in ("parts of 2 jobs: ", "run.json.rank-0, ", "run.json.rank-2 of 4 ranks, 2026-01-01", "run.json.rank-1 of 4 ranks, 2026-01-02",
                       "name those of one"):
            self.assertIn(wanted, err)
        self.assertIn("parts of 2 of its 4 ranks", self.text("show", self.folder / "run.json.rank-0", self.folder / "run.json.rank-2"))
        self.file(written(part(1, ranks=8)), "run.json.rank-1")
        self.assertIn("of 8 ranks", self.run_profile("show", self.folder / "run.json")[2])

    def test_two_recordings_in_a_folder(self):
        self.leave((0, 1))
        self.leave((0, 1), name="other.json", job="60-1-2")
        code, out, err = self.run_profile("show", self.folder)
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f"{self.folder}: parts of 2 recordings are in this folder: name one of {self.folder}/other.json, {self.folder}/run.json", err)

    def test_what_is_no_part(self):
        (one, _), whole = self.leave((0, 1)), self.file(Builder(), "whole.json")
        again = self.file(written(part(0)), "again.json")
        for arguments, wanted in (([one, whole], f"{whole}: a recording of 4 ranks on 2 nodes, not the part of one rank"),
                                  ([one, again], f"{again}: a second part of rank 0, which {one} has, too"),
                                  ([one, self.file("no JSON", "text")], "is no JSON"),
                                  ([one, self.folder / "none"], "none: No such file")):
            code, out, err = self.run_profile("show", *arguments)
            self.assertEqual((code, out), (1, ""))
            self.assertIn(wanted, err)

    def test_one_part(self):
        """By itself it is a recording of one rank; by the job's name it says that the others are missing."""
        (path,) = self.leave((1,))
        self.assertIn("CAUTION: incomplete: rank 1 was ended by SIGTERM: this is its part alone", self.text("show", path))
        self.assertIn("CAUTION: incomplete: ranks 0, 2, 3 left no part", self.text("show", self.folder / "run.json"))

    def test_a_whole_recording_beside_parts(self):
        """Parts of an earlier run of that name are none of its business; those of a later one are what the reader may look for."""
        parts_of = self.leave((0, 1))
        path = self.file(Builder().record("MPI_Bcast", "a", 1.0))
        for file in parts_of:
            os.utime(file, (1e9, 1e9))
        self.assertNotIn("CAUTION", self.text("show", path))
        for file in parts_of:
            os.utime(file)
        os.utime(path, (1e9, 1e9))
        self.assertEqual(self.json("show", path)["cautions"], ["a later job of this name has not come to MPI_Finalize: name its parts to see it, "
                                                              f"{parts_of[0]} and others"])
        self.assertIn("parts of 2 of its 4 ranks", self.text("show", *parts_of))

    def test_a_whole_recording_beside_a_job_that_has_begun(self):
        path, begun = self.file(Builder().record("MPI_Bcast", "a", 1.0)), self.file("", "run.json.part")
        os.utime(begun, (1e9, 1e9))
        self.assertNotIn("CAUTION", self.text("show", path))
        os.utime(begun)
        os.utime(path, (1e9, 1e9))
        self.assertEqual(self.json("show", path)["cautions"], ["a later job of this name has not come to MPI_Finalize: it still runs, or was killed, and "
                                                              f"has left {begun} alone"])

    def test_many_ranks_missing(self):
        self.file(written(part(7, ranks=100)), "run.json.rank-7")
        text = self.text("show", self.folder / "run.json")
        self.assertIn("ranks 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16 and 83 more left no part", text)


if __name__ == "__main__":
    unittest.main()
