"""Draws the images that the sample trains on: lying and standing stripes in noise."""

import pathlib

import numpy as np

rng = np.random.default_rng(0)
labels = rng.integers(0, 2, 1200)
images = rng.integers(0, 120, (1200, 8, 8), dtype=np.uint8)
images[labels == 0, ::2, :] += 30
images[labels == 1, :, ::2] += 30
pathlib.Path("data").mkdir(exist_ok=True)
np.savez("data/stripes.npz", x=images, y=labels)
