"""The committed sample: each output is what its records give, byte for byte."""

import subprocess
import sys
from pathlib import Path

import pytest

MAKE = Path(__file__).parents[2] / "reports" / "samples" / "make.py"


def test_outputs_are_what_the_records_give() -> None:
    """Clock and versions of what draws are fixed; a change of a page is seen, and committed with it."""
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    done = subprocess.run([sys.executable, str(MAKE), "--check"], capture_output=True, text=True, check=False)

    assert (0, "") == (done.returncode, done.stdout), done.stdout + done.stderr
