"""Makes the sample's outputs from the sample's records: `python reports/samples/make.py`, or `--check` to compare only.

Everything that is written is the same byte for byte on every machine: the date is fixed, drawings are made by the
versions that the extra `report` pins, and what pytest says of its own durations and hosts is left out. It is done in a
copy outside of any git repository, so that no commit of this one changes what is said.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = Path(__file__).parent
INPUTS = ("suite", "records")
KINDS = ("mllog", "openmetrics", "in-toto")
JUDGED_AT = "1796029800"
"""2026-11-30, when the runs were made."""


def main() -> int:
    """Write the outputs, or say which of those that lie here are not what the records give."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if anything differs")
    is_check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as place:
        made = judged_in(Path(place))
        differing = sorted(name for name in made.keys() | written().keys() if made.get(name) != written().get(name))
        if is_check:
            for name in differing:
                what = "is missing" if name not in written() else "is left over" if name not in made else "differs"
                print(f"reports/samples/{name} {what}: run `python reports/samples/make.py` and look at the change")
            return 1 if differing else 0
        for name in written().keys() - made.keys():
            (SAMPLES / name).unlink()
        for name in made:
            (SAMPLES / name).parent.mkdir(parents=True, exist_ok=True)
            (SAMPLES / name).write_bytes(made[name])
    print(f"{len(made)} files written, {len(differing)} of them changed")
    return 0


def judged_in(place: Path) -> dict[str, bytes]:
    """Judge a copy of the records, and return what that wrote, by its path below this folder."""
    for name in INPUTS:
        shutil.copytree(SAMPLES / name, place / name, ignore=shutil.ignore_patterns("data", "__pycache__"))
    command = [
        sys.executable, "-m", "pytest", "suite", "-p", "no:cacheprovider", "--mixgpu-records=records",
        "--mixgpu-report=.", "--mixgpu-signers=suite/allowed_signers", "--junitxml=junit.xml",
        *(f"--passmark-export={kind}" for kind in KINDS),
    ]  # fmt: skip
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "VIRTUAL_ENV", "PYTHONPATH") if name in os.environ}
    fixed = {"SOURCE_DATE_EPOCH": JUDGED_AT, "COLUMNS": "80", "TZ": "UTC", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    outside_git = {"GIT_CEILING_DIRECTORIES": str(place.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=place, env=kept | fixed | outside_git, capture_output=True, text=True, check=False
    )
    if done.returncode != 1:
        # One mark is not met, on purpose.
        raise SystemExit(
            f"expected exit status 1 of {' '.join(command[1:])}, found {done.returncode}\n{done.stdout}{done.stderr}"
        )
    found = {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.relative_to(place).parts[0] not in INPUTS and not path.name.startswith(".")
    }
    found["terminal.txt"] = without_durations(done.stdout).encode()
    found["junit.xml"] = without_moments(found["junit.xml"].decode()).encode()
    return found


def written() -> dict[str, bytes]:
    """Return the outputs that lie here."""
    return {
        str(path.relative_to(SAMPLES)): path.read_bytes()
        for path in sorted(SAMPLES.rglob("*"))
        if path.is_file()
        and path.relative_to(SAMPLES).parts[0] not in (*INPUTS, "README.md", "make.py", "measure.sh", "__pycache__")
    }


def without_durations(text: str) -> str:
    """Keep the closing lines of a session, without how long it took."""
    closing = text[text.index("= pass marks =") :].split("\n", 1)[1]
    return re.sub(r"=+ (.*) in \d+\.\d+s.*", r"\1", closing)


def without_moments(text: str) -> str:
    """Leave out what pytest itself says of durations, moment and host."""
    return re.sub(r' (time|timestamp|hostname)="[^"]*"', "", text)


if __name__ == "__main__":
    raise SystemExit(main())
