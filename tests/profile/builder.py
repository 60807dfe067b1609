"""Makes recordings for the tests: TEST DATA with the shape of real ones, nothing in it was measured."""
KINDS = {"MPI_Send": "send", "MPI_Isend": "send", "MPI_Recv": "receive", "MPI_Irecv": "receive", "MPI_Wait": "wait", "MPI_Waitall": "wait",
         "MPI_Test": "test", "MPI_Iprobe": "test"}


class Builder:
    """A recording that grows. Sites are named by whatever the test calls them; each has its own offset in a file that
    does not exist."""

    def __init__(self, ranks=4, run_s=10.0, nodes=2):
        self.document = {
            "format": "hanpmpi-profile", "version": 1, "library": "0.1.0", "mpi": "TEST DATA, no MPI", "command": ["./app", "input"],
            "started": "2026-01-01T00:00:00Z", "ranks": ranks, "nodes": [f"host-{i}" for i in range(nodes)],
            "node_of_rank": [i * nodes // ranks for i in range(ranks)], "thread_level": "MPI_THREAD_SINGLE", "threads_seen": 1,
            "per_rank": [{"rank": i, "run_s": run_s, "mpi_s": 0.0, "calls": 0} for i in range(ranks)], "calls": [],
            "modules": [{"path": "/none/app", "build_id": ""}], "sites": [], "communicators": [{"name": "MPI_COMM_WORLD", "size": ranks, "made": 1}],
            "records": [], "peers": [], "waits": [], "arrival": [], "simultaneous": [], "unexpected": None, "lost": {}, "incomplete": None,
            "sequence": None}
        self.calls, self.sites = {}, {}

    @property
    def ranks(self):
        return self.document["ranks"]

    def call(self, name):
        if name not in self.calls:
            self.calls[name] = len(self.calls)
            self.document["calls"].append({"name": name, "kind": KINDS.get(name, "collective")})
        return self.calls[name]

    def site(self, name):
        """name: a letter or so; or a list of frames' offsets."""
        if name not in self.sites:
            self.sites[name] = len(self.sites)
            self.document["sites"].append({"frames": [[0, 0x1000 + sum(map(ord, name)) * 16]]})
        return self.sites[name]

    def record(self, call, site, time_s, count=None, bytes_each=8, size_bin=3, **more):
        """time_s: of all ranks together; count: of all ranks, too (default: one a rank)."""
        count = self.ranks if count is None else count
        row = {"call": self.call(call), "site": self.site(site), "comm": 0, "type": "MPI_DOUBLE", "op": "MPI_SUM", "memory": "host", "bin": size_bin,
               "ranks": self.ranks, "count": count, "bytes": count * bytes_each, "time_s": time_s, "min_s": time_s / count / 2, "max_s": time_s / count * 2,
               "rank_min_s": time_s / self.ranks, "rank_max_s": time_s / self.ranks, "histogram": [[20, count]], **more}
        self.document["records"].append({name: value for name, value in row.items() if value is not None})
        for rank in self.document["per_rank"]:
            rank["mpi_s"] += time_s / self.ranks
            rank["calls"] += count // self.ranks
        return self

    def arrival(self, call, site, waited_s, transfer_s, samples=10, late=(), skew_s=0.0, size_bin=3):
        self.document["arrival"].append({"call": self.call(call), "site": self.site(site), "comm": 0, "bin": size_bin, "samples": samples,
                                         "waited_s": waited_s, "transfer_s": transfer_s, "skew_s": skew_s, "late": [list(row) for row in late]})
        return self

    def wait(self, post, post_site, wait, wait_site, count, between_s, wait_s, bytes_=0):
        self.document["waits"].append({"post_call": self.call(post), "post_site": self.site(post_site), "wait_call": self.call(wait),
                                       "wait_site": self.site(wait_site), "count": count, "bytes": bytes_, "between_s": between_s, "wait_s": wait_s})
        return self

    def slack(self, call, site, how, samples, after_s, before_samples=0, before_s=0.0, size_bin=3):
        self.document.setdefault("slack", []).append({"call": self.call(call), "site": self.site(site), "bin": size_bin, "how": how,
                                                      "samples": samples, "after_s": after_s, "before_samples": before_samples,
                                                      "before_s": before_s})
        return self

    def sequence(self, kinds, ranks, communicators=None, skipped=0):
        """kinds: [(call, site, bytes, root)]; ranks: the events of each."""
        self.document["sequence"] = {
            "kinds": [{"call": self.call(call), "comm": 0, "root": root, "type_bytes": 8, "count": size // 8, "op": "MPI_SUM", "type": "MPI_DOUBLE",
                       "site": self.site(site)} for call, site, size, root in kinds],
            "communicators": communicators or [{"world_ranks": list(range(self.ranks))}],
            "ranks": [{"rank": rank, "skipped": skipped, "events": events} for rank, events in enumerate(ranks)]}
        return self

    def having(self, **members):
        self.document.update(members)
        return self


def rich():
    """A recording that has everything, so that all views have something to show."""
    its = Builder(ranks=16, run_s=10.0, nodes=4)
    its.document["communicators"] += [{"name": "rows", "size": 4, "made": 4}, {"name": "", "size": 2, "made": 120}]
    for i, call in enumerate(("MPI_Allreduce", "MPI_Bcast", "MPI_Alltoall", "MPI_Barrier", "MPI_Recv", "MPI_Isend", "MPI_Waitall", "MPI_Iprobe")):
        for j in range(1 if call == "MPI_Barrier" else 4):
            size_bin = -1 if call in ("MPI_Barrier", "MPI_Waitall", "MPI_Iprobe") else 3 + 5 * j
            collective = call in ("MPI_Allreduce", "MPI_Bcast", "MPI_Alltoall", "MPI_Barrier")
            its.record(call, f"site {i} {j % 2}", 4.0 / (i + 1) / (j + 1), count=16 * 10 ** (4 - j), bytes_each=max(0, 2**max(size_bin, 0) - 1),
                       size_bin=size_bin, comm=j % 3, op="MPI_SUM" if call == "MPI_Allreduce" else "", type=["MPI_DOUBLE", "MPI_BYTE"][j % 2],
                       memory=["host", "device"][j == 3], rank_max_s=6.0 / (i + 1) / (j + 1) / 16, histogram=[[10 + i, 16 * 9], [14 + i + j, 16]],
                       accelerated=16 * 5 if collective else None, after_s=0.5, before_s=0.1)
        if i < 3:
            its.slack(call, f"site {i} 0", ["touch", "untouched", "next call"][i], 40, 0.04 * (i + 1), 30, 0.02)
            its.arrival(call, f"site {i} 0", 3.0 / (i + 1), 1.0, samples=40, late=[[3, 20, 0.2], [2, 12, 0.05], [7, 8, 0.01]], skew_s=0.4)
    its.wait("MPI_Isend", "site 5 0", "MPI_Waitall", "site 6 0", 16000, 4.0, 2.0, 16000 * 4096)
    its.wait("MPI_Isend", "site 5 1", "MPI_Waitall", "site 6 0", 1600, 0.1, 3.0, 1600 * 65536)
    peers = [[rank, (rank + step) % 16, 1000 // step, 4096 * 1000 // step] for rank in range(16) for step in (1, 4)]
    peers += [[rank, 0, 5000, 5000 * 8] for rank in range(1, 16)]
    return its.having(peers=peers, simultaneous=[[0, 90000], [1, 9000], [2, 700]], unexpected={"samples": 400, "with_any": 100, "messages": 1000, "most": 21},
                      lost={"records": 3, "sites": 0}, thread_level="MPI_THREAD_MULTIPLE")
