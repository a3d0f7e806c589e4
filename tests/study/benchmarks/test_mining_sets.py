"""Lists to be mined: the files of BUCC in, distinct sentences and gold pairs out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from collected_sets import collected

from orthoglot.errors import DataError
from orthoglot.study.benchmarks.collected import read_all, sentence_keys
from orthoglot.study.benchmarks.kinds import local, mining
from orthoglot.study.benchmarks.kinds.mining import MiningSettings
from orthoglot.text.bitext import read_lines


def settings(folder: Path, **changed: Any) -> MiningSettings:
    values = {
        "kind": "mining",
        "files": f"{folder}/{{name}}.test.{{language}}",
        "gold": f"{folder}/{{name}}.test.gold",
        "pairs": ["de-en"],
        "licence": "none",
    }
    return MiningSettings.model_validate(values | changed)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    texts = {
        "de-en.test.de": "d1\tHallo\nd2\tTschüs\nd3\tHallo\nd4\tBaum\n",
        "de-en.test.en": "e1\tTree\ne2\tBye\ne3\tHello\n",
        "de-en.test.gold": "d1\te3\nd4\te1\nd3\te3\n",
    }
    folder = tmp_path / "files"
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name.replace("test", "train")).write_text(text)
    return folder


def test_the_same_text_is_one_sentence_and_its_pairs_are_counted_once(files: Path, tmp_path: Path) -> None:
    output = collected(settings(files), tmp_path / "bucc")
    (found,) = mining.read(output)
    assert (found.name, found.pair, found.train) == ("bucc", "de-en", None)
    assert found.source_sentences == ["Hallo", "Tschüs", "Baum"]
    assert found.target_sentences == ["Tree", "Bye", "Hello"]
    assert found.gold == [(0, 2), (2, 0)]
    counts = json.loads((output / "counts.json").read_text())["de-en mining"]
    assert counts == {"sources": 3, "targets": 3, "repeated": 1, "gold": 2, "gold_repeated": 1}


def test_the_set_for_thresholds_belongs_to_it_and_other_readers_leave_both_out(
    files: Path, tmp_path: Path
) -> None:
    train = {
        "train_files": f"{files}/{{name}}.train.{{language}}",
        "train_gold": f"{files}/{{name}}.train.gold",
    }
    output = collected(settings(files, **train), tmp_path / "bucc")
    (found,) = mining.read(output)
    assert found.train is not None
    assert found.train.gold == found.gold
    assert len(found.sides()) == 4
    assert local.read(output) == []
    assert read_all(output) == [found]
    assert {"hallo", "tree"} <= sentence_keys([output]).keys()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("de-en.test.gold", "d1\te9\n", "'e9'"),
        ("de-en.test.gold", "d1\te1\te2\n", "3 columns"),
        ("de-en.test.gold", "", "is empty"),
        ("de-en.test.de", "d1\tHallo\nd1\tBaum\n", "'d1' again"),
        ("de-en.test.en", "e1\t \n", "line 1 has no sentence"),
    ],
)
def test_wrong_files_are_refused(name: str, text: str, message: str, files: Path, tmp_path: Path) -> None:
    (files / name).write_text(text)
    with pytest.raises(DataError, match=message):
        collected(settings(files), tmp_path / "bucc")


def test_real_bucc(more_data: Path, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    for path in (more_data / "bucc2018").glob("zh-en.dev.*.tsv.gz"):
        _, *rows = read_lines(path)  # without the names of the columns
        (real / path.name.removesuffix(".gz")).write_text("".join(f"{row}\n" for row in rows))
    names = {"files": f"{real}/{{name}}.dev.{{language}}.tsv", "gold": f"{real}/{{name}}.dev.gold.tsv"}
    bucc = settings(real, **names, pairs=["zh-en"])
    (found,) = mining.read(collected(bucc, tmp_path / "bucc2018"))
    assert len(found.gold) == 257
    assert len(found.source_sentences) <= 8624
    assert len(found.target_sentences) <= 13589
