"""The call sites of a recording by name: how they are printed, and what tells that two runs mean the same one."""
import itertools
import os
import re

from . import symbols

# What is nobody's call site: the host MPI's bindings for Fortran and C++, this library, mpi4py, Python's interpreter.
LAYER = re.compile(r"(libp?mpi(ch)?(fort|cxx|f90|f77)?(_\w+)?|libhanpmpi[\w-]*)\.so[.\d]*|MPI\.([\w-]+\.)?so|(lib)?python[\d.]+(\.so[.\d]*)?")
MOST_CALLERS = 3


class Place:
    """A call site: calls whose innermost frames are the same. key: these frames, which another run has, too; short:
    the innermost one; label: with the callers that all of its calls share."""

    def __init__(self, key, frames):
        self.key = key
        self.short = frames[0] if frames else "unknown"
        self.label = " < ".join([self.short, *map(shortened, frames[1:1 + MOST_CALLERS])])


def shortened(frame):
    """A caller takes less room: main (bfs.c:77) is main:77, step+0x1f (app) is step+0x1f."""
    return re.sub(r"^(.*\+0x[0-9a-f]+) \([^()]*\)$", r"\1", re.sub(r"^(.*) \([^()]*?:(\d+)\)$", r"\1:\2", frame))


def common(a, b):
    """What two lists begin with."""
    return [first for first, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b))]


def python_frame(line):
    found = re.fullmatch(r"(.+):(\d+)(?: (\S*))?", line)  # a file's name may have spaces
    return f"{found[3] or 'Python'} ({os.path.basename(found[1])}:{found[2]})" if found else line


class Places:
    """Names are looked up when the first is asked for, all at once: a process a file."""

    def __init__(self, modules, sites):
        self.modules, self.sites = modules, sites
        self.folder = None # files of another machine are searched for below this
        self.look_up = True
        self.frames = 1 # that tell two call sites apart; 0: all that were recorded
        self.troubles = []
        self.found = None

    def __getitem__(self, site):
        if self.found is None:
            names = self.names() if self.look_up else {}
            frames = [self.frames_of(row, names) for row in self.sites]
            keys = [tuple(key for key, _ in its[:self.frames or None]) for its in frames]
            shared = {}
            for key, its in zip(keys, frames):
                texts = [text for _, text in its]
                shared[key] = common(shared[key], texts) if key in shared else texts
            places = {key: Place(key, texts) for key, texts in shared.items()}
            self.found = [places[key] for key in keys]
        return self.found[site]

    def path(self, module):
        path = self.modules[module]["path"]
        return os.path.join(self.folder, path.lstrip("/")) if self.folder else path

    def names(self):
        """{(module, offset): [Name, ...]}"""
        wanted = {}
        for site in self.sites:
            if not site.get("python"):
                for module, offset in site.get("frames", []):
                    wanted.setdefault(module, []).append(offset)
        result = {}
        for module, offsets in wanted.items():
            found, trouble = symbols.name_all(self.path(module), self.modules[module].get("build_id"), offsets)
            result.update({(module, offset): names for offset, names in found.items()})
            if trouble and trouble not in self.troubles:
                self.troubles.append(trouble)
        return result

    def frames_of(self, site, names):
        """[(what another run of the program has, too, how it is printed)], innermost first; an inlined function is a
        frame."""
        if site.get("python"):
            return [(line, python_frame(line)) for line in site["python"]]
        frames = site.get("frames", [])
        own = [frame for frame in frames if not LAYER.fullmatch(self.module_name(frame[0]))]
        result = []
        for module, offset in own or frames:
            for its in names.get((module, offset), [symbols.Name()]):
                file = self.module_name(module)
                if its.line:
                    base = os.path.basename(its.file)
                    result.append(((its.function, base, its.line), f"{its.function} ({base}:{its.line})"))
                else:
                    result.append(((file, offset), f"{its.function}+{its.offset:#x} ({file})" if its.function else f"{file}+{offset:#x}"))
        return result

    def module_name(self, module):
        return os.path.basename(self.modules[module]["path"]) or "program"
