"""left_behind: what a test leaves on the machine. Used by the tests of the virtual cluster and by those of faults.

    watch = left_behind.Watch()
    subprocess.run(..., env=watch.environment())
    problems = watch.problems()

Compared are network namespaces, links, /etc/hosts, vcluster's record, /dev/shm, and the watch's own folder for temporary files. Processes
are known by a mark in their environment, which ranks on other hosts inherit.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

import programs

OWN_SHM = "LEFT_BEHIND_OWN_SHM"  # in the environment: that is done


def listing(folder):
    return set(os.listdir(folder)) if os.path.isdir(folder) else set()


def with_own_memory_files():
    """Starts this script anew where /dev/shm is its own, so that other users of the machine do not disturb the comparison. Without the
    privilege it goes on as it is."""
    if os.environ.get(OWN_SHM) or os.geteuid() != 0 or not shutil.which("unshare"):
        return
    own = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh"]
    if subprocess.run(own + ["true"], capture_output=True).returncode == 0:
        os.environ[OWN_SHM] = "1"
        os.execvp(own[0], own + [sys.executable] + sys.argv)


class Watch:
    """hosts: whether those of vcluster are looked at; a test that has none is not to be disturbed by somebody else's."""

    def __init__(self, hosts=True):
        self.hosts = hosts
        self.folder = tempfile.mkdtemp(prefix="hanpmpi-watch-")
        self.mark = f"/watch{os.getpid()}-{os.path.basename(self.folder)[-8:]}"
        self.before = self.state()

    def environment(self, **settings):
        return dict(os.environ, TMPDIR=self.folder, **{programs.MARK: self.mark}, **settings)

    def state(self):
        if not self.hosts:
            return {"/dev/shm": listing("/dev/shm")}
        with open("/etc/hosts") as file:
            lines = set(file.read().splitlines())
        return {"network namespaces": listing("/run/netns"), "links": listing("/sys/class/net"), "lines of /etc/hosts": lines,
                "records": {name for name in listing("/run") if name.startswith("vcluster")}, "/dev/shm": listing("/dev/shm")}

    def problems(self, patience=3.0):
        """What is there that was not, as text. A dying process, and the links of its namespace, get a moment."""
        until = time.monotonic() + patience
        while True:
            now = self.state()
            found = [f"{what}: {' '.join(sorted(now[what] ^ self.before[what]))}" for what in now if now[what] != self.before[what]]
            found += [f"temporary file: {name}" for name in listing(self.folder)]
            found += [f"process: {command_of(pid)}" for pid in programs.processes_marked(self.mark)]
            if not found or time.monotonic() > until:
                return found
            time.sleep(0.05)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid} {file.read().replace(bytes(1), b' ').decode(errors='replace')[:100]}"
    except OSError:
        return str(pid)
