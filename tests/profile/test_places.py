"""Names of call sites: programs in C, C++ and Fortran, with debug information, with symbols alone, stripped; and when
two runs mean the same site."""
import re
import shutil
import subprocess
import unittest

from builder import Builder
from harness import ProfileCase

from hanpmpi_profile.symbols import plain_function, without_arguments

C = """__attribute__((noinline)) int solve(int x)
{
    return x * 3 + 1;
}
static inline __attribute__((always_inline)) int inner(int x)
{
    return solve(x) + 2;
}
int main(int argc, char **argv)
{
    return inner(argc);
}
"""
CPP = """namespace mesh { struct Grid { int refine(int x); };
__attribute__((noinline)) int Grid::refine(int x) { return x + 7; } }
int main(int argc, char **) { mesh::Grid grid; return grid.refine(argc); }
"""
FORTRAN = """module field
contains
  subroutine smooth(x)
    integer :: x
    x = x + 1
  end subroutine
end module
subroutine outside(x)
  integer :: x
  x = x * 2
end subroutine
program app
  use field
  integer :: x
  x = 1
  call smooth(x)
  call outside(x)
  if (x /= 4) stop 1
end program
"""
LANGUAGES = {"c": (("gcc", "cc", "clang"), C), "cpp": (("g++", "clang++"), CPP), "f90": (("gfortran",), FORTRAN)}


def compiler(language):
    return next(filter(None, map(shutil.which, LANGUAGES[language][0])), None)


class Names(ProfileCase):
    def build(self, language, *options):
        if compiler(language) is None:
            self.skipTest(f"no compiler for {language}")
        source, program = self.folder / f"app.{language}", self.folder / "app"
        source.write_text(LANGUAGES[language][1])
        subprocess.run([compiler(language), "-O1", "-fno-ipa-cp", "-fno-ipa-icf", *options, source, "-o", program] if "clang" not in compiler(language) else
                       [compiler(language), "-O1", *options, source, "-o", program], check=True, capture_output=True, timeout=120,
                       cwd=self.folder)
        return program

    def address(self, program, symbol, beyond=1):
        """One byte into a function."""
        for line in subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout.splitlines():
            if re.fullmatch(rf"[0-9a-f]+ [tT] {symbol}", line):
                return int(line.split()[0], 16) + beyond
        raise AssertionError(f"no {symbol}")

    def its(self, program, *frames, build_id=""):
        its = Builder().record("MPI_Bcast", "a", 1.0)
        its.document["modules"] = [{"path": str(program), "build_id": build_id}]
        its.document["sites"] = [{"frames": [[0, frame] for frame in frames]}]
        return its

    def label(self, its, *options):
        row, = self.json("show", self.file(its), *options)["sites"]
        return row["site"]

    def test_c_with_lines(self):
        program = self.build("c", "-g")
        self.assertEqual(self.label(self.its(program, self.address(program, "solve"))), "solve (app.c:3)")

    def test_callers_and_inlined_functions(self):
        program = self.build("c", "-g")
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True).stdout
        call = next(int(line.split(":")[0], 16) for line in text.splitlines() if re.search(r"\b(call|bl)q?\s.*<solve>", line))
        self.assertEqual(self.label(self.its(program, self.address(program, "solve"), call)), "solve (app.c:3) < inner:7 < main:11")

    def test_symbols_alone(self):
        program = self.build("c")
        self.assertEqual(self.label(self.its(program, self.address(program, "solve"))), "solve+0x1 (app)")

    def test_stripped(self):
        program = self.build("c", "-s")
        self.assertEqual(self.label(self.its(program, 0x1234)), "app+0x1234")
        library = self.build("c", "-s", "-shared", "-fPIC")
        exported = subprocess.run(["nm", "-D", library], check=True, capture_output=True, text=True).stdout
        address = int(re.search(r"([0-9a-f]+) T solve", exported)[1], 16)
        self.assertEqual(self.label(self.its(library, address + 2)), "solve+0x2 (app)")

    def test_cpp_is_demangled(self):
        for options, wanted in ((["-g"], "mesh::Grid::refine (app.cpp:2)"), ([], "mesh::Grid::refine+0x1 (app)")):
            program = self.build("cpp", *options)
            self.assertEqual(self.label(self.its(program, self.address(program, "_ZN4mesh4Grid6refineEi"))), wanted)

    def test_fortran(self):
        program = self.build("f90", "-g")
        self.assertEqual(self.label(self.its(program, self.address(program, "__field_MOD_smooth"))), "field::smooth (app.f90:5)")
        self.assertEqual(self.label(self.its(program, self.address(program, "outside_"))), "outside (app.f90:10)")
        program = self.build("f90")
        self.assertEqual(self.label(self.its(program, self.address(program, "__field_MOD_smooth"))), "field::smooth+0x1 (app)")
        self.assertEqual([plain_function(name, None) for name in ("MAIN__", "field_mp_smooth_", "__field_MOD_smooth", "outside_")],
                         ["main program", "field::smooth", "field::smooth", "outside_"])

    def test_arguments_are_left_out(self):
        self.assertEqual([without_arguments(name) for name in (
            "a::b(int, void (*)(int))", "c() const", "operator()(int)", "(anonymous namespace)::d(int)", "e", "f<g(h)>", "x::operator()", "k(int) [clone .cold]")],
            ["a::b", "c", "operator()", "(anonymous namespace)::d", "e", "f<g(h)>", "x::operator()", "k(int) [clone .cold]"])

    def test_python(self):
        its = Builder().record("MPI_Bcast", "a", 1.0)
        its.document["sites"] = [{"frames": [[0, 16]], "python": ["/home/me/train.py:30 step", "/home/me/train.py:90 <module>"]}]
        self.assertEqual(self.label(its), "step (train.py:30) < <module>:90")
        its.document["sites"] = [{"python": ["/home/me/my train: 2.py:30 Solver.step"]}]
        self.assertEqual(self.label(its), "Solver.step (my train: 2.py:30)")

    def test_not_asked(self):
        program = self.build("c", "-g")
        address = self.address(program, "solve")
        self.assertEqual(self.label(self.its(program, address), "--no-symbols"), f"app+{address:#x}")

    def test_on_another_machine(self):
        program = self.build("c", "-g")
        its = self.its("/opt/app/bin/app", self.address(program, "solve"))
        (self.folder / "image/opt/app/bin").mkdir(parents=True)
        shutil.copy(program, self.folder / "image/opt/app/bin/app")
        self.assertEqual(self.label(its, "--modules", self.folder / "image"), "solve (app.c:3)")
        _, _, err = self.run_profile("show", self.folder / "run.json")
        self.assertEqual(err, "hanpmpi_profile: /opt/app/bin/app is not there: its call sites are offsets\n")

    def test_another_build(self):
        """Lines of a file that was built again would be wrong."""
        program = self.build("c", "-g", "-Wl,--build-id=0x1234567890abcdef")
        address = self.address(program, "solve")
        self.assertEqual(self.label(self.its(program, address, build_id="1234567890abcdef")), "solve (app.c:3)")
        self.assertEqual(self.label(self.its(program, address, build_id="aa34567890abcdef")), f"app+{address:#x}")
        _, _, err = self.run_profile("show", self.folder / "run.json")
        self.assertIn("is not the file that was recorded (build ID 1234567890ab, recorded aa34567890ab)", err)

    def test_the_mpis_own_layers_are_no_call_sites(self):
        its = Builder().record("MPI_Bcast", "a", 1.0)
        its.document["modules"] = [{"path": path} for path in ("/none/app", "/usr/lib/libmpi_mpifh.so.40.30.0", "/usr/lib/libhanpmpi.so",
                                                               "/x/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so", "/none/libmpiapp_physics.so", "/usr/bin/python3.11")]
        its.document["sites"] = [{"frames": [[1, 5], [2, 6], [3, 7], [5, 8], [0, 0x10]]}]
        self.assertEqual(self.label(its), "app+0x10")
        its.document["sites"] = [{"frames": [[1, 5]]}]
        self.assertEqual(self.label(its), "libmpi_mpifh.so.40.30.0+0x5", "better than nothing")
        its.document["sites"] = [{"frames": [[4, 9], [0, 0x10]]}]
        self.assertEqual(self.label(its), "libmpiapp_physics.so+0x9 < app+0x10", "the program's own")


class Callers(ProfileCase):
    """Calls of one line from several places are one call site, unless callers are asked for."""

    def sites(self, *options):
        its = Builder().record("MPI_Bcast", "a", 1.0).record("MPI_Bcast", "b", 2.0).record("MPI_Bcast", "c", 4.0)
        its.document["sites"] = [{"frames": [[0, 0x10], [0, 0x20], [0, 0x90]]}, {"frames": [[0, 0x10], [0, 0x20], [0, 0x91]]},
                                 {"frames": [[0, 0x10], [0, 0x30], [0, 0x90]]}]
        return [(row["site"], row["process_s"]) for row in self.json("show", self.file(its), *options)["sites"]]

    def test_callers(self):
        self.assertEqual(self.sites(), [("app+0x10", 7 / 4)])
        self.assertEqual(self.sites("--frames", "2"), [("app+0x10 < app+0x30 < app+0x90", 1.0), ("app+0x10 < app+0x20", 3 / 4)])
        self.assertEqual(len(self.sites("--frames", "0")), 3)


class Matching(ProfileCase):
    """Which sites of two runs are the same: by file and line, or file and offset."""

    def test_by_offset_whatever_the_order(self):
        a = Builder().record("MPI_Bcast", "x", 1.0).record("MPI_Bcast", "y", 2.0)
        b = Builder().record("MPI_Bcast", "y", 2.0).record("MPI_Bcast", "x", 1.0)
        rows = self.json("diff", self.file(a, "a.json"), self.file(b, "b.json"))["sites"]
        self.assertEqual([row["difference_s"] for row in rows], [0, 0])

    def test_by_line_whatever_the_build(self):
        if compiler("c") is None:
            self.skipTest("no compiler for c")
        files = []
        for name, options in (("one", ["-O0"]), ("two", ["-O2"])):
            folder = self.folder / name
            folder.mkdir()
            source = self.folder / "app.c"
            source.write_text(C)
            subprocess.run([compiler("c"), "-g", *options, source, "-o", folder / "app"], check=True, capture_output=True, timeout=120)
            text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", folder / "app"], check=True, capture_output=True, text=True).stdout
            call = next(int(line.split(":")[0], 16) for line in text.splitlines() if re.search(r"\b(call|bl|jmp)q?\s.*<solve>", line))
            its = Builder().record("MPI_Bcast", "a", 1.0)
            its.document["modules"] = [{"path": str(folder / "app")}]
            its.document["sites"] = [{"frames": [[0, call]]}]
            files.append(self.file(its, f"{name}.json"))
        rows = self.json("diff", *files)["sites"]
        self.assertEqual([(row["where"], row["site"]) for row in rows], [("both", "inner (app.c:7) < main:11")])


if __name__ == "__main__":
    unittest.main()
