"""`--mixgpu-workload` and `--mixgpu-data`: model and data by name, or exit status 4 with the files that are missing."""

import pytest

from tests.plugin.bench import USAGE_ERROR, Bench


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["plain", "xdist"])
def test_missing_files_are_named(e1: Bench, workers: tuple[str, ...]) -> None:
    """The message names the files, where they were looked for, and how to fetch them."""
    before = e1.registered()

    result = e1.pytest("--mixgpu-workload=pets-vit-b16", "--mixgpu-data=my-data", *workers)

    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    said = result.stderr.str()
    assert str(e1.folder / "my-data") in said
    assert "oxford" in said.lower()
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert before == e1.registered()


def test_default_place_is_named(e1: Bench) -> None:
    """Without the flag it is said where it was looked, and which flag changes that."""
    result = e1.pytest("--mixgpu-workload=pets-vit-b16")

    assert USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--mixgpu-data*"])


def test_unknown_workload(e1: Bench) -> None:
    """A recipe that does not exist is answered with those that do."""
    result = e1.pytest("--mixgpu-workload=imagenet")

    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    assert "digits-vit" in result.stderr.str()
