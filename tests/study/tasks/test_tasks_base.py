from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.decomposers.base import unit
from orthoglot.decomposers.views import view
from orthoglot.errors import DataError
from orthoglot.statistics.records import COMPUTED, FIELDS, NUMBERS, Record, read_records, write_records
from orthoglot.study.report.frame import frame
from orthoglot.usable_vectors import usable


def record(**changes: object) -> Record:
    values: dict = {
        "task": "heldout",
        "dataset": "test",
        "subset": "all",
        "view": "meaning",
        "encoder": "ems",
        "method": "dream",
        "seed": 1,
        "metric": "P@1",
        "value": 50.0,
        "low": 40.0,
        "high": 60.0,
        "n": 100,
        "facts": {"candidates": "57"},
    }
    return Record(**(values | changes))


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    records = [record(), record(seed=None, low=None, high=None, encoder="größer <b>\u2028x")]
    write_records(tmp_path / "records.jsonl", records)
    assert read_records(tmp_path / "records.jsonl") == records


def test_records_of_a_parquet_file_are_those_of_the_lines(tmp_path: Path) -> None:
    records = [record(), record(seed=None, low=None, high=None, encoder="größer <b>\u2028x")]
    frame(records).to_parquet(tmp_path / "records.parquet", index=False)
    assert read_records(tmp_path / "records.parquet") == records


@pytest.mark.parametrize("content", [b"", b"text", None])
def test_a_parquet_file_without_records_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "other.parquet"
    if content is None:
        pd.DataFrame({"task": ["heldout"]}).to_parquet(path)
    else:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"other\.parquet: holds no records"):
        read_records(path)


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    write_records(path, [record()])
    path.write_text(path.read_text() + '{"task": "heldout"}\n')
    with pytest.raises(DataError, match="line 2"):
        read_records(path)


names = st.text(min_size=1).filter(lambda name: name not in {*FIELDS, *COMPUTED, *NUMBERS, "signature"})


@given(st.dictionaries(names, st.text()))
def test_facts_of_a_row_can_be_read_back(facts: dict[str, str]) -> None:
    row = record(facts=facts).row()
    assert Record.of(json.loads(json.dumps(row))) == record(facts=facts)


def test_facts_of_one_text_as_they_once_were_are_read() -> None:
    row = record(facts={}).row() | {"signature": "metric:P@1|candidates:57|encoder:abc|source:a:b|terms:"}
    facts = {"candidates": "57", "identity": "abc", "source": "a:b", "terms": ""}
    assert Record.of(row) == record(facts=facts)
    assert list(Record.of(row).facts) == list(facts)
    assert Record.of(row | {"signature": "candidates:57"}) == record(facts={"candidates": "57"})


def test_usable_rows_are_finite_and_not_zero() -> None:
    rows = np.array([[1, 0], [0, 0], [np.nan, 1], [np.inf, 1], [1e-40, 0]], dtype=np.float32)
    assert usable(rows).tolist() == [True, False, False, False, True]


def test_unit_keeps_direction_of_huge_and_tiny_rows() -> None:
    rows = np.array([[3, 4], [3e30, 4e30], [3e-30, 4e-30]], dtype=np.float32)
    np.testing.assert_allclose(unit(rows), [[0.6, 0.8]] * 3, rtol=1e-5)


def test_only_the_sentence_view_needs_no_decomposer() -> None:
    vectors = np.eye(2)
    assert (view(vectors, None, "de", "sentence") == vectors).all()
    with pytest.raises(DataError, match="decomposer"):
        view(vectors, None, "de", "meaning")
