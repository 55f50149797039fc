"""Benches with suites: E1 beside made-up runs, a small suite that really measures, and an empty one."""

from pathlib import Path

import pytest

from tests.plugin.bench import Bench, bench_of_e1
from tests.plugin.small_suite import small_suite


@pytest.fixture(autouse=True)
def no_page_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up verdicts do not belong on the page of the CI job that runs these tests."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty repository."""
    return Bench.new(tmp_path / "bench")


@pytest.fixture(scope="session")
def e1_template(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """E1 beside a rehearsal that never happened; not to be changed."""
    return bench_of_e1(tmp_path_factory.mktemp("e1"))


@pytest.fixture
def e1(e1_template: Bench, tmp_path: Path) -> Bench:
    """E1 beside a rehearsal that never happened, to do with as one likes."""
    return e1_template.copied(tmp_path / "e1")


@pytest.fixture(scope="session")
def small_template(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A small suite that can be measured, frozen and committed; not to be changed."""
    return small_suite(tmp_path_factory.mktemp("small"))


@pytest.fixture
def small(small_template: Bench, tmp_path: Path) -> Bench:
    """A small suite that can be measured, frozen and committed."""
    return small_template.copied(tmp_path / "small")


@pytest.fixture(scope="session")
def endless_template(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The small suite with a fleet's run that never ends by itself; not to be changed."""
    return small_suite(tmp_path_factory.mktemp("endless"), long_fleet=True)


@pytest.fixture
def endless(endless_template: Bench, tmp_path: Path) -> Bench:
    """The small suite with a fleet's run that never ends by itself."""
    return endless_template.copied(tmp_path / "endless")
