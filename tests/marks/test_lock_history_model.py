"""Any linear history of a lock against a model of a few lines: since which commit each mark is as it is at its end."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mixgpu.marks.git import witness
from pytest_mixgpu.marks.lock_file import lock_text
from tests.repositories import AFTER, PARITY, SPEEDUP, amended, commit, frozen, git, new_repository

FIRST_LOCK = frozen()
STEPS = st.lists(st.sampled_from([SPEEDUP, PARITY, "code", "move", "other", "edit", "restore"]), max_size=7)


class Story:
    """A repository, and beside it for each commit which value each mark had: a number, or None where it had none."""

    def __init__(self, folder: Path) -> None:
        self.folder = new_repository(folder)
        self.path = "suite-0/passmarks.lock"
        self.lock = FIRST_LOCK
        self.values: dict[str, int | None] = {SPEEDUP: 0, PARITY: 0}
        self.sealed = dict(self.values)
        self.told: list[tuple[str, dict[str, int | None]]] = []
        self.place = 0
        self.keep(lock_text(self.lock))

    def keep(self, text: str) -> None:
        self.told.append((commit(self.folder, text, path=self.path), dict(self.values)))

    def go_on(self, step: str) -> None:
        self.place += 1
        if step in {SPEEDUP, PARITY, "code"}:
            if step == "code" and self.lock.bindings.code == "ab" * 32:
                return
            self.lock = amended(self.lock, step, bound=1 / (self.place + 2))
            changed = {SPEEDUP, PARITY} if step == "code" else {step}
            self.sealed |= dict.fromkeys(changed, self.place)
            self.values = dict(self.sealed)
            self.keep(lock_text(self.lock))
        elif step == "move":
            moved = f"suite-{self.place}"
            git(self.folder, "mv", self.path.partition("/")[0], moved)
            git(self.folder, "commit", "-q", "-m", "move")
            self.path = f"{moved}/passmarks.lock"
            self.told.append((git(self.folder, "rev-parse", "HEAD"), dict(self.values)))
        elif step == "other":
            commit(self.folder, str(self.place), path="other")
        elif step == "edit":
            self.values = dict.fromkeys(self.values)
            self.keep(lock_text(self.lock).replace("least_runs = 1", f"least_runs = {self.place + 2}"))
        elif self.values != self.sealed:
            self.values = dict(self.sealed)
            self.keep(lock_text(self.lock))

    def since(self, id_: str) -> str:
        """Return the commit since which a mark has the value that it has at the end; empty where it has none."""
        last = self.values[id_]
        found = ""
        for one, values in reversed(self.told):
            if last is None or values[id_] != last:
                break
            found = one
        return found


@settings(max_examples=12, deadline=None)
@given(steps=STEPS)
def test_each_mark_stands_since_the_commit_that_the_model_says(steps: list[str]) -> None:
    """Amended, moved, edited by hand and restored, in any order."""
    with TemporaryDirectory() as folder:
        story = Story(Path(folder) / "repository")
        for step in steps:
            story.go_on(step)
        found = {one.id: one for one in witness(story.folder / story.path, AFTER).marks}

        for id_ in (SPEEDUP, PARITY):
            assert story.since(id_) == found[id_].commit
            assert ("" if story.since(id_) else "not-in-history") == found[id_].problem
