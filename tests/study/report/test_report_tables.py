"""Tables, the tracked metrics and the styles of methods, on records whose numbers are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from generated_records import a_run, over_seeds

from orthoglot.study.report.corpus_tables import corpus_table, overlap_table, text_table
from orthoglot.study.report.frame import frame, where
from orthoglot.study.report.headline import Row, Score
from orthoglot.study.report.overview import headline_table, means_table, tracked
from orthoglot.study.report.plots import method_styles
from orthoglot.study.report.queries import better, overall, title
from orthoglot.study.report.table import Cell, Table, markdown
from orthoglot.study.report.task_tables import checks_table, subset_tables, task_table
from orthoglot.study.tasks import registry

PAIRS: list[dict[str, Any]] = [
    {
        "pair": "en-de",
        "in": {"a": 1000, "b": 234},
        "dropped": {"too_long": 30, "benchmark": 4},
        "kept": {"train": 1000, "valid": 100, "test": 100},
    },
    {"pair": "en-gn", "in": {"a": 9}, "dropped": {}, "kept": {"train": 7, "valid": 1, "test": 1}},
]
TEXT: list[dict[str, Any]] = [
    {"language": "gn", "in": {"web": 5, "books": 2000}, "dropped": {"held_out": 3}, "shards": [2000, 2]},
    {"language": "qu", "in": {"web": 10}, "dropped": {"benchmark": 1, "held_out": 2}, "shards": [7]},
]
METHODS = ("original", "centering", *(f"method {n}" for n in range(14)), "oracle")


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_pairs_by_reason_and_split() -> None:
    table = corpus_table(PAIRS)
    assert table.columns == ["Pair", "Read", "− benchmark", "− too long", "Train", "Valid", "Test"]
    assert texts(table) == [
        ["en-de", "1,234", "4", "30", "1,000", "100", "100"],
        ["en-gn", "9", "0", "0", "7", "1", "1"],
    ]


def test_text_by_language_with_its_corpora() -> None:
    table = text_table(TEXT)
    assert table.columns == ["Language", "Corpora", "Read", "− benchmark", "− held out", "Kept"]
    assert texts(table) == [
        ["gn", "books, web", "2,005", "0", "3", "2,002"],
        ["qu", "web", "10", "1", "2", "7"],
    ]
    assert "held-out sentences of the pairs" in table.note


def test_overlaps_by_benchmark() -> None:
    counts = [
        {"pair": "en-de", "dropped": {"benchmark": 1200}, "benchmarks": {"tatoeba": 1000, "flores": 201}},
        {"pair": "gn", "dropped": {}, "benchmarks": {"tatoeba": 0}},
        {"pair": "qu", "dropped": {}},
    ]
    table = overlap_table(counts)
    assert table.columns == ["Text", "− benchmark", "flores", "tatoeba"]
    assert texts(table) == [["en-de", "1,200", "201", "1,000"], ["gn", "0", "0", "0"], ["qu", "0", "0", "0"]]


def numbers(tree: Any, prefix: str = "") -> dict[str, float]:
    if not isinstance(tree, dict):
        return {prefix.removeprefix("."): tree}
    return {k: v for name, value in tree.items() for k, v in numbers(value, f"{prefix}.{name}").items()}


def test_metrics_that_are_means_are_few_and_named_the_same_for_every_loss() -> None:
    every = numbers(tracked(frame(a_run(["ems-mini", "xlmr-mini"], METHODS)), METHODS[2:]))
    one = numbers(tracked(frame(a_run(["ems-mini", "xlmr-mini"], (*METHODS[:2], "oracle"))), ["oracle"]))
    means = {name for name in every if ".methods." not in name}
    assert len(means) <= 40
    assert means == {name for name in one if ".methods." not in name}
    assert {"ems-mini.tatoeba.P@1.meaning", "xlmr-mini.sts.Spearman.original"} <= means
    assert not any(method in name.split(".") for name in means for method in METHODS[1:])


def test_metrics_have_each_method_by_its_name() -> None:
    table = frame(a_run(["e"], METHODS))
    found = tracked(table, METHODS[2:])["e"]
    values = where(overall(table), task="tatoeba", metric="P@1").groupby(["method", "view"])["value"].mean()
    divided = {method for method, view in values.index if view == "meaning"}
    assert divided == set(METHODS[1:])
    assert found["tatoeba"]["P@1"]["methods"] == {
        method: {view: pytest.approx(values[method, view], abs=1e-4) for view in ("meaning", "language")}
        for method in divided
    }
    assert all(set(views) == {"meaning"} for views in found["sts"]["Spearman"]["methods"].values())


def test_metrics_average_over_the_selected_methods_and_data_sets() -> None:
    table = frame(a_run(["e"], METHODS[:5]))
    values = where(overall(table), task="sts", metric="spearman")
    found = tracked(table, METHODS[2:4])["e"]["sts"]["Spearman"]
    chosen = values[values["method"].isin(METHODS[2:4]) & (values["view"] == "meaning")]["value"]
    assert len(chosen) == 2 * 3
    found.pop("methods")
    assert found == {
        "original": pytest.approx(where(values, method="original")["value"].mean(), abs=1e-4),
        "meaning": pytest.approx(chosen.mean(), abs=1e-4),
    }


def test_means_over_tasks_have_a_row_per_method_and_columns_per_encoder() -> None:
    table = frame(a_run(["a", "b"], METHODS))
    found = means_table(table)
    assert [row[0].text for row in found.rows] == list(METHODS)
    kinds = ["P@1 meaning ↑", "P@1 language ↓", "STS ↑", "QE ↑"]
    assert found.columns == ["Method", *(f"{encoder}: {kind}" for encoder in "ab" for kind in kinds)]
    values = where(overall(table), encoder="b", method="oracle", view="language", metric="P@1")
    assert len(values) == 3
    assert found.rows[-1][6].text == f"{values['value'].mean():.1f}"
    assert [cell.text for cell in found.rows[0]][2] == "–"


def answered(probe: Score | None = None) -> list[Row]:
    whole = Score(80.04, 79.0, 81.0)
    by_language, change = Score(0.14, 0.0, 0.3), Score(2.06, 1.0, 3.0)
    return [
        Row("a", "original", "undivided vector", "undivided", "tatoeba", "x", whole, None, None, ""),
        Row(
            "a",
            "lsar",
            "closed form",
            "best",
            "tatoeba",
            "x",
            Score(82.1, 81, 83),
            by_language,
            change,
            "good",
            probe,
        ),
        Row("b", "lsar", "closed form", "best", "heldout", "test", Score(50, 49, 51), by_language, None, ""),
    ]


def test_the_first_table_has_three_columns_per_encoder() -> None:
    found = headline_table(answered())
    assert found.groups == [("", 1), ("a: Retrieval (x)", 3), ("b: Held-out retrieval", 3)]
    assert found.starts == {1, 4}
    original, lsar = found.rows
    assert [cell.text for cell in original] == ["original", "80.0", *["–"] * 5]
    assert [cell.text for cell in lsar] == [
        "lsar",
        "82.1",
        "+2.1",
        "0.1",
        "50.0",
        "–",
        "0.1",
    ]
    assert [cell.small for cell in (original[0], lsar[0])] == ["undivided vector", "closed form, best"]
    assert lsar[2] == Cell("+2.1", "[+1.0, +3.0]", "good")
    assert "| Method | a: Retrieval (x): By meaning ↑ |" in markdown([found])
    assert "Language read" not in found.note
    doubted = headline_table(answered(), [("a", "lsar"), ("b", "dream")]).rows[1]
    assert doubted[2].small == "[+1.0, +3.0], training may have ended too early"
    assert doubted[1] == lsar[1]


def test_the_first_table_shows_how_well_the_language_can_be_read_where_that_was_measured() -> None:
    found = headline_table(answered(Score(96.04, 95, 97)))
    assert found.columns == ["Method", *["By meaning ↑", "Change", "By language ↓", "Language read ↓"] * 2]
    assert found.starts == {1, 5}
    original, lsar = found.rows
    assert lsar[4] == Cell("96.0", "[95.0, 97.0]")
    assert original[4].text == lsar[8].text == "–"
    assert "a linear classifier tells from the meaning part" in found.note


def test_a_caption_states_the_data_of_each_encoder() -> None:
    facts = {"confidence": "0.95", "interval": "wilson", "chance": "0.1"}
    parts = {"a": (10, "20-30"), "b": (500, "900"), "c": (10, "20-30")}
    table = frame(
        [
            replace(one, facts={**facts, "units": str(units), "candidates": candidates})
            for encoder, (units, candidates) in parts.items()
            for one in over_seeds(
                encoder, "original", "sentence", "heldout", "test", "all", "P@1", values=[5.0]
            )
        ]
    )
    note = task_table(table, "heldout", "test", "P@1").note
    assert (
        "in percent. a, c: chance 0.1; 20-30 candidates, unweighted mean over pairs and both directions; "
        in note
    )
    assert "(Wilson) over 10 distinct pivot sentences. b: chance 0.1; 900 candidates" in note
    # One encoder, or encoders with the same data, need no name.
    alone = task_table(where(table, encoder="b"), "heldout", "test", "P@1").note
    assert alone.startswith("P@1 in percent; chance 0.1; 900 candidates")
    # An error has no chance.
    note = task_table(table.drop(columns="chance"), "heldout", "test", "P@1").note
    assert "(Wilson) over 10" in note
    assert "chance" not in note


def test_only_tatoeba_is_called_so() -> None:
    assert title("tatoeba", "tatoeba") == "Tatoeba retrieval"
    assert title("tatoeba", "mini-tatoeba") == "Retrieval (mini-tatoeba)"
    questions = [registry.load(name).QUESTION for name in registry.names()]
    assert not [text for text in questions if "people" in text or "Tatoeba" in text]


def test_bold_marks_the_best_only_where_its_interval_is_apart() -> None:
    def marked(width: float, view: str, metric: str = "P@1", **values: float) -> list[str]:
        task = "tatoeba" if metric == "P@1" else "sts"
        records = [
            one
            for method, value in values.items()
            for part, score in ((view, value), ("sentence", 50.0))
            for one in over_seeds("e", method, part, task, task, "all", metric, values=[score], width=width)
        ]
        table = frame(records).assign(candidates="10", confidence="0.95", interval="wilson", units="10")
        column = 2 if view == "meaning" else 3
        rows = task_table(table, task, task, metric).rows
        assert all(cell.tone == "" for row in rows for cell in (row[5 - column], row[4]))
        return [row[1].text for row in rows if row[column].tone == "best"]

    assert marked(1, "meaning", one=60, two=63, three=50) == ["two"]
    assert marked(2, "meaning", one=60, two=63, three=50) == []
    assert marked(1, "meaning", one=60, two=60) == []
    assert marked(1, "meaning", one=60) == []
    assert marked(1, "language", one=5, two=9) == ["one"]
    # The language view's correlation is best at 0.
    assert marked(1, "language", "spearman", one=-9, two=3, three=6) == ["two"]
    assert marked(1, "language", "spearman", one=-9, two=0, three=-1.5) == []


def test_twenty_methods_differ_and_hosted_ones_have_the_colour_of_their_host() -> None:
    methods: dict[str, str | None] = {f"host {n}": None for n in range(16)}
    methods |= {"added": "host 2", "added twice": "added", "a": "host 3", "b": "host 3"}
    styles = method_styles(methods)
    assert len(set(styles.values())) == 20
    assert len({styles[f"host {n}"][0] for n in range(16)}) == 16
    assert {styles[name][0] for name in ("host 2", "added", "added twice")} == {styles["host 2"][0]}
    assert styles["a"][0] == styles["b"][0] == styles["host 3"][0]


def test_other_names_change_nothing_but_labels() -> None:
    hosts = {"original": None, "dream": None, "dream+oracle": "dream", "seed": None}
    names = {"original": "z", "dream": "y", "dream+oracle": "x", "seed": "original "}
    records = frame(a_run(["e"], list(hosts)))
    renamed = records.replace({"method": names}).replace(
        {"metric": {r"^(difference.*|p.*):original$": r"\1:z"}}, regex=True
    )
    assert method_styles({names[name]: host and names[host] for name, host in hosts.items()}) == {
        names[name]: style for name, style in method_styles(hosts).items()
    }
    tree = tracked(records, ["seed"])
    for task in tree["e"].values():
        for values in task.values():
            values["methods"] = {names[method]: views for method, views in values["methods"].items()}
    assert tree == tracked(renamed, [names["seed"]])
    assert [row[1:] for row in means_table(records).rows] == [row[1:] for row in means_table(renamed).rows]


def test_which_way_is_better() -> None:
    assert [better("heldout", view) for view in ("meaning", "language")] == ["higher", "lower"]
    assert [better("language-probe", view) for view in ("meaning", "language")] == ["lower", "higher"]


def test_a_text_in_many_languages_is_shown_by_language() -> None:
    values = {"a->b": 10.0, "b->a": 20.0, "a->c": 30.0, "c->a": 40.0, "b->c": 50.0, "c->b": 60.0, "all": 35.0}
    records = [
        found
        for method, view, less in (("original", "sentence", 0), ("dream", "meaning", 5))
        for subset, value in values.items()
        for found in over_seeds("e", method, view, "nway", "wide", subset, "P@1", values=[value - less])
    ]
    (table,) = subset_tables(frame(records), "nway", "wide", "P@1")
    assert table.columns == ["Language", "original", "dream"]
    assert texts(table) == [["a", "25.0", "20.0"], ["b", "35.0", "30.0"], ["c", "45.0", "40.0"]]


def test_controls_of_quality_estimation_have_a_column_each_and_a_row_per_view_of_meaning() -> None:
    records = a_run(["e"], ("original", "oracle"))
    assert checks_table(frame(records), "mlqe").rows == []
    for method, view, value in (
        ("original", "sentence", 100.0),
        ("oracle", "meaning", 2.5),
        ("oracle", "language", 50.0),
    ):
        for subset in ("en-de", "all"):
            about = "e", method, view, "qe", "mlqe", subset, "untranslated:above"
            records += over_seeds(*about, values=[value], seeds=[1])
    table = checks_table(frame(records), "mlqe")
    assert [row[:4] for row in texts(table)] == [
        ["e", "original", "sentence", "100.0"],
        ["e", "oracle", "meaning", "2.5"],
    ]
    assert table.columns[3] == "Source scored above translation ↓"
    assert {row[4] for row in texts(table)} == {"–"}
