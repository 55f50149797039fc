"""A participant without an exchange: steps and nothing else. Runs inside a worker; serves the solo baseline."""

import time
from typing import NoReturn

import msgspec

from pytest_mixgpu.jobs.cputime import CpuMeter
from pytest_mixgpu.jobs.opening import describe, open_trainer
from pytest_mixgpu.jobs.scoring import own_scale, score_model
from pytest_mixgpu.jobs.training import Trainer
from pytest_mixgpu.jobs.wire import WireError
from pytest_mixgpu.jobs.words import OwnRound, RunRound, Score, Scores, WorkerPayload, any_word, to_message
from pytest_mixgpu.launch.protocol import Channel, Message
from pytest_mixgpu.records.ledger import utc_now
from pytest_mixgpu.timing.model import ParticipantStamps


def train_alone(channel: Channel, payload: Message) -> NoReturn:
    """Entry of the worker: open, then do as the supervisor says until it ends this process."""
    task = msgspec.convert(payload, WorkerPayload)
    spawned_s = task.asked.age_s()
    trainer = open_trainer(channel, task)
    opened = describe(task, trainer, spawned_s=spawned_s, first_step_s=task.asked.age_s())
    channel.send(to_message(opened))
    while True:
        word = any_word(channel.receive())
        if isinstance(word, RunRound):
            channel.send(to_message(_run_round(channel, trainer, word)))
        elif isinstance(word, Score):
            channel.send(to_message(score_here(channel, trainer, word, task)))
        else:
            raise WireError(f"the supervisor sent `{type(word).__name__}` out of turn")


def score_here(channel: Channel, trainer: Trainer, word: Score, task: WorkerPayload) -> Scores:
    """Score the present model: validation on the participant's own device, test on the declared one."""
    scale = own_scale(trainer) if word.split == "validation" else task.scale

    def alive() -> None:
        channel.status(phase="evaluate", round_index=word.after_round)

    alive()
    scored = score_model(
        trainer.model,
        trainer.workload,
        word.split,
        scale,
        alive=alive,
        say=lambda scoring: channel.send(to_message(scoring)),
        cores=task.scoring_cores,
    )
    return Scores(scored=scored, scale=scale)


def _run_round(channel: Channel, trainer: Trainer, word: RunRound) -> OwnRound:
    def alive() -> None:
        channel.status(phase="compute", round_index=word.index)

    started_at = utc_now()
    cpu, start_s = CpuMeter(trainer.task.device), time.perf_counter()
    steps = trainer.run_steps(word.steps[0], alive)
    end_s = trainer.clock.now_s() - start_s
    compute_cpu_s = cpu.used_s()
    return OwnRound(
        started_at=started_at,
        stamps=ParticipantStamps(compute_end_s=end_s, close_s=end_s),
        samples=steps.samples,
        train_loss=steps.mean_loss(),
        compute_cpu_s=compute_cpu_s,
    )
