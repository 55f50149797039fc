"""A workload that needs torch and nothing else, so that sessions which are not about models start in half the time."""

import io

import numpy as np

from tests.plugin.bench import Bench

NAME = "tiny"

RECIPE = """\
schema = 1
name = "tiny"
description = "a small network that tells lying stripes from standing ones"
num_classes = 2
packages = ["torch"]
evaluation_batch = 100

[data]
source = "npz"
path = "tiny.npz"
layout = "nhw"
test_samples = 100
validation_samples = 100

[input]
image_size = 8
channels = 1
pixel_max = 255.0
mean = [0.4]
std = [0.2]

[model]
factory = "tiny_model:make"
arguments = { width = 16 }

[optimizer]
learning_rate = 3e-3
weight_decay = 0.05
warmup_share = 0.1
"""

MODEL = '''\
"""The network, written as a user writes one: beside the tests."""

from torch.nn import Flatten, Linear, ReLU, Sequential


def make(*, width: int) -> Sequential:
    return Sequential(Flatten(), Linear(64, width), ReLU(), Linear(width, 2))
'''

NUM_SAMPLES = 600


def add_tiny(bench: Bench) -> None:
    """Lay recipe, network and data beside a suite."""
    (bench.folder / "recipes").mkdir()
    (bench.folder / "data").mkdir()
    bench.write("recipes/tiny.toml", RECIPE)
    bench.write("tiny_model.py", MODEL)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, NUM_SAMPLES)
    # So faint that every model gets some wrong: results that are all right are all alike.
    images = rng.integers(0, 200, (NUM_SAMPLES, 8, 8)).astype(np.uint8)
    images[labels == 0, ::2, :] += 20
    images[labels == 1, :, ::2] += 20
    file = io.BytesIO()
    np.savez(file, x=images, y=labels)
    (bench.folder / "data" / "tiny.npz").write_bytes(file.getvalue())


def train_tiny(rehearsal: str) -> str:
    """Return a plan's rehearsal with this workload in place of its own."""
    before = 'recipe = "digits-vit"'
    assert before in rehearsal
    return rehearsal.replace(before, f'recipe = "{NAME}"')
