"""virtual_hosts: makes and removes the hosts of vcluster: namespaces, links, bridges, lines in /etc/hosts; whose they are.

A cluster is a plan first: switches, hosts on them, and trunks between them, with their shapes. State is the kernel's own (names that begin with vc), and one file that says who made the cluster.
"""
import collections
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import trees  # noqa: E402

NET = "10.77.0"
BRIDGE = "vcbr"  # of the first switch, where the launcher is; the others have a number
RECORD = "/run/vcluster.json"  # who made the cluster that is up
HOSTS_MARK = "# vcluster"
CONGESTION_CONTROLS = ("cubic", "reno")  # Linux's own default; the one that every kernel allows in a namespace
HOSTS_MOST = 100
DEEP = "burst 256kb latency 200ms"  # of a shaped link: holds what TCP sends
BURST = "32kb"  # of a switch's port with a queue that is bounded: little beside the queue
QUEUE = "128kb"  # of such a port, unless somebody says otherwise: what cheap switches have
SIGNALS = []  # that end us: hold_signals
# shape: what tc's tbf is told; None: unshaped. up: from the host, down: to it; there: from switch `one`, back: to it.
Host = collections.namedtuple("Host", "switch up down")
Trunk = collections.namedtuple("Trunk", "one other there back")
Plan = collections.namedtuple("Plan", "switches hosts trunks text")  # text: for people


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
    ours = re.compile(r"(vcp\d+|vct\d+|vcbr\d*)$")
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


def plan_of(options):
    """What `up` was asked for."""
    if options.network:
        return plan_of_network(options.network, options.queue or QUEUE)

    def shape(rate):
        return None if rate == "none" else f"rate {rate} {DEEP}"

    half = (options.hosts + 1) // 2 if options.top else options.hosts
    own = shape(options.rate)
    top = f", {options.top} between the two halves" if options.top else ""
    return Plan(2 if options.top else 1, [Host(int(i >= half), own, own) for i in range(options.hosts)],
                [Trunk(0, 1, shape(options.top), shape(options.top))] if options.top else [], f"{options.hosts} hosts at {options.rate}{top}")


def plan_of_network(file, queue):
    """Hosts have the queue of a machine, ports of switches a short one."""
    try:
        tree = trees.read(file)
    except trees.Trouble as trouble:
        raise Trouble(trouble) from None
    wanted = [f"vc{i}" for i in range(len(tree.hosts))]
    named = {host.name: host for host in tree.hosts}
    if sorted(named) != sorted(wanted) or len(wanted) > HOSTS_MOST:
        odd = sorted(set(named) - set(wanted))[:1]
        raise Trouble(f"{file}: " + (f"host \"{odd[0]}\": " if odd else f"{len(wanted)} hosts: ")
                      + f"expected the hosts of a virtual cluster: vc0, vc1, ..., at most {HOSTS_MOST}")

    def shape(rate, held):
        return f"rate {round(8 * rate)}bit {held}"

    port = f"burst {BURST} limit {queue}"
    number = {name: i for i, name in enumerate(tree.switches)}
    hosts = [Host(number[named[name].switch], shape(named[name].up, DEEP), shape(named[name].down, port)) for name in wanted]
    trunks = [Trunk(number[link.one], number[link.other], shape(link.to, port), shape(link.back, port)) for link in tree.links]
    return Plan(len(tree.switches), hosts, trunks, f"{len(hosts)} hosts on {len(tree.switches)} switches of {file}, queues of {queue}")


def make(plan):
    def step(words):
        command(words)
        interruption_point()

    def shape(device, held, inside=""):
        if held:
            step(f"{inside} tc qdisc add dev {device} root tbf {held}")

    def bridge(switch):
        return f"{BRIDGE}{switch or ''}"

    for switch in range(plan.switches):
        step(f"ip link add {bridge(switch)} type bridge")
        step(f"ip link set {bridge(switch)} up")
    step(f"ip addr add {NET}.254/24 dev {BRIDGE}")
    for i, trunk in enumerate(plan.trunks):
        ends = f"vct{2 * i}", f"vct{2 * i + 1}"
        step(f"ip link add {ends[0]} type veth peer name {ends[1]}")
        for end, switch, held in zip(ends, (trunk.one, trunk.other), (trunk.there, trunk.back)):
            step(f"ip link set {end} master {bridge(switch)} up")
            shape(end, held)
    for i, host in enumerate(plan.hosts):
        step(f"ip netns add vc{i}")
        step(f"ip link add vcp{i} type veth peer name eth0 netns vc{i}")
        step(f"ip link set vcp{i} master {bridge(host.switch)} up")
        step(f"ip -n vc{i} link set lo up")
        step(f"ip -n vc{i} addr add {NET}.{i + 1}/24 dev eth0")
        step(f"ip -n vc{i} link set eth0 up")
        control_congestion(f"vc{i}")
        shape(f"vcp{i}", host.down)
        shape("eth0", host.up, f"ip netns exec vc{i}")
    edit_hosts_file([(f"{NET}.{i + 1}", f"vc{i}") for i in range(len(plan.hosts))])


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
    plan = plan_of(options)
    until = time.monotonic() + options.wait
    while True:
        with alone():
            reason = in_the_way()
            if not reason:
                try:
                    remove()  # what a killed one may have left
                    record_owner(pid)
                    make(plan)
                    interruption_point()
                except BaseException:
                    remove()
                    raise
                break
        if time.monotonic() >= until:
            raise Trouble(f"{reason}. Wait for it (--wait SECONDS), or end it: vcluster down --force")
        interruption_point(0.2)
    print(plan.text, flush=True)


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
