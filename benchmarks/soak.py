"""Kills pytest at random moments of its session, again and again, and counts where it died.

A suite of one run of about three seconds reports into one folder, session after session. Each session's pytest is
killed with SIGKILL at a random moment: three in ten before its run is registered, five while it runs, two after its
close. After each kill the ledger verifies, nothing that it held is gone, the run that was going on counts as aborted,
and no process and no lease is left. At last a session that nobody kills goes on. Ends with an error at the first kill
after which any of this does not hold.

    python benchmarks/soak.py [--kills 200] [--seed 20261129]
"""

import argparse
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.plugin.kills import ENDED, FAMILY, STAGES, Killer, one_run_suite

DEFAULT_KILLS = 200
DEFAULT_SEED = 20261129
TOLD_EVERY = 10
NUM_ROUNDS = 100
"""So many take about as long as all that is before the first."""


def soak(folder: Path, num_kills: int, seed: int) -> Killer:
    """Kill so many sessions and let the last one live."""
    family = os.environ[FAMILY] = secrets.token_hex(8)
    killer = Killer(one_run_suite(folder, rounds=NUM_ROUNDS), family)
    killer.let_live()
    whole = ", ".join(f"{took_s:.1f} s {stage}" for stage, took_s in zip(STAGES, killer.stages_s, strict=True))
    print(f"a session: {whole}; {num_kills} kills, seed {seed}", flush=True)
    for number, moment in enumerate(killer.moments(num_kills, Random(seed)), start=1):  # noqa: S311 - no secrecy
        death = killer.kill_at(moment)
        if number % TOLD_EVERY == 0:
            print(f"  kill {number}: at {moment}: {death.place}", flush=True)
    killer.let_live()
    killer.check_counted()
    return killer


def main() -> None:
    """Soak and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=DEFAULT_KILLS)
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    arguments = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        killer = soak(Path(name) / "bench", arguments.kills, arguments.seed)
    for place, count in sorted(killer.places().items()):
        print(f"{count:>5}  {place}")
    num_kills = sum(count for place, count in killer.places().items() if place != ENDED)
    print(f"the ledger verified after each of {num_kills} kills; {time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
