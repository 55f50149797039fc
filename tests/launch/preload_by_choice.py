"""A module that cannot be imported in one environment."""

import os

if "MIXGPU_TEST_BROKEN" in os.environ:
    raise RuntimeError("too old")
