"""`--mixgpu-anchor` and `--mixgpu-host-key`: what a session keeps outside, and every doctored case against it."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from pytest_mixgpu.errors import AnchorError
from pytest_mixgpu.marks.evidence import LedgerState
from pytest_mixgpu.plugin.anchoring import Anchoring
from pytest_mixgpu.plugin.options import Options
from pytest_mixgpu.plugin.outside import with_outside
from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.plugin.suites import Suite
from pytest_mixgpu.records.chain import FIRST_PREV, LedgerEntry
from pytest_mixgpu.records.ledger import Ledger
from pytest_mixgpu.records.secrets import HIDDEN, scrub_command
from tests.authorities import allow, authority, make_key, needs_openssl, needs_ssh_keygen
from tests.plugin.bench import USAGE_ERROR, Bench, prose
from tests.plugin.cpu_suite import cpu_suite
from tests.samples import make_experiment

pytestmark = [needs_ssh_keygen, needs_openssl]
RECORDS = "--mixgpu-records=reports"
NONCE = "5eed" * 8
NUM_RUNS = 4


class Outsiders(NamedTuple):
    """Who vouches in these tests."""

    key: Path
    signers: Path
    root: Path

    @property
    def trust(self) -> tuple[str, ...]:
        return f"--mixgpu-signers={self.signers}", f"--mixgpu-tsa-ca={self.root}"


class Anchored(NamedTuple):
    """A measured bench with its heads outside in three ways."""

    bench: Bench
    result: pytest.RunResult
    outsiders: Outsiders

    def look(self, bench: Bench, *, nonces: tuple[str, ...] = (NONCE,), rehearsal: bool = False) -> LedgerState:
        """Hold what a copy of the bench holds against what is outside, without a session."""
        folder, suite = bench.folder / "reports", Suite(bench.folder)
        options = options_with(
            records=(folder,), signers=self.outsiders.signers, tsa_ca=self.outsiders.root, nonces=nonces
        )
        stored = read_runs([folder], "cpu", lock=suite.lock)
        return with_outside(stored, suite, options=options, rehearsal=rehearsal)


def options_with(**given: object) -> Options:
    """Return options in which nothing but this was asked for."""
    nothing: dict[str, object] = {field.name: None for field in dataclasses.fields(Options)}
    return Options(**(nothing | {"anchors": (), "nonces": ()} | given))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def anchored(tmp_path_factory: pytest.TempPathFactory) -> Anchored:
    """An official session that commits, signs and stamps, and signs its records; not to be changed."""
    pytest.importorskip("rfc3161_client")
    folder = tmp_path_factory.mktemp("anchored")
    key = make_key(folder / "keys")
    with authority(folder / "authority") as tsa:
        outsiders = Outsiders(key, allow(folder / "signers", host=key), tsa.root)
        bench = cpu_suite(folder / "bench")
        ways = ("--mixgpu-anchor=git", f"--mixgpu-anchor=ssh:{key}", tsa.flag)
        frozen = bench.pytest("--passmark-freeze", *ways)
        assert 0 == frozen.ret, f"{frozen.stdout}\n{frozen.stderr}"
        bench.commit()
        attested = (f"--mixgpu-host-key={key}", f"--mixgpu-nonce={NONCE}")
        result = bench.pytest("--gpus=cpu:2", "--mixgpu-official", *ways, *outsiders.trust, *attested)
    return Anchored(bench, result, outsiders)


@pytest.fixture
def doctored(anchored: Anchored, tmp_path: Path) -> Bench:
    """A copy of it, to do with as one likes."""
    return anchored.bench.copied(tmp_path / "doctored")


def last(bench: Bench, event: str = "close") -> Path:
    """Return the file of the last anchor of an event."""
    return max((bench.folder / "anchors").glob(f"*-{event}-*.json"))


def rebuild(bench: Bench, change: Callable[[list[LedgerEntry]], list[LedgerEntry]]) -> None:
    """Write the ledger anew after a change, with every hash of the chain good again."""
    path = bench.folder / "reports" / "ledger.jsonl"
    entries = change(list(Ledger(path).read().entries))
    path.unlink()
    prev = FIRST_PREV
    ledger = Ledger(path)
    for n, entry in enumerate(entries):
        ledger.append(replace(entry, n=n, prev=prev))
    assert () == ledger.verify()


def test_official_session_passes(anchored: Anchored) -> None:
    """With heads outside in three ways and signed records, a mark on runs passes officially and notes neither."""
    assert 0 == anchored.result.ret, f"{anchored.result.stdout}\n{anchored.result.stderr}"
    rate = anchored.bench.verdicts("cpu")["cpu-rate"]
    assert ("PASS", ()) == (rate.word, rate.qualifiers)
    assert not {"unanchored", "unattested"} & set(rate.notes)


def test_anchors_are_made_at_freeze_and_around_each_run(anchored: Anchored) -> None:
    """A statement, a signature, a token and a commit each, and no file beside them."""
    names = sorted(path.name for path in (anchored.bench.folder / "anchors").iterdir())
    events = [name.split("-")[1] for name in names if name.endswith(".json")]

    assert ["freeze", *["register", "close"] * NUM_RUNS] == events
    assert 3 * len(events) == len(names)


def test_verdict_says_what_vouches_and_what_that_cannot_show(anchored: Anchored) -> None:
    """Commit, signer and authority, how many runs were announced, and the limits."""
    told = " | ".join(anchored.bench.verdicts("cpu")["cpu-rate"].witness)

    for text in (
        "git commit ",
        "signed by host (SHA256:",
        "stamped by CN=Throw-away clock at ",
        f"{NUM_RUNS} of {NUM_RUNS} runs stand before a head that is kept outside",
        f"{NUM_RUNS} of {NUM_RUNS} runs were announced outside before they ended (git 4, ssh 4, tsa 4)",
        "the lock as it is now is named in anchors/000000-freeze-",
        f"over the challenge {NONCE}",
        "only a push that others saw says when",
        "no secret run",
    ):
        assert text in told


def test_keys_stay_where_they_are(anchored: Anchored) -> None:
    """Nothing of a private key is in a record, an anchor, a report or what was printed."""
    secret = anchored.outsiders.key.read_text("utf-8").splitlines()[2]
    folder = anchored.bench.folder
    files = [path for path in folder.rglob("*") if path.is_file() and ".git/" not in str(path.relative_to(folder))]

    assert [] == [path for path in files if secret.encode() in path.read_bytes()]
    assert secret not in f"{anchored.result.stdout}{anchored.result.stderr}"


def test_command_lines_hold_no_credentials() -> None:
    """A password in an authority's address is hidden from records, and so is where the host's key lies."""
    command = ["--mixgpu-anchor=tsa:https://me:geheim@tsa.example/", "--mixgpu-host-key=/root/.ssh/host"]

    assert (f"--mixgpu-anchor=tsa:https://{HIDDEN}@tsa.example/", f"--mixgpu-host-key={HIDDEN}") == scrub_command(
        command
    )


def test_records_are_judged_the_same(anchored: Anchored, doctored: Bench) -> None:
    """From records alone, with whom to trust and which challenge was handed out."""
    result = doctored.pytest(RECORDS, "--mixgpu-official", f"--mixgpu-nonce={NONCE}", *anchored.outsiders.trust)

    assert 0 == result.ret, result.stdout.str()
    assert not {"unanchored", "unattested"} & set(doctored.verdicts("cpu")["cpu-rate"].notes)


def test_git_vouches_without_further_trust(doctored: Bench) -> None:
    """Where nobody is named who may sign or stamp, commits still vouch for heads, and nobody for records."""
    folder, suite = doctored.folder / "reports", Suite(doctored.folder)
    stored = read_runs([folder], "cpu", lock=suite.lock)
    found = with_outside(stored, suite, options=options_with(records=(folder,)), rehearsal=False)

    assert NUM_RUNS == len(found.outside.covered)
    assert ((), {}) == (found.outside.contradictions, found.attested.accepted)
    assert ["git"] == list({kind for kinds in found.outside.announced.values() for kind in kinds})
    assert "--mixgpu-signers=FILE" in " ".join(found.notes)
    assert "--mixgpu-tsa-ca=FILE" in " ".join(found.notes)


def test_rebuilt_ledger_is_tampered(anchored: Anchored, doctored: Bench) -> None:
    """A run that is taken out, with all hashes good again, leaves a head outside that stands nowhere."""
    run = doctored.registered()[1].run_id
    rebuild(doctored, lambda entries: [entry for entry in entries if entry.run_id != run])
    shutil.rmtree(doctored.folder / "reports" / "runs" / run)

    result = doctored.pytest(RECORDS, *anchored.outsiders.trust)

    assert 1 == result.ret
    for verdict in doctored.verdicts("cpu").values():
        assert "TAMPERED" == verdict.word
        assert "anchors/" in verdict.reason
        assert "rebuilt" in verdict.reason


def test_ledger_with_another_first_line_is_tampered(anchored: Anchored, doctored: Bench) -> None:
    """It is another ledger, and runs are known to exist that stand in none that is given; a rehearsal only says so."""
    rebuild(doctored, lambda entries: [replace(entries[0], session="another"), *entries[1:]])

    told = anchored.look(doctored).outside.contradictions
    rehearsed = anchored.look(doctored, rehearsal=True).outside

    assert any("stands in no ledger given" in text for text in told)
    assert () == rehearsed.contradictions
    assert any("stands in no ledger given" in text for text in rehearsed.said)


def test_cut_ledger_is_tampered(anchored: Anchored, doctored: Bench) -> None:
    """The last run vanishes, and the chain alone would not show it."""
    run = doctored.registered()[-1].run_id
    rebuild(doctored, lambda entries: entries[:-2])
    shutil.rmtree(doctored.folder / "reports" / "runs" / run)

    assert any("it was cut or rebuilt" in text for text in anchored.look(doctored).outside.contradictions)


@pytest.mark.parametrize("field", ["count", "num_runs", "head", "ledger", "lock", "at", "suite", "run_id", "event"])
def test_edited_statement_is_tampered(anchored: Anchored, doctored: Bench, field: str) -> None:
    """Whichever field: name, signature and token no longer fit, and the commit still holds what it was."""
    path = last(doctored)
    table = json.loads(path.read_bytes())
    changed = {"count": 3, "num_runs": 0, "event": "register"}.get(field, "0" * 64)
    path.write_text(json.dumps(table | {field: changed}, indent=1) + "\n", "utf-8")

    assert any(path.name in text for text in anchored.look(doctored).outside.contradictions)


def test_edited_proofs_are_tampered(anchored: Anchored, doctored: Bench) -> None:
    """The signature of another statement, and the token of another, are over other bytes."""
    first, second = last(doctored, "register"), last(doctored)
    for suffix in (".sig", ".tsr"):
        shutil.copy(f"{first}{suffix}", f"{second}{suffix}")
    told = anchored.look(doctored).outside.contradictions

    assert [True, True] == [
        any(text.startswith(f"anchors/{second.name}: the {kind}") for text in told) for kind in ("signature", "token")
    ]


def test_removed_anchors_are_found_in_history(anchored: Anchored, doctored: Bench) -> None:
    """Deleting them, with a commit, and rebuilding the ledger hides nothing, as long as the history is whole."""
    shutil.rmtree(doctored.folder / "anchors")
    doctored.commit()
    rebuild(doctored, lambda entries: entries[:-2])
    found = anchored.look(doctored).outside

    assert any("it was cut or rebuilt" in text for text in found.contradictions)
    assert any("is gone from its folder" in text for text in found.said)


def test_without_anchors_it_is_unanchored(doctored: Bench) -> None:
    """A new history without them shows nothing, and the verdict says that nothing is known."""
    shutil.rmtree(doctored.folder / "anchors")
    shutil.rmtree(doctored.folder / ".git")
    doctored.git("init", "--quiet")
    doctored.commit()

    result = doctored.pytest(RECORDS, "--mixgpu-official")

    assert 1 == result.ret
    assert "unanchored" in doctored.verdicts("cpu")["cpu-rate"].notes
    assert "no head that is kept outside covers its runs" in prose(result)


def test_runs_after_the_last_anchor_are_not_covered(anchored: Anchored, doctored: Bench) -> None:
    """Without the last close, the last run is open to whoever rebuilds the end; the others are not."""
    doctored.git("reset", "--quiet", "--hard", "HEAD~1")
    found = anchored.look(doctored).outside
    runs = [entry.run_id for entry in doctored.registered()]

    assert tuple(runs[:-1]) == found.covered
    assert () == found.contradictions


def test_record_swapped_under_its_signature_is_tampered(anchored: Anchored, doctored: Bench) -> None:
    """The statement of one run beside the record of another, signature and all."""
    one, two = (entry.run_id for entry in doctored.registered()[:2])
    folder = doctored.folder / "reports" / "attestations"
    for suffix in (".json", ".json.sig"):
        shutil.copy(folder / f"{one}{suffix}", folder / f"{two}{suffix}")

    faults = anchored.look(doctored).attested.faults

    assert faults
    assert all("swapped under its signature" in fault and two in fault for fault in faults)


def test_records_without_signature_or_with_another_challenge_are_unattested(
    anchored: Anchored, doctored: Bench
) -> None:
    """Neither is a fault; each says why."""
    run = doctored.registered()[0].run_id
    other = anchored.look(doctored, nonces=("ab" * 16,)).attested
    (doctored.folder / "reports" / "attestations" / f"{run}.json").unlink()
    missing = anchored.look(doctored).attested

    assert ((), {}) == (other.faults, other.accepted)
    assert all("handed out was" in reason for reason in other.refused.values())
    assert ((), {run: "it is not signed"}) == (missing.faults, missing.refused)


def test_challenge_is_not_answered_twice(doctored: Bench) -> None:
    """A second session with the same nonce is refused before it measures anything; the first may go on."""
    first = doctored.registered()[0].session
    anchoring = Anchoring(
        folder=doctored.folder,
        suite="cpu",
        lock_digest="",
        session="another",
        options=options_with(nonces=(NONCE,)),
        say=print,
    )

    with pytest.raises(AnchorError, match=r"carry it already.*ask the verifier for another"):
        anchoring.check(doctored.store())
    replace(anchoring, session=first).check(doctored.store())


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--mixgpu-anchor=paper"], "*found 'paper', expected git, ssh:KEYFILE or tsa:*"),
        (["--mixgpu-anchor=ssh:nowhere"], "*nowhere: there is no such key*"),
        (["--mixgpu-nonce=secret"], "*16 to 128 hexadecimal digits*"),
        (["--mixgpu-nonce=" + "ab" * 16, "--mixgpu-nonce=" + "cd" * 16], "*carry one challenge*"),
        (["--mixgpu-signers=nowhere"], "*--mixgpu-signers=nowhere: there is no such file*"),
        ([RECORDS, "--mixgpu-anchor=git"], "*--mixgpu-records*--mixgpu-anchor=git*"),
    ],
)
def test_what_cannot_be_is_refused_first(doctored: Bench, flags: list[str], told: str) -> None:
    """Before anything is measured, with what to do."""
    result = doctored.pytest("--gpus=cpu:2" if RECORDS not in flags else "-q", *flags)

    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    result.stderr.fnmatch_lines([told])


def test_run_that_cannot_be_announced_is_not_launched(anchored: Anchored, doctored: Bench) -> None:
    """It stands in the ledger as failed before it began, and is no silent gap; the mark is left UNJUDGED."""
    (doctored.folder / "reports").rename(doctored.folder / "reports-before")
    # A file where the folder of anchors must be: that is found only when the first statement is written.
    shutil.rmtree(doctored.folder / "anchors")
    (doctored.folder / "anchors").write_text("in the way", "utf-8")

    result = doctored.pytest("--gpus=cpu:2", f"--mixgpu-anchor=ssh:{anchored.outsiders.key}")

    assert 1 == result.ret, result.stdout.str()
    (record,) = doctored.store().records("cpu")
    assert ("failed", ()) == (record.status, record.rounds)
    assert record.outcome is not None
    assert "it was not launched" in record.outcome.reason


def test_close_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    """The record stays; who measured is told, and the verdict will be unanchored."""
    store = make_experiment(tmp_path / "reports")
    said: list[str] = []
    options = options_with(anchors=("ssh:/nowhere",), host_key=Path("/nowhere"))
    anchoring = Anchoring(
        folder=tmp_path, suite="e1", lock_digest="", session="session-1", options=options, say=said.append
    )

    anchoring.closed(store.records()[0], store)

    assert ["is not signed" in said[0], "is not kept outside" in said[1]] == [True, True]
    with pytest.raises(AnchorError, match="no such key"):
        anchoring.keep("register", store)
