"""How much later does pytest start with the plugin, and how much with pytest-benchmark? Run by hand on an idle machine.

Bare pytest with one test is started again and again without plugins, with ours, and with pytest-benchmark, in turns, so
that a slow moment of the machine falls on all three. Prints what each adds to the median start, and the ratio.

    python benchmarks/startup.py [repeats]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

WARMUPS = 2
DEFAULT_REPEATS = 15

CASES = {
    "bare": (),
    "pytest-mixgpu": ("-p", "pytest_mixgpu.plugin"),
    "pytest-benchmark": ("-p", "pytest_benchmark.plugin"),
}
"""Plugins are named, and autoload is off, so that nothing else that is installed takes part."""


def start_once_s(folder: Path, flags: tuple[str, ...]) -> float:
    """Start pytest on one empty test and wait for its end."""
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags, str(folder)]
    began_s = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began_s


def measure(repeats: int) -> dict[str, list[float]]:
    """Take all cases in turns; the first turns fill caches and are not counted."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_one.py").write_text("def test_one(): pass\n")
        times_s: dict[str, list[float]] = {case: [] for case in CASES}
        for turn in range(WARMUPS + repeats):
            for case, flags in CASES.items():
                taken_s = start_once_s(folder, flags)
                if turn >= WARMUPS:
                    times_s[case].append(taken_s)
    return times_s


def report(times_s: dict[str, list[float]]) -> str:
    """Write medians, what each plugin adds, and the ratio of the two."""
    bare_s = median(times_s["bare"])
    lines = [f"{'':<18}{'median':>9}{'fastest':>9}{'slowest':>9}{'adds':>9}"]
    for case, values_s in times_s.items():
        middle_s = median(values_s)
        columns = (middle_s, min(values_s), max(values_s), middle_s - bare_s)
        lines.append(f"{case:<18}" + "".join(f"{1000 * column:>6.0f} ms" for column in columns))
    ours_s, theirs_s = (median(times_s[case]) - bare_s for case in ("pytest-mixgpu", "pytest-benchmark"))
    ratio = f"{ours_s / theirs_s:.2f}" if theirs_s > 0 else "not to be had: pytest-benchmark added nothing measurable"
    lines.append(f"pytest-mixgpu adds / pytest-benchmark adds: {ratio}  (n = {len(times_s['bare'])} starts each)")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_REPEATS
    print(report(measure(repeats)))


if __name__ == "__main__":
    main()
