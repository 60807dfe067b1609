"""The files of --teach, from made-up MPIs: read back by the rules of the host MPI's reader.   ctest -R tune.teach.unit"""
import json
import types
import unittest

from hanpmpi_teach.choose import Choice
from hanpmpi_teach.hosts import HOSTS, intel, mpich, openmpi
from hanpmpi_teach.model import COLLECTIVES, DEFAULT, About
from hanpmpi_teach.trouble import Trouble


def openmpi_cvars(priority=None, han=False):
    words = {"ignore": 0, "linear": 1, "chain": 2, "binomial": 6}
    cvars = {f"coll_tuned_{collective}_algorithm": {"words": words, "changes": True, "value": 0} for collective in COLLECTIVES}
    cvars.update({f"coll_tuned_{collective}_algorithm_segmentsize": {"changes": True, "value": 0} for collective in ("bcast", "reduce")})
    cvars["coll_tuned_bcast_algorithm_chain_fanout"] = {"changes": True, "value": 5}
    cvars["coll_tuned_priority"] = {"changes": False, "value": 30}
    if han:
        cvars["coll_han_priority"] = {"changes": False, "value": priority}
        cvars.update({f"coll_han_{collective}_dynamic_global_communicator_module": {"value": 6} for collective in ("bcast", "gather")})
    return cvars


def about(version, cvars, ranks=4, nodes=1):
    return About(version, ranks, nodes, ranks // nodes, [], cvars)


def know_openmpi(version="Open MPI v4.1.4", nodes=1, **words):
    return openmpi.prepare(about(version, openmpi_cvars(**words), 4, nodes), None)


def choice(size, candidate, collective="bcast"):
    return Choice(collective, size, candidate)


class Text:
    """Open MPI 4's and 5's reader: numbers, and # up to the end of the line."""

    def __init__(self, text):
        self.numbers = iter([int(word) for line in text.splitlines() for word in line.split("#")[0].split()])

    def next(self):
        return next(self.numbers)

    def rest(self):
        return list(self.numbers)

    def tuned(self):
        """{collective's number: {ranks: [(bytes, algorithm, fanout, segment)]}}"""
        found = {}
        for _ in range(self.next()):
            sizes = found.setdefault(self.next(), {})
            for _ in range(self.next()):
                ranks, count = self.next(), self.next()
                sizes[ranks] = [tuple(self.next() for _ in range(4)) for _ in range(count)]
        return found

    def han(self):
        """{collective's number: {level: {ranks: [(bytes, component)]}}}"""
        found = {}
        for _ in range(self.next()):
            levels = found.setdefault(self.next(), {})
            for _ in range(self.next()):
                sizes = levels.setdefault(self.next(), {})
                for _ in range(self.next()):
                    ranks, count = self.next(), self.next()
                    sizes[ranks] = [(self.next(), self.next()) for _ in range(count)]
        return found


class OpenMpi(unittest.TestCase):
    def candidates(self, knowledge, collective="bcast"):
        return {candidate.name: candidate for variant in openmpi.variants(knowledge, [collective], [8192]) for candidate in variant.candidates[collective]}

    def test_what_is_tried_is_what_the_mpi_lists(self):
        found = self.candidates(know_openmpi())
        self.assertEqual(list(found), [DEFAULT, "linear", "chain", "chain 8K", "binomial", "binomial 8K"])
        self.assertEqual(found["chain 8K"].settings, {"coll_tuned_bcast_algorithm": 2, "coll_tuned_bcast_algorithm_segmentsize": 8192})
        self.assertEqual(list(self.candidates(know_openmpi(), "alltoall")), [DEFAULT, "linear", "chain", "binomial"])

    def test_text(self):
        knowledge = know_openmpi()
        found = self.candidates(knowledge)
        text = openmpi.files(knowledge, {"bcast": [choice(8, None), choice(128, found["chain 8K"]), choice(2048, found["linear"])]})[""]
        reader = Text(text)
        taught = [(0, 0, 0, 0), (33, 2, 5, 8192), (513, 1, 5, 0), (8193, 0, 0, 0)]
        self.assertEqual(reader.tuned(), {7: {1: [(0, 0, 0, 0)], 4: taught, 5: [(0, 0, 0, 0)]}}) # without the first one 2 and 3 ranks are taught, too
        self.assertEqual(reader.rest(), [])

    def test_text_for_one_rank(self):
        knowledge = openmpi.prepare(about("Open MPI v4.1.4", openmpi_cvars(), 1), None)
        reader = Text(openmpi.files(knowledge, {"bcast": [choice(8, self.candidates(knowledge)["linear"])]})[""])
        self.assertEqual((list(reader.tuned()[7]), reader.rest()), ([1, 2], []))

    def test_blocks_count_for_all_ranks(self):
        knowledge = know_openmpi()
        linear = self.candidates(knowledge, "alltoall")["linear"]
        text = openmpi.files(knowledge, {"alltoall": [choice(8, linear, "alltoall"), choice(128, None, "alltoall")]})[""]
        self.assertEqual(Text(text).tuned()[3][4], [(0, 1, 0, 0), (33 * 4, 0, 0, 0)])

    def test_json_says_the_same(self):
        knowledge = know_openmpi()
        found = self.candidates(knowledge)
        document = json.loads(openmpi.files(knowledge, {"bcast": [choice(8, None), choice(128, found["chain 8K"])]})[".json"])
        self.assertEqual(document["collectives"]["bcast"], [{"comm_size_min": 4, "comm_size_max": 4, "rules": [
            {"msg_size_min": 33, "msg_size_max": 512, "alg": "chain", "faninout": 5, "seg_size": 8192}]}])

    def test_nothing_to_improve_is_a_valid_file(self):
        knowledge = know_openmpi()
        written = openmpi.files(knowledge, {})
        self.assertEqual(Text(written[""]).tuned(), {})
        self.assertEqual(json.loads(written[".json"])["collectives"], {})

    def test_version_6_reads_the_json(self):
        knowledge = know_openmpi("Open MPI v6.0.0")
        settings = openmpi.settings(knowledge, "/x/rules", openmpi.files(knowledge, {}))
        self.assertEqual(settings["OMPI_MCA_coll_tuned_dynamic_rules_filename"], "/x/rules.json")

    def test_han_in_a_job_of_its_own(self):
        knowledge = know_openmpi(nodes=2, han=True, priority=0)
        plain, with_han = openmpi.variants(knowledge, ["bcast", "alltoall"], [])
        self.assertEqual((plain.environment, list(with_han.candidates)), ({}, ["bcast"]))
        self.assertEqual(with_han.environment, {"OMPI_MCA_coll_han_priority": "100"})
        written = openmpi.files(knowledge, {"bcast": [choice(8, plain.candidates["bcast"][1]), choice(128, with_han.candidates["bcast"][0]),
                                                      choice(2048, None)]})
        gather = {1: [(0, 3)], 4: [(0, 3)], 5: [(0, 3)]}  # han, in front, must be told of all that it would run
        self.assertEqual(Text(written[".han"]).han(), {7: {2: {1: [(0, 3)], 4: [(0, 3), (33, 6), (513, 3)], 5: [(0, 3)]}}, 9: {2: gather}})
        self.assertEqual(Text(written[""]).tuned()[7][4], [(0, 1, 5, 0), (33, 0, 0, 0), (513, 0, 0, 0)])
        settings = openmpi.settings(knowledge, "/x/rules", written)
        self.assertEqual(settings["OMPI_MCA_coll_han_dynamic_rules_filename"], "/x/rules.han")
        self.assertEqual(settings["OMPI_MCA_coll_han_priority"], "100")

    def test_what_is_withdrawn_first_is_han(self):
        knowledge = know_openmpi(nodes=2, han=True, priority=0)
        plain, with_han = openmpi.variants(knowledge, ["bcast"], [])
        choices = {"bcast": [choice(8, plain.candidates["bcast"][1]), choice(128, with_han.candidates["bcast"][0])]}
        openmpi.withdraw(knowledge, choices)
        self.assertEqual([one.candidate and one.candidate.name for one in choices["bcast"]], ["linear", None])
        openmpi.withdraw(knowledge, choices)
        self.assertEqual([one.candidate for one in choices["bcast"]], [None, None])

    def test_version_5_where_han_is_the_default(self):
        knowledge = know_openmpi("Open MPI v5.0.11", nodes=2, han=True, priority=35)
        plain, without = openmpi.variants(knowledge, ["bcast", "alltoall"], [])
        self.assertEqual([candidate.name for candidate in plain.candidates["bcast"]], [DEFAULT])
        self.assertEqual(len(plain.candidates["alltoall"]), 4)
        chain = without.candidates["bcast"][2]
        written = openmpi.files(knowledge, {"bcast": [choice(8, None), choice(128, chain), choice(2048, without.candidates["bcast"][0])]})
        self.assertIn("33 tuned", written[".han"])
        self.assertIn("0 han", written[".han"])
        self.assertEqual(Text(written[""]).tuned()[7][4], [(0, 0, 0, 0), (33, 2, 5, 0), (513, 0, 0, 0), (8193, 0, 0, 0)])
        self.assertNotIn("OMPI_MCA_coll_han_priority", openmpi.settings(knowledge, "/x/rules", written))

    def test_han_is_no_matter_on_one_node(self):
        self.assertEqual(len(openmpi.variants(know_openmpi(han=True, priority=35), ["bcast"], [])), 1)

    def test_without_tuned(self):
        with self.assertRaises(Trouble):
            openmpi.prepare(about("Open MPI v4.1.4", {}), None)


GENERIC = {f"collective={collective}": {"comm_type=intra": {f"algorithm=MPIR_{collective.capitalize()}_intra_binomial": {}},
                                        "comm_type=inter": {"algorithm=MPIR_X_inter_linear": {}}} for collective in COLLECTIVES}
POSIX = {f"collective={collective}": {"comm_type=intra": {"is_multi_threaded=no": {f"algorithm=MPIDI_POSIX_mpi_{collective}_release_gather": {}}}}
         for collective in ("bcast", "allreduce")}
HELP = "Variable to select the algorithm\nauto - Internal algorithm selection\nbinomial       - Force binomial\nsmp - Force smp\n" \
       "reduce_scatter_gather - Force it\ntree - Force tree\nunknown - not in the tables\n"


def mpich_cvars():
    cvars = {f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM": {"help": HELP, "changes": True, "value": 0} for collective in COLLECTIVES}
    cvars.update({f"MPIR_CVAR_{collective}_POSIX_INTRA_ALGORITHM": {"help": "x\nmpir - fallback\nrelease_gather - shm\nauto - table", "changes": True,
                                                                  "value": 2} for collective in ("BCAST", "ALLREDUCE")})
    cvars.update({cvar: {"changes": "KVAL" in cvar, "value": 2 if "KVAL" in cvar else "kary" if "TYPE" in cvar else 0}
                  for cvar in mpich.PARAMETERS["bcast", "tree"].values()})
    return cvars


def know_mpich(ranks=4, nodes=1):
    words = ("binomial", "smp", "reduce_scatter_gather", "tree")
    accepted = {f"MPIR_{collective.capitalize()}_intra_{word}" for collective in COLLECTIVES for word in words} | {"MPIDI_POSIX_mpi_bcast_release_gather"}
    return mpich.Knowledge(about("MPICH Version: 5.0.2", mpich_cvars(), ranks, nodes), accepted, GENERIC, POSIX)


def decide(tree, **call):
    """MPICH's search (csel.c): in the order of the keys the first condition that holds, and never back. None: nothing is said."""
    for key, branch in tree.items():
        if key.startswith(("algorithm=", "composition=")):
            return key.split("=")[1], sorted(branch)
        if key.endswith("=any"):
            holds = True
        elif "<" in key:
            name, most = key.split("<")
            holds = call[name] <= int(most[1:]) if most.startswith("=") else call["below_pow2"] if most == "pow2" else call[name] < int(most)
        else:
            name, value = key.split("=")
            holds = call[name] == value
        if holds:
            return decide(branch, **call)
    return None


CALL = {"comm_type": "intra", "is_multi_threaded": "no", "is_commutative": "yes", "is_op_built_in": "yes", "is_sendbuf_inplace": "no", "below_pow2": False}


class Mpich(unittest.TestCase):
    def candidates(self, collective, knowledge=None):
        knowledge = knowledge or know_mpich()
        return {candidate.name: candidate for candidate in mpich.variants(knowledge, [collective], [])[0].candidates[collective]}

    def decided(self, table, collective, **call):
        return decide(json.loads(table)[f"collective={collective}"], **{**CALL, **call})

    def test_words_come_from_the_description(self):
        numbers = {"auto": 0, "binomial": 1, "smp": 2, "reduce_scatter_gather": 3, "tree": 4, "unknown": 5}
        self.assertEqual(mpich.values({"help": HELP}, {"auto", "gather"}), numbers)
        self.assertEqual(mpich.values({"words": {"ring": 7}}, set()), {"ring": 7})

    def test_words_of_a_description_without_lines(self):
        found = mpich.values({"help": HELP.replace("\n", "")}, {"auto", "binomial", "smp", "reduce_scatter_gather", "gather", "tree"})
        self.assertEqual(list(found)[:5], ["auto", "binomial", "smp", "reduce_scatter_gather", "tree"])
        self.assertEqual((found["tree"], len(found)), (4, 6))

    def test_what_is_tried(self):
        found = self.candidates("bcast")
        self.assertEqual(list(found), [DEFAULT, "mpir", "posix release_gather", "binomial", "reduce_scatter_gather", "tree k=2", "tree k=4"])
        self.assertEqual(found["tree k=4"].settings, {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": 4, "MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM": 0,
                                                      "MPIR_CVAR_BCAST_TREE_KVAL": 4})
        self.assertNotIn("MPIR_CVAR_GATHER_POSIX_INTRA_ALGORITHM", self.candidates("gather")["binomial"].settings)
        self.assertNotIn("tree k=2", self.candidates("reduce"))  # its parameters are not known

    def test_the_table_decides_as_taught_and_elsewhere_as_before(self):
        found = self.candidates("bcast")
        written = mpich.files(know_mpich(), {"bcast": [choice(8, None), choice(128, found["tree k=4"]), choice(2048, None)]})
        tree = lambda **call: self.decided(written[""], "bcast", **call)
        self.assertEqual(tree(comm_size=4, avg_msg_size=32)[0], "MPIR_Bcast_intra_binomial")
        name, parameters = tree(comm_size=4, avg_msg_size=33)
        self.assertEqual(name, "MPIR_Bcast_intra_tree")
        self.assertIn("k=4", parameters)
        self.assertIn("tree_type=kary", parameters)
        self.assertEqual(tree(comm_size=4, avg_msg_size=512)[0], "MPIR_Bcast_intra_tree")
        self.assertEqual(tree(comm_size=4, avg_msg_size=513)[0], "MPIR_Bcast_intra_binomial")
        for ranks in (2, 3, 5, 64):
            self.assertEqual(tree(comm_size=ranks, avg_msg_size=100)[0], "MPIR_Bcast_intra_binomial")
        self.assertEqual(tree(comm_type="inter")[0], "MPIR_X_inter_linear")
        self.assertEqual(json.loads(written[""])["collective=gather"], GENERIC["collective=gather"])

    def test_posix_gives_way_where_another_is_taught(self):
        found = self.candidates("bcast")
        written = mpich.files(know_mpich(), {"bcast": [choice(8, None), choice(128, found["binomial"]), choice(2048, found["posix release_gather"])]})
        posix = lambda size, ranks=4, threads="no": self.decided(written[".posix"], "bcast", comm_size=ranks, avg_msg_size=size, is_multi_threaded=threads)
        self.assertEqual(posix(8)[0], "MPIDI_POSIX_mpi_bcast_release_gather")
        self.assertIsNone(posix(128))
        self.assertEqual(posix(2048)[0], "MPIDI_POSIX_mpi_bcast_release_gather")
        self.assertEqual(posix(128, ranks=5)[0], "MPIDI_POSIX_mpi_bcast_release_gather")
        self.assertIsNone(posix(8, threads="yes"))

    def test_only_where_the_algorithm_may_be_called(self):
        found = self.candidates("allreduce")
        written = mpich.files(know_mpich(), {"allreduce": [choice(1024, found["reduce_scatter_gather"], "allreduce")]})
        tree = lambda **call: self.decided(written[""], "allreduce", comm_size=4, avg_msg_size=1024, **call)[0]
        self.assertEqual(tree(), "MPIR_Allreduce_intra_reduce_scatter_gather")
        for call in ({"is_commutative": "no"}, {"is_op_built_in": "no"}, {"below_pow2": True}):
            self.assertEqual(tree(**call), "MPIR_Allreduce_intra_binomial")

    def test_blocks_count_for_all_ranks_but_in_alltoall(self):
        for collective, size in (("allgather", "total_msg_size"), ("alltoall", "avg_msg_size")):
            found = self.candidates(collective)["reduce_scatter_gather"]
            written = mpich.files(know_mpich(), {collective: [choice(8, found, collective), choice(128, None, collective)]})
            least = 33 * 4 if collective == "allgather" else 33
            for bytes_, word in ((least - 1, "reduce_scatter_gather"), (least, "binomial")):
                self.assertTrue(self.decided(written[""], collective, comm_size=4, **{size: bytes_})[0].endswith(word), (collective, bytes_))

    def test_on_several_nodes_also_for_the_parts(self):
        knowledge = know_mpich(16, 8)
        found = self.candidates("bcast", knowledge)
        written = mpich.files(knowledge, {"bcast": [choice(8, found["tree k=2"])]})
        taught = {ranks for ranks in range(2, 20) if "tree" in self.decided(written[""], "bcast", comm_size=ranks, avg_msg_size=8)[0]}
        self.assertEqual(taught, {2, 8, 16})

    def test_tables_are_found_in_the_library(self):
        data = b"\0algorithm=MPIR_Bcast_intra_tree\0x{" + json.dumps(GENERIC).encode() + b"\0\1" + json.dumps(POSIX).encode() + b'\0{"collective=bcast":'
        accepted, generic, posix = mpich.read_tables(data)
        self.assertEqual((accepted, generic, posix), ({"MPIR_Bcast_intra_tree"}, GENERIC, POSIX))

    def test_without_a_table(self):
        with self.assertRaisesRegex(Trouble, "--mpi-library"):
            mpich.prepare(about("MPICH", {}), types.SimpleNamespace(mpi_library=None))

    def test_nothing_to_improve_is_the_mpis_own_table(self):
        self.assertEqual(json.loads(mpich.files(know_mpich(), {})[""]), GENERIC)

    def test_no_file_ends_with_a_page(self):
        """MPICH would read beyond it."""
        knowledge = know_mpich()
        for most in range(4096):
            knowledge.generic = {**GENERIC, "comment": "." * most}
            self.assertTrue(len(mpich.files(knowledge, {})[""]) % 4096)


class Intel(unittest.TestCase):
    def test_a_job_for_each_number(self):
        variants = intel.variants(intel.Knowledge(None), ["bcast", "gather"], [])
        self.assertEqual([candidate.name for candidate in variants[0].candidates["bcast"]], [DEFAULT])
        self.assertEqual(len(variants), 1 + len(intel.ALGORITHMS["bcast"]))
        self.assertEqual(variants[2].environment, {"I_MPI_ADJUST_BCAST": "2", "I_MPI_ADJUST_GATHER": "2"})
        self.assertEqual(list(variants[-1].candidates), ["bcast"])

    def test_conditions(self):
        knowledge = intel.Knowledge(about("Intel(R) MPI Library", {}))
        variants = intel.variants(knowledge, ["bcast"], [])
        one, three = variants[1].candidates["bcast"][0], variants[3].candidates["bcast"][0]
        written = intel.files(knowledge, {"bcast": [choice(8, one), choice(128, None), choice(2048, three)]})
        self.assertEqual(intel.settings(knowledge, "/x", written), {"I_MPI_ADJUST_BCAST": "1:0-32@4-4;3:513-8192@4-4"})

    def test_nothing_to_improve_sets_nothing(self):
        knowledge = intel.Knowledge(about("Intel(R) MPI Library", {}))
        self.assertEqual(intel.settings(knowledge, "/x", intel.files(knowledge, {})), {})


class Recognises(unittest.TestCase):
    def test_each_its_own(self):
        versions = {"openmpi": "Open MPI v4.1.4, package: Debian", "mpich": "MPICH Version:\t4.0.2", "intel": "Intel(R) MPI Library 2021.14 for Linux* OS"}
        for name, version in versions.items():
            self.assertEqual([word for word, host in HOSTS.items() if host.recognises(version)], [name])


if __name__ == "__main__":
    unittest.main()
