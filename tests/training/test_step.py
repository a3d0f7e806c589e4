"""Captured steps: which batch goes to which graph, what is copied, and the training of a plain loop.

A CPU has no graphs. What stands in for one runs the step anew on the inputs of its capture, and counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from synthetic_world import World
from test_stack import capped, same, stacked
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from orthoglot.training import stack, step
from orthoglot.training.step import WARMUP, Graph, Update, Values, take

FREE = 1000


class Rows(NamedTuple):
    """A batch with tensors within, and what is beside them."""

    given: tuple[Tensor, Tensor]
    factor: int
    host: np.ndarray


def batches(shapes: list[tuple[int, int]]) -> list[tuple[Rows]]:
    """A batch for each number of rows and factor."""
    generator = torch.Generator().manual_seed(0)
    drawn = [
        (torch.randn(rows, 3, generator=generator), torch.randn(rows, generator=generator), factor)
        for rows, factor in shapes
    ]
    return [(Rows((x, y), factor, np.arange(len(x))),) for x, y, factor in drawn]


def update(scheduled: bool = True) -> tuple[nn.Module, Update]:
    torch.manual_seed(1)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)

    def loss(batch: Rows) -> Values:
        x, y = batch.given
        error = (model(x)[:, 0] - y).square().mean()
        return {"error": error, "total": batch.factor * error}

    rates = LambdaLR(optimizer, lambda done: 1 / (1 + done)) if scheduled else None
    return model, Update("training", loss, optimizer, rates)


class Recording(Graph):
    """Notes the replays and their inputs."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.recorded, self.replayed = 0, list[int]()

    def _recorded(self, work: Callable[[], list[Values]]) -> tuple[Callable[[], None], list[Values]]:
        number, values = self.recorded, list[Values]()
        self.recorded += 1

        def replay() -> None:
            self.replayed.append(number)
            values[:] = [{name: value.detach() for name, value in terms.items()} for terms in work()]

        return replay, values


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """torch.cuda, with so much memory and a step that needs so much."""
    stream = SimpleNamespace(wait_stream=lambda _: None)
    memory = SimpleNamespace(needed=FREE // 2)
    cuda = SimpleNamespace(
        Stream=lambda: stream,
        current_stream=lambda: stream,
        stream=lambda _: nullcontext(),
        graph_pool_handle=lambda: (0, 1),
        reset_peak_memory_stats=lambda: None,
        memory_allocated=lambda: 100,
        memory_reserved=lambda: 200,
        max_memory_allocated=lambda: 100 + memory.needed,
        mem_get_info=lambda: (FREE - 100, 10 * FREE),
    )
    monkeypatch.setattr(step, "cuda", cuda)
    return memory


def trained(graph: Any, rows: list[tuple[Rows]]) -> list[dict[str, float]]:
    """Terms of each step, read before the next."""
    return [
        {name: float(value.detach()) for _, terms in graph(batch) for name, value in terms.items()}
        for batch in rows
    ]


def check_equal(found: list[dict[str, float]], expected: list[dict[str, float]]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)


MANY = [(4, 1), (6, 1), (4, 1), (4, 1), (4, 1), (6, 1), (4, 2), (6, 1), (6, 1), (4, 1), (6, 1), (4, 2)]


@pytest.mark.parametrize("scheduled", [True, False])
def test_a_captured_training_is_that_of_a_plain_loop(scheduled: bool) -> None:
    rows = batches(MANY)
    model, plain = update(scheduled)
    expected = trained(lambda batch: take([plain], *batch), rows)
    other, ours = update(scheduled)
    graph = Recording([ours], lambda batch: batch)
    found = trained(graph, rows)
    assert graph.replayed
    check_equal(found, expected)
    for mine, theirs in zip(other.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)
    assert ours.optimizer.param_groups[0]["lr"] == plain.optimizer.param_groups[0]["lr"]
    assert isinstance(ours.optimizer.param_groups[0]["lr"], float)  # as a checkpoint has it


def test_each_combination_of_shapes_has_its_own_graph_after_its_first_steps() -> None:
    graph = Recording([update()[1]], lambda batch: batch)
    trained(graph, batches(MANY))
    # (4, 1) is captured at its fourth step, (6, 1) at its fourth; (4, 2) occurs twice.
    assert WARMUP == 3
    assert graph.recorded == 2
    assert graph.replayed == [0, 1, 0, 1]


def test_a_graph_reads_copies_and_leaves_the_batch_as_it_was() -> None:
    rows = batches([(4, 1)] * 5)
    before = [batch.given[0].clone() for (batch,) in rows]
    graph = Recording([update()[1]], lambda batch: batch)
    trained(graph, rows)
    assert graph.replayed == [0, 0]
    (captured,) = graph._captured.values()
    (inputs,) = captured.inputs
    assert isinstance(inputs, Rows)
    assert torch.equal(inputs.given[0], rows[-1][0].given[0])
    for (batch,), given in zip(rows, before, strict=True):
        assert inputs.given[0].data_ptr() != batch.given[0].data_ptr()
        assert torch.equal(batch.given[0], given)


def test_without_memory_for_both_nothing_is_captured(stand_in: SimpleNamespace) -> None:
    rows = batches([(4, 1)] * 6)
    stand_in.needed = FREE // 2 + 1
    graph = Recording([update()[1]], lambda batch: batch)
    found = trained(graph, rows)
    assert graph.recorded == 0
    _, plain = update()
    check_equal(found, trained(lambda batch: take([plain], *batch), rows))


@pytest.mark.parametrize("exhausted", [False, True])
def test_a_step_that_cannot_be_captured_is_taken_without(
    exhausted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Refusing(Recording):
        def _recorded(self, work: Callable[[], list[Values]]) -> Any:
            self.recorded += 1
            raise torch.OutOfMemoryError("none left") if exhausted else RuntimeError("waits")

    graph, rows = Refusing([update()[1]], lambda batch: batch), batches([(4, 1)] * 6)
    if exhausted:  # which a smaller batch cures
        with pytest.raises(torch.OutOfMemoryError):
            trained(graph, rows)
        return
    caplog.set_level(logging.WARNING, logger="orthoglot")
    _, plain = update()
    found = trained(graph, rows)
    check_equal(found, trained(lambda batch: take([plain], *batch), rows))
    assert graph.recorded == 1
    assert [record.getMessage() for record in caplog.records] == ["steps are not captured (waits)"]


def test_a_stack_captures_a_step_for_each_set_of_trainings_that_go_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three trainings end at three epochs; the numbers are those of steps without a graph."""
    expected, graphs = stacked(capped(), world), list[Recording]()
    made = stack._Joint.__init__

    def with_graph(self: Any, *arguments: Any) -> None:
        made(self, *arguments)
        self.graph = Recording(self.updates, self.prepare)
        graphs.append(self.graph)

    monkeypatch.setattr(stack._Joint, "__init__", with_graph)
    for one, other in zip(stacked(capped(), world), expected, strict=True):
        same(one, other)
    assert [graph.recorded for graph in graphs] == [1, 1, 1]
    assert [len(graph.replayed) for graph in graphs] == [5 * epochs - WARMUP for epochs in (3, 2, 2)]
