"""Functions that PyTorch compiles: the same numbers, and the function itself where that fails."""

from __future__ import annotations

import logging
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from checkpoints import WORDS, pretrained, xlmr
from torch import Tensor

from orthoglot.encoders import packed as packing
from orthoglot.encoders.compiled import compiled
from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.pretrained import PretrainedEncoder
from orthoglot.encoders.token_lists import Ragged
from orthoglot.study.pretraining.objectives import token_bags


@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++")) is None, reason="needs a C++ compiler")
def test_a_compiled_function_gives_the_same_numbers_for_any_shape() -> None:
    run = compiled(token_bags._slope)
    generator = torch.Generator().manual_seed(0)
    for rows, columns in ((3, 7), (5, 11)):
        z = torch.randn(rows, columns, generator=generator).requires_grad_()
        given = z, torch.rand(rows, generator=generator), torch.rand(rows, generator=generator)
        values = [function(*given) for function in (run, token_bags._slope)]
        torch.testing.assert_close(*values)
        torch.testing.assert_close(*(torch.autograd.grad(value.square().sum(), z) for value in values))


def test_where_compiling_fails_the_function_itself_is_called(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[dict[str, Any]] = []

    def refusing(function: Any, **options: Any) -> Any:
        calls.append(options)

        def fail(*_: Any) -> Any:
            raise RuntimeError("no compiler")

        return fail

    monkeypatch.setattr(torch, "compile", refusing)
    caplog.set_level(logging.INFO, logger="orthoglot")
    run = compiled(lambda x: 2 * x)
    assert [run(3), run(4)] == [6, 8]
    assert len(calls) == 1
    assert calls[0]["fullgraph"]
    assert [record.getMessage() for record in caplog.records] == ["<lambda>: not compiled (no compiler)"]


def test_exhausted_memory_is_no_reason_not_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausting(*_: Any) -> Any:
        raise torch.OutOfMemoryError("too large")

    monkeypatch.setattr(torch, "compile", lambda *_, **__: exhausting)
    with pytest.raises(torch.OutOfMemoryError):
        compiled(lambda x: x)(1)


@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++")) is None, reason="needs a C++ compiler")
def test_an_encoders_layers_are_compiled_once_for_all_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As for a long text on a GPU: without gradients, in a thread; batches of any size, and the same bits twice."""
    caplog.set_level(logging.INFO, logger="orthoglot")
    link(pretrained(xlmr(tmp_path / "hub")), "tiny", tmp_path)
    monkeypatch.setattr(PretrainedEncoder, "_reads_packed", True)
    encoder, draw = load_encoder(tmp_path), np.random.default_rng(0)
    text = [" ".join(draw.choice(WORDS, draw.integers(1, 9))) for _ in range(300)]
    calls = ((300, 1000), (50, 200), (300, 300), (1, 10))

    def vectors(_: int) -> list[np.ndarray]:
        return [encoder.encode(text[:count], "", budget) for count, budget in calls]

    expected = vectors(0)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    monkeypatch.setattr(packing, "_layer", compiled(packing._layer))
    with ThreadPoolExecutor(1) as threads:
        first, second = threads.map(vectors, range(2))
    assert not [message for message in caplog.messages if "not compiled" in message]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    for once, again, uncompiled in zip(first, second, expected, strict=True):
        np.testing.assert_array_equal(once, again)
        np.testing.assert_allclose(once, uncompiled, atol=1e-6)


@pytest.mark.parametrize("family", ["Bert", "XLMRoberta"])
def test_all_layers_are_one_traced_graph_for_all_lengths(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, here on the meta device: no break, one graph with gradient and one without."""
    graphs = []

    def backend(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    run = torch.compile(packing._layer, fullgraph=True, dynamic=True, backend=backend)
    monkeypatch.setattr(packing, "_layer", run)
    sizes = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64, "num_hidden_layers": 4}
    config = getattr(transformers, f"{family}Config")(vocab_size=50, pad_token_id=1, **sizes)
    model = getattr(transformers, f"{family}Model")(config).to("meta").train()

    def read(*lengths: int) -> Tensor:
        packed = packing.pack(Ragged.of([[7] * length for length in lengths]), 1, torch.device("cpu"))
        moved = packed._replace(ids=packed.ids.to("meta"), cuts=packed.cuts.to("meta"))
        return packing.packed_states(model, moved)

    for lengths in ((3, 5), (200, 1, 2), tuple(np.arange(1, 60))):
        read(*lengths).sum().backward()
    assert len(graphs) == 1
    with torch.no_grad():
        read(4, 5)
    assert len(graphs) == 2
