"""MPI jobs: starts one, hands on what it says line by line, and ends it when it says nothing for too long."""
import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading

from .trouble import Trouble

GRACE_SECONDS = 5


class JobFailed(Exception):
    """It ended with an error, or hung."""


class Launcher:
    def __init__(self, words, program, patience):
        self.words, self.program, self.patience = words, program, patience

    def run(self, words, environment, plan=None):
        """Yields the program's lines, as dictionaries. JobFailed: why it did not end well."""
        with tempfile.TemporaryFile(mode="w+", errors="replace") as said:
            process, lines = None, queue.Queue()
            try:
                with _signals_put_off():
                    process = self._start(words, environment, said)
                threading.Thread(target=_write, args=(process.stdin, plan), daemon=True).start()
                threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
                yield from self._lines(lines)
                if process.wait(timeout=self.patience):
                    raise JobFailed(f"it ended with status {process.returncode}")
            except (queue.Empty, subprocess.TimeoutExpired):
                raise JobFailed(f"it said nothing for {self.patience:g} s") from None
            finally:
                if process:
                    _end(process)
                said.seek(0)
                self.said = said.read()[-2000:]

    def _start(self, words, environment, said):
        command = [*self.words, self.program, *words]
        try:
            return subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
                                    text=True, errors="replace", start_new_session=True)
        except OSError as problem:
            raise Trouble(f"{command[0]}: {problem.strerror}; the words behind -- start an MPI job, such as: -- mpirun -np 16") from None

    def _lines(self, lines):
        while True:
            line = lines.get(timeout=self.patience)
            if line is None:
                return
            with contextlib.suppress(ValueError):
                document = json.loads(line)
                if isinstance(document, dict) and "teach" in document:
                    yield document


@contextlib.contextmanager
def _signals_put_off():
    """A signal that ends the tool waits until it is known whom else to end. It is not blocked: the job would inherit that."""
    came, handlers = [], {}
    for number in (signal.SIGINT, signal.SIGTERM):
        handlers[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def _write(pipe, plan):
    with contextlib.suppress(BrokenPipeError):
        if plan is not None:
            pipe.write(json.dumps(plan) + "\n")
        pipe.close()


def _read(pipe, lines):
    for line in pipe:
        lines.put(line)
    lines.put(None)


def _end(process):
    """The launcher and its ranks; a launcher ends ranks on other hosts when it is asked to end."""
    if process.poll() is None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=GRACE_SECONDS)
                break
    process.stdout.close()
