"""A command line that trains nothing and writes records, as a user writes one without the plugin. And its faults."""

import json
import os
import subprocess
import sys
import time
from typing import Any

COUNTS = {"train": 800, "validation": 40, "test": 50}
FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
SHARES = json.loads(os.environ["MIXGPU_SHARES"])
WORLD_SIZE, BATCH_SIZE = int(os.environ["MIXGPU_WORLD_SIZE"]), int(os.environ["MIXGPU_BATCH_SIZE"])

orders = open(os.environ["MIXGPU_ORDERS"], encoding="utf-8")  # noqa: PTH123, SIM115
records = open(os.environ["MIXGPU_RECORDS"], "w", encoding="utf-8")  # noqa: PTH123, SIM115


def say(**line: Any) -> None:
    records.write(json.dumps(line) + "\n")
    records.flush()


def start(parent: int) -> None:
    # The processes that compute: this one, and others that it started.
    pids = [os.getpid()] + [subprocess.Popen(["sleep", "600"]).pid for _ in range(WORLD_SIZE - 1)]
    if FAULT == "foreign-pid":
        pids[0] = parent
    say(
        line="start",
        processes=[{"participant": place, "pid": pid} for place, pid in enumerate(pids)],
        data_digest="d1" * 32,
        data_counts=COUNTS,
        num_parameters=10,
    )


def run_round(index: int, instrumented: bool) -> None:  # noqa: C901, FBT001, PLR0912 - one branch a fault
    began_s = time.perf_counter()
    if FAULT == "dies" and index == 1:
        sys.exit(3)
    if FAULT == "silent" and index == 1:
        time.sleep(600)
    say(line="alive")
    time.sleep(0.005)
    seconds = time.perf_counter() - began_s
    parts = [
        {"participant": place, "samples": share * BATCH_SIZE, "seconds": seconds, "train_loss": 0.5}
        for place, share in enumerate(SHARES)
    ]
    if instrumented:
        for part in parts:
            part |= {"communication_s": seconds / 2, "phases": [["compute", seconds / 2], ["send", seconds / 2]]}
    if FAULT == "participants" and index == 1:
        parts[0]["participant"] = 7
    if FAULT == "phases" and index == 1:
        parts[0]["phases"] = [["compute", 9.0]]
    if FAULT == "nan" and index == 1:
        parts[0]["train_loss"] = float("nan")
    if FAULT == "longer" and index == 1:
        for part in parts:
            part["seconds"] = 100.0
    if FAULT == "garbage" and index == 1:
        records.write("epoch 1, loss 0.3\n")
    if FAULT == "unknown-field" and index == 1:
        parts[0]["speed"] = "fast"
    if FAULT == "huge" and index == 1:
        records.write("x" * (9 << 20))
    say(line="round", index=index + (FAULT == "skips" and index == 1), participants=parts)
    if FAULT == "twice" and index == 1:
        say(line="round", index=index, participants=parts)


def evaluate(split: str) -> None:
    num_total = COUNTS[split] - (FAULT == "short-score" and split == "test")
    say(line="evaluation", split=split, correct=[1] * (num_total - 4) + [0] * 4, weights_digest="e1" * 32, loss=0.4)


start(os.getppid())
for text in orders:
    order = json.loads(text)
    if order["order"] == "round":
        run_round(order["index"], order["instrumented"])
    elif order["order"] == "evaluate":
        evaluate(order["split"])
    else:
        break
if FAULT == "afterwards":
    say(line="round", index=99, participants=[])
if FAULT == "bad-exit":
    sys.exit(5)
