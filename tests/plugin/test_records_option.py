"""`--mixgpu-records`: verdicts from records alone."""

import shutil

import pytest

from tests.plugin.bench import USAGE_ERROR, Bench, word_of

RECORDS = "--mixgpu-records=reports"


@pytest.mark.parametrize("workers", [(), ("-n", "0"), ("-n", "2"), ("-p", "no:xdist")], ids=" ".join)
def test_e1_is_judged(e1: Bench, workers: tuple[str, ...]) -> None:
    """Ten tests, eight of them plain passes; nothing heavy is imported and nothing is registered."""
    before = e1.registered()

    result = e1.pytest(RECORDS, *workers)

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert {"passed": 8, "rehearsed": 2} == result.parseoutcomes()
    assert not {"torch", "timm", "torchvision", "sklearn"} & e1.modules()
    assert before == e1.registered()
    assert 12 == len(e1.verdicts())


@pytest.mark.parametrize(
    "flag", ["--gpus=cpu:2", "--mixgpu-workload=digits-vit", "--mixgpu-runs=2", "--mixgpu-split=equal"]
)
def test_refuses_to_measure_as_well(e1: Bench, flag: str) -> None:
    """Judging old runs and asking for new ones contradict each other."""
    result = e1.pytest(RECORDS, flag)

    assert USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"*--mixgpu-records*{flag}*"])


def test_folder_without_a_ledger(e1: Bench) -> None:
    """A folder that holds no runs is a slip, not an empty experiment."""
    result = e1.pytest("--mixgpu-records=elsewhere")

    assert USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*elsewhere*ledger.jsonl*"])


def test_changed_record_is_tampered(e1: Bench) -> None:
    """A byte of a sealed record that was changed is found."""
    run = next(entry.run_id for entry in e1.registered() if entry.role == "mixed")
    record = e1.folder / "reports/runs" / run / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"num_correct":', b'"num_correct": ', 1))

    result = e1.pytest(RECORDS)

    assert 1 == result.ret
    assert "TAMPERED" == e1.verdicts()["e1-parity"].word


def test_lost_record_is_not_forgotten(e1: Bench) -> None:
    """The ledger remembers a run whose folder was removed."""
    run = next(entry.run_id for entry in e1.registered() if entry.role == "fleet")
    shutil.rmtree(e1.folder / "reports/runs" / run)

    result = e1.pytest(RECORDS, "-k", "fast_enough")

    assert 1 == result.ret
    verdict = e1.verdicts()["e1-speedup"]
    assert verdict.word in {"TAMPERED", "VOID", "UNJUDGED"}
    assert run in " ".join([verdict.reason, *verdict.details, verdict.follows_from])


def test_folders_are_joined(e1: Bench) -> None:
    """The flag may be given again: an empty second folder changes no verdict."""
    e1.pytest(RECORDS)
    before = word_of(e1.verdicts())
    (e1.folder / "reports-empty").mkdir()
    (e1.folder / "reports-empty/ledger.jsonl").touch()

    result = e1.pytest(RECORDS, "--mixgpu-records=reports-empty")

    assert {"passed": 8, "rehearsed": 2} == result.parseoutcomes(), f"{result.stdout}\n{result.stderr}"
    assert before == word_of(e1.verdicts())
