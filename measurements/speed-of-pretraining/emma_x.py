"""Emma-X, Phase 2: time and memory of what a step computes on vectors, ours and with every difference written out.

python measurements/speed-of-pretraining/emma_x.py  # 256 anchors, 1,024 candidates, 4 ranks; 256 and 1,024 dimensions
python measurements/speed-of-pretraining/emma_x.py --device cuda

A step here begins with unit vectors: both votes, ranking InfoNCE, the classifier's likelihood and both gradients. The
naive form holds a tensor of anchors x candidates x ranks x dimensions, as the formula is printed; ours expands the
quadratic form. Both compute the same numbers (checked before they are timed). Each way runs in a process of its own,
whose peak memory less that before the first step is what the step takes; ways in turn, median and range over rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from torch import Tensor
from torch.nn import functional

from orthoglot.study.pretraining.objectives.emma_x import (
    classifier_votes,
    encoder_votes,
    first_scores,
    ranking_info_nce,
    smoothed_nll,
    temperatures,
)
from orthoglot.study.pretraining.objectives.mixture import Mixture

MIB = 2**20


def naive_posterior(mixture: Mixture, x: Tensor, y: Tensor) -> Tensor:
    """ln P, ranks first, from the whole tensor of differences."""
    z = (x[:, None] - y[None])[:, :, None]
    normal = torch.distributions.Normal(mixture.mean, (mixture.log_variance / 2).exp())
    joint = mixture.logits.log_softmax(0) + normal.log_prob(z).sum(dim=-1)
    return joint.log_softmax(2).permute(2, 0, 1)


def ours_posterior(mixture: Mixture, x: Tensor, y: Tensor) -> Tensor:
    """The same from one product per rank."""
    return mixture.crossed(x, y)


WAYS: dict[str, Callable[[Mixture, Tensor, Tensor], Tensor]] = {
    "ours": ours_posterior,
    "naive": naive_posterior,
}


class Phase2:
    """The objective of one step on fixed vectors."""

    def __init__(self, arguments: argparse.Namespace, width: int):
        device = torch.device(arguments.device)
        torch.manual_seed(0)
        self.anchors = functional.normalize(torch.randn(arguments.batch, width), dim=1).to(device)
        self.candidates = functional.normalize(torch.randn(arguments.candidates, width), dim=1).to(device)
        self.candidates[: arguments.batch] = self.anchors
        self.mixture = Mixture(arguments.ranks, width).to(device)
        self.temperatures = temperatures(arguments.ranks, 0.05, 0.1).to(device)
        self.scores = first_scores(arguments.ranks).to(device)
        self.valid = torch.ones(arguments.batch, arguments.candidates, dtype=torch.bool, device=device)
        self.valid.fill_diagonal_(False)

    def step(self, posterior: Callable[[Mixture, Tensor, Tensor], Tensor]) -> tuple[Tensor, ...]:
        """Loss, and the gradients of the anchors and of the mixture."""
        anchors = self.anchors.clone().requires_grad_()
        similarity = anchors @ self.candidates.T
        posteriors = posterior(self.mixture, anchors.detach(), self.candidates)
        by_encoder = encoder_votes(similarity.detach(), self.scores)
        by_classifier = classifier_votes(posteriors.detach())
        ranking = ranking_info_nce(similarity, by_classifier, self.temperatures, self.valid).sum()
        likelihood = (smoothed_nll(posteriors, by_encoder, 0.3) * self.valid).sum() / self.valid.sum()
        total = ranking + likelihood
        return total.detach(), *torch.autograd.grad(total, [anchors, *self.mixture.parameters()])


def peak(device: torch.device) -> int:
    """Bytes: the most that this process has held."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measured(arguments: argparse.Namespace) -> None:
    """In a process of its own: print seconds of each step, and bytes."""
    torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device)
    phase = Phase2(arguments, arguments.only_width)
    (torch.ones(64, 64, device=device) @ torch.ones(64, 64, device=device)).sum().item()
    before, seconds = peak(device), []
    for _ in range(arguments.steps + 1):
        start = time.perf_counter()
        phase.step(WAYS[arguments.way])
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - start)
    sys.stdout.write(json.dumps({"seconds": seconds[1:], "bytes": peak(device) - before}) + "\n")


def checked(arguments: argparse.Namespace) -> None:
    """Both ways give the same loss and gradients on a small step."""
    small = argparse.Namespace(**{**vars(arguments), "batch": 8, "candidates": 24})
    phase = Phase2(small, 64)
    for one, other in zip(*(phase.step(way) for way in WAYS.values()), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def main() -> None:
    """Compare the ways and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--candidates", type=int, default=1024)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--widths", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--only-width", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        measured(arguments)
        return
    checked(arguments)
    for width in arguments.widths:
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        taken = dict.fromkeys(WAYS, 0)
        for _ in range(arguments.rounds):
            for way in WAYS:
                command = [sys.executable, __file__, *sys.argv[1:], "--way", way, "--only-width", str(width)]
                found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                seconds[way].append(statistics.median(found["seconds"]))
                taken[way] = max(taken[way], found["bytes"])
        for way, values in seconds.items():
            sys.stdout.write(
                f"{width} dimensions, {way:6} {1e3 * statistics.median(values):9.1f} ms "
                f"[{1e3 * min(values):.1f}, {1e3 * max(values):.1f}]  {taken[way] / MIB:8.1f} MiB\n"
            )
        faster = statistics.median(seconds["naive"]) / statistics.median(seconds["ours"])
        sys.stdout.write(
            f"naive / ours: time {faster:.1f}, memory {taken['naive'] / max(1, taken['ours']):.1f}\n"
        )


if __name__ == "__main__":
    main()
