"""Writes runs into a report folder until it has written as many as it was told, or is killed.

Called by `test_two_writers.py` as `python write_runs.py FOLDER SESSION NUM_RUNS`.
"""

import sys
from datetime import timedelta
from pathlib import Path

from pytest_mixgpu.records.store import RunStore
from tests.samples import FIRST_MOMENT, make_run, seal


def main(folder: str, session: str, num_runs: str) -> None:
    """Register, write and close one run after the other."""
    store = RunStore(Path(folder))
    for index in range(int(num_runs)):
        seal(store, [make_run(session=session, at=FIRST_MOMENT + timedelta(minutes=index))])


if __name__ == "__main__":
    main(*sys.argv[1:])
