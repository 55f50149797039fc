"""`--mixgpu-job` and `job` in a plan: whose job makes the runs, and where that is said. Needs no torch."""

from pathlib import Path

import pytest

from tests.plugin.bench import USAGE_ERROR, Bench, prose

OWN_COMMAND = Path(__file__).parents[1] / "jobs" / "own_command.py"
PLAN = """\
schema = 1
id = "own"
{job}
question = "Do two sleepers sleep faster than one?"

[workload]
recipe = "naps"
description = "naps"
target = 0.5
done = "by quality: half of the answers are right"

[settings]
batch_size = 4
round_steps = 8
rounds = 2
exchange = "naps"

[evaluation]

[seeds]
base = 1

[[roles]]
name = "baseline"
role = "baseline"
pool = "cpu:1"

[[roles]]
name = "fleet"
role = "fleet"
pool = "cpu:2"
to_finish = true

[baseline]
description = "one sleeper"
not_compared = ["beds"]

[placement]
coordinator = "local"
description = "one machine"

[wait]
status = "out-of-scope"
reason = "cores are taken as they are"

[disturbance]
foreign_share = 0.999
drift = 0.999
"""
RECIPE = """\
schema = 1
name = "naps"
description = "naps"

[own]
nap_s = 0.004
"""
JOB = """\
from pytest_mixgpu.jobs.own import crew_job


def job(setup):
    return crew_job(setup, "nap_work:work", instrumented_rounds=1)


def broken(setup):
    raise OSError("no bed")


number = 7
"""
WORK = """\
import time

from pytest_mixgpu.jobs.own import Answers, Done


def work(context):
    def run_round(this):
        for _ in range(this.steps):
            time.sleep(context.recipe["nap_s"])
        return Done(samples=this.steps * context.batch_size, train_loss=1.0)

    def score(split):
        return Answers(correct=[True, True, True, False], weights_digest=f"{context.seed:064x}")

    context.opened(data_digest="d" * 64, data_counts={"train": 8, "validation": 4, "test": 4}, num_parameters=1)
    context.serve(run_round, score)
"""
TESTS = '''
import pytest


@pytest.mark.claim("own-phases", checks=["warm-up-apart", "phases-add-up", "work-fixed"])
@pytest.mark.passmark("own-rate", metric="samples_per_s", at_least=1.0, unit="samples/s")
def test_sleepers(claim, passmark, runs):
    """Two sleepers take at least a sample a second."""
    claim.judge(runs)
    passmark.judge(runs)
'''


def own_suite(folder: Path, *, job: str = "nap_job:job") -> Bench:
    """Lay out a suite whose workload only a job of its own can train."""
    bench = Bench.new(folder)
    (bench.folder / "recipes").mkdir()
    bench.write("benchmark.toml", PLAN.format(job=f'job = "{job}"' if job else ""))
    bench.write("recipes/naps.toml", RECIPE)
    bench.write("nap_job.py", JOB)
    bench.write("nap_work.py", WORK)
    bench.write("test_own.py", TESTS)
    return bench


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, pytest.RunResult]:
    """The suite, frozen and measured once; not to be changed."""
    bench = own_suite(tmp_path_factory.mktemp("own"))
    bench.freeze()
    return bench, bench.pytest("--gpus=cpu:2", "--junitxml=own.xml", "-v")


def test_its_runs_are_the_experiment_and_self_reported(measured: tuple[Bench, pytest.RunResult]) -> None:
    """They pass plainly, and the note stands in the terminal, in JUnit, on the page and in the summary."""
    bench, result = measured

    result.assert_outcomes(passed=1)
    assert "self-reported" in prose(result)
    assert all("self-reported" in verdict.notes for verdict in bench.verdicts("own").values())
    for name in ("own.xml", "reports/own/index.html", "reports/own/summary.md"):
        assert "self-reported" in (bench.folder / name).read_text("utf-8"), name


def test_slowdown_of_instruments_is_told(measured: tuple[Bench, pytest.RunResult]) -> None:
    """In the terminal's details, on the page and with the verdicts; the rounds are counted apart."""
    bench, result = measured

    assert "times as long as those without" in prose(result)
    page = (bench.folder / "reports/own/index.html").read_text("utf-8")
    assert "times as long as those without" in page
    assert "2 + 1 warm-up + 1 instrumented" in page


def test_records_name_job_and_modules(measured: tuple[Bench, pytest.RunResult]) -> None:
    """The factory's module by its digest, and what workers loaded by theirs."""
    bench, _ = measured
    for run in bench.store().records("own"):
        assert ("nap_job:job", {"nap_job"}) == (run.header.job, set(run.header.job_modules))
        assert run.start is not None
        assert all("nap_work" in worker.own_modules for worker in run.start.workers)


def test_they_are_judged_again_without_the_job(measured: tuple[Bench, pytest.RunResult], tmp_path: Path) -> None:
    """A verdict is taken from records; the module need not even be importable."""
    bench, _ = measured
    again = bench.copied(tmp_path / "again")
    again.write("nap_job.py", "raise ImportError('not here')\n")

    result = again.pytest("--mixgpu-records=reports", "--mixgpu-report=reports2")

    result.assert_outcomes(passed=1)
    assert "code-changed" in again.verdicts("own", "reports2")["own-rate"].notes


@pytest.mark.parametrize("name", ["nap_job.py", "nap_work.py"])
def test_a_job_that_was_edited_is_noted(measured: tuple[Bench, pytest.RunResult], tmp_path: Path, name: str) -> None:
    """The lock binds the factory's module, and the one that it names for the workers."""
    bench, _ = measured
    again = bench.copied(tmp_path / "again")
    again.edit(name, "def ", "CHANGED = 1\n\n\ndef ") if name == "nap_job.py" else again.edit(name, "1.0", "2.0")

    again.pytest("--mixgpu-records=reports", "--mixgpu-report=reports2")

    verdict = again.verdicts("own", "reports2")["own-rate"]
    assert "code-changed" in verdict.notes
    assert any(name in text for text in verdict.details)


def test_official_sessions_take_self_reported_runs(measured: tuple[Bench, pytest.RunResult], tmp_path: Path) -> None:
    """What they refuse is something else: nothing outside vouches for these runs."""
    bench, _ = measured
    again = bench.copied(tmp_path / "again")

    result = again.pytest("--mixgpu-records=reports", "--mixgpu-report=reports2", "--mixgpu-official")

    assert result.ret == 1
    assert "no head that is kept outside" in prose(result)
    assert "self-reported:" not in prose(result)


def test_the_flag_may_say_what_the_plan_says(bench_of_own: Bench) -> None:
    """And nothing else: a frozen plan names the job for all its runs."""
    other = bench_of_own.pytest("--gpus=cpu:2", "--mixgpu-job=nap_job:broken")
    assert USAGE_ERROR == other.ret
    assert "names the job nap_job:job" in other.stderr.str()
    assert [] == bench_of_own.registered()

    same = bench_of_own.pytest("--gpus=cpu:2", "--mixgpu-job=nap_job:job", "-n", "2")
    same.assert_outcomes(passed=1)
    assert {"nap_job:job"} == {run.header.job for run in bench_of_own.store().records("own")}


@pytest.fixture
def bench_of_own(tmp_path: Path) -> Bench:
    bench = own_suite(tmp_path / "own")
    bench.freeze()
    return bench


def test_a_job_beside_the_plan_is_a_rehearsal(tmp_path: Path) -> None:
    """Where the plan names none, its runs are by something else than was frozen."""
    bench = own_suite(tmp_path / "own", job="")
    bench.freeze()

    result = bench.pytest("--gpus=cpu:2", "--mixgpu-job=nap_job:job")

    verdict = bench.verdicts("own")["own-rate"]
    assert "PASS" == verdict.word, prose(result)
    assert "rehearsal" in verdict.qualifiers
    assert "self-reported" in verdict.notes
    assert any("job is nap_job:job" in text for text in verdict.details)


def test_a_workload_of_ones_own_needs_its_job(tmp_path: Path) -> None:
    """Our jobs have nothing to train there, and the message says what to name."""
    bench = own_suite(tmp_path / "own", job="")

    result = bench.pytest("--gpus=cpu:2")

    assert result.ret != 0
    assert "only a job of your own can train it" in prose(result)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent_job:job", "there is no module 'absent_job'"),
        ("nap_job:missing", "has no 'missing'; it has crew_job, job, broken"),
        ("nap_job:number", "expected a function"),
        ("nap_job", "is not of the form module:factory"),
    ],
)
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["plain", "xdist"])
def test_a_job_that_is_not_there(tmp_path: Path, name: str, said: str, workers: tuple[str, ...]) -> None:
    """A usage error before anything is registered."""
    bench = own_suite(tmp_path / "own", job="")

    result = bench.pytest("--gpus=cpu:2", f"--mixgpu-job={name}", ".", *workers)

    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    assert said in result.stderr.str()
    assert [] == bench.registered()


def test_a_job_that_fails_is_told(tmp_path: Path) -> None:
    """The run is registered and failed; the session says why, and no mark is judged on it."""
    bench = own_suite(tmp_path / "own", job="nap_job:broken")

    result = bench.pytest("--gpus=cpu:2")

    assert result.ret == 1
    assert "raised OSError (setup): no bed" in prose(result)
    assert "UNJUDGED" == bench.verdicts("own")["own-rate"].word
    assert ["failed"] == [run.status for run in bench.store().records("own")]


def test_a_command_line_is_a_job(tmp_path: Path) -> None:
    """The plan names the adapter, the recipe the command; the lock binds its script."""
    bench = own_suite(tmp_path / "own", job="pytest_mixgpu.jobs.command:job")
    bench.edit("recipes/naps.toml", "nap_s = 0.004", 'command = ["{python}", "own_command.py"]')
    bench.write("own_command.py", OWN_COMMAND.read_text("utf-8"))
    bench.freeze()

    bench.pytest("--gpus=cpu:2").assert_outcomes(passed=1)
    bench.edit("own_command.py", "0.005", "0.001")
    bench.pytest("--mixgpu-records=reports", "--mixgpu-report=reports2")

    verdict = bench.verdicts("own", "reports2")["own-rate"]
    assert {"self-reported", "code-changed"} <= set(verdict.notes)
    assert any("own_command.py" in text for text in verdict.details)


def test_records_and_job_contradict_each_other(measured: tuple[Bench, pytest.RunResult]) -> None:
    """Judging makes no run."""
    bench, _ = measured

    result = bench.pytest("--mixgpu-records=reports", "--mixgpu-job=nap_job:job")

    assert USAGE_ERROR == result.ret
    assert "--mixgpu-job" in result.stderr.str()


def test_a_plan_with_no_name_for_a_job(tmp_path: Path) -> None:
    """An empty name is no way to leave it out."""
    bench = own_suite(tmp_path / "own", job="")
    bench.edit("benchmark.toml", 'id = "own"', 'id = "own"\njob = ""')

    result = bench.pytest("--gpus=cpu:2")

    assert "expected module:factory" in f"{result.stderr}{prose(result)}"
    assert [] == bench.registered()
