"""Since which commit a mark is as it is now, asked of real repositories: moves, merges, rewritten and cut histories."""

from pathlib import Path

import pytest

from pytest_mixgpu.marks.git import Bringing, GitWitness, witness
from pytest_mixgpu.marks.lock import Lock
from pytest_mixgpu.marks.lock_file import lock_text
from tests.judging import freeze_e1
from tests.repositories import (
    AFTER,
    FIRST,
    FOURTH,
    PARITY,
    SECOND,
    SPEEDUP,
    THIRD,
    amended,
    commit,
    frozen,
    git,
    new_repository,
)
from tests.samples import e1_plan


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository")


@pytest.fixture(scope="module")
def lock() -> Lock:
    return frozen()


def ask(folder: Path, path: str = "passmarks.lock", first_run: str = AFTER) -> GitWitness:
    return witness(folder / path, first_run)


def of(found: GitWitness, id_: str = SPEEDUP) -> Bringing:
    return next(one for one in found.marks if one.id == id_)


def commits(found: GitWitness) -> tuple[str, str]:
    """Return the commits that brought the mark that the tests amend, and the other one."""
    return of(found).commit, of(found, PARITY).commit


def test_another_mark_that_is_amended_changes_nothing(repository: Path, lock: Lock) -> None:
    """Each mark has the commit of its own value; the lock as a whole has the last one."""
    first = commit(repository, lock)
    second = commit(repository, amended(lock), at=SECOND)
    found = ask(repository)

    assert (second, first) == commits(found)
    assert (second, SECOND) == (found.commit, found.committer_date)
    assert FIRST == of(found, PARITY).committer_date


def test_what_all_marks_are_bound_to_changes_all(repository: Path, lock: Lock) -> None:
    """Other code measures another number."""
    commit(repository, lock)
    second = commit(repository, amended(lock, "code"), at=SECOND)

    assert (second, second) == commits(ask(repository))


def test_layout_is_no_other_value(repository: Path, lock: Lock) -> None:
    """Comments and spaces change the file, not the mark."""
    first = commit(repository, lock)
    second = commit(repository, "# a comment\n\n" + lock_text(lock), at=SECOND)
    found = ask(repository)

    assert (first, first) == commits(found)
    assert second == found.commit


def test_a_value_that_was_taken_back_stands_since_it_is_there_again(repository: Path, lock: Lock) -> None:
    """Between the two another bound was in force; the first commit is told beside, where it matters."""
    first = commit(repository, lock)
    commit(repository, lock_text(lock).replace("bound = 0.7", "bound = 0.5"), at=SECOND)
    third = commit(repository, lock, at=THIRD)
    found = of(ask(repository, first_run=SECOND))
    earlier = found.elsewhere

    assert third == found.commit
    assert earlier is not None
    assert (first, True) == (earlier.commit, earlier.ancestor)


def test_a_broken_lock_brings_nothing(repository: Path, lock: Lock) -> None:
    """An edit past the chain has no value that could be dated."""
    commit(repository, lock)
    commit(repository, lock_text(lock).replace("bound = 0.7", "bound = 0.5"), at=SECOND)
    found = ask(repository)

    assert ("", {"not-in-history"}) == (found.problem, {one.problem for one in found.marks})


def test_a_rebuilt_chain_is_another_value(repository: Path, lock: Lock) -> None:
    """Who freezes anew as if for the first time, with the same bounds, dates from then."""
    commit(repository, lock)
    rebuilt = commit(repository, freeze_e1(e1_plan(), now=FOURTH), at=SECOND)

    assert rebuilt == of(ask(repository)).commit


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("suites/e1/passmarks.lock", "suites/first/passmarks.lock", id="suite"),
        pytest.param("suites/e1/other.lock", "suites/e1/passmarks.lock", id="file"),
        pytest.param("suites/E1/passmarks.lock", "suites/e1/passmarks.lock", id="case-only"),
        pytest.param("ein Märchen/'q\"/passmarks.lock", "zwei/passmarks.lock", id="odd-names"),
    ],
)
def test_a_move_is_followed(repository: Path, lock: Lock, old: str, new: str) -> None:
    """A mark is as old as it was where it lay before, and that place is named."""
    first = commit(repository, lock, path=old)
    (repository / new).parent.mkdir(parents=True, exist_ok=True)
    git(repository, "mv", old, new)
    git(repository, "commit", "-q", "-m", "move", at=SECOND)
    found = ask(repository, new)

    assert (first, first, first) == (found.commit, *commits(found))
    assert any(f"lay at {old} then" in text for text in of(found).remarks)


def test_a_move_with_an_edit_in_one_commit_is_followed(repository: Path, lock: Lock) -> None:
    """However much was edited: the lock's chain says that it is the same one."""
    first = commit(repository, lock, path="e1/passmarks.lock")
    git(repository, "rm", "-q", "e1/passmarks.lock")
    moved = commit(repository, amended(lock), at=SECOND, path="first/passmarks.lock")

    assert (moved, first) == commits(ask(repository, "first/passmarks.lock"))


def test_a_copy_is_a_new_lock(repository: Path, lock: Lock) -> None:
    """What still lies where it was has not moved."""
    commit(repository, lock, path="e1/passmarks.lock")
    copied = commit(repository, lock, at=SECOND, path="copy/passmarks.lock")

    assert (copied, copied) == commits(ask(repository, "copy/passmarks.lock"))


def test_two_moves_are_followed(repository: Path, lock: Lock) -> None:
    """One after the other, with an amendment between them."""
    first = commit(repository, lock, path="a/passmarks.lock")
    git(repository, "mv", "a", "b")
    git(repository, "commit", "-q", "-m", "move", at=SECOND)
    second = commit(repository, amended(lock), at=THIRD, path="b/passmarks.lock")
    git(repository, "mv", "b", "c")
    git(repository, "commit", "-q", "-m", "move", at=FOURTH)

    assert (second, first) == commits(ask(repository, "c/passmarks.lock"))


def branch_amends(repository: Path, lock: Lock) -> str:
    """Amend the lock on a branch while main goes on; end on main."""
    commit(repository, lock)
    git(repository, "switch", "-q", "-c", "topic")
    on_branch = commit(repository, amended(lock), at=SECOND)
    git(repository, "switch", "-q", "main")
    commit(repository, "x", at=SECOND, path="other")
    return on_branch


def test_a_merge_leaves_the_commit_that_it_joined(repository: Path, lock: Lock) -> None:
    """The branch is a part of the history."""
    on_branch = branch_amends(repository, lock)
    git(repository, "merge", "-q", "--no-ff", "-m", "merge", "topic", at=THIRD)
    found = of(ask(repository))

    assert (on_branch, ()) == (found.commit, found.remarks)


def test_a_merge_that_brings_a_value_of_its_own_is_told(repository: Path, lock: Lock) -> None:
    """Neither side held it: nobody saw it on its own."""
    branch_amends(repository, lock)
    git(repository, "merge", "-q", "--no-ff", "--no-commit", "topic", at=THIRD)
    merge = commit(repository, amended(lock, bound=0.1), at=THIRD)
    found = of(ask(repository))

    assert merge == found.commit
    assert any("it is a merge" in text for text in found.remarks)


def test_a_squash_dates_from_itself_and_names_the_branch(repository: Path, lock: Lock) -> None:
    """The branch is not in the history of HEAD; that it was in time is said beside."""
    on_branch = branch_amends(repository, lock)
    git(repository, "merge", "-q", "--squash", "topic")
    git(repository, "commit", "-q", "-m", "squash", at=FOURTH)
    found = of(ask(repository, first_run=THIRD))

    assert (git(repository, "rev-parse", "HEAD"), FOURTH) == (found.commit, found.committer_date)
    assert found.elsewhere is not None
    assert (on_branch, False) == (found.elsewhere.commit, found.elsewhere.ancestor)


def test_a_branch_that_is_merged_after_its_squash_counts(repository: Path, lock: Lock) -> None:
    """On its line the value stands without a break; that there are two lines is told."""
    on_branch = branch_amends(repository, lock)
    git(repository, "merge", "-q", "--squash", "topic")
    git(repository, "commit", "-q", "-m", "squash", at=THIRD)
    squash = git(repository, "rev-parse", "HEAD")
    git(repository, "merge", "-q", "--no-ff", "-m", "merge", "topic", at=FOURTH)
    found = of(ask(repository))

    assert on_branch == found.commit
    assert any(f"2 lines that were merged: also by {squash[:12]}" in text for text in found.remarks)


def test_a_rebase_dates_from_the_rebase(repository: Path, lock: Lock) -> None:
    """The author's date stays, the committer's is the later one; both count."""
    branch_amends(repository, lock)
    git(repository, "switch", "-q", "topic")
    git(repository, "rebase", "-q", "main", at=FOURTH, author_at=FOURTH)
    found = of(ask(repository, first_run=THIRD))

    assert (SECOND, FOURTH, None) == (found.author_date, found.committer_date, found.elsewhere)


def test_a_cherry_pick_dates_from_itself(repository: Path, lock: Lock) -> None:
    """It is another commit, with the branch's beside it."""
    on_branch = branch_amends(repository, lock)
    git(repository, "cherry-pick", "topic", at=FOURTH)
    found = of(ask(repository, first_run=THIRD))

    assert (SECOND, FOURTH) == (found.author_date, found.committer_date)
    assert found.elsewhere is not None
    assert on_branch == found.elsewhere.commit


def cloned(repository: Path, *how: str) -> Path:
    folder = repository.parent / "clone"
    git(repository.parent, "clone", "-q", *how, f"file://{repository}", "clone")
    return folder


def test_a_shallow_clone_answers_what_it_can(repository: Path, lock: Lock) -> None:
    """A commit whose parents are there is no guess; where they are cut off, it says so with the remedy."""
    commit(repository, "x", path="other")
    commit(repository, lock)
    second = commit(repository, amended(lock), at=SECOND)
    found = ask(cloned(repository, "--depth", "2"))

    assert ("", second, "shallow") == (of(found).problem, of(found).commit, of(found, PARITY).problem)
    assert "git fetch --unshallow" in of(found, PARITY).remedy


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_a_partial_clone_fetches_nothing_and_guesses_nothing(repository: Path, lock: Lock, kind: str) -> None:
    """What was left out is named as that; nobody is asked for it."""
    commit(repository, lock)
    second = commit(repository, amended(lock), at=SECOND)
    folder = cloned(repository, f"--filter={kind}")
    before = git(folder, "count-objects", "-v")
    found = ask(folder)

    assert before == git(folder, "count-objects", "-v")
    if kind == "tree:0":
        assert "partial" == found.problem
    else:
        assert ("", second, {"partial"}) == (found.problem, found.commit, {one.problem for one in found.marks})
    remedy = found.remedy or of(found).remedy
    assert "--refetch" in remedy


def test_a_partial_clone_with_all_that_is_needed_answers(repository: Path, lock: Lock) -> None:
    """A lock that was frozen once has one version, and that is on disk."""
    commit(repository, "x", path="other")
    first = commit(repository, lock)

    assert (first, first) == commits(ask(cloned(repository, "--filter=blob:none")))


def test_the_remote_branches_of_this_clone_are_named(repository: Path, lock: Lock) -> None:
    """As this clone's own account: what was pushed is in them, what was not is in none."""
    commit(repository, lock)
    folder = cloned(repository)
    commit(folder, amended(lock), at=SECOND)
    found = ask(folder)

    assert ((), ("origin/main",)) == (of(found).branches, of(found, PARITY).branches)


def test_a_clone_tells_the_same(repository: Path, lock: Lock) -> None:
    """Who clones it sees what its author sees."""
    commit(repository, lock)
    commit(repository, amended(lock), at=SECOND)

    assert commits(ask(repository)) == commits(ask(cloned(repository)))


@pytest.mark.parametrize("how", ["worktree", "detached"])
def test_a_further_worktree_and_a_detached_head_are_no_hindrance(repository: Path, lock: Lock, how: str) -> None:
    """What is judged is what HEAD names there."""
    first = commit(repository, lock)
    commit(repository, amended(lock), at=SECOND)
    folder = repository
    if how == "worktree":
        git(repository, "worktree", "add", "-q", str(repository.parent / "tree"), first)
        folder = repository.parent / "tree"
    else:
        git(repository, "checkout", "-q", "--detach", first)
    found = ask(folder)

    assert (first, first, first) == (found.head, *commits(found))


@pytest.mark.parametrize("moved_on", [False, True])
def test_a_submodule_is_named_with_what_the_repository_around_it_holds(
    repository: Path, lock: Lock, *, moved_on: bool
) -> None:
    """The commits are the submodule's own, and may not be those that the outer one holds."""
    first = commit(repository, lock, path="e1/passmarks.lock")
    outer = new_repository(repository.parent / "outer")
    git(outer, "submodule", "add", "-q", str(repository), "sub/suites", config=("protocol.file.allow=always",))
    git(outer, "commit", "-q", "-m", "pin", at=SECOND)
    inner = outer / "sub" / "suites"
    if moved_on:
        commit(inner, amended(lock), at=THIRD, path="e1/passmarks.lock")
    found = ask(inner, "e1/passmarks.lock")
    says = "judged here is" if moved_on else "that is the commit judged here"

    assert first == of(found, PARITY).commit
    assert any(f"sub/suites, a submodule of outer, whose HEAD holds it at {first[:12]}: {says}" in text
               for text in found.remarks)  # fmt: skip


def test_dates_that_contradict_each_other_are_told(repository: Path, lock: Lock) -> None:
    """No clock gives an author later than its committer, or a child older than its parent."""
    commit(repository, "x", at=THIRD, path="other")
    (repository / "passmarks.lock").write_text(lock_text(lock), "utf-8")
    git(repository, "add", "passmarks.lock")
    git(repository, "commit", "-q", "-m", "lock", at=FIRST, author_at=SECOND)
    remarks = " ".join(of(ask(repository)).remarks)

    assert "author's date is later than its committer's" in remarks
    assert f"dated {THIRD}, later than itself" in remarks


def test_a_date_in_the_future_is_told(repository: Path, lock: Lock) -> None:
    """By this host's clock it cannot be."""
    commit(repository, lock, at="2099-01-01T00:00:00+00:00")

    assert any("lies in the future" in text for text in of(ask(repository)).remarks)


def test_a_date_that_is_none_is_no_guess(repository: Path, lock: Lock) -> None:
    """A commit can be written by hand with anything in it."""
    commit(repository, lock)
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    raw = repository.parent / "commit"
    raw.write_text(f"tree {tree}\nauthor A <a> 1 +0000\ncommitter A <a> 99999999999999999999 +0000\n\nx\n", "utf-8")
    forged = git(repository, "hash-object", "-t", "commit", "-w", "--literally", str(raw))
    git(repository, "reset", "-q", "--soft", forged)
    found = ask(repository)

    assert ("", None) == (found.committer_date, found.before_first_run)
    assert ("its dates cannot be read",) == of(found).remarks


def test_a_zone_is_kept(repository: Path, lock: Lock) -> None:
    """Dates are compared as moments, and shown as they were written."""
    commit(repository, lock, at="2026-11-29T20:00:00+05:30")

    assert "2026-11-29T20:00:00+05:30" == of(ask(repository)).committer_date
    assert ask(repository, first_run="2026-11-29T14:30:01+00:00").before_first_run is True
    assert ask(repository, first_run="2026-11-29T14:29:59+00:00").before_first_run is False


def test_a_forged_history_in_grafts_or_replacements_is_not_followed(repository: Path, lock: Lock) -> None:
    """Both show another history than the commits themselves."""
    root = commit(repository, lock)
    second = commit(repository, amended(lock), at=SECOND)
    git(repository, "checkout", "-q", "--orphan", "forged")
    forged = commit(repository, amended(lock), at="2020-01-01T00:00:00+00:00")
    git(repository, "switch", "-q", "main")
    git(repository, "replace", root, forged)
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "grafts").write_text(f"{second} {forged}\n", "utf-8")

    assert (second, root) == commits(ask(repository))
