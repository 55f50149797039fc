"""The workers of one run on many nodes, as the supervisor sees them: words, limits and blame as on one machine.

Every worker has a host of its own on its node (`ray_node.WorkerHost`), an actor. The supervisor keeps one question open
to each and never waits for a single one; a node that has stopped answering is known by the age of its last answer.
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from pytest_mixgpu.devices.hosts import host_name
from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.protocol import Limits, Message, Task
from pytest_mixgpu.launch.ray_cluster import short
from pytest_mixgpu.launch.ray_node import Look
from pytest_mixgpu.launch.ray_nodes import RayNode
from pytest_mixgpu.launch.supervise import CERTAIN, Cause, Sight
from pytest_mixgpu.launch.watched import SETTLE_S, TICK_S, WatchedCrew, run_failed

LOOK_S = 0.5
"""How long a host waits for news before it answers that there is none."""
SILENCE_S = 6.0
"""After this time without an answer a node is held to be lost: its host does nothing but answer."""
_UNREACHABLE_S = 3.0
"""The same where its connections are refused."""
_EXPLAIN_S = 3.0
_OVER_S = 2.0
_END_S = 15.0
"""How long the end of a worker may take beyond the grace that it has."""


class Hosted:
    """One worker, its host and what was last seen of both."""

    def __init__(self, task: Task, node: RayNode, host: Any, log_path: Path) -> None:
        self.task, self.node, self.host, self.log_path = task, node, host, log_path
        self.look = Look(clock_s=0.0)
        self.asked: Any = None
        """The open question."""
        self.run = 0
        """Of its host: a host that stays between runs tells their words apart."""
        self.num_sent = 0
        self.seen_s = time.monotonic()
        """When it last answered, on our clock."""
        self.offset_s = float("inf")
        """From its clock to ours: the least that was seen, since answers travel."""
        self.unreachable_s: float | None = None
        self.lost = ""
        """Why nothing more will be heard of it."""

    @property
    def greeted(self) -> bool:
        """Whether the worker said its first word."""
        return self.look.sight is not None and self.look.sight.greeted

    @property
    def returned(self) -> bool:
        """Whether its entry came to its end."""
        return self.look.sight is not None and self.look.sight.returned

    def lose(self, why: str) -> None:
        """Expect nothing more of it."""
        self.lost, self.asked = self.lost or f"{why} (node {self.node.host}, {self.node.address})", None


class RayCrew(WatchedCrew):
    """Workers on the nodes of a cluster; one thread speaks to them.

    Args:
        limits: how long silence is borne.
        asked_s: when the workers were asked for, on CLOCK_MONOTONIC.
    """

    def __init__(self, *, limits: Limits, asked_s: float) -> None:
        super().__init__(limits=limits, asked_s=asked_s)
        self._hosted: dict[str, Hosted] = {}
        self._has_failed = False
        self._stopped = False

    @property
    def hosted(self) -> tuple[Hosted, ...]:
        """The workers with their hosts."""
        return tuple(self._hosted.values())

    def add(self, hosted: Hosted, *, modules: tuple[str, ...] | None) -> None:
        """Ask for one more worker."""
        self._hosted[hosted.task.name] = hosted
        task, limits = msgspec.json.encode(hosted.task), msgspec.json.encode(self._limits)
        hosted.host.start.remote(hosted.run, task, limits, modules)

    def await_first_words(self) -> None:
        """Return once each worker has said its first word.

        Raises:
            RunFailedError: one of them did not start.
        """
        while not all(hosted.greeted for hosted in self.hosted):
            self._watch()

    def send(self, worker: str, message: Message) -> None:
        """Say something to one worker.

        Raises:
            RunFailedError: a worker failed while the message was on its way, or this one has ended.
        """
        hosted = self._hosted[worker]
        if self._stopped or hosted.lost or hosted.returned:
            deadline_s = time.monotonic() + SETTLE_S
            while not (self._stopped or hosted.returned) and time.monotonic() < deadline_s:
                self._watch()
            raise self._error(Cause(worker=worker, reason="has ended and cannot be spoken to", rank=CERTAIN))
        hosted.host.send.remote(hosted.run, hosted.num_sent, message)
        hosted.num_sent += 1
        if time.monotonic() - self._last_look_s > TICK_S:
            self._watch(wait_s=0.0)  # who only speaks must hear of a failure too

    def _pump(self, wait_s: float) -> None:
        import ray

        now_s = time.monotonic()
        if now_s - self._last_tick_s > self._limits.heartbeat_s / 2:
            self._awake_s = now_s  # asleep ourselves, or away: nobody is judged by that time
        by_question = {}
        for hosted in self.hosted:
            if hosted.lost:
                continue
            if hosted.asked is None:
                hosted.asked = hosted.host.look.remote(hosted.run, LOOK_S)
            by_question[hosted.asked] = hosted
        if not by_question:
            time.sleep(min(wait_s, TICK_S))
        else:
            ready, _ = ray.wait(list(by_question), num_returns=1, timeout=wait_s)
            if ready:
                ready, _ = ray.wait(list(by_question), num_returns=len(by_question), timeout=0)
            for question in ready:
                self._take(by_question[question], question)
        self._find_silent_nodes()
        self._last_tick_s = time.monotonic()

    def _take(self, hosted: Hosted, question: Any) -> None:
        import ray

        hosted.asked = None
        try:
            look = msgspec.json.decode(ray.get(question), type=Look)
        except ray.exceptions.ActorUnavailableError:
            hosted.unreachable_s = hosted.unreachable_s or time.monotonic()
        except (ray.exceptions.RayActorError, ray.exceptions.RayTaskError) as error:
            hosted.lose(f"its host is gone: {short(error)}")
        else:
            hosted.unreachable_s = None
            hosted.seen_s = time.monotonic()
            hosted.offset_s = min(hosted.offset_s, hosted.seen_s - look.clock_s)
            hosted.look = look
            self._received += [(hosted.task.name, message) for message in look.messages]

    def _find_silent_nodes(self) -> None:
        now_s = time.monotonic()
        for hosted in self.hosted:
            if hosted.lost:
                continue
            age_s = now_s - max(hosted.seen_s, self._awake_s)
            limit_s = SILENCE_S if hosted.greeted else self._limits.start_s
            if hosted.unreachable_s is not None and now_s - hosted.unreachable_s > _UNREACHABLE_S:
                hosted.lose(f"nothing answers there any more for {age_s:.1f} s")
            elif age_s > limit_s:
                why = "" if hosted.greeted else "; Ray may have given what it needs to another job"
                hosted.lose(f"no answer came from there for {age_s:.1f} s (limit {limit_s:g} s){why}")

    def _sights(self) -> list[Sight]:
        now_s = time.monotonic()
        return [self._sight(hosted, now_s) for hosted in self.hosted]

    def _sight(self, hosted: Hosted, now_s: float) -> Sight:
        """What was last seen, brought onto our clock and up to now."""
        look, name = hosted.look, hosted.task.name
        seen = look.sight
        asked_age_s = now_s - self._asked_s
        if seen is None:
            why = hosted.lost or look.failure.removeprefix(f"{name} did not start: ")
            return Sight(name=name, greeted=False, asked_age_s=asked_age_s, lost_zygote=why)
        later_s = max(0.0, now_s - max(hosted.seen_s, self._awake_s))
        failure = seen.failure
        if failure is not None:
            failure = msgspec.structs.replace(failure, at_s=failure.at_s + hosted.offset_s)
        gone = bool(hosted.lost) and not (seen.ended or seen.returned)
        return msgspec.structs.replace(
            seen,
            asked_age_s=asked_age_s,
            beat_age_s=seen.beat_age_s + later_s,
            progress_age_s=seen.progress_age_s + later_s,
            failure=failure,
            lost_zygote=hosted.lost if gone else seen.lost_zygote,
        )

    def _settle_s(self) -> float:
        """A node that is about to be found lost is waited for: it explains what its peers say of it."""
        now_s = time.monotonic()
        is_late = any(
            not hosted.lost and (hosted.unreachable_s is not None or now_s - hosted.seen_s > 2 * LOOK_S)
            for hosted in self.hosted
        )
        return SILENCE_S + SETTLE_S if is_late else 2 * LOOK_S + SETTLE_S

    def _names(self) -> tuple[str, ...]:
        return tuple(self._hosted)

    def _have_all_returned(self) -> bool:
        return all(hosted.returned for hosted in self.hosted)

    def _error(self, cause: Cause) -> RunFailedError:
        self._has_failed = True
        hosted = self._hosted[cause.worker]
        tail, memory = self._explanation(hosted)
        hosted.log_path.parent.mkdir(parents=True, exist_ok=True)
        if tail:
            hosted.log_path.write_text(tail + "\n", encoding="utf-8", errors="replace")
        return run_failed(
            cause,
            hosted.task,
            host=hosted.node.host,
            status=hosted.look.sight.status if hosted.look.sight is not None else None,
            memory=memory,
            log_path=hosted.log_path,
            log_tail=tail,
        )

    def _explanation(self, hosted: Hosted) -> tuple[str, str]:
        import ray

        if not hosted.lost:
            with suppress(ray.exceptions.RayError, TimeoutError):
                tail, memory = ray.get(hosted.host.explain.remote(), timeout=_EXPLAIN_S)
                return str(tail), str(memory)
        return hosted.look.log_tail, ""

    def stop(self) -> None:
        """End all workers; nothing is left running when this returns, on any node that can be reached."""
        if self._stopped:
            return
        self._stopped = True
        living = [hosted for hosted in self.hosted if not hosted.lost]
        try:
            if not self._has_failed:
                # Told to all before the first is asked to leave: whoever sees it gone then knows that nothing is wrong.
                _wait([hosted.host.declare_over.remote() for hosted in living], _OVER_S)
            ends = {hosted.task.name: hosted.host.end.remote() for hosted in living}
            _wait(list(ends.values()), self._limits.grace_s + _END_S)
            for hosted in living:
                self._keep_log(hosted, ends[hosted.task.name])
        finally:
            for hosted in self.hosted:
                if hosted.lost:
                    _kill(hosted)

    def _keep_log(self, hosted: Hosted, end: Any) -> None:
        import ray

        try:
            log = ray.get(end, timeout=0)
        except (ray.exceptions.RayError, TimeoutError) as error:
            hosted.lose(f"its host did not end it: {short(error)}")
            return
        if log or not hosted.log_path.exists():
            hosted.log_path.parent.mkdir(parents=True, exist_ok=True)
            hosted.log_path.write_bytes(log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()


def _wait(questions: list[Any], within_s: float) -> None:
    import ray

    if questions:
        ray.wait(questions, num_returns=len(questions), timeout=within_s)


def _kill(hosted: Hosted) -> None:
    import ray

    with suppress(Exception):
        ray.kill(hosted.host)
    if not hosted.log_path.exists():
        hosted.log_path.parent.mkdir(parents=True, exist_ok=True)
        text = f"(the log stayed on {hosted.node.host}: {hosted.lost}; told to {host_name()})\n"
        hosted.log_path.write_text(text, encoding="utf-8")
