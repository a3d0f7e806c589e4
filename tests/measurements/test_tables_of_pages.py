"""Tables that a script writes into a page are those of the committed records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import coverage_of_calibrate
import decoder_encoder
import detection
import mteb_page
import own_mean
import pairs_needed
import pytest
import ready_model
import static_encoder
import vector_database

MEASUREMENTS = Path(__file__).parents[2] / "measurements"


@pytest.mark.parametrize(
    ("table", "record"),
    [
        (own_mean.table, "own-mean/own-mean.csv"),
        (coverage_of_calibrate.table, "mining/coverage.csv"),
        (decoder_encoder.table, "decoder-encoder/decoder-encoder.csv"),
        (decoder_encoder.table_of_gaps, "decoder-encoder/decoder-encoder.csv"),
        (mteb_page.table, "mteb-tasks/scores.csv"),
        (pairs_needed.table, "pairs-needed/pairs-needed.csv"),
        (detection.table, "scoring/detection.csv"),
        (ready_model.table, "ready-model/ready-model.parquet"),
        (static_encoder.table, "static-encoder/static-encoder.csv"),
        (vector_database.table_of_means, "vector-database/vector-database.csv"),
        (vector_database.table_of_engines, "vector-database/vector-database.csv"),
    ],
)
def test_the_table_on_the_page_is_that_of_the_records(table: Callable[[Path], str], record: str) -> None:
    file = MEASUREMENTS / record
    assert table(file) in file.with_name("README.md").read_text(encoding="utf-8")
