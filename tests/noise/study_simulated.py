"""The simulated half of study.py: slowdown in SimGrid's SMPI, against its selectors and one forced algorithm.

The machine is the star of tests/smpi/machine.py. Noise that makes sense for a call: in the measured study a broadcast of 35 ms
meets interruptions ten times a second, 0.35 per rank and call. A simulated call takes about a millisecond; so that the
interruptions are to the call what they are there, they come 0.35 times in the library's time of a calm call, which is simulated
first, and are shorter by as much. Their share stays: 5% is 5%.
"""
import concurrent.futures
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "smpi"))
import machine as machines  # noqa: E402
import smpirun  # noqa: E402

PER_CALL = 0.35 # interruptions of a rank in one call of the library without noise
FORCED = {"bcast": "scatter_LR_allgather", "reduce": "scatter_gather"} # bcast: of 1,024 ranks at 4 MiB the fastest; reduce: not searched


def options(arguments, collective, side):
    """SMPI's options: which algorithm the side takes; the rest is cheap to simulate, and the same for all sides."""
    chosen = {"smpi/send-is-detached-thresh": str(arguments.eager), "smpi/gather": "ompi_binomial", **smpirun.CHEAP}
    if side in smpirun.SELECTORS:
        del chosen[f"smpi/{collective}"]
        chosen["smpi/coll-selector"] = side
    elif side.startswith("forced "):
        chosen[f"smpi/{collective}"] = side[len("forced "):]
    return chosen


def slowdown(arguments, collective, side, stem, ranks, hz, words):
    """One run. -> what slowdown printed, with the side's own name in it."""
    build = os.path.join(os.path.abspath(arguments.build), "tests", "noise", "smpi")
    settings = {"LD_PRELOAD": os.path.join(build, "libhanpmpi-noise-smpi.so"), "HANPMPI_NOISE_SEED": str(arguments.seed),
                "HANPMPI_NOISE_HZ": f"{hz:.6g}", **dict(setting.split("=", 1) for setting in arguments.set)}
    own = side in ("ours", "control")
    code, output, errors = smpirun.run(
        os.path.join(build, "slowdown"), ["--unchecked", "--collective", collective, "--bytes", arguments.bytes, "--sides",
                                          side if own else "host", *words],
        stem, ranks, settings, options(arguments, collective, side), timeout=arguments.timeout)
    if code != 0:
        sys.exit(f"study: slowdown of {collective}, {side}, ended with {code if code is not None else 'no time left'}:\n{errors[-2000:]}")
    if own:
        return output
    name = side.replace(" ", "_")
    return "\n".join(line.replace(" host ", f" {name} ", 1) if line.startswith(("call", "noise", "finish")) else line
                     for line in output.splitlines())


def calm_seconds(arguments, collective, stem, ranks):
    output = slowdown(arguments, collective, "ours", stem, ranks, 100, ["--noise", "off", "--blocks", "1", "--calls", "1"])
    return [float(line.split()[-1]) for line in output.splitlines() if line.startswith("call ")][0]


def run(arguments, collective, study):
    """All sides of a collective. Yields the outputs of slowdown as they come; notes the noise's rate in the study."""
    options_of_machine = machines.parse("--nodes", str(arguments.nodes), "--ranks-per-node", str(arguments.ranks_per_node))
    forced = arguments.forced or FORCED[collective]
    sides = ["ours", "control", *(name for name in arguments.selectors.split(",") if name != "none")]
    if forced != "none":
        sides.append(f"forced {forced}")
    with tempfile.TemporaryDirectory(prefix="hanpmpi-noise-") as directory:
        stem = os.path.join(directory, "star")
        ranks = machines.write(options_of_machine, "star", stem)
        seconds = calm_seconds(arguments, collective, stem, ranks)
        hz = PER_CALL / seconds
        delay_ms = 1e3 * seconds * 0.3 # 10 ms of 35
        study["delay_seconds"] = delay_ms / 1e3
        study.setdefault("noise_hz", {})[collective] = hz
        print(f"study: {collective}: a calm call takes {1e3 * seconds:.3f} ms, so {hz:.0f} interruptions a second", file=sys.stderr)
        words = ["--noise", "off," + arguments.noise, "--blocks", str(arguments.blocks), "--calls", str(arguments.calls)]
        late = ["--delayed", arguments.delayed, "--delay-ms", f"{delay_ms:.6g}", "--repeat", "1"] if arguments.delayed else []
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            runs = [pool.submit(slowdown, arguments, collective, side, stem, ranks, hz,
                                words + (late if side in ("ours", "control") or side.startswith("forced") else []))
                    for side in sides]
            for one in concurrent.futures.as_completed(runs):
                yield one.result()


def machine(arguments):
    star = machines.parse()
    return (f"SimGrid's SMPI, {arguments.nodes} nodes x {arguments.ranks_per_node} ranks in a star, {star.bandwidth * 8e-9:g} Gbit/s and "
            f"{star.latency * 1e6:g} us a link, memory bus {star.memory_bandwidth / 1e9:g} GB/s, messages above {arguments.eager} bytes by "
            f"rendezvous")
