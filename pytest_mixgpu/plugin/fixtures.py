"""The public fixtures. Each imports its room when a test first asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_mixgpu.devices.model import Pool
    from pytest_mixgpu.plugin.opinions import ClaimJudge, PassmarkJudge
    from pytest_mixgpu.plugin.runs import Runs
    from pytest_mixgpu.plugin.stopwatch import Stopwatch


@pytest.fixture
def gpus(request: pytest.FixtureRequest) -> Iterator[Pool]:
    """The pool of this session, as `--gpus` or the plan's rehearsal asked for it; held for as long as the test runs."""
    from pytest_mixgpu.devices.here import in_this_process
    from pytest_mixgpu.errors import DeviceBusyError
    from pytest_mixgpu.plugin import open_session

    session = open_session(request.config)
    pool = session.pool_for(request.node)
    try:
        with session.holding.hold(pool, what_for=request.node.name) as held:
            yield in_this_process(held)
    except DeviceBusyError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def runs(request: pytest.FixtureRequest) -> Runs:
    """Run records by role. Runs that this session lacks are made when a role is first asked for."""
    from pytest_mixgpu.plugin import open_session

    return open_session(request.config).runs_for(request.node)


@pytest.fixture
def stopwatch(request: pytest.FixtureRequest) -> Stopwatch:
    """Times work on the session's devices: synchronised, warm-up by count, all samples kept."""
    from pytest_mixgpu.plugin.stopwatch import stopwatch_for

    return stopwatch_for(request)


@pytest.fixture
def passmark(request: pytest.FixtureRequest) -> PassmarkJudge:
    """Judges the pass mark of this test: `passmark.judge(evidence)`."""
    from pytest_mixgpu.plugin import open_session
    from pytest_mixgpu.plugin.opinions import PassmarkJudge

    return PassmarkJudge(open_session(request.config), request.node)


@pytest.fixture
def claim(request: pytest.FixtureRequest) -> ClaimJudge:
    """Judges the claim of this test: `claim.judge(runs)`."""
    from pytest_mixgpu.plugin import open_session
    from pytest_mixgpu.plugin.opinions import ClaimJudge

    return ClaimJudge(open_session(request.config), request.node)
