from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from html import escape, unescape
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import yaml

from orthoglot.drawing.page import TABLES
from orthoglot.errors import DataError
from orthoglot.statistics.records import Record, read_records
from orthoglot.study.papers.table import write_results
from orthoglot.study.report import page, queries
from orthoglot.study.report.emma_x_figure_2 import ROWS
from orthoglot.study.report.frame import comparisons, frame, rows
from orthoglot.study.report.page import report
from orthoglot.study.report.plots import method_styles
from orthoglot.study.report.queries import overall, significance, verdict
from orthoglot.study.report.sources import Sources
from orthoglot.study.tasks.evaluate import evaluate
from orthoglot.study.tasks.projections import read_text_maps
from orthoglot.study.tasks.settings import EvaluationSettings

# How much meaning each method's language part holds.
LEAKS = {"original": None, "dream": 2.0, "dream+oracle": 0.0}
METHODS = {"original": None, "dream": None, "dream+oracle": "dream"}
ABOUT = {"methods": METHODS, "selected": ["dream"], "licences": {}}


@pytest.fixture(scope="module")
def made(
    world: SimpleNamespace, settings: EvaluationSettings, tmp_path_factory: pytest.TempPathFactory
) -> SimpleNamespace:
    """Two encoders (the same vectors twice) with a leaking host and its repaired self, and their report."""
    root = tmp_path_factory.mktemp("report")
    folders, histories = [], []
    for encoder in ("toy", "<b>toy & co</b>"):
        for number, (method, leak) in enumerate(LEAKS.items()):
            folder = root / "evaluations" / f"{len(folders)}"
            folder.mkdir(parents=True)
            seeds = [] if leak is None else [1, 2, 3]
            trained = [world.decomposer(method, seed, leak=leak) for seed in seeds]
            inputs = world.store, world.bitext, world.benchmarks, trained
            evaluate(settings, *inputs, encoder=encoder, identity="abc", method=method, output=folder)
            folders.append(folder)
            histories += [world.history(f"toy{number}", method, seed) for seed in seeds]
    output = root / "results"
    output.mkdir()
    title = "<script>alert('title')</script> $x"
    licences = {"toy": "CC0-1.0"}
    about = {"methods": METHODS, "selected": ["dream", "dream+oracle"], "licences": licences}
    about["known"] = {"toy": ["qaa", "qac"], "<b>toy & co</b>": []}
    report(Sources(folders, histories, world.bitext, title, settings, **about), output)
    page = (output / "report.html").read_text()
    records = read_records(output / "records.jsonl")
    return SimpleNamespace(output=output, page=page, records=records, folders=folders, histories=histories)


def test_encoders_stand_side_by_side_in_the_report_and_in_emma_xs_figure_2(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    encoders = "toy", "<b>toy & co</b>"
    stored = read_text_maps(made.output / "text-maps.npz")
    ((text, first), *others) = (name.partition("/")[::2] for name in stored)
    assert (first, *(encoder for _, encoder in others)) == encoders
    for name, folder in zip(stored, made.folders[::3], strict=True):  # those of the undivided vectors
        (drawn,) = read_text_maps(folder / "text-maps.npz").values()
        assert np.array_equal(stored[name].tsne, drawn.tsne)
    headings = [
        f"({letter}) {escape(encoder)} ({row})"
        for letter, (row, encoder) in zip("abcdef", product(ROWS, encoders), strict=True)
    ]
    assert [one for one in re.findall(r">(\([a-z]\) [^<]*)<", made.page) if one in headings] == headings
    write_results("xrete", made.output, tmp_path)
    table = (tmp_path / "xrete-table.html").read_text()
    assert [one for one in re.findall(r">(\([a-z]\) [^<]*)<", table) if one in headings] == headings
    records = {
        r.metric: r.value
        for r in made.records
        if (r.task, r.subset, r.encoder, r.method, r.seed) == ("geometry", "all", "toy", "original", None)
    }
    shown = (tmp_path / "xrete-table.md").read_text().split(f"### Figure 2: {text} by encoder")[1]
    (row,) = [line for line in shown.split("###")[0].splitlines() if line.startswith("| toy ")]
    assert [cell.strip() for cell in row.split("|")[2:-1]] == [
        f"{records[metric]:.3g}" for metric in ("kl-d", "ch-i", "pr")
    ]
    # Without the maps the figure is grey.
    (tmp_path / "old").mkdir()
    write_results("xrete", made.output / "records.jsonl", tmp_path / "old")
    for name in ("records.jsonl", "examples.json", "languages.json"):
        (tmp_path / name).write_bytes((made.output / name).read_bytes())
    write_results("xrete", tmp_path, tmp_path / "old")
    assert (
        "no data" in (tmp_path / "old/xrete-table.md").read_text().split("### Figure 2:")[1].split("###")[0]
    )


class Tags(HTMLParser):
    """Collects tags and what they load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]


def one(records: list[Record], **wanted: object) -> Record:
    found = [r for r in records if all(getattr(r, name) == to for name, to in wanted.items())]
    assert len(found) == 1
    return found[0]


def test_hostile_text_stays_text(made: SimpleNamespace) -> None:
    tags = Tags()
    tags.feed(made.page)
    # Only the script of the page itself, by its digest, may run.
    assert tags.tags.count("script") == 1
    (script,) = re.findall("<script>(.*?)</script>", made.page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in made.page
    assert script == TABLES.read_text()
    assert "b" not in tags.tags
    assert "&lt;script&gt;alert(&#39;title&#39;)" in made.page
    assert "&lt;b&gt;toy &amp; co&lt;/b&gt;" in made.page


def test_the_page_lists_the_licences_of_what_was_used(made: SimpleNamespace) -> None:
    assert "<dt>Licences</dt><dd>toy CC0-1.0</dd>" in made.page


def test_the_page_loads_nothing(made: SimpleNamespace) -> None:
    tags = Tags()
    tags.feed(made.page)
    # Of two encoders the answer, eight tasks, three maps, three of a pair and six of the text; training curves; three
    # of the geometry and one of the encoders side by side.
    assert tags.tags.count("svg") == 2 * (1 + 8 + 3 + 3 + 6) + 1 + 4
    assert all(source.startswith(("#", "data:")) for source in tags.sources)
    assert len(made.page) < 2_000_000


def test_the_page_opens_with_question_answer_pictures_and_one_short_table(made: SimpleNamespace) -> None:
    start, rest = made.page.split('<section id="answer">')
    opening = rest.split("</section>")[0].split("<details>")[0]
    assert page.QUESTION in start
    assert start.count("<li><strong>") == 2
    assert opening.count("<svg") == 2
    assert opening.count("<table") == 1
    assert opening.count("<tr>") <= 1 + 12
    query = {"task": "tatoeba", "subset": "all", "seed": None, "encoder": "toy", "metric": "P@1"}
    assert all(opening.count(f">{method}</text>") == 2 for method in ("dream", "dream+oracle"))
    # These have no terms, so one stands for both, and that is the one whose language view finds nothing.
    cell = one(made.records, method="dream+oracle", view="language", **query)
    assert f"<td>{cell.value:.1f} <small>[{cell.low:.1f}, {cell.high:.1f}]</small></td>" in opening
    assert opening.count(">undivided vector</text>") == 2


def test_every_section_shows_the_encoders_in_the_order_given(made: SimpleNamespace) -> None:
    for section in made.page.split("<section")[2:]:
        headings = re.findall("<h3>(toy|&lt;b&gt;toy &amp; co&lt;/b&gt;)</h3>", section)
        assert headings[:2] in ([], ["toy", "&lt;b&gt;toy &amp; co&lt;/b&gt;"])
    assert made.page.count("<h3>toy</h3>") > 1


def test_a_method_has_one_colour_in_figures_and_tables(made: SimpleNamespace) -> None:
    colour = method_styles(METHODS)["dream"][0]
    assert f'<span class="mark" style="color:{colour}" aria-hidden="true">●</span>dream</td>' in made.page
    assert (
        f'<span class="mark" style="color:{colour}" aria-hidden="true">▲</span>dream+oracle</td>' in made.page
    )
    assert re.search(f'fill="{colour}"[^>]*>dream</text>', made.page)


def student(by_seed: list[float]) -> float:
    """Half of the 95 % interval over three trainings."""
    return 4.302653 * float(np.std(by_seed, ddof=1)) / 3**0.5


def test_a_known_cell_stands_in_the_page_and_in_markdown(made: SimpleNamespace) -> None:
    query = {"task": "heldout", "subset": "all", "seed": None, "view": "meaning", "metric": "P@1"}
    cell = one(made.records, encoder="toy", method="dream+oracle", **query)
    by_seed = [
        one(made.records, encoder="toy", method="dream+oracle", **(query | {"seed": seed})).value
        for seed in (1, 2, 3)
    ]
    small = f"[{cell.low:.1f}, {cell.high:.1f}] ± {student(by_seed):.1f}"
    assert f"{cell.value:.1f} <small>{small}</small>" in made.page
    assert f"| toy | dream+oracle | {cell.value:.1f} {small} |" in (made.output / "tables.md").read_text()


def test_oracle_takes_the_leak_out_of_the_language_view(made: SimpleNamespace) -> None:
    query = {"task": "heldout", "encoder": "toy", "method": "dream+oracle", "view": "language"}
    by_seed = [
        one(made.records, metric="difference-P@1:dream", seed=seed, **query).value for seed in (1, 2, 3)
    ]
    query["seed"] = None
    difference = one(made.records, metric="difference-P@1:dream", **query)
    assert difference.value == pytest.approx(np.mean(by_seed), abs=1e-5)
    interval = f"[{difference.low:+.1f}, {difference.high:+.1f}] ± {student(by_seed):.1f}"
    assert f'class="good">{difference.value:+.1f} <small>{interval}' in made.page
    assert difference.high is not None
    assert difference.value < difference.high < -10
    p = one(made.records, metric="p-P@1:dream", **query)
    sign_p = one(made.records, metric="sign-P@1:dream", **query)
    # No draw of 500 was as extreme, and it is the smallest of 8 p values: 2 encoders x (2 to host + 2).
    assert p.value == pytest.approx(8 / 501)
    assert sign_p.value < 1e-6
    assert sign_p.facts["test"] == "sign-exact"
    assert p.facts["correction"] == "holm-of-8"


def test_seeds_that_disagree_take_the_colour_away(made: SimpleNamespace) -> None:
    shown = verdict(frame(made.records), METHODS)
    assert "the language view better in 6 and worse in 0 of 6" in shown
    assert shown in made.page
    query = {
        "metric": "difference-P@1:dream",
        "view": "language",
        "seed": 2,
        "encoder": "toy",
        "task": "heldout",
    }
    dissent = one(made.records, **query)
    records = [replace(record, value=1.0) if record == dissent else record for record in made.records]
    assert "the language view better in 5 and worse in 0 of 6" in verdict(frame(records), METHODS)


def test_records_and_parquet_hold_the_same_numbers(made: SimpleNamespace) -> None:
    stored = pd.read_parquet(made.output / "records.parquet")
    pd.testing.assert_frame_equal(stored, frame(made.records), check_dtype=False)
    assert stored["seed"].isna().any()
    assert str(stored["seed"].dtype) == "Int64"


def test_metrics_and_plots_are_queries_over_the_records(made: SimpleNamespace) -> None:
    metrics = json.loads((made.output / "metrics.json").read_text())
    cell = overall(frame(made.records)).set_index(["encoder", "method", "task", "view"])["value"]
    methods = ("dream", "dream+oracle")
    for view in ("meaning", "language"):
        mean = np.mean([cell["toy", method, "heldout", view] for method in methods])
        assert metrics["toy"]["heldout"]["P@1"][view] == pytest.approx(mean, abs=1e-4)
    whole = cell["toy", "original", "tatoeba", "sentence"]
    assert metrics["toy"]["tatoeba"]["P@1"]["original"] == pytest.approx(whole, abs=1e-4)
    corner = pd.read_csv(made.output / "plots" / "corner.csv")
    assert len(corner) == 2 * 2 * (7 + 2)
    assert set(corner["task"]) >= {"sts/graded/pearson", "sts/graded/spearman"}
    assert (corner[corner["task"] == "heldout"]["meaning"] > 90).all()
    hosted = corner[corner["method"] == "dream+oracle"].set_index(["encoder", "task"])
    hosts = corner[corner["method"] == "dream"].set_index(["encoder", "task"])
    assert (hosted["host_language"] == hosts["language"]).all()
    assert hosts["host_language"].isna().all()
    assert corner["sentence"].notna().all()
    curves = pd.read_csv(made.output / "plots" / "curves.csv")
    assert len(curves) == len(made.histories) * 5
    assert curves["loss"].max() == 2.2


def test_same_inputs_same_bytes_on_another_day_and_a_larger_machine(
    made: SimpleNamespace,
    world: SimpleNamespace,
    settings: EvaluationSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, cores in (("one", 2), ("two", 64)):
        (tmp_path / name).mkdir()
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        inputs = made.folders[:2], made.histories, world.bitext, "title", settings
        report(Sources(*inputs, **ABOUT), tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*"))
    assert len(files) == 12
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file
        assert f"{datetime.now(UTC):%Y-%m-%d}".encode() not in (tmp_path / "one" / file).read_bytes(), file


def test_correlations_have_tables_of_their_own_with_their_scale_in_words(made: SimpleNamespace) -> None:
    query = {"task": "sts", "encoder": "toy", "method": "dream", "view": "meaning", "seed": None}
    cell = one(made.records, metric="spearman", subset="all", **query)
    difference = one(made.records, metric="difference-spearman:original", **query)
    p = one(made.records, metric="p-spearman:original", **query)
    assert difference.value > 10
    # 500 draws, 8 comparisons of the table: 2 encoders x (2 to host + 2).
    assert p.value == pytest.approx(8 / 501)
    assert p.facts["correction"] == "holm-of-8"
    assert not [r for r in made.records if r.task == "sts" and r.metric.startswith("sign")]
    text = (made.output / "tables.md").read_text()
    section = text[text.index("### Semantic similarity (graded, Spearman)") :]
    assert section.index("Spearman's correlation with the gold scores times 100, from -100 to 100") < 200
    assert f"{cell.value:.1f} [{cell.low:.1f}, {cell.high:.1f}]" in section
    assert "| Pair | original |" in section
    assert "Semantic similarity (graded, Pearson)" in made.page


def test_the_leakage_table_has_every_measure(made: SimpleNamespace) -> None:
    text = (made.output / "tables.md").read_text()
    rows = text[text.index("### Leakage") : text.index("### Geometry")].split("\n")
    columns = rows[4].strip("| ").split(" | ")
    assert len(columns) == 10
    query = {"task": "leakage", "encoder": "toy", "subset": "all", "seed": None}
    found = one(made.records, method="dream", metric="r2:meaning", **query)
    (row,) = [line.strip("| ").split(" | ") for line in rows if line.startswith("| toy | dream |")]
    assert row[columns.index("R² of meaning from language ↓")].startswith(
        f"{found.value:.1f} [{found.low:.1f}"
    )
    assert [line for line in rows if line.startswith("| toy | original | – | – | – | – | – |")]


def test_the_geometry_is_shown_by_group_and_view(made: SimpleNamespace) -> None:
    text = (made.output / "tables.md").read_text()
    start = text.index("### Geometry (wide)")
    assert start > text.index("### Leakage")
    section, variants = text[start:].split("### Other forms of the same measures")
    header, rows = section.split("\n")[4], section.split("\n")[6:]
    shapes = ["KL-D ↓", "CH-I ↑", "PR → 1"]
    groups = [f"{group}: {shape}" for group in ("Long-tail", "All") for shape in shapes]
    columns = header.strip("| ").split(" | ")
    assert columns == ["Encoder", "Method", "View", *groups]
    query = {"task": "geometry", "encoder": "toy", "seed": None}
    found = one(made.records, method="dream", view="meaning", subset="all", metric="kl-d", **query)
    (row,) = [line.strip("| ").split(" | ") for line in rows if line.startswith("| toy | dream | meaning |")]
    shown = row[columns.index("All: KL-D ↓")]
    assert shown.startswith(f"{found.value:.4g} [{found.low:.4g}, {found.high:.4g}] ± ")
    assert f"{found.value:.4g} <small>[{found.low:.4g}, {found.high:.4g}] ± " in made.page
    # The encoder's own vectors are shown once.
    assert [line for line in rows if line.startswith("| toy | original | sentence |")]
    assert not [line for line in rows if line.startswith("| toy | dream | sentence |")]
    full = one(made.records, method="dream", view="meaning", subset="all", metric="kl-d:full", **query)
    assert f" {full.value:.4g} ± " in variants


def test_methods_are_not_compared_by_the_geometry(made: SimpleNamespace) -> None:
    table = frame(made.records)
    assert "geometry" not in set(comparisons(table)["task"])
    assert "geometry" not in set(overall(table)["task"])


def test_maps_of_a_text_show_the_numbers_of_the_first_seed(made: SimpleNamespace) -> None:
    query = {"task": "geometry", "encoder": "toy", "method": "dream", "view": "meaning", "seed": 1}
    values = [one(made.records, subset="all", metric=m, **query).value for m in ("kl-d", "ch-i", "pr")]
    shown = "KL-D {:.3g}, CH-I {:.3g}, PR {:.3g}".format(*values)
    # Two panels, t-SNE and PCA, for each of two encoders and of two methods that differ in their language view alone.
    assert made.page.count(f"<p>{shown}</p>") == 2 * 2 * 2
    assert made.page.count("<p>dream, t-SNE</p>") == 2


TOTALS = {"train.total": 1.0, "valid.total": 1.0}
SHARES = {f"valid.{who}_rank_{n}": 0.5 for who in ("classifier", "encoder") for n in (1, 2)}
VOTES = {
    "valid.score_1": 0.9,
    "valid.score_2": 0.1,
    "valid.spread": 0.5,
    "valid.retrieval": 60.0,
    **SHARES,
    **TOTALS,
}
EMMA_X = [
    {"epoch": 0.0, "phase": 1.0, "valid.retrieval": 60.0, **TOTALS},
    {"epoch": 1.0, "phase": 2.0, "valid.agreement": 0.9, **VOTES},
    {"epoch": 2.0, "phase": 2.0, "valid.agreement": 0.4, **VOTES},
]


def write_lines(path: Path, rows: list[dict[str, float]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def notes(
    made: SimpleNamespace,
    world: SimpleNamespace,
    settings: EvaluationSettings,
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """The page of one method, with all that a page may note: early ends, votes, text, choices, generated data."""
    root = tmp_path_factory.mktemp("notes")
    histories = [world.history("toy", method, seed) for method in ("dream", "<i>") for seed in (1, 2, 3)]
    for path, stopped in zip(histories, ["cap", "patience"] * 3, strict=True):
        path.with_name("decomposer.json").write_text(json.dumps({"details": {"stopped": stopped}}))
    rows = [json.loads(line) | {"best": 0.0} for line in histories[4].read_text().splitlines()]
    write_lines(histories[4], [row | {"best": float(number == 1)} for number, row in enumerate(rows)])
    write_lines(root / "<i>" / "history.jsonl", EMMA_X)
    for name in ("qad", "results"):
        (root / name).mkdir()
    counts = {"language": "qad", "in": {"<i>": 12}, "dropped": {"held_out": 2}, "shards": [6, 4]}
    (root / "qad/counts.json").write_text(json.dumps(counts | {"benchmarks": {"own<b>": 1234}}))
    about = {**ABOUT, "licences": {"<i>": "own"}, "text": [root / "qad"]}
    inputs = made.folders[:2], [*histories, root / "<i>"], world.bitext, "t", settings
    report(Sources(*inputs, **about, invented=["graded"]), root / "results")
    return (root / "results/report.html").read_text()


def test_votes_are_shown_where_a_history_has_them(
    made: SimpleNamespace, notes: str, settings: EvaluationSettings, tmp_path: Path
) -> None:
    assert 'id="emma-x"' not in made.page
    write_lines(tmp_path / "sound" / "history.jsonl", EMMA_X[:2])
    (tmp_path / "results").mkdir()
    report(Sources(made.folders[:1], [tmp_path / "sound"], [], "t", settings, **ABOUT), tmp_path / "results")
    sound = (tmp_path / "results/report.html").read_text()
    for shown in (notes, sound):
        assert '<section id="emma-x">' in shown
        assert '<a href="#emma-x">' in shown
        assert "Votes of the classifier, % of pairs" in shown
        assert ("<p>No epoch shows a collapse" in shown) == (shown is sound)
    alarm = "&lt;i&gt;: encoder and classifier agree on under 50% of all pairs (epoch 2)"
    assert f"<li>{alarm}</li>" in notes
    assert "<i>" not in notes


def test_text_is_listed_after_the_pairs_where_there_is_any(made: SimpleNamespace, notes: str) -> None:
    assert 'id="corpora"' in made.page
    assert 'id="text"' not in made.page
    places = [notes.index(f'<section id="{name}">') for name in ("corpora", "text", "overlaps")]
    assert places == sorted(places)
    assert '<a href="#text">' in notes
    assert "".join(f"<td>{cell}</td>" for cell in ("qad", "&lt;i&gt;", "12", "2", "10")) in notes
    assert "<td>1,234</td>" in notes
    assert "own&lt;b&gt;" in notes
    assert "<dt>Licences</dt><dd>&lt;i&gt; own</dd>" in notes


def test_a_difference_of_language_correlations_has_no_better_side(made: SimpleNamespace) -> None:
    table = comparisons(frame(made.records))
    found = table[(table["task"] == "sts") & (table["view"] == "language")].assign(p=0.0, agreed=True)
    found = found[~found["compared"].str.startswith("abs-")]
    assert len(found) == 2 * 2
    assert {significance(row) for row in rows(found)} == {""}


def test_one_evaluation_alone_is_a_report_too_and_says_which_pictures_it_lacks(
    made: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    report(Sources(made.folders[:1], [], [], "original only", settings, **ABOUT), tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert 'id="hosts"' not in text
    assert "Held-out retrieval" in text
    assert "no training in this run" in (tmp_path / "figures/training.svg").read_text()
    assert "no retrieval by two views in this run" in (tmp_path / "figures/answer.svg").read_text()


def test_without_the_undivided_vector_examples_are_of_the_first_method(
    made: SimpleNamespace, settings: EvaluationSettings, tmp_path: Path
) -> None:
    report(Sources(made.folders[1:3], [], [], "no original", settings, **ABOUT), tmp_path)
    shown = json.loads((tmp_path / "examples.json").read_text())
    assert {one["view"] for one in shown} == {"meaning"}
    assert [one["texts"] for one in shown] == [
        one["texts"] for one in json.loads((made.folders[1] / "examples.json").read_text())
    ]


@pytest.mark.parametrize(
    ("numbers", "methods", "message"),
    [
        ([], METHODS, "no evaluation"),
        ([0, 0], METHODS, "both evaluate toy with original"),
        ([0, 1], {"original": None}, r"evaluates dream, .* original"),
    ],
)
def test_no_doubled_or_unknown_evaluations_are_reported(
    numbers: list[int],
    methods: dict[str, str | None],
    message: str,
    made: SimpleNamespace,
    settings: EvaluationSettings,
    tmp_path: Path,
) -> None:
    folders = [made.folders[number] for number in numbers]
    with pytest.raises(DataError, match=message):
        report(Sources(folders, [], [], "t", settings, **(ABOUT | {"methods": methods})), tmp_path)


def test_captions_say_what_is_drawn_and_what_was_generated(made: SimpleNamespace, notes: str) -> None:
    line = "A line leads to a method from the one that it adds to."
    assert line in made.page
    assert line not in notes
    assert queries.INVENTED not in made.page
    assert notes.count(queries.INVENTED) == 1
    assert notes.index("<h2>Semantic similarity (graded") < notes.index(queries.INVENTED)
    assert "P@1 and accuracy have Wilson's interval" in unescape(notes)


def test_trainings_that_ended_too_early_are_listed(made: SimpleNamespace, notes: str) -> None:
    assert re.findall("<li>(.*?)</li>", notes.partition('id="training"')[2])[:3] == [
        "dream on toy: stopped by max_epochs 5 with patience left: 2 of 3 seeds",
        "&lt;i&gt; on toy: best epoch among the first two of 5: 1 of 3 seeds",
        "&lt;i&gt; on toy: stopped by max_epochs 5 with patience left: 1 of 3 seeds",
    ]
    assert 'href="#training"' in notes
    # It stands by the number.
    assert re.search(r"\[[^]]+\], training may have ended too early</small>", notes.partition("<nav")[0])
    assert "may have ended too early" not in made.page


def test_dvc_and_snakemake_show_the_pictures_of_the_report(made: SimpleNamespace) -> None:
    root = Path(__file__).parents[3]
    stage = yaml.safe_load((root / "dvc.yaml").read_text())["stages"]["evaluation"]
    kept = {name for kind in ("outs", "metrics", "plots") for entry in stage[kind] for name in entry}
    written = {f"results/{path.relative_to(made.output)}" for path in made.output.rglob("*.*")}
    assert written == {name for name in kept if name.startswith("results/")} - {"results/receipt"}
    pictures = {f"results/figures/{name}.svg" for name in ("answer", "training")}
    assert {name for entry in stage["plots"] for name in entry} == pictures
    rule = (root / "workflow/rules/evaluation.smk").read_text()
    assert set(re.findall(r'report\(\s*"(\S+svg)"', rule)) == pictures
    opening = made.page.split('<section id="answer">')[1].split("</section>")[0]
    training = made.page.split('<section id="training">')[1].split("</section>")[0]
    for name, shown in (("answer", opening), ("training", training)):
        picture = (made.output / "figures" / f"{name}.svg").read_text()
        marks = re.compile(r'd="(M[^"]+)"[^>]* (?:fill|stroke)="(#[0-9a-f]{6})"')
        drawn = Counter(marks.findall("".join(re.findall("<svg.*?</svg>", shown, flags=re.DOTALL))))
        assert drawn.total() > 5
        assert drawn <= Counter(marks.findall(picture))
        # As a file it has no page to take a colour from, and loads nothing.
        assert '<rect width="' in picture
        assert 'fill="white"' in picture
        assert not re.search(r'(href|src)="|<script', picture)
    answer = ElementTree.fromstring((made.output / "figures/answer.svg").read_text())
    headings = [unescape(one) for one in re.findall("<h3>(.*?)</h3>", opening)]
    assert len(headings) == 2
    assert set(headings) < {one.text for one in answer.iter()}


def test_examples_are_shown_once_for_all_encoders_that_have_them(made: SimpleNamespace) -> None:
    stored = json.loads((made.output / "examples.json").read_text())
    mixed = [one for one in stored if one["task"] == "code-switched"]
    # Of the undivided vector alone: three of each encoder.
    assert [(one["encoder"], one["view"]) for one in mixed] == [
        (encoder, "sentence") for encoder in ("toy", "<b>toy & co</b>") for _ in range(3)
    ]
    part = made.page.split("<summary>Examples of code-switched sentences</summary>")[1].split("</details>")[0]
    assert "*Swapped* words stand between asterisks." in part
    assert re.findall("<th.*?>(.*?)</th>", part) == ["Languages", "Sentence", "Code-switched", "Translation"]
    rows = [re.findall("<td.*?>(.*?)</td>", row) for row in part.split("<tr>")[2:]]
    assert rows == [["qac-&gt;qaa", *map(escape, one["texts"].values())] for one in mixed[:3]]
    text = (made.output / "tables.md").read_text().split("### Examples of code-switched sentences")[1]
    assert all(one["texts"]["Code-switched"] in text for one in mixed)


def test_the_languages_of_the_pairs_stand_by_encoder(made: SimpleNamespace) -> None:
    part = made.page.split('<section id="languages">')[1].split("</section>")[0]
    rows = [re.findall("<td.*?>(.*?)</td>", row) for row in part.split("<tr>")[2:]]
    grey = "– <small>not stated</small>"
    assert rows == [["qaa", "✓", grey], ["qab", "–", grey], ["qac", "✓", grey]]
    assert json.loads((made.output / "languages.json").read_text())["languages"] == ["qaa", "qab", "qac"]
