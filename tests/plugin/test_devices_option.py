"""`--mixgpu-devices`: what is here, then out."""

from tests.plugin.bench import Bench


def test_lists_and_exits(bench: Bench) -> None:
    """Kinds and exact names are printed, and no test is collected."""
    bench.write("test_broken.py", "raise RuntimeError('collected')\n")

    result = bench.pytest("--mixgpu-devices")

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["*cpu*"])
    result.stdout.no_fnmatch_line("*collected*")
