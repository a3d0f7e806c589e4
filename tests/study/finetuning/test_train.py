"""The training itself: against a plain loop, killed and resumed, and its schedule."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional
from toy_benchmarks import stage, write_labelled

from orthoglot.random_streams import derive
from orthoglot.study.finetuning.data import labelled, labelled_set
from orthoglot.study.finetuning.heads import Classifier
from orthoglot.study.finetuning.network import open_network
from orthoglot.study.finetuning.settings import Recipe
from orthoglot.study.finetuning.train import Run, predicted, train
from orthoglot.study.finetuning.tune import TuningSettings, fine_tune

RECIPE = Recipe(learning_rate=1e-3, epochs=2, batch_size=16, max_tokens=22, warmup=0.2)


def model_of(encoder: Path) -> Classifier:
    """A classifier without dropout, in float64."""
    opened = open_network(encoder)
    torch.manual_seed(0)
    model = Classifier(opened.network, "float32", 2)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    opened.network.model.config.attention_probs_dropout_prob = 0.0
    for layer in opened.network.model.encoder.layer:
        layer.attention.self.dropout.p = 0.0
    return model.double()


def test_a_training_is_that_of_a_plain_loop(encoder: Path, tmp_path: Path) -> None:
    """AdamW without decay, linear warm-up and decay, gradients of length 1 at most, on padded pairs one by one."""
    texts = labelled_set(write_labelled(tmp_path / "toys", 2, train=60))
    items = texts.items["en", "train"]
    targets = np.array([int(item.label) for item in items])
    ours = model_of(encoder)
    opened = open_network(encoder)
    data = labelled(opened, items, "en", 22, targets)
    run = Run(7, torch.device("cpu"), tmp_path / "state", "toy", "")
    rising = count()
    train(ours, RECIPE, data, data, lambda *_: float(next(rising)), run)  # keeps the last state

    plain = model_of(encoder)
    words = {word: n for n, word in enumerate(opened.tokenizer.tokens())}
    optimizer = torch.optim.AdamW(plain.parameters(), lr=1.0, weight_decay=0.0)
    losses = []
    for step in range(8):
        rate = min(1.0, (step + 1) / 2) * (1 - step / 8) * 1e-3
        optimizer.param_groups[0]["lr"] = rate
        order = np.random.default_rng(derive(7, "order", step // 4)).permutation(60)
        total = []
        chosen = order[step % 4 * 16 : (step % 4 + 1) * 16]
        for row in chosen:
            first, second = ([words[word] for word in text.split()] for text in items[row].texts)
            ids = torch.tensor([[0, *first, 2, 2, *second, 2]])
            state = plain.network.model(ids).last_hidden_state[:, 0]
            total.append(functional.cross_entropy(plain.head(state), torch.tensor([targets[row]])))
        loss = torch.stack(total).mean()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        length = torch.sqrt(sum((one.grad**2).sum() for one in plain.parameters() if one.grad is not None))
        for one in plain.parameters():
            if one.grad is not None and length > 1:
                one.grad /= length + 1e-6
        optimizer.step()
    # Adam moves an entry by its gradient's sign, which of a gradient of rounding alone is chance.
    for (name, one), other, first in zip(
        ours.named_parameters(), plain.parameters(), model_of(encoder).parameters(), strict=True
    ):
        assert ((one - other).abs() < 1e-4).double().mean() > 0.98, name
        if other.grad is not None and "key.bias" not in name:
            assert (one - first).abs().max() > 1e-3, name
    assert losses[-1] < losses[0]


def test_a_state_is_kept_by_the_validation_part(encoder: Path, tmp_path: Path) -> None:
    texts = labelled_set(write_labelled(tmp_path / "toys", 1, train=60))
    items = texts.items["en", "train"]
    targets = np.array([int(item.label) for item in items])
    data = labelled(open_network(encoder), items, "en", 22, targets)
    model = model_of(encoder)
    values = iter([0.1, 0.9, *[0.5] * 20])
    run = Run(7, torch.device("cpu"), tmp_path / "state", "toy", "")
    history = train(model, RECIPE, data, data, lambda *_: next(values), run)
    assert [row["best"] for row in history[:3]] == [1.0, 1.0, 0.0]
    assert not any(row["best"] for row in history[2:])
    loss, _ = predicted(model.eval(), data, 16, torch.device("cpu"))
    assert loss == pytest.approx(history[1]["valid.total"], abs=1e-5)


SCRIPT = """
import sys
from pathlib import Path
import torch
from kills import wait_at_save
wait_at_save(8)
torch.set_num_threads(1)
from orthoglot.study.finetuning.tune import TuningSettings, fine_tune
settings = TuningSettings.model_validate_json(Path(sys.argv[1]).read_text())
folders = {Path(one).name: Path(one) for one in sys.argv[5:]}
fine_tune(settings, Path(sys.argv[2]), folders, device="cpu", checkpoint=Path(sys.argv[3]), output=Path(sys.argv[4]))
"""


def test_a_killed_fine_tuning_goes_on_to_the_same_bytes(encoder: Path, tmp_path: Path) -> None:
    folder = write_labelled(tmp_path / "toys", 2, train=120)
    stages = [stage("toys", "pairs", epochs=3).model_dump()]
    settings = {
        "encoder": "toy",
        "seed": 3,
        "stages": stages,
        "tests": ["toys"],
        "precision": "float32",
        "threads": 1,
    }
    (tmp_path / "job.json").write_text(json.dumps(settings))

    def tune(name: str) -> None:
        (tmp_path / name / "out").mkdir(parents=True, exist_ok=True)
        fine_tune(
            TuningSettings.model_validate(settings),
            encoder,
            {"toys": folder},
            device="cpu",
            checkpoint=tmp_path / name / "state",
            output=tmp_path / name / "out",
        )

    tune("whole")
    for one in ("out", "state"):
        (tmp_path / "killed" / one).mkdir(parents=True)
    places = [tmp_path / "job.json", encoder, tmp_path / "killed/state", tmp_path / "killed/out", folder]
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *map(str, places)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    saved = tmp_path / "killed" / "state" / "0" / "0" / "training.pt"
    deadline = time.monotonic() + 120
    while not saved.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not any((tmp_path / "killed" / "out").iterdir())
    tune("killed")
    for name in ("scores.npz", "facts.json", "made.json", "history.jsonl"):
        ours, other = ((tmp_path / one / "out" / name).read_bytes() for one in ("whole", "killed"))
        assert ours == other, name
