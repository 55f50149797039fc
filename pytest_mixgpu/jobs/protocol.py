"""What a job is, as the conductor of a run sees it. Imports no torch."""

from typing import Literal, Protocol

from pytest_mixgpu.records.model import Evaluation, RoundLine, Start


class Job(Protocol):
    """Work under test, spread over the participants of one run.

    All methods are called in the supervisor's process, in the order start, run_round…, evaluate, stop.
    """

    num_rounds: int
    """How many rounds the whole run has, warm-ups included.

    A job may have `num_instrumented_rounds` as well: so many more are asked for after the last score, and are to be run
    with instruments that cost time. They show phases, and no mark is judged by them.
    """

    def start(self) -> Start:
        """Start the workers and return what they found. Data is open and a first step was taken when this returns.

        Raises:
            RunFailedError: a worker did not start.
        """

    def run_round(self, index: int) -> RoundLine:
        """Run one round of fixed work to its end.

        Raises:
            RunFailedError: a worker raised, was killed, stopped or hung.
        """

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        """Score the present model. The test split is asked for once a run."""

    def stop(self) -> None:
        """End all workers; nothing is left running when this returns."""
