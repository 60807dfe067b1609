"""Open MPI: the algorithms of coll/tuned, and on several nodes coll/han in front of it.

What there is, the MPI says itself: coll_tuned_<collective>_algorithm lists its values, and can be changed in a running job; a
communicator keeps what it was when it was made. Rules in a file go by the size of the communicator and bytes:

  the file           coll_tuned_dynamic_rules_filename; text, read by 4.x and 5.0 (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c)
  the file .json     the same for 6.0, which reads text otherwise (a communicator's size is the end of a range there)
  the file .han      coll_han_dynamic_rules_filename, where a component other than the default's pays: which one runs a collective on
                     a communicator of several nodes (ompi/mca/coll/han/coll_han_dynamic_file.c)

The MPI evaluates the size in a rule by the arguments of the calling rank. Of a gather the root's, which may be MPI_IN_PLACE, and of
a scatter all others' are not significant, so ranks could come to different algorithms: one choice for all sizes."""
import dataclasses
import json
import re

from ..choose import ranges
from ..model import COLLECTIVES, DEFAULT, OF_BLOCKS, Candidate, Variant, bytes_text, keep_default, keep_default_everywhere
from ..trouble import Trouble

NAME = "Open MPI"
PROGRAMS = ("openmpi",)
CVARS = ("coll_tuned_", "coll_han_")

# ompi/mca/coll/base/coll_base_functions.h, enum COLLTYPE; the same in 4.0, 4.1 and 5.0.
IDS = {"allgather": 0, "allgatherv": 1, "allreduce": 2, "alltoall": 3, "barrier": 6, "bcast": 7, "gather": 9, "reduce": 11, "reduce_scatter_block": 13, "scatter": 15}
# Algorithms that cut a message into segments; the others ignore the size of one.
SEGMENTED = {"bcast": re.compile("chain|pipeline|binary|binomial|knomial"), "reduce": re.compile("chain|pipeline|binary|binomial"),
             "allreduce": re.compile("segmented"), "gather": re.compile("sync")}
# Which fan-out a forced algorithm gets; a rule has one number for it (coll_tuned_decision_dynamic.c).
FANOUT = {"bcast": "chain", "reduce": "chain", "reduce_scatter_block": "chain", "scatter": "chain"}
# coll_han_dynamic.h: enum COMPONENTS, names since 5.0; the level of the whole communicator
COMPONENTS = {"tuned": 3, "han": 6}
GLOBAL_COMMUNICATOR = 2
HAN_PRIORITY = 100  # above tuned's 30, and what others have
DEFAULT_RANGES = [(0, None, None)]  # as _tuned_ranges
UNIFORM = {"gather": "the root's count is not significant where it is in place", "scatter": "only the root's count is significant"}


@dataclasses.dataclass
class Knowledge:
    about: object
    han: set  # collectives that coll/han can run or pass on
    default_component: str


def recognises(version):
    return version.startswith("Open MPI")


def _major(about):
    found = re.search(r"v(\d+)\.", about.version)
    return int(found.group(1)) if found else 0


def prepare(about, _arguments):
    algorithms = [name for name in about.cvars if re.fullmatch(r"coll_tuned_\w+_algorithm", name)]
    if not algorithms:
        raise Trouble("this Open MPI has no coll/tuned, whose algorithms are what can be taught")
    found = (re.fullmatch(r"coll_han_(\w+)_dynamic_global_communicator_module", name) for name in about.cvars)
    han = {match.group(1) for match in found if match} if about.nodes > 1 else set()
    priority = {component: about.cvars.get(f"coll_{component}_priority", {}).get("value", 0) for component in COMPONENTS}
    return Knowledge(about, han, "han" if han and priority["han"] > priority["tuned"] else "tuned")


def job_environment():
    return {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}


def _fanout(about, collective):
    kind = FANOUT.get(collective, "tree")
    return about.cvars.get(f"coll_tuned_{collective}_algorithm_{kind}_fanout", {}).get("value", 0)


def _tuned(about, collective, segments):
    """Of coll/tuned: its algorithms, those with segments in each of several sizes."""
    cvar = f"coll_tuned_{collective}_algorithm"
    words = about.cvars.get(cvar, {}).get("words") or {}
    segment_cvar = f"{cvar}_segmentsize"
    for word, number in sorted(words.items(), key=lambda item: item[1]):
        if number == 0 or not about.cvars[cvar]["changes"]:
            continue
        pattern = SEGMENTED.get(collective)
        cuts = pattern and pattern.search(word) and about.cvars.get(segment_cvar, {}).get("changes")
        for segment in [0, *segments] if cuts else [0]:
            settings = {cvar: number, **({segment_cvar: segment} if cuts else {})}
            yield Candidate(f"{word} {bytes_text(segment)}" if segment else word, settings,
                            {"number": number, "word": word, "fanout": _fanout(about, collective), "segment": segment, "component": "tuned"})


def variants(knowledge, collectives, segments):
    tuned = {collective: list(_tuned(knowledge.about, collective, segments)) for collective in collectives}
    default = {collective: [Candidate(DEFAULT)] for collective in collectives}
    if knowledge.default_component == "han": # tuned's are heard only where han is out of the way
        own = {collective: [Candidate("tuned", {}, {"number": 0, "component": "tuned"})] for collective in collectives if collective in knowledge.han}
        behind = {collective: own.get(collective, []) + tuned[collective] for collective in own}
        plain = {collective: default[collective] + (tuned[collective] if collective not in own else []) for collective in collectives}
        return [Variant("", {}, plain), Variant("without han", {"OMPI_MCA_coll_han_priority": "0"}, behind)]
    plain = Variant("", {}, {collective: default[collective] + tuned[collective] for collective in collectives})
    if not knowledge.han:
        return [plain]
    han = {collective: [Candidate("han", {}, {"component": "han"})] for collective in collectives if collective in knowledge.han}
    return [plain, Variant("with han", {"OMPI_MCA_coll_han_priority": str(HAN_PRIORITY)}, han)]


def uniform(_knowledge):
    return UNIFORM


def left_out(knowledge):
    return {collective: "coll/tuned has no choice of algorithms" for collective in COLLECTIVES
            if not knowledge.about.cvars.get(f"coll_tuned_{collective}_algorithm", {}).get("words")}


def withdraw(knowledge, choices):
    """A job with the files failed: han's rules go first. What that was, for people."""
    han = [choice for of in choices.values() for choice in of if choice.candidate and choice.candidate.rule["component"] != knowledge.default_component]
    if han:
        keep_default(han)
        return "what coll/han would be put in front or aside for"
    return keep_default_everywhere(choices)


# ---- files ----


def _message_bytes(collective, size, ranks):
    """A rule counts the blocks of all ranks together."""
    return size * ranks if collective in OF_BLOCKS else size


def _tuned_ranges(collective, choices, ranks):
    """(least, most, rule or None), in bytes as coll/tuned counts them."""
    for found in ranges(choices):
        rule = found.candidate.rule if found.candidate and found.candidate.rule.get("number") else None
        yield (_message_bytes(collective, found.least, ranks), None if found.most is None else _message_bytes(collective, found.most + 1, ranks) - 1,
               rule)


def _text(knowledge, taught):
    """A rule holds from its size up to the next one's, and on larger communicators up to the next size of one; the first size's also
    on smaller ones (ompi_coll_tuned_get_com_rule_ptr): hence the zeros."""
    ranks = knowledge.about.ranks
    lines = [f"# Open MPI, coll/tuned, for communicators of {ranks} ranks: written by hanpmpi_tune --teach openmpi",
             f"{len(taught)} # collectives"]
    for collective, choices in taught.items():
        sizes = {1: DEFAULT_RANGES, ranks: list(_tuned_ranges(collective, choices, ranks)), ranks + 1: DEFAULT_RANGES}
        lines += [f"{IDS[collective]} # {collective}", f"{len(sizes)} # sizes of a communicator"]
        for size, found in sizes.items():
            lines.append(f"{size} {len(found)} # from so many ranks: ranges of bytes")
            lines += [f"{least} {rule['number']} {rule['fanout']} {rule['segment']} # from so many bytes: {rule['word']}" if rule
                      else f"{least} 0 0 0 # from so many bytes: the default" for least, _, rule in found]
    return "\n".join(lines) + "\n"


def _json(knowledge, taught):
    ranks, collectives = knowledge.about.ranks, {}
    for collective, choices in taught.items():
        rules = [{"msg_size_min": least, "msg_size_max": "inf" if most is None else most, "alg": rule["word"], "faninout": rule["fanout"],
                  "seg_size": rule["segment"]} for least, most, rule in _tuned_ranges(collective, choices, ranks) if rule]
        collectives[collective] = [{"comm_size_min": ranks, "comm_size_max": ranks, "rules": rules}]
    return json.dumps({"rule_file_version": 3, "module": "tuned", "collectives": collectives}, indent=1) + "\n"


def _han(knowledge, taught):
    """Names of components since 5.0, numbers before. A list of sizes begins with a communicator of one rank. Where han is put in front,
    all that it would run needs a rule: its variables that say the same make 4.1.4 crash when it makes its communicators. Unlike coll/tuned
    it counts one block."""
    component = str if _major(knowledge.about) >= 5 else COMPONENTS.get
    ranks, default = knowledge.about.ranks, knowledge.default_component
    others = {} if default == "han" else {collective: [] for collective in sorted(knowledge.han) if collective in IDS and collective not in taught}
    lines = [f"{len(taught) + len(others)} # collectives"]
    for collective, choices in {**taught, **others}.items():
        found = []  # of equal ones the first
        for one in ranges(choices):
            name = one.candidate.rule["component"] if one.candidate else default
            if not found or found[-1][1] != name:
                found.append((one.least, name))
        lines += [f"{IDS[collective]} # {collective}", "1 # level", f"{GLOBAL_COMMUNICATOR} 3 # the whole communicator; sizes of it",
                  "1 1 # ranks, ranges of bytes", f"0 {component(default)}", f"{ranks} {len(found)} # ranks, ranges of bytes"]
        lines += [f"{least} {component(name)} # {name}" for least, name in found]
        lines += [f"{ranks + 1} 1 # and more ranks", f"0 {component(default)}"]
    return "\n".join(lines) + "\n"


def _has(choices, condition):
    return any(choice.candidate and condition(choice.candidate.rule) for choice in choices)


def files(knowledge, choices):
    tuned = {collective: of for collective, of in choices.items() if _has(of, lambda rule: rule.get("number"))}
    han = {collective: of for collective, of in choices.items()
           if collective in knowledge.han and _has(of, lambda rule: rule["component"] != knowledge.default_component)}
    written = {"": _text(knowledge, tuned), ".json": _json(knowledge, tuned)}
    if han:
        written[".han"] = _han(knowledge, han)
    return written


def settings(knowledge, path, written):
    json_too = _major(knowledge.about) >= 6
    found = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_dynamic_rules_filename": path + (".json" if json_too else "")}
    if ".han" in written:
        found.update({"OMPI_MCA_coll_han_use_dynamic_file_rules": "1", "OMPI_MCA_coll_han_dynamic_rules_filename": path + ".han"})
        if knowledge.default_component != "han":
            found["OMPI_MCA_coll_han_priority"] = str(HAN_PRIORITY)
    return found
