"""A preload that ends only when the one of the other environment has begun, seen by files in a folder."""

import os
import time
from pathlib import Path

_FOLDER, _OWN = Path(os.environ["MIXGPU_TEST_FOLDER"]), os.environ["MIXGPU_TEST_OWN"]

(_FOLDER / _OWN).touch()
while not (_FOLDER / {"a": "b", "b": "a"}[_OWN]).exists():
    time.sleep(0.01)
