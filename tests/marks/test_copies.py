"""Repeats that are none: one run under two names, shifted, scaled or rounded, and results that were used again."""

import math
from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.marks.copies import copies, identical_logs
from pytest_mixgpu.records.model import RoundLine, RunRecord
from pytest_mixgpu.timing.model import ParticipantStamps
from tests.sample_timeline import made_bits
from tests.samples import FIRST_MOMENT, as_record, make_run, make_runs

FIRST = as_record(make_run())
SECOND = as_record(make_run(repeat=1, at=FIRST_MOMENT + timedelta(hours=1)))


def renamed(run: RunRecord) -> RunRecord:
    """Give a copy all that is new in a run of its own, and keep its rounds."""
    assert run.start is not None
    workers = tuple(replace(one, pid=one.pid + 1000) for one in run.start.workers)
    header = replace(run.header, run_id="another", nonce="ab" * 16, seed=run.header.seed + 1, repeat=1, session="later")
    start = replace(run.start, workers=workers, started_at="2027-01-01T00:00:00.000+00:00")
    return replace(run, header=header, start=start)


def retimed(run: RunRecord, change: Callable[[float], float]) -> RunRecord:
    """Change every time of every round, and draw all losses anew."""

    def stamps(own: ParticipantStamps) -> ParticipantStamps:
        values = msgspec.structs.asdict(own)
        return msgspec.convert(
            {name: None if at is None else change(at) for name, at in values.items()}, ParticipantStamps
        )

    def line(old: RoundLine) -> RoundLine:
        losses = tuple(None if loss is None else loss / 7 for loss in old.train_loss)
        return replace(
            old, round_s=change(old.round_s), stamps=tuple(stamps(own) for own in old.stamps), train_loss=losses
        )

    return replace(run, rounds=tuple(line(old) for old in run.rounds), evaluations=())


@pytest.mark.parametrize("rehearsal", [True, False])
def test_honest_repeats_are_no_copies(rehearsal: bool) -> None:  # noqa: FBT001
    """Solo, star and reference rounds of three repeats: nobody is accused."""
    assert () == copies([as_record(run) for run in make_runs(rehearsal=rehearsal, repeats=3)])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda at: at, id="as-they-are"),
        pytest.param(lambda at: at + 0.013, id="shifted"),
        pytest.param(lambda at: 0.97 * at, id="scaled"),
        pytest.param(lambda at: 1.02 * at - 0.004, id="scaled-and-shifted"),
        pytest.param(lambda at: round(at, 7), id="rounded"),
        pytest.param(lambda at: round(1.01 * at, 8), id="scaled-and-rounded"),
    ],
)
def test_rounds_that_were_computed_from_those_of_another_are_a_copy(change: Callable[[float], float]) -> None:
    """Whatever is done to all times alike is undone, and what is left is equal."""
    (found,) = copies([FIRST, retimed(renamed(FIRST), change)])

    assert f"runs {FIRST.id} and another have" in found
    assert "raw timings" in found


def test_most_rounds_are_enough() -> None:
    """Three rounds of seven that were made anew do not make a run."""
    copied, other = renamed(FIRST), SECOND.rounds
    patched = replace(copied, rounds=(*other[:3], *copied.rounds[3:]))

    (found,) = copies([FIRST, patched])

    assert "have the same raw timings" in found


def test_rounds_in_another_order_are_a_copy() -> None:
    """Who shuffles rounds measures nothing new."""
    shuffled = replace(renamed(FIRST), rounds=tuple(reversed(FIRST.rounds)))

    assert any("same raw timings" in text for text in copies([FIRST, shuffled]))


@given(
    seed=st.integers(0, 2**31),
    nonce=st.text("0123456789abcdef", min_size=8, max_size=32),
    repeat=st.integers(1, 9),
    name=st.sampled_from(["fleet", "mixed", "control-a"]),
    moment=st.datetimes().map(lambda at: at.isoformat() + "+00:00"),
    pid=st.integers(1, 2**22),
    kept=st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_no_change_but_of_the_timings_hides_a_copy(  # noqa: PLR0917 - a field each
    seed: int, nonce: str, repeat: int, name: str, moment: str, pid: int, kept: int
) -> None:
    """Ids, seeds, roles, moments, processes, scores: a copy stays one as long as its rounds are those of another."""
    run = renamed(FIRST)
    assert run.start is not None
    workers = tuple(replace(one, pid=pid + number) for number, one in enumerate(run.start.workers))
    copied = replace(
        run,
        header=replace(run.header, seed=seed, nonce=nonce, repeat=repeat, name=name, registered_at=moment),
        start=replace(run.start, started_at=moment, workers=workers),
        rounds=tuple(
            replace(line, started_at=moment, train_loss=(None,) * len(line.train_loss)) for line in run.rounds
        ),
        evaluations=run.evaluations[:kept],
    )

    assert any("one of them is a copy" in text for text in copies([FIRST, copied]))


def rescored(run: RunRecord, num_correct: int, *, like: RunRecord | None = None) -> RunRecord:
    """Score a run otherwise, with the very images right that another had right."""
    key = "one set of images" if like is None else like.id
    bits = made_bits(num_correct, 450, key=key)
    lines = (replace(one, num_correct=num_correct, correct_bits=bits) for one in run.evaluations if one.split == "test")
    return replace(run, evaluations=tuple(lines))


def test_predictions_that_were_used_again_are_found() -> None:
    """Twenty images wrong and the very same ones, under another seed, are the work of one model."""
    (found,) = copies([rescored(FIRST, 420), rescored(SECOND, 420)])

    assert "have different seeds and the same predictions" in found


def test_few_equal_errors_are_no_proof() -> None:
    """Good models miss the same few images: that is said of nobody."""
    assert () == copies([rescored(FIRST, 441), rescored(SECOND, 441)])
    assert () == copies([rescored(FIRST, 420), rescored(SECOND, 420, like=SECOND)])


def test_losses_that_were_used_again_are_found() -> None:
    """No two seeds give the same losses to the last digit."""
    lines = zip(SECOND.rounds, FIRST.rounds, strict=True)
    copied = replace(SECOND, rounds=tuple(replace(new, train_loss=old.train_loss) for new, old in lines))

    (found,) = copies([FIRST, copied])

    assert "have different seeds and the same training losses" in found


def test_held_out_losses_that_were_used_again_are_found() -> None:
    """The same for the looks at validation data."""

    def looked(run: RunRecord) -> RunRecord:
        return replace(
            run, evaluations=tuple(replace(one, loss=math.exp(-at)) for at, one in enumerate(run.evaluations))
        )

    assert len(FIRST.evaluations) >= 3
    (found,) = copies([looked(FIRST), looked(SECOND)])

    assert "have different seeds and the same losses on held-out data" in found


def test_equal_results_of_one_seed_are_honest() -> None:
    """A deterministic machine gives them again: that is one observation, and no copy."""
    again = replace(renamed(retimed(FIRST, lambda at: at)), rounds=SECOND.rounds)
    same_seed = replace(again, header=replace(again.header, seed=FIRST.header.seed))
    lines = zip(SECOND.rounds, FIRST.rounds, strict=True)
    same_losses = replace(same_seed, rounds=tuple(replace(new, train_loss=old.train_loss) for new, old in lines))

    assert () == copies([FIRST, same_losses])


def test_a_session_has_one_boot() -> None:
    """Runs of one session on a host that was booted in between are runs of two."""
    header = replace(SECOND.header, session=FIRST.header.session, host=replace(SECOND.header.host, boot_id="other"))

    (found,) = copies([FIRST, replace(SECOND, header=header)])

    assert "was booted between them" in found


def test_identical_logs_are_named() -> None:
    """Equal logs are said, and accuse nobody; empty ones are no news."""

    def logged(run: RunRecord, digest: str) -> RunRecord:
        assert run.outcome is not None
        return replace(run, outcome=replace(run.outcome, files={"logs/participant-0.log": digest}))

    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    (found,) = identical_logs([logged(FIRST, "ab" * 32), logged(SECOND, "ab" * 32)])

    assert (
        f"logs/participant-0.log of run {SECOND.id} is byte by byte logs/participant-0.log of run {FIRST.id}" == found
    )
    assert () == identical_logs([logged(FIRST, empty), logged(SECOND, empty)])
