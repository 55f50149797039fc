"""How long to wait for whom: from what is in the way, poll by poll, to one more wait or to the end of it."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from pytest_mixgpu.devices.holder import read_word, who_holds

BLINK_S: Final = 0.25
"""How long a lock may be held by somebody who only looks whether it is free, or who is about to lose a race."""
_POLL_S: Final = 0.05
_CALM_POLL_S: Final = 0.25
_CALM_AFTER_S: Final = 3.0
_TELL_AGAIN_S: Final = 30.0
_TELL_CHANGE_S: Final = 2.0
_WORDLESS_S: Final = 10.0
"""How long a sibling may take between its lock and its word, on a machine that is busy."""
_NUM_NAMED: Final = 4

Who = Literal["sibling", "unknown", "stranger"]


class Patience:
    """Time that is left for strangers, and for siblings: processes of the same pytest session.

    Args:
        wait_s: for strangers; at least a blink.
        session: ours; empty where nobody is a sibling.
        siblings_wait_s: for siblings.
        on_wait: told in a sentence what is waited for: at first, when that changes, and about every 30 s.
    """

    def __init__(
        self, *, wait_s: float, session: str, siblings_wait_s: float, on_wait: Callable[[str], None] | None
    ) -> None:
        self._budgets_s: dict[Who, float] = {
            "stranger": max(wait_s, BLINK_S),
            "unknown": max(wait_s, _WORDLESS_S if session else BLINK_S),
            "sibling": max(wait_s, siblings_wait_s, BLINK_S),
        }
        self._is_patient = max(wait_s, siblings_wait_s) > 0
        self._session = session
        self._on_wait = on_wait
        self._spent_s: dict[Who, float] = dict.fromkeys(self._budgets_s, 0.0)
        self._began_s = time.monotonic()
        self._told, self._told_s = "", float("-inf")

    def who(self, lock_file: Path) -> Who:
        """Tell whose a lock is."""
        word = read_word(lock_file)
        if word is None:
            return "unknown"
        return "sibling" if self._session and word.session == self._session else "stranger"

    def wait(self, whom: Who, *, what: str, why: Callable[[], str]) -> bool:
        """Wait for a moment; False if the time for them is over.

        Args:
            whom: in whose way it lies.
            what: is waited for.
            why: says who is in the way.
        """
        left_s = self._budgets_s[whom] - self._spent_s[whom]
        if left_s <= 0:
            return False
        now_s = time.monotonic()
        if self._is_patient and self._on_wait is not None and now_s - self._began_s >= BLINK_S:
            self._tell(f"{what}: {why()}", left_s, now_s)
        time.sleep(min(_CALM_POLL_S if now_s - self._began_s > _CALM_AFTER_S else _POLL_S, left_s))
        self._spent_s[whom] += time.monotonic() - now_s
        return True

    def renewed_blink(self) -> None:
        """Leave at least a blink for what comes next."""
        for whom, budget_s in self._budgets_s.items():
            self._spent_s[whom] = min(self._spent_s[whom], budget_s - BLINK_S)

    def _tell(self, text: str, left_s: float, now_s: float) -> None:
        since_s = now_s - self._told_s
        if since_s < _TELL_CHANGE_S or (text == self._told and since_s < _TELL_AGAIN_S):
            return
        self._told, self._told_s = text, now_s
        if self._on_wait is not None:
            self._on_wait(f"waiting up to {left_s:.0f} s for {text}")


def holders_text(lock_files: Mapping[str, Path]) -> str:
    """Say of each device by whom it is held; those of one holder are told together.

    Args:
        lock_files: by what the device is called.
    """
    by_holder: dict[str, list[str]] = {}
    for name, path in lock_files.items():
        by_holder.setdefault(who_holds(path), []).append(name)
    return "; ".join(f"{_names(names)}: {who}" for who, names in by_holder.items())


def _names(names: Sequence[str]) -> str:
    more = len(names) - _NUM_NAMED
    return ", ".join(names[:_NUM_NAMED]) + (f" and {more} more" if more > 0 else "")
