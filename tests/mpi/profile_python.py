"""profile_python: calls MPI from Python; each rank writes to python.RANK which call it made how often from which line of which function, as
profile.py is to find it in the recording."""
import collections
import sys
import threading

from mpi4py import MPI

comm = MPI.COMM_WORLD
known = collections.Counter()
numbers = bytearray(8)


def count(name, frame, repeats=1):
    caller = frame.f_back
    function = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    known[f"MPI_{name} {frame.f_code.co_filename}:{frame.f_lineno} {function} {caller.f_lineno}"] += repeats


def reduce_in_two_lines():
    comm.Allreduce(MPI.IN_PLACE, [numbers, MPI.LONG]); count("Allreduce", sys._getframe())
    comm.Allreduce(MPI.IN_PLACE, [numbers, MPI.LONG]); count("Allreduce", sys._getframe())


class Solver:
    def step(self, depth):
        if depth:
            return self.step(depth - 1)
        comm.Barrier(); count("Barrier", sys._getframe())


MADE = """
def made(comm, count, sys):
    comm.Bcast(bytearray(100), root=1); count("Bcast", sys._getframe())
"""


def main():
    for _ in range(20):
        reduce_in_two_lines()
        Solver().step(3)
    for _ in range(10):
        reduce_in_two_lines()
    for _ in range(100):  # the same code again and again, an object each time
        names = {}
        exec(compile(MADE, "a file.py", "exec"), names)
        names["made"](comm, count, sys)
    with open(f"python.{comm.rank}", "w") as file:
        file.writelines(f"{repeats} {line}\n" for line, repeats in known.items())
    # A second thread: its calls and what comes after them are known by C's frames, since the interpreter's lock may be taken by the other one.
    other = threading.Thread(target=lambda: MPI.COMM_SELF.Barrier())
    other.start()
    other.join()
    comm.Barrier()


main()
