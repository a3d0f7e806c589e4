"""What the GPU benchmark divides by and extrapolates, against PyTorch's own counts and known times."""

from __future__ import annotations

import logging
import sys
from types import ModuleType

import ems as ems_benchmark
import numpy as np
import pytest
import torch
from gpu_parts import ROOT, decomposers, encoding, models, same_results, search, vectors
from gpu_parts.result import MissingError, Part
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from orthoglot import catalogue
from orthoglot.decomposers.modules import Maps
from orthoglot.encoders.token_lists import Ragged
from orthoglot.objectives.base import Objective
from orthoglot.random_streams import Draws, stream
from orthoglot.study import config
from orthoglot.study.pretraining.collate import EmsCollator
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.settings import ScratchNetwork
from orthoglot.study.pretraining.tokenised import Bitext
from orthoglot.study.pretraining.trainings.ems import EmsModel
from orthoglot.training.batching import make_batches
from orthoglot.training.decompose import inputs, pairs_of, updates
from orthoglot.training.step import take

CPU = torch.device("cpu")


def test_model_flops_of_ems_are_those_that_pytorch_counts_without_padding() -> None:
    settings = config.load(ROOT / "params.yaml").encoders["ems-paper"]
    assert isinstance(settings, EmsSettings)
    assert isinstance(settings.network, ScratchNetwork)
    small = {"layers": 2, "width": 64, "heads": 4, "feed_forward": 128}
    network = settings.network.model_copy(update=small)
    settings = settings.model_copy(update={"network": network, "precision": "float32"})
    encoder, draw, pairs, length = models.new(network, 300), np.random.default_rng(0), 8, 11
    sides = (
        Ragged(draw.integers(5, 300, pairs * length).astype(np.int32), np.arange(pairs + 1) * length)
        for _ in range(2)
    )
    bitext = Bitext(*sides, np.array([[0, 1]]), (pairs,), np.arange(pairs))
    batch = EmsCollator(settings, encoder, CPU)(bitext, np.arange(pairs), draw)
    model = EmsModel(settings, encoder, 2).train()
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counted:
        model(batch)["total"].backward()
    claimed = ems_benchmark.model_flops(settings, encoder.vocabulary, np.full(2 * pairs, length + 2))
    assert 0.97 < counted.get_total_flops() / claimed <= 1


def test_the_limit_of_encoding_counts_the_products_of_all_layers() -> None:
    model, lengths = models.network("tiny").roberta.eval(), [5, 9, 9]
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counted, torch.no_grad():
        for length in lengths:
            model(torch.full((1, length), 7))
    assert encoding.flops_of(np.array(lengths), model.config) == counted.get_total_flops()


@pytest.mark.parametrize(("name", "maps"), [("seed", 1), ("dream", 2), ("meat+oracle", 2)])
def test_the_roofline_counts_the_products_that_a_step_cannot_do_without(name: str, maps: int) -> None:
    dim, size, unlimited = 32, decomposers.BATCH, 1e30
    flops = decomposers.roofline(
        name, dim, size, {"float32 products, TFLOP/s": 1e-12, "copies, GB/s": unlimited}
    )
    method, data = catalogue.method(name), vectors.data(size, dim, 7, CPU, valid=16)
    maps_ = Maps(method.architecture, dim, stream(1, "maps"), **method.own_settings)
    objective = Objective(method.terms, dim=dim, n_languages=7, generator=stream(1, "heads"))
    draws = {"order": Draws(1, "order"), "partners": Draws(1, "partners")}
    (batch,) = make_batches(data.train, method.partners, batch_size=size, drop_last=True, **draws)
    with FlopCounterMode(display=False) as counted:
        pairs = pairs_of(maps_, 7, *inputs(data.vectors, batch, CPU))
        assert len(list(take(updates(maps_, objective, 1e-4), pairs))) == 1 + name.startswith("meat")
    # Heads, discriminators and matrices of cosines come on top; SEED has none of them.
    assert flops == counted.get_total_flops() if name == "seed" else flops < counted.get_total_flops()
    bytes_ = decomposers.roofline(
        name, dim, size, {"float32 products, TFLOP/s": unlimited, "copies, GB/s": 1e-9}
    )
    weights = sum(parameter.numel() for parameter in maps_.parameters() if parameter.ndim == 2)
    assert weights == maps * dim**2
    assert bytes_ == pytest.approx(4 * (2 * size * dim + 7 * weights))


@pytest.mark.parametrize(("each", "measured"), [(1e-6, 1_000_000), (1e-3, 65_536)])
def test_a_slow_search_is_extrapolated_from_what_each_row_takes(
    monkeypatch: pytest.MonkeyPatch, each: float, measured: int
) -> None:
    """Thirty seconds, however many rows there are, are not multiplied."""
    clock = [0.0]
    monkeypatch.setattr(search.time, "perf_counter", lambda: clock[0])

    def way(x: torch.Tensor, y: torch.Tensor) -> search.Both:
        clock[0] += 30 + each * len(x)
        return np.empty(0), np.empty(0)

    part, x = Part(tiny=True), torch.empty(1_000_000, 1)
    part.tiny = False
    rows, slope = search.affordable(part, way, x, x)
    _, took = search.timed(way, x[:rows], x)
    assert rows == measured
    assert took + slope * (len(x) - rows) == pytest.approx(30 + each * len(x))


def test_a_difference_that_is_too_large_or_bits_that_differ_fail_the_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def terms(part: Part) -> None:
        same_results.compared(part, "Loss terms", "fine", 1e-6, 1e-5)
        same_results.compared(part, "Loss terms", "off", float("nan"), 1e-5)
        part.row("Decomposers", what="dream", **{"twice the same": True, "from host memory the same": False})

    for piece in ("trainings", "encoder_steps", "encoding", "retrieval", "kill_and_resume"):
        monkeypatch.setattr(same_results, piece, lambda part: None)
        getattr(same_results, piece).__name__ = piece
    monkeypatch.setattr(same_results, "terms", terms)
    warn = logging.getLogger("orthoglot.training.step").warning
    monkeypatch.setattr(same_results, "captured_steps", lambda _: warn("steps are not captured (no memory)"))
    same_results.captured_steps.__name__ = "captured_steps"
    part = Part(tiny=True)
    same_results.measure(part)
    assert {one["what"]: one["reason"] for one in part.failures} == {
        "tolerances": "off",
        "the same bits": "dream",
    }
    assert [goal["found"] for goal in part.goals] == [1, 1, None, 1]
    says = {row["line"]: row["why"] for row in part.tables["What the log of EMS and Emma-X says"]["rows"]}
    assert says == dict.fromkeys(same_results.LACKING, "") | {
        "steps are not captured": "steps are not captured (no memory)"
    }


def test_no_goal_is_reached_where_a_piece_that_it_needs_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Part, "on_gpu", property(lambda _: True))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    part = Part(tiny=True)
    part.tiny = False
    with part.tried("a variant", optional=True):
        raise ValueError("no compiler")
    part.goal("waits", 0, 0.0, most=True)
    part.goal("ratio", 30, 29.0)
    part.goal("to the end", 5, 4.0, most=True, finished=False)
    with part.tried("a comparison"):
        raise ValueError("broken")
    part.goal("differences", 0, 0.0, most=True)
    assert [goal["reached"] for goal in part.goals] == [True, False, False, False]


def test_a_faiss_that_knows_no_gpu_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Part, "on_gpu", property(lambda _: True))
    monkeypatch.setitem(sys.modules, "faiss", ModuleType("faiss"))
    with pytest.raises(MissingError, match="faiss-gpu"):
        search.opened(Part(tiny=True))
