from __future__ import annotations

import json
from pathlib import Path

import pytest

from orthoglot.errors import DataError
from orthoglot.text.bitext import SentencePair, write_pairs
from orthoglot.text.held_out import read_held_out


def prepared(root: Path, name: str, **splits: list[tuple[str, str]]) -> Path:
    folder = root / name
    folder.mkdir()
    pairs = {
        split: [SentencePair(*pair) for pair in splits.get(split, [])] for split in ("train", "valid", "test")
    }
    for split, members in pairs.items():
        write_pairs(folder / f"{split}-00000.tsv.zst", members)
    kept = {split: len(members) for split, members in pairs.items()}
    (folder / "counts.json").write_text(json.dumps({"kept": kept}))
    return folder


def test_what_another_pair_or_another_part_trained_on_is_not_held_out(tmp_path: Path) -> None:
    english = prepared(
        tmp_path,
        "en-ay",
        train=[("The house.", "Uta."), ("Moon", "Phaxsi")],
        test=[("A house?", "¡UTA!"), ("phaxsi", "moon"), ("River", "Jawira"), ("Hill", "Qullu")],
    )
    spanish = prepared(
        tmp_path,
        "es-ay",
        train=[("Casa", "x")],
        valid=[("El río", "jawira")],
        test=[("Sol", "Inti"), ("casa", "Uta wali")],
    )
    found = read_held_out([english, spanish])
    # "phaxsi" and "moon" were seen in the other language only.
    assert found["en-ay"] == ([("phaxsi", "moon"), ("Hill", "Qullu")], 2)
    assert found["es-ay"] == ([("Sol", "Inti")], 1)
    assert read_held_out([english])["en-ay"].seen_dropped == 1


def test_a_pair_without_unseen_sentences_is_named(tmp_path: Path) -> None:
    folder = prepared(tmp_path, "en-ay", train=[("a", "b")], test=[("c", "b"), ("a", "d")])
    with pytest.raises(DataError, match="en-ay: each of 2"):
        read_held_out([folder])
