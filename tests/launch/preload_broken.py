"""A module that cannot be imported."""

raise RuntimeError("the driver is too old")
