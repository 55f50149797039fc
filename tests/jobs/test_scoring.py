"""Whoever scores shows that it does, says how far it is, and uses as many cores as it has threads."""

import json
import os
import subprocess
import sys

import msgspec
import pytest

from pytest_mixgpu.jobs.crewjob import Talk
from pytest_mixgpu.jobs.messages import Scale
from pytest_mixgpu.jobs.progress import describe_scoring
from pytest_mixgpu.jobs.scoring import score_model
from pytest_mixgpu.jobs.words import Listening, Scoring, to_message
from pytest_mixgpu.jobs.workloads.build import open_workload
from pytest_mixgpu.jobs.workloads.recipe import load_recipe
from tests.fakes import FakeCrew
from tests.jobs.made_jobs import digits

_SEVERAL = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")


def test_each_batch_is_a_sign_of_life_and_now_and_then_a_word() -> None:
    """450 images in batches of 512 are one batch; in two of 300 and 150 the word between them says how far it is."""
    workload = open_workload(msgspec.structs.replace(digits(), evaluation_batch=300), data_root=None)
    signs: list[None] = []
    said: list[Scoring] = []

    scored = score_model(
        workload.make_model(0),
        workload,
        "test",
        Scale(device="cpu", number_format="float32", num_threads=2),
        alive=lambda: signs.append(None),
        say=said.append,
        say_every_s=0.0,
    )

    assert 2 == len(signs)
    assert [(300, 450)] == [(word.num_done, word.num_total) for word in said]
    assert (450, 2) == (scored.num_total, scored.num_threads)


@pytest.mark.parametrize(
    ("num_cores", "expected"),
    [(16, "scoring 640 of 3,669"), (2, "scoring 640 of 3,669 (16 threads on 2 cores)")],
    ids=["a core a thread", "fewer cores"],
)
def test_a_scoring_says_how_far_it_is(num_cores: int, expected: str) -> None:
    """Threads that have to share cores are told, since they explain the time."""
    word = Scoring(num_done=640, num_total=3669, num_threads=16, num_cores=num_cores)

    assert expected == describe_scoring(word)


def test_whoever_scores_is_heard_and_not_waited_for() -> None:
    """How far a scoring is travels upward at once, also from a worker whose turn it is not."""
    said: list[str] = []
    word = Scoring(num_done=640, num_total=3669, num_threads=1, num_cores=1)
    listening = Listening(host="here", port=1)
    crew = FakeCrew(("participant-0", to_message(word)), ("coordinator", to_message(listening)))

    heard = Talk(crew, say=said.append).hear("coordinator", Listening)

    assert (listening, ["scoring 640 of 3,669"]) == (heard, said)


def test_a_batch_of_the_large_model_stays_far_below_the_limit() -> None:
    """0.4 CPU-seconds an image on one thread, against the two minutes after which a worker counts as hung."""
    assert load_recipe("pets-vit-b16").evaluation_batch * 0.4 < 10


_PINNED = """
import json, os, sys, threading
from pytest_mixgpu.jobs.cores import room_for

everything = sorted(os.sched_getaffinity(0))
wait = threading.Event()
early = threading.Thread(target=wait.wait)
os.sched_setaffinity(0, everything[:1])
early.start()
def cores(): return [len(os.sched_getaffinity(int(each))) for each in os.listdir("/proc/self/task")]
with room_for(int(sys.argv[1]), everything) as num_cores:
    inside = cores()
wait.set()
print(json.dumps([num_cores, inside, cores()]))
"""


@_SEVERAL
@pytest.mark.parametrize(("num_threads", "widened"), [(1, False), (2, True)], ids=["one will do", "more are declared"])
def test_declared_threads_have_cores(num_threads: int, *, widened: bool) -> None:
    """A pinned process, with all its threads, may use every core while it needs them, and is pinned again after."""
    told = subprocess.run(
        [sys.executable, "-c", _PINNED, str(num_threads)], check=True, capture_output=True, text=True, timeout=60
    ).stdout

    count = len(os.sched_getaffinity(0)) if widened else 1
    num_cores, inside, after = json.loads(told)
    assert (count, [count, count]) == (num_cores, inside)
    assert {1} == set(after)
