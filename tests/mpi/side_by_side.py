"""side_by_side: cases whose jobs but wait for most of their time run beside those that compute."""
import concurrent.futures
import contextlib
import tempfile

WAITING_AT_ONCE = 2


def run_cases(cases, waiting, run):
    """Calls run(case) for each of the cases: those of `waiting` two at a time, beside them the others one by one. Returns what run
    returned, in the order of the cases; when it raised, raises that once all have ended."""
    with concurrent.futures.ThreadPoolExecutor(1) as busy, concurrent.futures.ThreadPoolExecutor(WAITING_AT_ONCE) as idle:
        done = [(idle if case in waiting else busy).submit(run, case) for case in cases]
    return [result.result() for result in done]


@contextlib.contextmanager
def job_folder():
    """The environment of a job that runs beside others: Open MPI's that end at the same time remove each other's files."""
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as folder:
        yield {"TMPDIR": folder, "OMPI_MCA_orte_tmpdir_base": folder}
