#!/usr/bin/env python3
"""test_layers: the rooms of src/ and TOOL stand on each other in one order, without circles, and stay small.

usage: test_layers.py SOURCE_DIR BUILD_DIR libhanpmpi.so
       test_layers.py --self-check

ORDER is the order (ARCHITECTURE.md). A file may include, and call, what is in its own folder or in one further down; x.c and
x.h are one file here, and a table, x.def, is another. Who includes whom is read from the sources, who calls whom from the
objects of the build: a symbol that one lacks and another defines, functions and data alike. Neither may have a circle, nor
may the includes of tuning/. KNOWS says which rooms see each other at all; the headers of libraries are for those that FOREIGN
names. The front needs neither MPI nor hwloc. Nothing that TOOL defines is in the front or in a backend that programs run with.

--self-check builds small trees with a fault of each kind and wants every one reported.
"""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

LINES_MAX, FILES_MAX = 600, 24

# The part of a tool that is linked with a backend, and thus above all rooms; seen from src.
TOOL = "../tuning/tune/tasks"

# From the lowest to the highest.
ORDER = """base topo_tree topo_tree/network schedule schedule/cost schedule/picture schedule/generators/parts schedule/generators schedule/catalog event_engine/op event_engine/mem event_engine event_engine/request
hier/call hier/comm hier/blocks hier/modules hier/collectives hier/executions hier/planning/rules hier/planning/model hier/planning
pmpi_wrappers
pmpi_wrappers/backend/glue pmpi_wrappers/backend/start pmpi_wrappers/backend/comms pmpi_wrappers/backend/buffers pmpi_wrappers/backend/progress
pmpi_wrappers/backend/observe pmpi_wrappers/backend/profile/book pmpi_wrappers/backend/profile/sites pmpi_wrappers/backend/profile/watch pmpi_wrappers/backend/profile/gather pmpi_wrappers/backend/profile pmpi_wrappers/backend/calls pmpi_wrappers/backend
pmpi_wrappers/front pmpi_wrappers/smpi""".split() + [TOOL]

# What a room may include of ours; beginnings of paths.
COMMON = ("hanpmpi/", "pmpi_wrappers/*.h", "pmpi_wrappers/*.def")
KNOWS = {
    "base": ("base/",),
    "topo_tree": ("base/", "topo_tree/"),
    "schedule": ("base/", "topo_tree/", "schedule/"),
    "event_engine": ("base/", "event_engine/"),
    "hier": ("base/", "topo_tree/", "schedule/", "event_engine/", "hier/", "../../../../tuning/default_rules.def", "../../../tuning/mockups.def"),
    "pmpi_wrappers/backend": ("base/", "topo_tree/", "schedule/", "event_engine/", "hier/", "pmpi_wrappers/backend/") + COMMON,
    "pmpi_wrappers/front": ("base/", "pmpi_wrappers/front/") + COMMON,
    "pmpi_wrappers/smpi": ("pmpi_wrappers/front/exports.h",) + COMMON,
    TOOL: ("base/", "topo_tree/", "schedule/", "event_engine/", "hier/", "pmpi_wrappers/backend/", TOOL + "/"),
}

# Headers of libraries: where they may be included.
FOREIGN = {
    r"mpi[a-z_]*\.h|HP_MPI_HEADER": r"pmpi_wrappers/backend/glue/mpi_glue\.h",
    r"hwloc.*": r"topo_tree/.*",
    r"jansson.*": r"topo_tree/network/json\.c|schedule/file(_json)?\.c|hier/planning/.*|pmpi_wrappers/backend/(observe/(stall_json|text_json|job_record)|profile/[a-z_]*json)\.c|pmpi_wrappers/backend/observe/text_json\.h",
    r"ev\.h": r"pmpi_wrappers/backend/.*",
}

# An MPI name outside pmpi_wrappers would be a type or a call: comments and messages may name MPI_Bcast.
MPI_NAME = re.compile(r"\b(MPI_(Comm|Datatype|Op|Request|Status|Aint|Count)\b|P?MPI_[A-Z][a-z_]+ *\()")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]?([^">\s]+)', re.MULTILINE)
OWN_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)', re.MULTILINE)

# Functions that a table of a lower file names and higher ones define: the checks of knobs.def; what the library exports.
HOOKS = re.compile(r"hp_knob_(check|word)_|P?MPI_")

# Problems that are still to be mended, as patterns. Only ever shorter.
KNOWN = ()


def sources(root):
    """Paths of src and TOOL, seen from root/src."""
    src = os.path.join(root, "src")
    for top in (src, os.path.normpath(os.path.join(src, TOOL))):
        for folder, _, names in os.walk(top):
            yield from (os.path.relpath(os.path.join(folder, name), src) for name in sorted(names))


def text_of(root, path):
    with open(os.path.normpath(os.path.join(root, "src", path)), encoding="utf-8") as file:
        return file.read()


def includes_of(root, path):
    """The headers that a file names; TOOL's, which is found below tuning/, as its files are called here."""
    return [re.sub("^tune/tasks/", TOOL + "/", header) for header in INCLUDE.findall(text_of(root, path))]


def node_of(path):
    """x.c and x.h are one; a table stands alone."""
    return re.sub(r"\.[ch]$", "", path)


def folder_of(node):
    return os.path.dirname(node)


def circles(graph):
    """The strongly connected parts of more than one node (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            part = stack[stack.index(node):]
            del stack[-len(part):]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def order_problems(graph, verb):
    """Circles, and edges to a folder further up."""
    for part in circles(graph):
        yield f"a circle of {verb}s: {' '.join(part)}"
    place = {folder: i for i, folder in enumerate(ORDER)}
    for node in sorted(graph):
        for other in sorted(graph[node]):
            if place.get(folder_of(other), -1) > place.get(folder_of(node), len(ORDER)):
                yield f"{verb} upwards: {node} -> {other}"


def include_problems(root):
    graph = collections.defaultdict(set)
    files = [path for path in sources(root) if path.endswith((".c", ".h", ".def"))]
    for path in files:
        for header in includes_of(root, path):
            yield from (f"{path} may not include {header}" for pattern, where in FOREIGN.items()
                        if re.fullmatch(pattern, header) and not re.fullmatch(where, path))
            yield from unknown_include(path, header)
            if header in files and node_of(header) != node_of(path):
                graph[node_of(path)].add(node_of(header))
    yield from order_problems(graph, "include")


def tuning_problems(root):
    """Circles of includes in tuning/, whose files name those of their own folder, or with its path from there."""
    tuning = os.path.join(root, "tuning")
    files = {os.path.relpath(path, tuning) for path in glob.glob(os.path.join(tuning, "**", "*.*"), recursive=True)
             if path.endswith((".c", ".h", ".def"))}
    graph = collections.defaultdict(set)
    for path in files:
        for header in OWN_INCLUDE.findall(text_of(root, os.path.join("..", "tuning", path))):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), header))
            found = next((node_of(name) for name in (beside, header) if name in files), node_of(path))
            graph[node_of(path)] |= {found} - {node_of(path)}
    yield from (f"a circle of includes in tuning: {' '.join(part)}" for part in circles(graph))


def unknown_include(path, header):
    rooms = {name.split("/")[0] for name in ORDER} | {"hanpmpi", "tuning", ".."}
    if header.split("/")[0] not in rooms:
        return
    for room, known in KNOWS.items():
        if path.startswith(room + "/"):
            fits = [header.startswith(k) if "*" not in k else re.fullmatch(k.replace("*", "[a-z_]*"), header) for k in known]
            if not any(fits):
                yield f"{path} may not include {header}: {room} knows {' '.join(known)}"


def objects(root, build):
    """(target, source, object file) of what is built from src and TOOL and is still there."""
    for path in sources(build):
        match = re.search(r"(.*?)/?CMakeFiles/([^/]+)\.dir/(.*)\.o$", path)
        if not match:
            continue
        inside = os.path.normpath(os.path.join(match[1], match[3].replace("__/", "../")))
        source = inside if not match[3].startswith("__/") else os.path.normpath(os.path.join(match[1], inside))
        source = next((s for s in (inside, source, match[3].replace("__/", ""))
                       if os.path.exists(os.path.normpath(os.path.join(root, "src", s)))), None)
        if source:
            yield match[2], source, os.path.normpath(os.path.join(build, "src", path))


def symbols(files):
    """object file -> (defined, undefined): global symbols."""
    result = {file: (set(), set()) for file in files}
    if files:
        text = subprocess.run(["nm", "-A", "-g", "-P", *files], check=True, capture_output=True, text=True).stdout
        for line in text.splitlines():
            file, rest = line.split(": ", 1)
            name, kind = rest.split()[:2]
            result[file][kind in "Uwv"].add(name)
    return result


def call_problems(root, build):
    built = sorted(objects(root, build))
    known = symbols([file for _, _, file in built])
    targets = {target for target, _, _ in built}
    seen = set()
    for top in sorted(t for t in targets if t != "hp_core" and not t.startswith("hp_kernels")) or sorted(targets):
        # A backend has the core in it, and the one with TOOL another backend; the front stands alone.
        below = top.replace("-tasks-", "-")
        parts = [(source, file) for target, source, file in built
                 if target in (top, below) or (top != "hanpmpi" and not target.startswith("hanpmpi"))]
        home = {name: node_of(source) for source, file in parts for name in known[file][0]}
        graph = collections.defaultdict(set)
        for source, file in parts:
            graph[node_of(source)] |= {home[n] for n in known[file][1] if n in home and not HOOKS.match(n)} - {node_of(source)}
        for problem in order_problems(graph, "call"):
            if problem not in seen:
                seen.add(problem)
                yield problem


def size_problems(root):
    folders = collections.Counter()
    for path in sources(root):
        folders[os.path.dirname(path)] += 1
        lines = text_of(root, path).count("\n")
        if lines > LINES_MAX:
            yield f"{path} has {lines} lines, more than {LINES_MAX}"
        if path.endswith((".c", ".h")) and os.path.dirname(path) not in ORDER:
            yield f"{path}: its folder has no place in ORDER"
    for folder, count in sorted(folders.items()):
        if count > FILES_MAX:
            yield f"{folder} has {count} files, more than {FILES_MAX}"


def picture_problems(root):
    """Each folder of a room with rooms in it stands in the picture, by its name."""
    path = os.path.join(root, "docs", "rooms.dot")
    picture = open(path, encoding="utf-8").read().replace("\\n", " ") if os.path.exists(path) else ""
    for folder in sorted({os.path.dirname(path) for path in sources(root)}):
        if folder.startswith(("hier/", "pmpi_wrappers/backend/")) and not re.search(rf"\b{os.path.basename(folder)}\b", picture):
            yield f"{folder} is not named in docs/rooms.dot"


def mpi_problems(root):
    for path in sources(root):
        if path.startswith(("pmpi_wrappers/", TOOL)) or not path.endswith((".c", ".h")):
            continue
        bare = re.sub(r'/\*.*?\*/|"(\\.|[^"\\])*"', "", text_of(root, path), flags=re.DOTALL)
        if MPI_NAME.search(bare):
            yield f"{path} names a type or a function of MPI: {MPI_NAME.search(bare)[0]}"


def front_problems(library):
    def run(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    needs = re.findall(r" (P?MPI_\S*|hwloc_\S*|json_\S*|ev_\S*)", run("nm", "-D", "--undefined-only", library))
    if needs:
        yield f"{library} needs symbols of MPI, hwloc, jansson or libev: {' '.join(needs)}"
    if not re.search(r" PMPI_Bcast$", run("nm", "-D", "--defined-only", library), re.MULTILINE):
        yield f"{library} exports no PMPI_Bcast"
    linked = [line for line in run("readelf", "-d", library).splitlines()
              if "NEEDED" in line and re.search("libmpi|hwloc|jansson|libev", line)]
    if linked:
        yield f"{library} is linked to: {' '.join(linked)}"


def tool_problems(root, build, libraries):
    files = [file for _, source, file in objects(root, build) if source.startswith(TOOL)]
    of_tool = set().union(*(defined for defined, _ in symbols(files).values()))
    for library in libraries:
        text = subprocess.run(["nm", "-P", library], check=True, capture_output=True, text=True).stdout
        for name in sorted(of_tool & {line.split()[0] for line in text.splitlines()}):
            yield f"{library} has {name}, which is a tool's"


def problems(root, build, libraries):
    yield from include_problems(root)
    yield from tuning_problems(root)
    yield from call_problems(root, build)
    yield from size_problems(root)
    yield from picture_problems(root)
    yield from mpi_problems(root)
    yield from tool_problems(root, build, libraries)


# ---- self-check ----

# What is planted -> what must be said of it.
FAULTS = (
    ({"base/a.h": '#include "base/b.h"\n', "base/b.h": "", "base/b.c": '#include "base/b.h"\n#include "base/a.h"\n'},
     "a circle of includes: base/a base/b"),
    ({"base/a.def": '#include "base/b.h"\n', "base/b.h": '#include "base/a.def"\n'}, "a circle of includes: base/a.def base/b"),
    ({"../tuning/a/a.h": '#include "b.h"\n', "../tuning/a/b.h": '#include "a/a.h"\n'}, "a circle of includes in tuning: a/a a/b"),
    ({"base/a.h": '#include "topo_tree/b.h"\n', "topo_tree/b.h": ""}, "include upwards: base/a -> topo_tree/b"),
    ({"base/a.h": '#include "topo_tree/b.def"\n', "topo_tree/b.def": ""}, "include upwards: base/a -> topo_tree/b.def"),
    ({"topo_tree/a.h": '#include "event_engine/b.h"\n', "event_engine/b.h": ""},
     "topo_tree/a.h may not include event_engine/b.h"),
    ({"event_engine/a.h": "#include <mpi.h>\n"}, "event_engine/a.h may not include mpi.h"),
    ({"base/a.c": "extern int y; int x; int f(void) { return y; }\n", "base/b.c": "extern int x; int y; int g(void) { return x; }\n"},
     "a circle of calls: base/a base/b"),
    ({"base/a.c": "int g(void); int f(void) { return g(); }\n", "topo_tree/b.c": "int g(void) { return 0; }\n"},
     "call upwards: base/a -> topo_tree/b"),
    ({"base/a.c": "\n" * (LINES_MAX + 1)}, f"base/a.c has {LINES_MAX + 1} lines"),
    ({f"base/{i}.def": "" for i in range(FILES_MAX + 1)}, f"base has {FILES_MAX + 1} files"),
    ({"elsewhere/a.c": ""}, "elsewhere/a.c: its folder has no place in ORDER"),
    ({"hier/call/a.h": '#include "tune/tasks/b.h"\n', f"{TOOL}/b.h": ""}, f"hier/call/a.h may not include {TOOL}/b.h"),
    ({"base/a.c": "int f(void); int f(void) { return 0; }\n", f"{TOOL}/a.c": "int f(void); int f(void) { return 0; }\n"},
     "has f, which is a tool's"),
    ({"hier/call/a.h": "", "../docs/rooms.dot": "collectives"}, "hier/call is not named in docs/rooms.dot"),
    ({"hier/call/a.c": "/* MPI_Comm */ int MPI_Send (int);\n"}, "hier/call/a.c names a type or a function of MPI: MPI_Send ("),
)
# What must not be taken for a fault.
FINE = {"base/a.h": "/* MPI_Comm c; */\n", "base/a.c": '#include "base/a.h"\nint f(void) { return 0; }\n', "base/t.def": "",
        "topo_tree/b.h": '#include "base/a.h"\n', "topo_tree/b.c": '#include "topo_tree/b.h"\nint f(void); int g(void) { return f(); }\n'}


def problems_of(files):
    """Of a tree with these files, compiled where it is C without includes of ours; its objects pass for libraries."""
    libraries = []
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            where = os.path.normpath(os.path.join(root, "src", path))
            os.makedirs(os.path.dirname(where), exist_ok=True)
            with open(where, "w", encoding="utf-8") as file:
                file.write(text)
            if path.endswith(".c"):
                room, name = (TOOL, os.path.basename(path)) if path.startswith(TOOL) else ("", path)
                target = os.path.normpath(os.path.join(root, "build/src", room, "CMakeFiles/hp_core.dir", name + ".o"))
                libraries += [target] if not room else []
                os.makedirs(os.path.dirname(target), exist_ok=True)
                subprocess.run(["cc", "-I", os.path.join(root, "src"), "-c", where, "-o", target], check=True)
        return list(problems(root, os.path.join(root, "build"), libraries))


def self_check():
    failures = [f"not noticed: {wanted}" for files, wanted in FAULTS
                if not any(wanted in problem for problem in problems_of(files))]
    return failures + [f"no fault: {problem}" for problem in problems_of(FINE)]


def main(arguments):
    if arguments == ["--self-check"]:
        found = self_check()
    else:
        root, build, library = arguments
        libraries = [library, *glob.glob(os.path.join(os.path.dirname(library), "hanpmpi", "libhanpmpi-*.so"))]
        found = [p for p in (*problems(root, build, libraries), *front_problems(library))
                 if not any(re.fullmatch(known, p) for known in KNOWN)]
    for problem in found:
        print(problem, file=sys.stderr)
    if not found:
        print("the layers are in order")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
