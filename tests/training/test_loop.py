"""The training loop: order of updates, best epoch, early stopping, bit-equal resume, divergence, refusals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from orthoglot.errors import DataError
from orthoglot.random_streams import stream
from orthoglot.training import checkpoint, loop
from orthoglot.training.endings import ending
from orthoglot.training.step import Update
from orthoglot.training.training_state import History


def fit(**values: Any) -> History:
    """`loop.fit` of one epoch, without a checkpoint, unless the values say otherwise."""
    usual: dict[str, Any] = {
        **{"validate": lambda: {"total": 0.0}, "max_epochs": 1, "patience": None, "seed": 0},
        **{"label": "test", "checkpoint": None, "batches_per_epoch": 1},
    }
    return loop.fit(**usual | values)


class KilledError(Exception):
    """A kill in the middle of an epoch."""


def network() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(7)
        return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))


def train(
    model: nn.Module,
    folder: Path | None,
    *,
    fail_in: tuple[int, int] | None = None,
    epochs: int = 6,
    seed: int = 1,
    settings: str = "",
    curves: Any = None,
) -> History:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))

    def batches(epoch: int, first: int) -> Iterator[Tensor]:
        for step in range(first, 3):
            if fail_in == (epoch, step):
                raise KilledError
            yield torch.randn(16, 4, generator=stream(seed, epoch, step))

    def loss(batch: Tensor) -> dict[str, Tensor]:
        error = (model(batch).squeeze(1) - batch.sum(dim=1)).square().mean()
        return {"error": error, "total": error}

    held = torch.randn(32, 4, generator=stream(seed, "valid"))
    return fit(
        model=model,
        updates=[Update("all", loss, optimizer, scheduler=scheduler)],
        batches=batches,
        validate=lambda: {"total": loss(held)["total"].item()},
        max_epochs=epochs,
        seed=seed,
        checkpoint=folder,
        batches_per_epoch=3,
        settings=settings,
        curves=curves,
    )


def same(a: nn.Module, b: nn.Module) -> bool:
    return all(
        torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    )


class Points(list[dict[str, float]]):
    """Curves that only remember."""

    add = list.append


@pytest.mark.parametrize("killed_in", [(0, 1), (1, 0), (1, 2), (4, 1)])
def test_resumed_run_equals_the_uninterrupted_one_bit_for_bit(
    killed_in: tuple[int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(loop, "SAVE_SHARE", 0)
    monkeypatch.setattr(loop, "WINDOW", 4)
    whole, cut, resumed = network(), network(), network()
    points, again = Points(), Points()
    history = train(whole, None, curves=points)
    # windows of four steps, and validations after epochs of three
    assert [point["step"] for point in points if "train.total" in point] == [4, 8, 12, 16]
    assert [point["step"] for point in points if "valid.total" in point] == [3, 6, 9, 12, 15, 18]
    with pytest.raises(KilledError):
        train(cut, tmp_path, fail_in=killed_in)
    torch.randn(5)  # the global generator is elsewhere by now
    with caplog.at_level("INFO"):
        assert train(resumed, tmp_path, curves=again) == history
    assert "resumed after epoch {}, step {}".format(*killed_in) in caplog.text
    assert same(whole, resumed)
    assert again == points


def test_a_training_of_a_gpu_goes_on_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adam states in what is saved whether its step can be a CUDA graph."""
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(loop, "SAVE_SHARE", 0)
    whole, cut, resumed = network(), network(), network()
    history = train(whole, None)
    with pytest.raises(KilledError):
        train(cut, tmp_path, fail_in=(1, 2))
    state = checkpoint.load(tmp_path / loop.FILE)
    (group,) = state["optimizers"][0]["param_groups"]
    assert group["capturable"] is False
    group["capturable"] = True
    checkpoint.save(tmp_path / loop.FILE, state)
    assert train(resumed, tmp_path) == history
    assert same(whole, resumed)


def test_a_curve_has_the_means_of_its_windows_and_the_rate_of_its_last_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "WINDOW", 3)  # an epoch, so that the history says the same
    points = Points()
    history = train(network(), None, epochs=2, curves=points)
    trained, held = points[::2], points[1::2]
    assert [point["train.total"] for point in trained] == [row["train.total"] for row in history]
    assert [point["valid.total"] for point in held] == [row["valid.total"] for row in history]
    assert [point["learning_rate"] for point in trained] == pytest.approx([0.05 / 3, 0.05 / 6])


def test_saves_take_a_small_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, written = [0.0], []

    def save(path: Path, state: Any) -> None:
        written.append(clock[0])
        clock[0] += 4  # a save of four seconds

    def batch_of_a_second(*_: Any, **__: Any) -> Tensor:
        clock[0] += 1
        return torch.zeros(16, 4)

    monkeypatch.setattr(loop.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(checkpoint, "save", save)
    monkeypatch.setattr(torch, "randn", batch_of_a_second)
    train(network(), tmp_path, epochs=80)
    # the first after 30 s, the others after twenty times what a save took, at the end of the step under way
    assert written[0] == pytest.approx(30, abs=1)
    gaps = [later - earlier - 4 for earlier, later in itertools.pairwise(written)]
    assert gaps
    assert all(80 <= gap <= 81 for gap in gaps)


def test_dropout_makes_the_seed_matter_and_the_global_generator_not() -> None:
    first, second, other = network(), network(), network()
    before = torch.get_rng_state()
    history = train(first, None)
    assert torch.equal(torch.get_rng_state(), before)
    torch.randn(3)
    assert train(second, None) == history
    assert train(other, None, seed=2) != history


def test_checkpoint_of_another_training_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
    train(network(), tmp_path, epochs=2, settings="a")
    with pytest.raises(DataError, match="test with seed 1, not test with seed 2"):
        train(network(), tmp_path, seed=2, settings="a")
    with pytest.raises(DataError, match="of other settings"):
        train(network(), tmp_path, settings="b")


def scripted(totals: list[float], patience: int | None) -> tuple[float, History]:
    """A model whose weight counts the epochs and whose validation totals are given."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    told = iter(totals)
    history = fit(
        model=model,
        updates=[Update("count", lambda _: {"total": -model.weight.sum()}, optimizer)],
        batches=lambda *_: [None],
        validate=lambda: {"total": next(told)},
        max_epochs=len(totals),
        patience=patience,
        label="scripted",
    )
    return model.weight.item(), history


def test_model_is_left_at_its_best_epoch() -> None:
    weight, history = scripted([3.0, 1.0, 2.0, 1.0], None)
    assert weight == 2.0  # two epochs done; an equal total later is no improvement
    assert [row["best"] for row in history] == [1, 1, 0, 0]
    assert [row["valid.total"] for row in history] == [3, 1, 2, 1]
    assert [row["train.total"] for row in history] == [0, -1, -2, -3]


@pytest.mark.parametrize(
    ("totals", "patience", "stopped", "best", "warned"),
    [
        ([3.0, 2.0, 2.5, 2.5, 1.0], 2, "patience", 1, False),
        ([3.0, 2.0, 2.5, 2.5], 2, "patience", 1, False),  # in the very last epoch
        ([3.0, 2.0, 2.5, 1.0], 2, "cap", 3, True),
        ([3.0, 2.0, 2.5, 2.5], None, "cap", 1, False),  # of fixed length
    ],
)
def test_ending_at_the_cap_is_told_from_ending_by_patience(
    totals: list[float],
    patience: int | None,
    stopped: str,
    best: int,
    warned: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    weight, history = scripted(totals, patience)
    assert weight == best + 1
    assert ending(history, patience) == {"epochs": 4, "best_epoch": best, "stopped": stopped}
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == (["scripted: stopped at the cap of 4 epochs with patience left"] if warned else [])


def test_updates_run_in_order_and_only_change_their_own_parameters() -> None:
    a, b = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.tensor(1.0))
    seen: list[tuple[str, float, float]] = []

    def loss(name: str) -> dict[str, Tensor]:
        seen.append((name, a.item(), b.item()))
        return {name: a.detach() + b.detach(), "total": a * 2 + b}

    model = nn.ParameterList([a, b])
    updates = [
        Update("first", lambda _: loss("first"), torch.optim.SGD([a], lr=0.25)),
        Update("second", lambda _: loss("second"), torch.optim.SGD([b], lr=0.25)),
    ]
    history = fit(
        model=model,
        updates=updates,
        batches=lambda *_: [None, None],
        batches_per_epoch=2,
    )
    # a steps by 2 / 4, b by 1 / 4; a's gradient from the second update is dropped.
    assert seen == [("first", 1, 1), ("second", 0.5, 1), ("first", 0.5, 0.75), ("second", 0, 0.75)]
    assert history[0]["train.first"] == (2 + 1.25) / 2
    assert history[0]["train.total"] == (2 + 0.75) / 2  # the last update's


def test_non_finite_loss_names_step_and_terms_and_spares_the_weights() -> None:
    model = nn.Linear(1, 1)
    before = checkpoint.snapshot(model)

    def loss(batch: float) -> dict[str, Tensor]:
        pull = model.weight.sum() * batch
        return {"pull": pull, "push": torch.tensor(2.0), "total": pull + 2}

    with pytest.raises(DataError, match=r"bad: epoch 0, step 0, maps.*pull=nan, push=2, total=nan") as error:
        fit(
            model=model,
            updates=[Update("maps", loss, torch.optim.SGD(model.parameters(), lr=1.0))],
            batches=lambda *_: [float("nan")],
            label="bad",
        )
    assert "\n" not in str(error.value)
    assert torch.equal(model.weight, before["weight"])


def of_totals(totals: Sequence[float], taken: list[float], keep: loop.Keep = "best") -> History:
    """A training whose steps have these totals, made of a pull and a push of 0.25."""
    model = nn.Linear(1, 1)

    def loss(total: float) -> dict[str, Tensor]:
        taken.append(total)
        pull = model.weight.sum() * 0 + total - 0.25
        return {"pull": pull, "push": torch.tensor(0.25), "total": pull + 0.25}

    return fit(
        model=model,
        updates=[Update("maps", loss, torch.optim.SGD(model.parameters(), lr=1.0))],
        batches=lambda *_: totals,
        validate=lambda: {"total": 3.0},
        label="wild",
        batches_per_epoch=len(totals),
        keep=keep,
    )


@pytest.mark.parametrize(
    ("totals", "message"),
    [
        # above the first step's by more than half and one: 4 + 1 + 2
        (
            [4, 4, 6, 7, 7, 8, 9, 9],
            r"wild: epoch 0, step 6: diverged: pull=7.25, push=0.25, total=7.5; .* was 4,",
        ),
        # it had gained 4, and has lost nine tenths of that: 4 -> 0 -> 3.7, about where it began
        ([4, 2, 0, 0, 3.7, 3.7, 9, 9], r"step 6: diverged: .*total=3.7; .* lowest of 2 steps 0;"),
    ],
)
def test_divergence_and_collapse_stop_early_and_tell_every_term(
    totals: list[float], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "WINDOW", 2)
    taken: list[float] = []
    with pytest.raises(DataError, match=message):
        of_totals(totals, taken)
    assert taken == totals[:6]


@pytest.mark.parametrize(
    "totals",
    [
        [4, 4, 6, 6, 7, 6.5, 6, 6],  # worse than it began, but not by that much
        [4, 2, 0, 0, 3.5, 3.5, 1, 1],  # a setback
        [0.01, 0.2, 0.01, 0.9, 0.8, 0.9, 0.3, 0.2],  # a good start, on which a step is mostly noise
        [2, 2, 1.5, 1.5, 2, 2, 1.5, 1.5],  # no gain to speak of
    ],
)
def test_what_is_no_divergence(totals: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "WINDOW", 2)
    assert len(of_totals(totals, [])) == 1


def test_totals_that_cannot_be_compared_say_nothing_of_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "WINDOW", 2)
    assert len(of_totals([4, 4, 6, 7, 7, 8, 9, 9], [], keep="last")) == 1


def test_non_finite_validation_is_refused() -> None:
    with pytest.raises(DataError, match="validation: a value is not finite"):
        scripted([float("inf")], None)


def test_an_epoch_without_batches_is_refused() -> None:
    with pytest.raises(DataError, match="no batch"):
        fit(model=nn.Linear(1, 1), updates=[], batches=lambda *_: [])
