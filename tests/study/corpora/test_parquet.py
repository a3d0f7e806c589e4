"""Sentence pairs in Parquet, in lines of JSON and in tables with names of columns, as the hub has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from orthoglot.errors import DataError
from orthoglot.formats.sources import read_source
from orthoglot.languages import parse_pair
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.kinds.local import LocalSettings
from orthoglot.text.bitext import LINES, LeftOut, SentencePair

ROWS = [
    {"en": f"dog {i}", "de": f"Hund {i}", "fr": f"chien\t{i}", "id": i, "zh": "狗"} for i in range(LINES + 7)
]


def corpus(folder: Path, file: str, **values: Any) -> LocalSettings:
    about = {"kind": "local", "pairs": ["en-de"], "files": [str(folder / file)], "licence": "own"}
    return LocalSettings.model_validate(about | values)


def items(settings: LocalSettings, pair: str = "en-de") -> list[Any]:
    source = settings.pair_sources("")[pair]
    return list(read_source(parsed({"name": "x", **source}), *parse_pair(pair)))


def table(path: Path, rows: list[dict[str, Any]], **columns: Any) -> None:
    pq.write_table(pa.Table.from_pylist(rows, **columns), path, row_group_size=300)


def test_columns_are_the_languages_or_what_the_settings_say(tmp_path: Path) -> None:
    table(tmp_path / "x.parquet", ROWS)
    expected = [SentencePair(row["en"], row["de"]) for row in ROWS]
    assert items(corpus(tmp_path, "x.parquet")) == expected
    named = corpus(tmp_path, "x.parquet", columns=["{target}", "{source}"], pairs=["en-de", "en-fr"])
    assert items(named, "en-fr")[3] == ("chien\t3", "dog 3")
    assert items(corpus(tmp_path, "x.parquet", max_pairs=5))[-1] == LeftOut("over_max_pairs")


def test_texts_under_translation_are_columns(tmp_path: Path) -> None:
    rows = [{"id": 1, "translation": {"en": "dog", "de": "Hund"}}, {"id": 2, "translation": None}]
    rows += [{"id": 3, "translation": {"en": "sun", "de": "Sonne"}}] * 200
    table(tmp_path / "x.parquet", rows)
    found = items(corpus(tmp_path, "x.parquet"))
    assert found[0] == ("dog", "Hund")
    assert found[1].row == (2, "has no text", "\t")
    assert found[2:] == [("sun", "Sonne")] * 200


def test_what_is_no_text_is_refused_in_one_line(tmp_path: Path) -> None:
    table(tmp_path / "x.parquet", ROWS)
    for name, fault in (
        ("id", "the column id has int64, no text"),
        ("nl", "no column nl; it has en, de, fr"),
    ):
        with pytest.raises(DataError, match=fault):
            items(corpus(tmp_path, "x.parquet", columns=["en", name]))
    table(tmp_path / "x.parquet", [], schema=pa.schema({"en": pa.string(), "de": pa.large_string()}))
    with pytest.raises(DataError, match="is empty"):
        items(corpus(tmp_path, "x.parquet"))
    table(tmp_path / "x.parquet", [{"en": "dog", "de": None}, *ROWS[:9]])
    with pytest.raises(DataError, match="line 1 has no text"):
        items(corpus(tmp_path, "x.parquet"))
    for content in (b"PAR1", b"en,de\n", (tmp_path / "x.parquet").read_bytes()[:-20]):
        (tmp_path / "x.parquet").write_bytes(content)
        with pytest.raises(DataError, match="is no sound Parquet file"):
            items(corpus(tmp_path, "x.parquet"))
    with pytest.raises(DataError, match="does not exist"):
        items(corpus(tmp_path, "y.parquet"))
    with pytest.raises(ValidationError, match="those of Parquet files have names"):
        corpus(tmp_path, "x.parquet", columns=[1, 2])
    with pytest.raises(ValidationError, match="the same for two of 2 pairs"):
        corpus(tmp_path, "x.parquet", pairs=["en-de", "en-fr"])


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv"])
def test_other_tables_have_named_columns_for_each_pair(tmp_path: Path, form: str) -> None:
    rows = [{key: str(row[key]).replace("\t", " ") for key in ("id", "en", "de", "fr")} for row in ROWS]
    if form == "jsonl":
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        divider = "," if form == "csv" else "\t"
        text = "".join(divider.join(row) + "\n" for row in (rows[0].keys(), *(row.values() for row in rows)))
    (tmp_path / f"x.{form}").write_text(text)
    named = corpus(tmp_path, f"x.{form}", pairs=["en-de", "en-fr"], columns=["{source}", "{target}"])
    assert items(named, "en-fr") == [(row["en"], row["fr"]) for row in rows]


def test_lines_of_json_by_language_need_no_names(tmp_path: Path) -> None:
    lines = [json.dumps({"translation": {"de": "Hund", "en": "dog", "nl": "hond"}})] * 3
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    assert items(corpus(tmp_path, "x.jsonl")) == [("dog", "Hund")] * 3
