"""XRETE: twelve tasks, Emma-X's numbers above those of a run, and what is not at hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from generated_records import record

from orthoglot.statistics.records import ALL, Record
from orthoglot.study.papers.matching import Run
from orthoglot.study.papers.measured import (
    NO_DATA,
    NO_ENCODER,
    NO_RUN,
    NO_TASK,
    NO_TUNING,
    PaperCell,
    cells,
    further_cells,
)
from orthoglot.study.papers.published import PAPERS, SUITES, printed_numbers
from orthoglot.study.papers.table import write_paper
from orthoglot.study.report.frame import Measured

TASKS = {
    "xnli", "americasnli", "sts17", "wmt21", "lareqa", "mewsli-x", "bucc", "tatoeba-112", "xcopa", "multieurlex",
    "multiarc", "paws-x",
}  # fmt: skip
# Task, data set here, source, subsets, metric.
MEASURED = [
    ("classification", "xnli-dev", "xnli-dev", ["en->de", "en->en"], "accuracy"),
    ("classification", "xnli-dev-all", "xnli-dev", ["all->de", "all->en"], "accuracy"),
    (
        "classification",
        "multiarc-all",
        "multiarc",
        [f"all->{code}" for code in ["de", "en", "es", "fr", "ja", "zh"]],
        "MAE",
    ),
    ("classification-logistic", "xnli-dev-all", "xnli-dev", ["all->de"], "accuracy"),
    ("classification-logistic", "multieurlex-all", "multieurlex", ["all->de", "all->mt"], "mRP"),
    ("lareqa", "lareqa", "lareqa-xquad-r", ["ar", "zh"], "mAP@20"),
    ("lareqa", "mewsli-x", "mewsli-x", ["ar", "ta"], "mAP@20"),
    ("mining", "bucc", "bucc-2018-xtreme-dev", ["zh-en"], "F1"),
    ("mining", "test", "", ["en-de"], "F1"),
    ("qe", "wmt21-qe", "wmt21-qe", ["en-de", "en-zh"], "pearson"),
    ("qe", "wmt21-qe-zero-shot", "wmt21-qe", ["en-cs"], "pearson"),
]


def a_run() -> list[Record]:
    found = []
    for place, (task, dataset, source, subsets, metric) in enumerate(MEASURED):
        for number, subset in enumerate([*subsets, ALL]):
            value = 10.0 * place + number
            if subset == ALL:
                value = fmean(10.0 * place + one for one in range(len(subsets)))
            one = record("mine", "original", "sentence", task, dataset, subset, metric, value)
            about = {**one.facts, "source": source}
            found += [replace(one, seed=seed, facts=about) for seed in (None, 0)]
    return found


@pytest.fixture(scope="module")
def own() -> dict[str, PaperCell]:
    """The cells of Table 1 of the run's encoder."""
    found = [
        one for one in further_cells(Run(PAPERS["xrete"], Measured(a_run()))) if one.printed.table == "1"
    ]
    assert len(found) == len(TASKS)
    return {one.printed.dataset: one for one in found}


def test_the_suite_has_the_numbers_of_both_tables() -> None:
    assert SUITES == ("ems-encoders", "xrete")
    printed = [one for one in printed_numbers("xrete") if one.table in ("1", "2")]
    values = {(one.table, one.encoder, one.dataset): one.value for one in printed}
    assert len(values) == len(printed)
    assert {one.dataset for one in printed if one.table == "1"} == TASKS
    assert values["1", "emma-x", "xnli"] == "88.1"
    assert values["1", "chatgpt", "paws-x"] == "64.2"
    assert values["2", "s-bert", "bucc"] == "88.5"
    assert ("1", "chatgpt", "lareqa") not in values
    # Emma-X is the variant "full" of the ablation.
    full = {one.value for one in printed_numbers("emma-x") if (one.table, one.encoder) == ("6", "full")}
    assert {
        value for (table, encoder, _), value in values.items() if (table, encoder) == ("1", "emma-x")
    } == full
    for one in printed:
        low, high = map(float, one.scale.split(".."))
        assert low <= float(one.value) <= high
        assert one.members


def test_every_task_of_an_encoder_is_shown_measured_or_not(own: dict[str, PaperCell]) -> None:
    assert set(own) == TASKS
    missing = {name for name, one in own.items() if one.measured is None}
    assert missing == {"americasnli", "sts17", "tatoeba-112", "xcopa", "paws-x"}
    assert {own[name].reason for name in missing} == {NO_DATA, NO_TASK}


def test_what_is_learnt_in_all_languages_is_taken_and_not_what_is_learnt_in_english(
    own: dict[str, PaperCell],
) -> None:
    xnli = own["xnli"]
    assert (xnli.dataset, xnli.over) == ("xnli-dev-all", ("de", "en"))
    assert xnli.measured is not None
    assert xnli.measured.value == 10.5
    assert xnli.stand_in == "xnli-dev"
    assert len(xnli.missing) == 13


def test_sets_of_one_source_are_put_together_and_others_are_not(own: dict[str, PaperCell]) -> None:
    assert set(own["wmt21"].over) == {"en-de", "en-zh", "en-cs"}
    assert own["lareqa"].dataset == "lareqa"
    assert own["mewsli-x"].over == ("ar", "ta")
    assert (own["bucc"].dataset, own["bucc"].over) == ("bucc", ("en-zh",))
    assert own["multieurlex"].over == ("de", "mt")
    assert own["multiarc"].missing == ()
    assert own["multiarc"].stand_in == ""


def test_an_encoder_of_the_paper_is_compared_where_the_paper_does_not_train_it() -> None:
    records = [replace(one, encoder="labse", facts={**one.facts, "checkpoint": "LaBSE"}) for one in a_run()]
    found = {(one.printed.table, one.printed.encoder, one.printed.dataset): one
             for one in cells(Run(PAPERS["xrete"], Measured(records)))}  # fmt: skip
    assert found["2", "labse", "lareqa"].measured is not None
    assert found["2", "s-bert", "lareqa"].reason == NO_ENCODER
    assert found["1", "xlm-r", "xnli"].reason == NO_ENCODER
    assert found["1", "emma-x", "xnli"].reason == NO_RUN
    assert "is not published" in found["1", "emma-x", "xnli"].why
    bucc = found["2", "labse", "bucc"]
    assert bucc.difference is not None
    assert not bucc.like_for_like


XNLI = ("1", "xlm-r", "fine-tuned", "sentence", "classification", "xnli", "all", "all->xx")


def fine_tuned(encoder: str, checkpoint: str) -> list[Record]:
    """Records of an encoder with and without fine-tuning, on other benchmarks."""
    frozen = [replace(one, encoder=encoder, facts={**one.facts, "checkpoint": checkpoint}) for one in a_run()]
    tuned = [
        replace(
            one,
            method="fine-tuned",
            value=one.value + 1,
            facts={**one.facts, "architecture": "fine-tuned", "partners": "none", "terms": ""},
        )
        for one in frozen
        if one.dataset in ("xnli-dev-all", "wmt21-qe", "lareqa")
        and one.task in ("classification", "qe", "lareqa")
    ]
    return frozen + tuned


def test_printed_numbers_of_fine_tuned_encoders_stand_beside_those_of_a_run() -> None:
    run_records = fine_tuned("mine", "xlm-roberta-large")
    run = Run(PAPERS["xrete"], Measured(run_records))
    found = {
        (one.printed.table, one.printed.encoder, one.printed.dataset, one.printed.subset): one
        for one in cells(run)
    }
    xnli = found["1", "xlm-r", "xnli", "all"]
    assert (xnli.method, xnli.over, xnli.stand_in) == ("fine-tuned", ("de", "en"), "xnli-dev")
    assert xnli.measured is not None
    assert xnli.measured.value == 11.5
    german = found["10", "xlm-r", "xnli", "de"]
    assert german.measured is not None
    assert german.difference == pytest.approx(german.measured.value - 85.2 + 0.6)
    # It was tuned on one of the two benchmarks of this source alone.
    assert found["1", "xlm-r", "wmt21", "all"].over == ("en-de", "en-zh")
    assert found["15", "xlm-r", "lareqa", "ar"].measured is not None
    assert found["1", "xlm-r", "paws-x", "all"].reason == NO_DATA
    # The data set is there, and the encoder was tuned on others of its task.
    other = [replace(one, dataset="other") for one in run_records if one.method == "fine-tuned"]
    frozen = [one for one in run_records if one.method == "original"]
    renamed = [replace(one, facts={**one.facts, "source": "mine"}) for one in other]
    (xnli, *_) = [
        one for one in cells(Run(PAPERS["xrete"], Measured(frozen + renamed))) if one.printed[1:9] == XNLI
    ]
    assert xnli.reason == NO_TUNING
    assert "fine-tuning is not in this run" in xnli.why
    assert found["1", "infoxlm", "xnli", "all"].reason == NO_ENCODER
    # Where the paper does not train, its frozen vectors count.
    assert found["2", "xlm-r", "lareqa", "all"].method == "original"


def test_without_fine_tuning_the_reason_is_that_it_is_not_in_the_run() -> None:
    records = [one for one in fine_tuned("mine", "xlm-roberta-large") if one.method == "original"]
    found = [
        one for one in cells(Run(PAPERS["xrete"], Measured(records))) if one.printed.method == "fine-tuned"
    ]
    ours = [one for one in found if one.printed.encoder == "xlm-r"]
    assert {one.reason for one in ours} == {NO_TUNING}
    assert len(found) == 416


def test_a_fine_tuned_encoder_of_the_run_has_a_row_of_its_own() -> None:
    run = Run(PAPERS["xrete"], Measured(fine_tuned("mine", "")))
    own = [one for one in further_cells(run) if one.printed.table == "1" and one.method == "fine-tuned"]
    assert {one.printed.view for one in own} == {"sentence"}
    assert {one.printed.dataset for one in own if one.measured is not None} == {"xnli", "wmt21", "lareqa"}


def test_one_table_says_what_is_not_at_hand(tmp_path: Path) -> None:
    write_paper(Run(PAPERS["xrete"], Measured(a_run())), tmp_path)
    text = (tmp_path / "xrete-table.md").read_text()
    first = text.split("### Table 1")[1].split("###")[0]
    assert "| emma-x | fine-tuned |" in first
    (mine,) = [line for line in first.splitlines() if line.startswith("| mine")]
    for shown in ("10.50", "on xnli-dev", "2 of 15", "on bucc-2018-xtreme-dev", "no data"):
        assert shown in mine
    assert "No data: the data set is not in this run" in first
    assert "printed as acc" in first
    content = json.loads((tmp_path / "xrete-table.json").read_text())
    assert {one["dataset"] for one in content["cells"] if one["encoder"] == "mine"} >= TASKS
    assert any(one["direction"] == "all" and one["dataset"] == "xnli-dev" for one in content["cells"])
