"""Plain DistributedDataParallel, as one would write it without the plugin: data, model, loop, score.

Gradients of one bucket are averaged while those of the next are still computed, so both overlap.
What tells them apart is a communication hook with three marks. In rounds that are timed the marks do nothing; in the
one instrumented round they wait for the device, and its slowdown is printed beside what it shows.
"""

import hashlib
from typing import Literal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from pytest_mixgpu.jobs.own import Answers, Done, OwnRoundContext, WorkContext

NUM_RINGS = 3


def work(context: WorkContext) -> None:
    """Run in a worker on each device: open, say so, then serve rounds and scores until the run is over."""
    is_alone = context.exchange == "none"
    if not is_alone:
        context.join_torch()
    training = Training(context, is_alone=is_alone)
    training.step(training.batch())  # whatever torch does only once is done here
    training.begin()
    context.opened(
        data_digest=training.digest,
        data_counts={name: len(x) for name, (x, _) in training.splits.items()},
        num_parameters=sum(parameter.numel() for parameter in training.model.parameters()),
    )
    context.serve(training.run_round, training.score, barrier=None if is_alone else dist.barrier)


class Training:
    """Model, data and optimizer of one worker."""

    def __init__(self, context: WorkContext, *, is_alone: bool) -> None:
        self.context, self.is_alone = context, is_alone
        self.device = torch.device(context.device)
        own = {name: float(str(value)) for name, value in context.recipe.items()}
        self.learning_rate, self.width = own["learning_rate"], int(own["width"])
        held_out = int(own["held_out_samples"])
        points, labels = rings(int(own["train_samples"]) + 2 * held_out, seed=int(own["data_seed"]))
        self.digest = hashlib.sha256(points.numpy().tobytes() + labels.numpy().tobytes()).hexdigest()
        self.splits = {
            "test": (points[:held_out], labels[:held_out]),
            "validation": (points[held_out : 2 * held_out], labels[held_out : 2 * held_out]),
            "train": (points[2 * held_out :], labels[2 * held_out :]),
        }
        self.round: OwnRoundContext | None = None
        self.begin()

    def begin(self) -> None:
        """Draw the weights and start the order of samples anew: the same in every run of a seed."""
        torch.manual_seed(self.context.seed)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(2, self.width),
            torch.nn.ReLU(),
            torch.nn.Linear(self.width, self.width),
            torch.nn.ReLU(),
            torch.nn.Linear(self.width, NUM_RINGS),
        ).to(self.device)
        self.wrapped: torch.nn.Module = self.model
        if not self.is_alone:
            on = None if self.device.type == "cpu" else [self.device.index or 0]
            wrapped = DistributedDataParallel(self.model, device_ids=on, bucket_cap_mb=1)
            wrapped.register_comm_hook(self, average)
            self.wrapped = wrapped
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.learning_rate)
        self.generator = torch.Generator().manual_seed(1000 * self.context.seed + self.context.rank)

    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw a batch of this worker's own."""
        x, y = self.splits["train"]
        chosen = torch.randint(len(x), (self.context.batch_size,), generator=self.generator)
        return x[chosen].to(self.device), y[chosen].to(self.device)

    def step(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Take one step."""
        x, y = batch
        self.optimizer.zero_grad(set_to_none=True)
        loss: torch.Tensor = torch.nn.functional.cross_entropy(self.wrapped(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.round is not None:
            self.round.enter("compute")
        self.optimizer.step()
        return loss.detach()

    def run_round(self, this: OwnRoundContext) -> Done:
        """Take the steps of one round."""
        self.round = this
        losses = []
        for _ in range(this.steps):
            this.alive()
            losses.append(self.step(self.batch()))
        self.round = None
        return Done(samples=this.steps * self.context.batch_size, train_loss=float(torch.stack(losses).mean()))

    def score(self, split: Literal["validation", "test"]) -> Answers:
        """Score the present weights, on the device that the plan declares for it."""
        x, y = (each.to(self.context.scale.device) for each in self.splits[split])
        model = self.model.to(self.context.scale.device)
        with torch.no_grad():
            outputs = model(x)
        answers = Answers(
            correct=(outputs.argmax(1) == y).tolist(),
            loss=float(torch.nn.functional.cross_entropy(outputs, y)),
            weights_digest=self.context.weights_digest(model),
        )
        self.model.to(self.device)
        return answers


def average(training: Training, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:  # type: ignore[name-defined]
    """Average a bucket of gradients among all workers; called while the backward pass computes those of the next."""
    this = training.round
    done = this.moving() if this is not None else None
    if this is not None and bucket.is_last():
        # All gradients are there: from here to the end of the backward pass nothing but communication goes on.
        this.enter("send")
    share = bucket.buffer().div_(dist.get_world_size())
    future = dist.all_reduce(share, async_op=True).get_future()

    def ended(whole: torch.futures.Future[list[torch.Tensor]]) -> torch.Tensor:
        if done is not None:
            done()
        return whole.value()[0]

    return future.then(ended)


def rings(number: int, *, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Make up points in rings around the origin, with the number of each one's ring."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(NUM_RINGS, (number,), generator=generator)
    radius = 1 + labels + 0.18 * torch.randn(number, generator=generator)
    angle = 2 * torch.pi * torch.rand(number, generator=generator)
    return torch.stack((radius * angle.cos(), radius * angle.sin()), dim=1), labels
