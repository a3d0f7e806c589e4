"""The page prints the records of the epochs that trainings keep, and these are what a training leaves."""

from __future__ import annotations

from pathlib import Path

import kept_epochs
import pandas as pd

FOLDER = Path(kept_epochs.__file__).parent
RECORDS = FOLDER / "kept-epochs.csv"


def test_the_table_on_the_page_is_that_of_the_records() -> None:
    assert kept_epochs.table(RECORDS) in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_kept_epoch_of_each_training_has_the_lowest_sum() -> None:
    for _, training in pd.read_csv(RECORDS).groupby(["seed", "cap", "pairs"]):
        (kept,) = training[training["kept"]].itertuples()
        assert kept.total == training["total"].min()
        assert [*training["epoch"]] == [*range(len(training))]
