"""virtual_hosts: makes and removes the hosts of vcluster: namespaces, links, bridges, lines in /etc/hosts; whose they are.

State is the kernel's own (names that begin with vc), and one file that says who made the cluster.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

NET = "10.77.0"
BRIDGES = ("vcbr", "vcbr2")  # the second only with a top link
TOP_LINK = ("vct0", "vct1")  # its two ends
RECORD = "/run/vcluster.json"  # who made the cluster that is up
HOSTS_MARK = "# vcluster"
CONGESTION_CONTROLS = ("cubic", "reno")  # Linux's own default; the one that every kernel allows in a namespace
SIGNALS = []  # that end us: hold_signals


class Trouble(Exception):
    """Something the user has to know; its text says what to do."""


class Interrupted(BaseException):
    """A signal asked us to end."""

    def __init__(self, received):
        super().__init__(received.si_signo)
        self.number = received.si_signo
        self.from_terminal = received.si_code > 0  # by the kernel, so that our children got it too


def hold_signals():
    """From here on signals wait for an interruption point: no command is broken off half-way, no cleaning up disturbed."""
    SIGNALS.extend(number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
                   if signal.getsignal(number) != signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS + [signal.SIGCHLD])


def let_signals_through():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS + [signal.SIGCHLD])


def interruption_point(seconds=0.0, also=()):
    """Waits that long for a signal; those in `also` just end the wait."""
    received = signal.sigtimedwait(SIGNALS + list(also), seconds)
    if received and received.si_signo in SIGNALS:
        raise Interrupted(received)


def command(words, may_fail=False):
    """ip or tc. Returns what it prints."""
    done = subprocess.run(words.split(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode and not may_fail:
        raise Trouble(f"`{words}` failed: {done.stderr.strip()}")
    return done.stdout


# ---- the machine as it is ----

def hosts():
    names = [line.split()[0] for line in command("ip netns list", may_fail=True).splitlines() if re.match(r"vc\d+\b", line)]
    return sorted(names, key=lambda name: int(name[2:]))


def link_ends():
    """The root namespace's ends of our links, and the bridges."""
    ours = re.compile(r"(vcp\d+|vct[01]|vcbr2?)$")
    return [name for name in os.listdir("/sys/class/net") if ours.match(name)]


def processes_inside():
    return [int(pid) for host in hosts() for pid in command(f"ip netns pids {host}", may_fail=True).split()]


def status_of(pid):
    """(parent, start time) of a process; a process id alone may have been given to another one since."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[1]), int(fields[19])
    except OSError:
        return 0, None


def signal_processes(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def end_processes(find):
    """SIGKILL for all that `find` finds, until it finds nothing; a dying process may need a moment."""
    for _ in range(100):
        pids = find()
        if not pids:
            return
        signal_processes(pids, signal.SIGKILL)
        time.sleep(0.05)


# ---- whose cluster it is ----

@contextlib.contextmanager
def alone():
    """One up or down at a time: an abstract socket's name is unique on the machine and goes with the process."""
    with socket.socket(socket.AF_UNIX) as lock:
        for _ in range(600):
            try:
                lock.bind("\0vcluster")
                break
            except OSError:
                interruption_point(0.1)
        else:
            raise Trouble("another `vcluster up` or `vcluster down` has been at work for a minute; try again later")
        yield


def owner():
    """(pid, what it is) of whoever made the cluster and still lives."""
    try:
        with open(RECORD) as file:
            record = json.load(file)
    except (OSError, ValueError):
        return None
    alive = status_of(record["owner"])[1] == record["started"]
    return (record["owner"], record["command"]) if alive else None


def ancestors():
    pid = os.getpid()
    while pid > 1:
        yield pid
        pid = status_of(pid)[0]


def somebody_elses():
    """Why this cluster is not ours to remove; None when it is, or when there is none."""
    found = owner()
    if not found or found[0] in ancestors():
        return None
    return f"the cluster that is up belongs to process {found[0]} ({found[1]})"


def in_the_way():
    """Why `up` may not start: a cluster of others, or an orphan that something still runs on."""
    if not hosts():
        return None
    reason = somebody_elses()
    if not reason and not owner() and processes_inside():
        reason = "the process that made the cluster is gone, but others still run on it"
    return reason


def record_owner(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    with open(RECORD, "w") as file:
        json.dump({"owner": pid, "started": status_of(pid)[1], "command": words[:100]}, file)


# ---- up and down ----

def edit_hosts_file(added):
    """/etc/hosts may be a mount of its own (containers): written into, not replaced."""
    with open("/etc/hosts", "r+") as file:
        before = file.read()
        kept = "".join(line for line in before.splitlines(True) if not line.rstrip().endswith(HOSTS_MARK))
        after = kept + "".join(f"{address} {name} {HOSTS_MARK}\n" for address, name in added)
        if after != before:
            file.seek(0)
            file.write(after)
            file.truncate()


def control_congestion(host):
    """As on most clusters, whatever this machine does: BBR, the default of some, stops connections for 20 to 40 ms when messages and
    answers take turns, on links that lose nothing."""
    path = "net.ipv4.tcp_congestion_control"
    for name in CONGESTION_CONTROLS:
        command(f"ip netns exec {host} sysctl -q -w {path}={name}", may_fail=True)
        if command(f"ip netns exec {host} sysctl -n {path}").strip() == name:
            return
    raise Trouble(f"cannot set {path} on host {host} to any of {', '.join(CONGESTION_CONTROLS)}")


def make(count, rate, top):
    def step(words):
        command(words)
        interruption_point()

    def shape(device, speed, inside=""):
        if speed != "none":
            step(f"{inside} tc qdisc add dev {device} root tbf rate {speed} burst 256kb latency 200ms")

    for bridge in BRIDGES[:2 if top else 1]:
        step(f"ip link add {bridge} type bridge")
        step(f"ip link set {bridge} up")
    step(f"ip addr add {NET}.254/24 dev {BRIDGES[0]}")
    if top:
        step(f"ip link add {TOP_LINK[0]} type veth peer name {TOP_LINK[1]}")
        for end, bridge in zip(TOP_LINK, BRIDGES):
            step(f"ip link set {end} master {bridge} up")
            shape(end, top)
    for i in range(count):
        step(f"ip netns add vc{i}")
        step(f"ip link add vcp{i} type veth peer name eth0 netns vc{i}")
        step(f"ip link set vcp{i} master {BRIDGES[1 if top and i >= (count + 1) // 2 else 0]} up")
        step(f"ip -n vc{i} link set lo up")
        step(f"ip -n vc{i} addr add {NET}.{i + 1}/24 dev eth0")
        step(f"ip -n vc{i} link set eth0 up")
        control_congestion(f"vc{i}")
        shape(f"vcp{i}", rate)
        shape("eth0", rate, f"ip netns exec vc{i}")
    edit_hosts_file([(f"{NET}.{i + 1}", f"vc{i}") for i in range(count)])


def remove():
    end_processes(processes_inside)
    for host in hosts():
        command(f"ip netns del {host}", may_fail=True)
    # The kernel takes a namespace apart some time after it was deleted; our ends of its links may still be there.
    for link_end in link_ends():
        command(f"ip link del {link_end}", may_fail=True)
    edit_hosts_file([])
    with contextlib.suppress(FileNotFoundError):
        os.unlink(RECORD)


def up(options, pid):
    check()
    until = time.monotonic() + options.wait
    while True:
        with alone():
            reason = in_the_way()
            if not reason:
                try:
                    remove()  # what a killed one may have left
                    record_owner(pid)
                    make(options.hosts, options.rate, options.top)
                    interruption_point()
                except BaseException:
                    remove()
                    raise
                break
        if time.monotonic() >= until:
            raise Trouble(f"{reason}. Wait for it (--wait SECONDS), or end it: vcluster down --force")
        interruption_point(0.2)
    top = f", {options.top} between the two halves" if options.top else ""
    print(f"{options.hosts} hosts at {options.rate}{top}", flush=True)


def down(force):
    with alone():
        reason = somebody_elses()
        if reason and not force:
            raise Trouble(f"{reason}. To end it all the same: vcluster down --force")
        remove()


def check():
    reason = None
    if os.geteuid() != 0:
        reason = "needs root to make network namespaces"
    elif not all(shutil.which(tool) for tool in ("ip", "tc", "sysctl", "unshare")):
        reason = "needs iproute2, procps and util-linux"
    else:
        probe = f"vcprobe{os.getpid()}"
        made = subprocess.run(["ip", "netns", "add", probe], capture_output=True).returncode == 0
        usable = made and subprocess.run(["ip", "netns", "exec", probe, "unshare", "--uts", "--mount", "hostname", probe],
                                         capture_output=True).returncode == 0
        command(f"ip netns del {probe}", may_fail=True)
        if not usable:
            reason = "network and UTS namespaces are not allowed here"
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)


def link(options):
    if options.host not in hosts():
        raise Trouble(f"no host '{options.host}': {', '.join(hosts()) or 'no cluster is up'}")
    command(f"ip link set vcp{options.host[2:]} {options.state}")
