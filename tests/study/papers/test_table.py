from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from generated_records import a_run, over_seeds

from orthoglot.errors import ConfigError, DataError
from orthoglot.statistics.records import ALL
from orthoglot.study.papers.claims import claim_tables, evaluate_claims
from orthoglot.study.papers.matching import Run
from orthoglot.study.papers.measured import REASONS
from orthoglot.study.papers.oracle_figure_6 import gaps
from orthoglot.study.papers.published import DECOMPOSER_PAPERS, P_AT_1, PAPERS, printed_numbers
from orthoglot.study.papers.table import write_claims, write_paper, write_results
from orthoglot.study.report.frame import Measured
from orthoglot.study.tasks.examples import Shown, write_examples

HOSTILE = "<script>alert(1)</script>|x"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Both papers' tables of a run with LaBSE, an mE5 and an encoder of our own."""
    output = tmp_path_factory.mktemp("tables")
    records = a_run(["labse", "me5-base", HOSTILE])
    for paper in ("oracle", "seed"):
        write_paper(Run(PAPERS[paper], Measured(records)), output)
    text = {path.name: path.read_text() for path in output.iterdir()}
    return SimpleNamespace(records=records, text=text)


def cells(made: SimpleNamespace, paper: str) -> list[dict[str, Any]]:
    return json.loads(made.text[f"{paper}-table.json"])["cells"]


def rows_of(made: SimpleNamespace, title: str) -> list[list[str]]:
    """The rows of one Markdown table, by its title."""
    paper = "oracle" if f"### {title}" in made.text["oracle-table.md"] else "seed"
    part = made.text[f"{paper}-table.md"].split(f"### {title}")[1].split("###")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_four_files_a_paper_and_nothing_else(made: SimpleNamespace) -> None:
    kinds = ("csv", "html", "json", "md")
    assert sorted(made.text) == [f"{paper}-table.{kind}" for paper in ("oracle", "seed") for kind in kinds]


def test_every_printed_number_stands_in_the_markdown(made: SimpleNamespace) -> None:
    for paper in ("oracle", "seed"):
        text = made.text[f"{paper}-table.md"]
        tables = {
            title: text.split(f"### Table {title}")[1].split("###")[0]
            for title in re.findall("Table (\\d+):", text)
        }
        for one in printed_numbers(paper):
            if one.value:
                assert f"| {one.value} " in tables[one.table], one


def test_a_cell_reads_the_same_in_all_four_files(made: SimpleNamespace) -> None:
    heading, _, *rows = rows_of(made, "Table 9: Tatoeba, 10 training languages")
    place = heading.index("mean of tatoeba-10, both ways")
    where = "labse", "meat+oracle", "language ↓"
    shown = {row[3]: row[place] for row in rows if tuple(row[:3]) == where}
    (cell,) = [
        one
        for one in cells(made, "oracle")
        if (one["table"], one["encoder"], one["method"], one["view"], one["subset"])
        == ("9", "labse", "meat+oracle", "language", "all")
    ]
    assert cell["published"] == 6.70
    ends = f"[{cell['measured_low']:.2f}, {cell['measured_high']:.2f}]"
    small = f"{ends} ± {cell['measured_sd']:.2f} 2 of 10 among 1,000"
    assert shown == {
        "published": "6.70",
        "measured": f"{cell['measured']:.2f} {small}",
        "difference": f"{cell['difference']:+.2f} to 6.12",
    }
    assert f"<td>{cell['measured']:.2f} <small>{small}</small></td>" in made.text["oracle-table.html"]
    flat = list(csv.DictReader(made.text["oracle-table.csv"].splitlines()))
    assert len(flat) == len(cells(made, "oracle"))
    (row,) = [
        one
        for one in flat
        if (one["table"], one["encoder"], one["method"], one["view"], one["subset"])
        == ("9", "labse", "meat+oracle", "language", "all")
    ]
    assert float(row["measured"]) == pytest.approx(cell["measured"])
    assert (row["over"], row["like_for_like"]) == ("en-de en-fr", "True")


def test_rows_come_as_in_the_paper(made: SimpleNamespace) -> None:
    _, _, *rows = rows_of(made, "Table 3: Tatoeba, 14 and 36 languages")
    names = list(dict.fromkeys((row[0], row[1]) for row in rows))
    methods = ["dream", "dream+oracle", "meat", "meat+oracle"]
    assert names == [(encoder, method) for encoder in ("laser", "infoxlm", "labse") for method in methods]


def test_both_readings_have_rows_of_their_own(made: SimpleNamespace) -> None:
    _, _, *rows = rows_of(made, "Table 11: Code-switched retrieval")
    mine = [row[3] for row in rows if row[:3] == ["labse", "dream+oracle", "meaning ↑"]]
    released = "labse, dream+oracle-released"
    assert mine == ["published", "measured", "difference", f"measured {released}", f"difference {released}"]


def test_scores_of_seed_are_in_its_own_scale(made: SimpleNamespace) -> None:
    for cell in cells(made, "seed"):
        assert cell["measured"] is None or -1 <= cell["measured"] <= 1
    heading, _, *rows = rows_of(made, "Table 1: Quality estimation, WMT20")
    (row,) = [row for row in rows if row[:4] == ["me5-base", "seed", "meaning ↑", "published"]]
    assert row[heading.index("en-de")] == "0.116"


def test_what_was_not_measured_says_why_and_the_note_explains_it(made: SimpleNamespace) -> None:
    heading, _, *rows = rows_of(made, "Table 10: STS 2017")
    place = heading.index("en-it")
    cells = {tuple(row[:4]): row[place] for row in rows}
    assert cells["labse", "dream", "meaning ↑", "measured"] == "– no language"
    assert cells["labse", "dream", "meaning ↑", "published"] == "76.28"
    other = {tuple(row[:4]): row[heading.index("mean of sts17, spearman")] for row in rows}
    assert other["laser", "meat", "meaning ↑", "published"] == "65.26 no encoder"
    note = made.text["oracle-table.md"].split("### Table 10")[1].split("|")[0]
    assert f"No language: {REASONS['no language']}." in note
    assert "sts17 was measured on ar-ar ar de tr; not on en-en es-es es fr it nl." in note
    assert (
        "labse meat meaning, mean of sts17, spearman: Figure 4 shows 76.02 (docs/papers.md#doubt-2)." in note
    )


def test_the_page_loads_nothing_and_hostile_names_stay_text(made: SimpleNamespace) -> None:
    class Tags(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []
            self.sources: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.seen.append(tag)
            self.sources += [value or "" for name, value in attrs if name in ("src", "href")]

    for paper, tables in (("oracle", 10), ("seed", 4)):
        page = Tags()
        page.feed(made.text[f"{paper}-table.html"])
        # One script sorts the tables; the content security policy names its digest.
        assert page.seen.count("script") == 1
        assert page.seen.count("h2") == tables + 2  # whole data sets, claims
        assert all(source.startswith("#") for source in page.sources)
        assert "&lt;script&gt;alert(1)" in made.text[f"{paper}-table.html"]
        assert "<script>" not in made.text[f"{paper}-table.md"]


def test_the_claims_of_a_paper_are_part_of_its_page(made: SimpleNamespace) -> None:
    content = json.loads(made.text["oracle-table.json"])["claims"]
    assert [claim["text"] for claim in content] == [claim.text for claim in PAPERS["oracle"].claims]
    assert "MEAT leaks more than DREAM" in made.text["oracle-table.html"]
    assert "SEED has the best average" not in made.text["oracle-table.html"]
    assert "SEED has the best average" in made.text["seed-table.html"]


def test_claims_alone_are_written_in_three_forms(made: SimpleNamespace, tmp_path: Path) -> None:
    records = [
        *over_seeds("labse", "meat", "language", "tatoeba", "t", ALL, P_AT_1, values=[50, 50], width=0.5),
        *over_seeds(
            "labse", "meat+oracle", "language", "tatoeba", "t", ALL, P_AT_1, values=[0.5, 0], width=0.25
        ),
        *over_seeds("labse", "meat", "language", "tatoeba", "t", "en->de", P_AT_1, values=[50, 50]),
        *over_seeds("labse", "meat+oracle", "language", "tatoeba", "t", "en->de", P_AT_1, values=[0.5, 0]),
    ]
    write_claims(records, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claims.html", "claims.json", "claims.md"]
    content = json.loads((tmp_path / "claims.json").read_text())
    assert len(content) == 12
    names = "encoder data quantity value low high seeds verdict how counts"
    assert list(content[0]["cases"][0]) == names.split()
    assert content[0]["cases"][0]["high"] == "inf"
    assert content[0]["cases"][0]["seeds"] == [100.0, "inf"]
    assert "200.00 [99.00, inf]" in (tmp_path / "claims.md").read_text()
    assert 'class="good">holds in 1 of 1' in (tmp_path / "claims.html").read_text()
    every = [
        one for name in DECOMPOSER_PAPERS for one in evaluate_claims(Run(PAPERS[name], Measured(records)))
    ]
    top, *cases = claim_tables(every)
    assert len(top.rows) == 12
    assert [table.title for table in cases] == ["ORACLE cuts language-view retrieval at least to half"]


def test_same_records_same_bytes(made: SimpleNamespace, tmp_path: Path) -> None:
    write_paper(Run(PAPERS["seed"], Measured(made.records)), tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_text() == made.text[path.name]


def test_bad_input_writes_nothing(made: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no paper called dream"):
        write_results("dream", tmp_path / "records.jsonl", tmp_path)
    with pytest.raises(DataError, match="no record"):
        write_paper(Run(PAPERS["seed"], Measured([])), tmp_path)
    with pytest.raises(DataError, match="no record"):
        write_claims([], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_papers_table_of_sentences_has_those_of_the_run_or_says_why_not(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    (row,) = rows_of(made, "Table 7: Examples of code-switched sentences")[2:]
    assert row == ["– no data"]
    assert f'class="absent" title="{REASONS["no data"]}">–' in made.text["oracle-table.html"]
    texts = {"Sentence": "Der Hund", "Code-switched": f"The *dog* {HOSTILE}", "Translation": "The dog"}
    about = "code-switched", "switched", "de->en", "sentence", "labse"
    shown = [Shown(*about, texts), Shown("mining", *about[1:], {"Source": "nothing"})]
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(r.row()) + "\n" for r in made.records))
    write_examples(tmp_path / "examples.json", shown)
    for results in (tmp_path, tmp_path / "records.jsonl"):
        write_results("oracle", results, tmp_path)
        made = SimpleNamespace(text={path.name: path.read_text() for path in tmp_path.iterdir()})
        (row,) = rows_of(made, "Table 7: Examples of code-switched sentences")[2:]
        assert row[:2] == ["de->en", "Der Hund"]
        assert "&lt;script&gt;" in made.text["oracle-table.html"].split("The *dog* ")[1][:20]


ALONE = "dream", "dream+oracle", "oracle", "original"


def test_a_panel_has_the_scores_with_and_without_oracle_and_their_paired_gap() -> None:
    records = [one for one in a_run(["labse"], ALONE) if one.task in ("tatoeba", "sts")]
    run = Run(PAPERS["oracle"], Measured(records))
    found = {(one.panel, one.data, one.view): one for one in gaps(run)}
    assert {panel for panel, _, _ in found} == {"with DREAM", "ORACLE alone"}
    sts = [f"Semantic similarity ({dataset})" for dataset in ("sts17", "sts17-turkish", "stsb")]
    assert {data for _, data, _ in found} == {"Tatoeba retrieval", *sts}

    def level(method: str, view: str) -> float:
        (value,) = [
            one.value
            for one in records
            if (one.task, one.subset, one.method, one.view, one.seed) == ("tatoeba", ALL, method, view, None)
            and one.metric == P_AT_1
        ]
        return value

    for view in ("meaning", "language"):
        one = found["with DREAM", "Tatoeba retrieval", view]
        assert (one.method, one.against) == ("dream+oracle", "dream")
        assert one.score.value == level("dream+oracle", view)
        assert one.without is not None
        assert one.without.value == level("dream", view)
        assert one.alone == pytest.approx(level("dream+oracle", view) - level("oracle", view))
        assert one.alone_method == "oracle"
    alone = found["ORACLE alone", "Tatoeba retrieval", "meaning"]
    assert alone.without is not None
    assert alone.without.value == level("original", "sentence")
    # The run has a paired difference of a method to the undivided vector, which stands here with its interval.
    (paired,) = [
        one
        for one in records
        if (one.task, one.subset, one.method, one.metric, one.seed, one.view)
        == ("tatoeba", ALL, "oracle", "difference-P@1:original", None, "meaning")
    ]
    assert alone.gap is not None
    assert (alone.gap.value, alone.gap.low, alone.gap.high) == (paired.value, paired.low, paired.high)
    assert alone.alone is None
    language = found["ORACLE alone", "Tatoeba retrieval", "language"]
    assert (language.without, language.gap) == (None, None)


@pytest.mark.parametrize("order", [1, -1])
def test_a_reading_is_compared_with_the_same_reading_of_oracle_alone(order: int) -> None:
    alone = "oracle", "oracle-released"
    methods = ["dream", "dream-released", *alone, "dream+oracle", "dream+oracle-released", "original"][
        ::order
    ]
    found = [
        one
        for one in gaps(Run(PAPERS["oracle"], Measured(a_run(["labse"], methods))))
        if one.alone is not None
    ]
    assert {(one.method, one.alone_method) for one in found} == {
        ("dream+oracle", "oracle"),
        ("dream+oracle-released", "oracle-released"),
    }


def test_the_figure_has_three_panels_and_says_which_were_not_run(tmp_path: Path) -> None:
    write_paper(Run(PAPERS["oracle"], Measured(a_run(["labse", HOSTILE], ALONE))), tmp_path)
    made = SimpleNamespace(text={path.name: path.read_text() for path in tmp_path.iterdir()})
    rows = rows_of(made, "Figure 6: what ORACLE changes beside a host and alone")[2:]
    assert [row for row in rows if row[1] == "with MEAT"] == [
        [encoder, "with MEAT", "meat+oracle less meat", "", "", *["– no method"] * 4]
        for encoder in ("labse", HOSTILE.replace("<", "&lt;").replace("|", "\\|"))
    ]
    svg = made.text["oracle-table.html"].split('<figure class="pan">')[1].split("</figure>")[0]
    assert all(f">{panel}</text>" in svg for panel in ("with DREAM", "ORACLE alone", "labse"))
    assert "<script" not in svg
    stored = json.loads(made.text["oracle-table.json"])["gaps"]
    # Two encoders, two panels, six data sets of retrieval and similarity, two views.
    assert len(stored) == 2 * 2 * 6 * 2


def test_the_papers_languages_stand_beside_those_of_the_runs_encoders(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    title = "Table 6: Languages of the encoders"
    columns, _, *rows = rows_of(made, title)
    grey = ["– not stated"] * 3
    assert columns == [
        "Language",
        *(f"{name}, published" for name in ("laser", "infoxlm", "labse")),
        *columns[4:],
    ]
    assert rows[:2] == [["ar", "✓", "✓", "✓", *grey], ["ay", "✓", "–", "–", *grey]]
    assert [row[1:4] for row in rows if row[0] == "gn"] == [["–"] * 3]
    assert len(rows) == 13
    stated = {"languages": ["ay", "cs"], "known": {"labse": ["ar", "cs"], "me5-base": []}}
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(r.row()) + "\n" for r in made.records))
    (tmp_path / "languages.json").write_text(json.dumps(stated))
    write_results("oracle", tmp_path, tmp_path)
    made = SimpleNamespace(text={path.name: path.read_text() for path in tmp_path.iterdir()})
    rows = rows_of(made, title)[2:]
    assert rows[0] == ["ar", "✓", "✓", "✓", "✓", *grey[:2]]
    assert rows[1] == ["ay", "✓", "–", "–", "–", *grey[:2]]
    # Of a language that the paper does not train on it says nothing.
    assert rows[-1] == ["cs", *grey, "✓", *grey[:2]]
    for text in ("[", "[]", "{}", "3"):
        (tmp_path / "languages.json").write_text(text)
        with pytest.raises(DataError, match=r"languages\.json: cannot be read"):
            write_results("oracle", tmp_path, tmp_path)
