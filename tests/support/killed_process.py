"""A process that is killed again and again while it works on files, and what it does there.

Run as a program it makes a copy of itself for each line "job path" on its input. The copy does the
job until it is killed. So everything is imported only once. The program answers

    pid 123     the copy has begun
    ack 7       unit of work 7 is done, for good
    dead 9      the copy has ended, by this signal
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import numpy as np

from widestreet._src.persistence import archive
from widestreet._src.persistence.journal import Journal, Record

EVERY = 5  # records between two archives


def content(number: int) -> tuple[str, dict, dict]:
    """Record `number`: mostly small, at times so large that a kill finds it half written."""
    size = 200_000 if number % 4 == 3 else 12
    return "add", {"number": number}, {"x": np.arange(number, number + size, dtype=np.float64)}


def read(path, *args) -> list[Record]:
    """The records of a journal, of which a crash may have left nothing."""
    if not os.path.exists(path):
        return []
    with closing(Journal(path, *args, create=True)) as journal:
        return list(journal.records(*args[1:]))


# -- jobs ------------------------------------------------------------------------------------------


def acknowledge(number: int) -> None:
    os.write(1, f"ack {number}\n".encode())


def append(path: str) -> None:
    """Append to a journal for ever."""
    journal = Journal(path, create=True)
    while True:
        acknowledge(journal.append(*content(journal.sequence)))


def load(path: str) -> tuple[int, float]:
    """A model, here a sum: from its archive, then from the journal. How many terms, and the sum."""
    header, arrays = archive.read(path)
    count, total = header["start"], float(arrays["total"])
    for record in read(path + ".journal", header["base"], header["start"]):
        count, total = record.number + 1, total + record.arrays["x"].sum()
    return count, total


def add_up(path: str) -> None:
    """Add up for ever, with a journal, and with a new archive every few records."""
    count, total = load(path) if os.path.exists(path) else (0, 0.0)
    journal = Journal(path + ".journal", create=True)
    while True:
        if count % EVERY == 0:
            header = {"base": journal.base, "start": count}
            archive.write(path, header, {"total": np.array(total)})
        kind, head, arrays = content(count)
        acknowledge(journal.append(kind, head, arrays))
        count, total = count + 1, total + arrays["x"].sum()


# -- processes -------------------------------------------------------------------------------------


def serve() -> None:
    """Do the jobs on the input, one after the other."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        job, path = line.split(maxsplit=1)
        pid = os.fork()
        if pid == 0:
            os.write(1, f"pid {os.getpid()}\n".encode())
            {"append": append, "add_up": add_up}[job](path.strip())
        _, status = os.waitpid(pid, 0)
        os.write(1, f"dead {os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}\n".encode())


@contextmanager
def killer() -> Iterator:
    """A function that has a job done, kills it after a while and says what was acknowledged."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )

    def killed(job: str, path: str, acks: int, seconds: float) -> list[int]:
        """Kill the job this long after so many acknowledgements."""
        process.stdin.write(f"{job} {path}\n")
        process.stdin.flush()
        name, pid = process.stdout.readline().split()
        assert name == "pid"
        lines = [process.stdout.readline() for _ in range(acks)]
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
        while not (line := process.stdout.readline()).startswith("dead"):
            assert line, "the program has ended"
            lines.append(line)
        assert line.split() == ["dead", str(int(signal.SIGKILL))]
        assert all(line.startswith("ack ") for line in lines)
        return [int(line.split()[1]) for line in lines]

    try:
        yield killed
    finally:
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()


if __name__ == "__main__":
    serve()
