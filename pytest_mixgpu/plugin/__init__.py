"""Pytest glue: options, markers, fixtures, hooks. Sees every room, and imports none when pytest starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_mixgpu.plugin import options as _options
from pytest_mixgpu.plugin.fixtures import claim, gpus, passmark, runs, stopwatch
from pytest_mixgpu.plugin.keys import OPINIONS, SESSION, SESSION_ID
from pytest_mixgpu.plugin.reporting import Reporting
from pytest_mixgpu.plugin.trail import Trail

if TYPE_CHECKING:
    from collections.abc import Generator

    from xdist.workermanage import WorkerController

    from pytest_mixgpu.plugin.session import MixgpuSession

__all__ = ["claim", "gpus", "passmark", "runs", "stopwatch"]

OUR_FIXTURES = frozenset(__all__)
OUR_MARKERS = frozenset({"passmark", "claim"})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the flags."""
    _options.add(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that a conftest can implement."""
    from pytest_mixgpu.plugin import newhooks

    pluginmanager.add_hookspecs(newhooks)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and refuse flags that contradict each other before anything is collected."""
    for line in _options.MARKERS:
        config.addinivalue_line("markers", line)
    if _options.read(config).runs_no_test:
        if config.getoption("dist", "no") != "no":
            raise pytest.UsageError(
                "--passmark-freeze, --passmark-amend and --passmark-plan need all tests in one process: leave out -n"
            )
        open_session(config)
    trail = Trail(config)
    config.pluginmanager.register(trail, "mixgpu-trail")
    if not hasattr(config, "workerinput"):
        name = config.pluginmanager.register(Reporting(config, trail), "mixgpu-reporting")
        if name is None:
            raise pytest.UsageError("without its reporting no verdict is kept: leave out -p no:mixgpu-reporting")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what this session started, however it ended."""
    session = config.stash.get(SESSION, None)
    if session is not None:
        del config.stash[SESSION]
        session.close()


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer `--mixgpu-devices` and `--mixgpu-compare`; all else is pytest's own main."""
    if config.getoption("--mixgpu-devices"):
        from pytest_mixgpu.plugin.preflight import print_devices

        print_devices(config)
        return 0
    sides = config.getoption("--mixgpu-compare")
    if sides is None:
        return None
    from pytest_mixgpu.plugin.compare import print_comparison

    print_comparison(config, sides, _options.read(config).report)
    return 0


def pytest_sessionstart(session: pytest.Session) -> None:
    """Under xdist the controller collects nothing: it makes sure that the pool is there before workers start."""
    if _is_xdist_controller(session.config) and _may_measure(session.config):
        from pytest_mixgpu.plugin.preflight import preflight_arguments

        preflight_arguments(session.config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Read every mark and claim, so that one that cannot be judged stops the session and names its test."""
    ours = [item for item in items if _is_ours(item)]
    if ours:
        open_session(config).read_marks(ours)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Remember marks and claims that were deselected: nothing measured is never green."""
    ours = [item for item in items if _is_ours(item)]
    if ours:
        open_session(ours[0].config).remember_deselected(ours)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make sure that pool and workload files are there before the first test; `--collect-only` touches no device."""
    ours = [item for item in session.items if _is_ours(item)]
    if ours and not session.config.option.collectonly:
        open_session(session.config).preflight(ours)


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Freeze, amend or show what the marks need instead of running tests, where a flag asks for it."""
    mixgpu = session.config.stash.get(SESSION, None)
    if mixgpu is None or not mixgpu.options.runs_no_test or session.config.option.collectonly or session.testsfailed:
        return None
    if mixgpu.options.plan:
        from pytest_mixgpu.plugin.plan_needs import print_needs

        print_needs(mixgpu)
        return True
    from pytest_mixgpu.plugin.lock_edits import edit_locks

    edit_locks(mixgpu)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A marked test whose body judged nothing fails, still in its call phase."""
    result = yield
    if _is_marked(pyfuncitem):
        from pytest_mixgpu.plugin.opinions import refuse_unjudged

        refuse_unjudged(open_session(pyfuncitem.config), pyfuncitem)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Carry the verdicts of a test on its report: xdist and JUnit read them from there."""
    report = yield
    if OPINIONS in item.stash or _is_marked(item):
        from pytest_mixgpu.plugin.opinions import attach

        attach(open_session(item.config), item, report)
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Under xdist every worker belongs to the controller's session; a user cannot name an older one."""
    import uuid

    node.workerinput["mixgpu_session"] = node.config.stash.setdefault(SESSION_ID, uuid.uuid4().hex)
    session = node.config.stash.get(SESSION, None)
    node.workerinput["mixgpu_pools"] = {} if session is None else session.chosen_pools()


def open_session(config: pytest.Config) -> MixgpuSession:
    """The state of this session, made when it is first needed."""
    session = config.stash.get(SESSION, None)
    if session is None:
        from pytest_mixgpu.plugin.session import MixgpuSession

        session = config.stash[SESSION] = MixgpuSession(config, _options.read(config))
    return session


def _is_marked(item: pytest.Item) -> bool:
    return any(marker.name in OUR_MARKERS for marker in item.iter_markers())


def _is_ours(item: pytest.Item) -> bool:
    return _is_marked(item) or not OUR_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def _may_measure(config: pytest.Config) -> bool:
    """Whether a flag of ours or a plan in a named folder says that this session is about us; imports nothing."""
    if config.getoption("--gpus") is not None:
        return True
    folders = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    return any((place / "benchmark.toml").is_file() for folder in folders for place in (folder, folder.parent))


def _is_xdist_controller(config: pytest.Config) -> bool:
    return config.pluginmanager.hasplugin("dsession")
