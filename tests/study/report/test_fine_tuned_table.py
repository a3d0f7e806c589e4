"""Fine-tuned encoders have a table of their own, beside the same task on frozen vectors."""

from __future__ import annotations

from generated_records import record

from orthoglot.statistics.records import ALL, Record
from orthoglot.study.report.frame import frame
from orthoglot.study.report.overview import fine_tuned_table


def records(method: str, value: float, dataset: str = "xnli", metric: str = "accuracy") -> list[Record]:
    """One number with two seeds and their mean."""
    from dataclasses import replace

    one = record("xlmr", method, "sentence", "classification", dataset, ALL, metric, value)
    return [
        replace(one, seed=None),
        replace(one, seed=1, value=value - 1),
        replace(one, seed=2, value=value + 1),
    ]


def test_a_row_shows_both_numbers_of_one_data_set() -> None:
    tuned = records("fine-tuned", 80.0) + records("fine-tuned", 30.0, "marc", "MAE")
    table = fine_tuned_table(frame(tuned), frame(records("original", 50.0)))
    assert table.columns == ["Encoder", "Task", "Metric", "Fine-tuned", "Frozen"]
    assert [[cell.text for cell in row][2:] for row in table.rows] == [
        ["accuracy", "80.0", "50.0"],
        ["MAE", "30.0", "–"],
    ]
    assert "± " in table.rows[0][3].small
    assert "± " not in table.rows[0][4].small
