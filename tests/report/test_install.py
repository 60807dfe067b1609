"""pip install tuning/report tuning/profile into an environment of its own; nothing is fetched: what they need comes from the
system's Python."""
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from harness import DATA, ROOT

NEEDED = {"venv": "python3-venv", "ensurepip": "python3-venv", "setuptools": "python3-setuptools", "wheel": "python3-wheel"}

WHEELS = Path("/usr/share/python-wheels")


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=250, **options)


class Install(unittest.TestCase):
    @unittest.skipUnless(all(map(importlib.util.find_spec, NEEDED)), "needs " + ", ".join(dict.fromkeys(NEEDED.values())))
    def test_pip_install(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            # Copies: building leaves files beside the sources.
            sources = [shutil.copytree(ROOT / "tuning" / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
                       for name in ("report", "profile")]
            wheels = sorted(WHEELS.glob("pip-*.whl")) # Debian's: pip runs from it, and needs not be installed first, which takes most of the time
            made = run(sys.executable, "-m", "venv", *["--without-pip"] * bool(wheels), "--system-site-packages", folder / "venv")
            self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
            pip = [wheels[-1] / "pip"] if wheels else ["-m", "pip"]
            done = run(folder / "venv" / "bin" / "python", *pip, "install", "--disable-pip-version-check", "--no-index", "--no-deps",
                       "--no-build-isolation", *sources)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            program = folder / "venv" / "bin" / "hanpmpi_report"
            version = re.search(r"project\(hanpmpi VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
            bare = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
            self.assertEqual(run(program, "--version", env=bare).stdout, f"hanpmpi_report {version}\n")
            drawn = run(program, DATA / "rules.json", "--output", folder / "out", env=bare, cwd=folder)
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            self.assertTrue((folder / "out" / "rules_choice_map_bcast.svg").exists())
            profile = folder / "venv" / "bin" / "hanpmpi_profile"
            self.assertEqual(run(profile, "--version", env=bare).stdout, f"hanpmpi_profile {version}\n")
            (folder / "run.json").write_text('{"format": "hanpmpi-profile", "version": 1, "ranks": 2}')
            done = run(profile, "html", folder / "run.json", "-o", folder / "page.html", env=bare, cwd=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Share of the run time by call", (folder / "page.html").read_text())
            shown = run(folder / "venv" / "bin" / "python", "-c", "import hanpmpi_report as it; print(it.__file__)", env=bare, cwd=folder)
            self.assertIn(str(folder / "venv"), shown.stdout, "the installed package is what ran")


if __name__ == "__main__":
    unittest.main()
