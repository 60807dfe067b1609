"""Each rule of the advice speaks where it should, with its evidence, and is silent where it should be."""
import unittest

from builder import Builder, rich
from harness import ProfileCase

from hanpmpi_profile import advice


def quiet(ranks=16):
    """Nothing to complain of."""
    return Builder(ranks=ranks, run_s=10.0, nodes=4).record("MPI_Bcast", "q", 0.1, count=ranks, bytes_each=1 << 20, size_bin=20)


def uneven():
    its = quiet()
    its.document["per_rank"][5]["run_s"] = 14.0
    return its


def hot():
    return quiet().having(peers=[[rank, 0, 900, 8] for rank in range(1, 16)] + [[0, rank, 10, 8] for rank in range(1, 16)])


CASES = {
    "balance": (quiet().record("MPI_Allreduce", "a", 16.0).arrival("MPI_Allreduce", "a", 0.8, 0.2, late=[[4, 9, 0.9], [6, 1, 0.1]]),
                "Balance the load before MPI_Allreduce", "8.0% of the run is waiting there (80.0% of the call); came last: rank 4: 9 times, by 100 ms, rank 6: once, "
                "by 100 ms; all of them on node host-1"),
    "uneven": (uneven(), "Distribute the program's own work more evenly", "rank 5 is outside MPI for 14.0 s, the mean rank for 10.2 s"),
    "polling": (quiet().record("MPI_Iprobe", "p", 16.0, count=16000), "Ask less often", "10.0% of the run is in tests and probes: MPI_Iprobe 1,000 times"),
    "sends": (quiet().record("MPI_Send", "b", 16.0, count=160, bytes_each=65536, size_bin=16), "See whether MPI_Send at app+",
              "10.0% of the run: 10 calls a process of 64 KiB, 100 ms each; a long message is not sent before"),
    "receives": (quiet().record("MPI_Recv", "b", 16.0, count=160), "can be MPI_Irecv, posted before", "it waits until the message comes"),
    "barrier": (quiet().record("MPI_Barrier", "b", 16.0, count=160), "Is the MPI_Barrier at app+", "10.0% of the run, 10 calls a process"),
    "short": (quiet().record("MPI_Allreduce", "s", 16.0, count=160000), "Put several calls of MPI_Allreduce", "10,000 calls a process of 8 B take 10.0%"),
    "library off": (quiet().record("MPI_Alltoall", "l", 16.0, accelerated=0), "See what hanpmpi gives here", "10.0% of the run is in collectives that the library handles and the host MPI ran; most of it, 10.0%, in MPI_Alltoall at app+"),
    "passed through": (quiet().record("MPI_Alltoall", "l", 16.0, count=160, accelerated=16), "Find out why hanpmpi left", "9.0% of the run"),
    "convert": (quiet().record("MPI_Alltoall", "l", 16.0, after_s=32.0), "Make MPI_Alltoall non-blocking", "MPI_Ialltoall here"),
    "hot rank": (hot(), "Spread what goes to rank 0", "it gets 98.9% of the messages, 15.8 times the mean"),
    "unexpected": (hot().having(unexpected={"samples": 400, "with_any": 100, "messages": 1000, "most": 21}),
                   "Post receives earlier", "before 25.0% of the receives that were looked at, 2.50 on average, at most 21"),
    "communicators": (quiet().having(communicators=[{"name": "sub", "size": 4, "made": 500}]), "Keep the communicator sub", "500 of them"),
    "threads": (quiet().having(thread_level="MPI_THREAD_MULTIPLE"), "Ask for MPI_THREAD_FUNNELED", "one thread alone"),
    "waits": (quiet().wait("MPI_Irecv", "i", "MPI_Waitall", "w", 16, 0.01, 8.0), "Post MPI_Irecv", "no slack: the wait follows the post at once"),
}


class Advice(ProfileCase):
    def items(self, its):
        return self.json("advice", self.file(its))["advice"]

    def test_quiet(self):
        self.assertEqual(self.items(quiet()), [])
        self.assertIn("Nothing to advise", self.text("advice", self.folder / "run.json"))

    def test_each_rule(self):
        for name, (its, what, evidence) in CASES.items():
            with self.subTest(name):
                items = self.items(its)
                item = next((item for item in items if what in item["what"]), None)
                self.assertIsNotNone(item, items)
                self.assertIn(evidence, item["evidence"])

    def test_every_rule_has_a_case(self):
        """Without the rule its case would not be found."""
        for rule in advice.RULES:
            rules, advice.RULES = advice.RULES, [other for other in advice.RULES if other is not rule]
            try:
                lost = [name for name, (its, what, _) in CASES.items() if not any(what in item["what"] for item in self.items(its))]
            finally:
                advice.RULES = rules
            self.assertNotEqual(lost, [], rule.__name__)

    def test_most_first_and_numbered(self):
        items = self.items(rich())
        self.assertEqual([item["gain"] for item in items], sorted((item["gain"] for item in items), reverse=True))
        lines = self.text("advice", "--most", "2", self.folder / "run.json").splitlines()
        self.assertEqual([line[:2] for line in lines[1:5:2]], ["1.", "2."])
        self.assertIn(f"... and {len(items) - 2} more", lines[5])


if __name__ == "__main__":
    unittest.main()
