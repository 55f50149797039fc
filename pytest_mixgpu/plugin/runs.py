"""The `runs` fixture: run records by role, made when they are first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_mixgpu.marks.evidence import Evidence
    from pytest_mixgpu.plugin.experiment import Experiment
    from pytest_mixgpu.records.model import Role, RunRecord

ROLES: tuple[Role, ...] = ("baseline", "fleet", "reference", "control", "mixed")


class Runs:
    """The runs of one suite, as far as the roles reach that this view was narrowed to."""

    def __init__(self, experiment: Experiment, roles: tuple[Role, ...] = ROLES) -> None:
        self._experiment = experiment
        self._roles = roles

    def of(self, *roles: Role) -> Runs:
        """A view that makes and holds the runs of these roles only."""
        unknown = sorted(set(roles) - set(ROLES))
        if unknown:
            raise ValueError(f"no role is called {', '.join(unknown)}: choose from {', '.join(ROLES)}")
        return Runs(self._experiment, roles)

    def role(self, role: Role) -> tuple[RunRecord, ...]:
        """The records of one role, those of failed runs among them."""
        return tuple(record for record in self.of(role).evidence().runs if record.header.role == role)

    def evidence(self) -> Evidence:
        """Everything that a judge needs to know of these runs; makes what is missing first."""
        return self._experiment.evidence(self._roles)
