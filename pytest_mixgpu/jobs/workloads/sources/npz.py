"""A user's own arrays: from one `.npz` file under the data root to splits. Never unpickles anything.

The file holds `x` and `y`, and all splits are carved; or `x_train`, `y_train`, `x_test`, `y_test`, and validation is
carved unless `x_validation` and `y_validation` are there too.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.workloads.model import Input, NpzData
from pytest_mixgpu.jobs.workloads.sources.arrays import ArraySamples, carve
from pytest_mixgpu.jobs.workloads.sources.protocol import Opened
from pytest_mixgpu.jobs.workloads.splits import stratified

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pair = tuple[NDArray[np.generic], NDArray[np.int64]]

_NUM_DIMENSIONS = {"nhw": 3, "nhwc": 4, "nchw": 4}


def open_npz(data: NpzData, target: Input, root: Path, num_classes: int) -> Opened:
    """Open the file that the recipe names.

    Raises:
        PlanError: it cannot be read, or its arrays are not what the recipe says.
    """
    pairs = _read(root / data.path, data, num_classes)
    if "" in pairs:
        return carve(
            *pairs[""],
            target,
            test_samples=data.test_samples,
            validation_samples=data.validation_samples,
            seed=data.split_seed,
        )
    if data.test_samples:
        raise PlanError(f"{root / data.path} has its own test arrays, so data.test_samples must be 0")
    pixels, labels = pairs["_train"]
    if "_validation" in pairs:
        if data.validation_samples:
            raise PlanError(f"{root / data.path} has validation arrays, so data.validation_samples must be 0")
        train, validation = pairs["_train"], pairs["_validation"]
    else:
        kept, held = stratified(labels.tolist(), data.validation_samples, data.split_seed)
        train, validation = (
            (pixels[list(kept)], labels[list(kept)]),
            (pixels[list(held)], labels[list(held)]),
        )
    return Opened(
        train=ArraySamples(*train, target),
        validation=ArraySamples(*validation, target),
        test=ArraySamples(*pairs["_test"], target),
    )


def _read(path: Path, data: NpzData, num_classes: int) -> dict[str, "Pair"]:
    """Read the pairs that are there, by the ending of their names, and check them."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as arrays:
            held = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError) as error:
        raise PlanError(f"{path} cannot be read as plain arrays: {error}") from error
    endings = [""] if "x" in held else ["_train", "_test", *(["_validation"] if "x_validation" in held else [])]
    needed = {f"{axis}{ending}" for ending in endings for axis in "xy"}
    if set(held) != needed:
        raise PlanError(
            f"{path} holds {', '.join(sorted(held)) or 'nothing'}; expected x and y, or x_train, y_train, x_test and "
            "y_test, with or without x_validation and y_validation"
        )
    return {ending: _checked(path, ending, held, data.layout, num_classes) for ending in endings}


def _checked(path: Path, ending: str, held: "dict[str, NDArray[np.generic]]", layout: str, num_classes: int) -> "Pair":
    """Bring one pair into (samples, channels, height, width) and whole labels, or say why it cannot be."""
    import numpy as np

    x, y = held[f"x{ending}"], held[f"y{ending}"]
    is_number = np.issubdtype(x.dtype, np.floating) or np.issubdtype(x.dtype, np.integer)
    if x.ndim != _NUM_DIMENSIONS[layout] or not is_number:
        raise PlanError(f"x{ending} in {path} is {x.dtype} of shape {x.shape}; expected numbers laid out as {layout!r}")
    if y.shape != (len(x),) or not np.issubdtype(y.dtype, np.integer):
        raise PlanError(f"y{ending} in {path} is {y.dtype} of shape {y.shape}; expected {len(x)} whole numbers")
    labels = y.astype(np.int64)
    if len(labels) and not 0 <= labels.min() <= labels.max() < num_classes:
        raise PlanError(
            f"y{ending} in {path} runs from {labels.min()} to {labels.max()}; num_classes = {num_classes} allows "
            f"0 to {num_classes - 1}"
        )
    if layout == "nhw":
        return x[:, None], labels
    return (x.transpose(0, 3, 1, 2) if layout == "nhwc" else x), labels
