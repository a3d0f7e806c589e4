"""Every score of these pages is in a committed record: in a table, of the method that the table names."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import peers
import pytest
import score_table
from scipy.stats import binomtest

from orthoglot.study.report.frame import spread

ROOT = Path(__file__).parents[2]
MEASUREMENTS = ROOT / "measurements"
# The records of each page; a page without any has no score in a table.
RECORDS = {
    "which-method": ("which-method/*.parquet", "every-task/*.parquet"),
    "every-task": ("every-task/*.parquet",),
    "small-ems": ("small-ems/*.parquet",),
    "unseen-text": ("unseen-text/method.comparisons.csv", "unseen-text/method.after.csv"),
    "few-pairs": ("few-pairs/few-pairs.csv",),
    "ready-model": ("ready-model/*.parquet", "which-method/whole.parquet"),
    "every-method": ("every-method/*.parquet",),
    "../docs/methods.md": ("which-method/*.parquet", "every-task/*.parquet", "every-method/*.parquet"),
}
# The records of these pages are tables of a column for each measure, in shares of 1.
SHARES = {
    "mining": ("mining/mining.csv",),
    "scoring": ("scoring/scoring.correlations.csv",),
}
NUMBER = r"[+-]?\d+\.\d"
SCORE = re.compile(rf"({NUMBER})(?:\\\*)?(?: \[({NUMBER}), ({NUMBER})\])?(?: ± ({NUMBER}))?")
# Of a method's name, what the pages say otherwise.
CHOSEN = {"langsae, chosen": "langsae-chosen"}


@cache
def known(patterns: tuple[str, ...]) -> dict[str, set[tuple[str, ...]]]:
    """By method every value alone, with its interval, and with what other trainings change, as a page rounds them."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for file in (file for pattern in patterns for file in sorted(MEASUREMENTS.glob(pattern))):
        if file.suffix == ".csv":
            for row in pd.read_csv(file).to_dict("records"):
                # A comparison, or a gain over what is undivided.
                shown = (
                    [("difference", "low", "high"), ("ours",), ("theirs",)]
                    if "difference" in row
                    else [
                        names
                        for of in ("p_at_1", "f1")
                        for names in ((f"{of}_gain", f"{of}_low", f"{of}_high"), (of,))
                    ]
                )
                found.setdefault(row["method"], set()).update(
                    tuple(rounded(row[name]) for name in names) for names in shown
                )
                if "ours" in row:
                    found.setdefault("plda", set()).add((rounded(row["ours"]),))
            continue
        table = pd.read_parquet(file)
        if "seed" in table:
            table = spread(table)
        for row in table.itertuples():
            own = found.setdefault(row.method, set())
            value = rounded(row.value)
            own.add((value,))
            if pd.notna(row.low):
                ends = (value, rounded(row.low), rounded(row.high))
                own.add(ends)
                if pd.notna(reach := getattr(row, "reach", None)):
                    own.add((*ends, rounded(reach)))
    return found


def rounded(number: float) -> str:
    return f"{round(number, 1) + 0.0:.1f}"


def plain(number: str) -> str:
    """A number of a page without the sign + and without a minus before 0."""
    return f"{float(number) + 0.0:.1f}"


def scores(text: str) -> Iterator[tuple[list[str], tuple[str, ...], str]]:
    """Of each score in a table: its row's first two cells and its column's heading; its numbers; the line."""
    heading: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            heading = []
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        heading = heading or cells
        for name, cell in zip(heading, cells, strict=True):
            if score := SCORE.fullmatch(cell.strip("*") if cell.startswith("**") else cell):
                numbers = tuple(map(plain, filter(None, score.groups())))
                yield [*cells[:2], name.partition(",")[0]], numbers, line


def untraced(text: str, of: dict[str, set[tuple[str, ...]]]) -> list[str]:
    """The lines with a score that no record of the method has that the row or the column names."""
    lines = []
    for names, numbers, line in scores(text):
        row, second, column = (CHOSEN.get(name, name) for name in names)
        named = [name for name in (f"{row} at {second}", row, column) if name in of]
        if not any(numbers in of[name] for name in named[:1] or of):
            lines.append(line)
    return lines


def read(page: str) -> str:
    """A page, or that of a folder, without its blocks of code, which show what a command prints."""
    path = MEASUREMENTS / page if page.endswith(".md") else MEASUREMENTS / page / "README.md"
    return re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", RECORDS)
def test_every_score_of_a_table_has_a_record(page: str) -> None:
    assert untraced(read(page), known(RECORDS[page])) == []


@pytest.mark.parametrize("page", RECORDS)
def test_every_score_with_an_interval_in_the_text_has_a_record(page: str) -> None:
    every = set().union(*known(RECORDS[page]).values())
    text = "\n".join(line for line in read(page).splitlines() if line[:1] != "|")
    assert [score for score in with_intervals(text) if score not in every] == []


def with_intervals(text: str) -> list[tuple[str, ...]]:
    return [tuple(map(plain, score)) for score in re.findall(rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]", text)]


# What the table of methods calls a data set and a metric.
COLUMNS = {
    "Tatoeba ↑": ("tatoeba", "P@1"),
    "NTREX ↑": ("ntrex", "P@1"),
    "own language ↓": ("ntrex", "same-language"),
    "STS 2017 ↑": ("sts17", "spearman"),
    "MLQE ↑": ("mlqe", "pearson"),
}


def test_the_table_of_methods_is_that_of_the_run_that_repeats_it() -> None:
    records = spread(pd.read_parquet(MEASUREMENTS / "which-method/whole.parquet"))
    part = records["method"].map(lambda method: "sentence" if method == "original" else "meaning")
    records = records[(records["subset"] == "all") & (records["view"] == part)]
    value = records.set_index(["dataset", "metric", "method"])["value"].sort_index()
    lines = read("../docs/methods.md").partition("## All methods")[0].splitlines()
    lines = [line for line in lines if line.startswith(("| Method", "| `"))]
    heading, *rows = ([cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines)
    assert heading[2:] == [*COLUMNS]
    assert len(rows) >= 6
    for method, _, *cells in rows:
        shown = [cell.strip("*") for cell in cells]
        assert shown == [rounded(float(value[(*of, method)])) for of in COLUMNS.values()], method
    # The best of each column is bold, and nothing else is.
    for place, name in enumerate(COLUMNS, 2):
        column = [row[place] for row in rows]
        best = (min if "↓" in name else max)(column, key=lambda cell: float(cell.strip("*")))
        assert [cell for cell in column if "*" in cell] == [f"**{best.strip('*')}**"], name


def printed_by(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """The lines of the table that a command of `score_table.py` prints, without those under the heading."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", shlex.split(command))
    score_table.main()
    return [line for line in capsys.readouterr().out.splitlines() if not line.startswith("| ---")]


def test_the_tables_of_all_methods_are_what_their_commands_print(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one on the page of methods has the best of each column and encoder bold, and nothing else."""
    page = (MEASUREMENTS / "every-method/README.md").read_text(encoding="utf-8")
    commands = re.findall(r"python measurements/which-method/(score_table.py (?:.*\\\n)*.*)", page)
    assert len(commands) == 3
    for command in commands:
        command = command.replace("\\\n", " ")
        of = "../docs/methods.md" if "--short" in command else "every-method"
        # The page of methods says more of some.
        shown = [re.sub(r"^(\| `[^`]*`)[^|]*", r"\1 ", line) for line in read(of).splitlines()]
        missing = [line for line in printed_by(command, monkeypatch, capsys) if line not in shown]
        assert missing == [], command


def test_the_best_of_each_encoder_is_bold() -> None:
    table = pd.DataFrame(
        [
            ("plda", "meaning", 9.06),
            ("seed", "meaning", 9.14),
            ("meat", "meaning", 3.0),
            ("plda", "language", 99.0),
        ],
        columns=["method", "view", "value"],
    ).assign(task="tatoeba", dataset="tatoeba", metric="P@1")
    heading, shown = score_table.short([table, table[table["method"] != "meat"]], "Tatoeba ↑ = tatoeba P@1")
    assert heading == "Tatoeba ↑"
    assert shown == {"plda": "**9.1** / **9.1**", "seed": "**9.1** / **9.1**", "meat": "3.0 / –"}
    assert score_table.short([table], "Tatoeba ↓ = tatoeba P@1")[1]["meat"] == "**3.0**"


def test_what_the_readme_says_of_search_is_what_its_notebook_printed() -> None:
    cells = json.loads((ROOT / "examples/better-search.ipynb").read_text(encoding="utf-8"))["cells"]
    printed = "".join(
        text for cell in cells for out in cell.get("outputs", ()) for text in out.get("text", ())
    )
    values = re.findall(r"translation first, percent: ([\d.]+) ", printed)
    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert re.findall(r"\*\*.*rise from ([\d.]+) to ([\d.]+) %\*\*", text, re.IGNORECASE) == [
            tuple(values)
        ], page


def test_the_table_of_oracle_alone_is_its_record() -> None:
    records = pd.read_csv(MEASUREMENTS / "language-parts/oracle-alone.csv")
    shown = table_rows("language-parts", "| Method | Rate | Epochs | ems-demo | emma-x-demo |")
    assert 2 * len(shown) == len(records)
    for method, rate, epochs, *cells in shown:
        rows = records[records["method"] == method]
        if rate != "–":
            rows = rows[(rows["learning_rate"] == float(rate)) & (rows["epochs"] == float(epochs))]
        of = rows.set_index("encoder")["p_at_1"]
        assert cells == [rounded(of[name]) for name in ("ems-demo", "emma-x-demo")], (method, rate, epochs)


@pytest.mark.parametrize("page", SHARES)
def test_every_interval_of_a_page_of_shares_has_a_record(page: str) -> None:
    every = []
    for table in map(pd.read_csv, (MEASUREMENTS / name for name in SHARES[page])):
        for name in (low.removesuffix("_low") for low in table if low.endswith("_low")):
            every.append(table[[name, f"{name}_low", f"{name}_high"]].to_numpy() * 100)
    records = np.concatenate(every)
    # The rest of the page on scoring is made of counts, see below.
    shown = np.array(with_intervals(read(page).partition("## Words without")[0]), dtype=float)
    assert len(shown) > 40
    # Records have five digits, the pages one after the point.
    near = np.abs(shown[:, None] - records).max(axis=2).min(axis=1) < 0.0501
    assert shown[~near].tolist() == []


def shows(cell: str, row: Any, *names: str) -> bool:
    """Whether a cell has these numbers of a record; records have five digits, pages one after the point."""
    numbers = np.array(re.findall(r"[-+]?\d+\.\d", cell), dtype=float)
    return len(numbers) == len(names) and bool((np.abs(numbers - 100 * row[[*names]]) < 0.0501).all())


def ends(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


def table_rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the rows of the table with this heading."""
    lines = read(page).splitlines()
    first = lines.index(heading) + 2
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[first:]]
    return cells[: next(place for place, row in enumerate(cells) if row == [""])]


def test_the_rows_of_mining_are_their_records() -> None:
    records = (
        pd.read_csv(MEASUREMENTS / "mining/mining.csv").query("margin == 'ratio'").set_index(["set", "view"])
    )
    shown = table_rows("mining", "| Set | View | Precision | Recall | F1 | F1 − undivided |")
    assert len(shown) == 12
    for name, view, *cells, gain in shown:
        row = records.loc[(name, view)]
        for cell, part in zip(cells, ("precision", "recall", "f1"), strict=True):
            assert shows(cell, row, *ends(part)), (name, view, part)
        assert gain == "–" if view == "original" else shows(gain, row, *ends("gain")), (name, view)


def test_the_rows_of_scoring_are_their_records() -> None:
    views = ("original", "centering", "seed+oracle", "plda")
    records = pd.read_csv(MEASUREMENTS / "scoring/scoring.correlations.csv").set_index(
        ["benchmark", "pair", "view"]
    )
    shown = table_rows("scoring", f"| Set | Pair | {' | '.join(views)} |")
    assert len(shown) == 16
    for benchmark, pair, *cells in shown:
        for view, cell in zip(views, cells, strict=True):
            known = (benchmark, pair, view) in records.index
            row = records.loc[(benchmark, pair, view)] if known else None
            assert shows(cell, row, *ends("spearman")) if known else cell == "–", (benchmark, pair, view)


def test_the_rows_of_words_are_their_records() -> None:
    records = pd.read_csv(MEASUREMENTS / "scoring/words.labels.csv")
    names = ("original", "plda")
    heading = f"| Pair | Side | BAD words | AUC: {' | '.join(names)} | F1 of BAD, plda | all words | MCC, plda | best |"
    shown = table_rows("scoring", heading)
    assert len(shown) == 7
    sides = {"source": "src", "translation": "mt"}
    for pair, side, bad, *aucs, f1, everything, mcc, best in shown:
        of = records[(records["pair"] == pair) & (records["side"] == sides[side])].set_index("model")
        for name, cell in zip(names, aucs, strict=True):
            assert shows(cell, of.loc[name], "auc"), (pair, side, name)
        own = [(bad, ["bad"]), (f1, ["f1"]), (everything, ["f1_all"]), (best, ["best"])]
        for cell, parts in (*own, (mcc, ["mcc", "low", "high"])):
            assert shows(cell, of.loc["plda"], *parts), (pair, side, parts)


def share(hits: int, n: int) -> str:
    low, high = binomtest(int(hits), int(n)).proportion_ci(method="wilson")
    return f"{100 * hits / n:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def test_the_tables_of_the_guard_are_its_counts() -> None:
    rows = {row for row in read("scoring").splitlines() if row.startswith("|")}
    kinds = pd.read_csv(MEASUREMENTS / "scoring/guard.filter.csv").groupby("kind").sum(numeric_only=True)
    for kind, counts in kinds[kinds.index != "word by word"].iterrows():
        cells = [
            share(counts[name], counts["n"])
            for name in ("low", "identified", "guessed", "dropped", "with_guesses")
        ]
        assert f"| {kind} | {counts['n']:.0f} | {' | '.join(cells)} |" in rows, kind
    cases = pd.read_csv(MEASUREMENTS / "scoring/guard.identifier.csv")
    # Good lines, lines of a related language in their place, and English ones, by turns.
    shown = 0
    for _, (good, related, english) in (
        cases.groupby(cases.index // 3).apply(lambda of: [*of.itertuples()]).items()
    ):
        cells = [share(case.flagged, case.n) for case in (good, related, english)]
        shown += f"| {related.language} | {related.offered} | {' | '.join(cells)} |" in rows
    assert shown == sum(1 for row in rows if re.match(r"\| [a-z]{2} \| [a-z]{3} \|", row)) == 6


PARAGRAPHS = (
    "whole",
    "right, if matching",
    "next, always",
    "next, if matching",
    "any, always",
    "any, if matching",
)


@pytest.mark.parametrize(
    ("file", "ways", "names"),
    [
        (
            "alignment.csv",
            ["lengths (Gale and Church)", "sentence, ratio", "meaning, ratio"],
            {"bible": "Acts and Hebrews", "ntrex": "NTREX"},
        ),
        (
            "alignment.paragraphs.csv",
            [f"meaning, {way}" for way in PARAGRAPHS],
            {"bible": "Mark", "ntrex": "Articles of NTREX"},
        ),
    ],
)
def test_the_tables_of_alignment_are_their_records(file: str, ways: list[str], names: dict[str, str]) -> None:
    records = pd.read_csv(MEASUREMENTS / "alignment" / file).groupby(["text", "pair"], sort=False)
    page = (MEASUREMENTS / "alignment/README.md").read_text(encoding="utf-8")
    starts = tuple(f"| {name} |" for name in names.values())
    rows = [line for line in page.splitlines() if line.startswith(starts)]
    for row, ((text, pair), of_pair) in zip(rows, records, strict=True):
        by_way = of_pair.set_index("way").loc[ways]
        cells = [f"{one.f1:.1f} [{one.low:.1f}, {one.high:.1f}]" for one in by_way.itertuples()]
        assert row == f"| {' | '.join([names[text], pair, *cells])} |"


@pytest.mark.parametrize("task", peers.TASKS)
def test_the_tables_of_the_peers_are_their_records(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, show = peers.TASKS[task]
    show(peers.read(MEASUREMENTS / f"other-programs/peers.{task}.csv"))
    page = (MEASUREMENTS / "other-programs/README.md").read_text(encoding="utf-8")
    tables = capsys.readouterr().out.strip().split("\n\n")
    assert [printed for printed in tables if printed not in page] == []


def test_a_score_without_a_record_is_found() -> None:
    of = {"seed": {("91.0",), ("91.0", "90.5", "91.4")}, "dream": {("88.8",)}}
    table = "| Method | P@1 |\n|---|---|\n| seed | {} |\n"
    assert untraced(table.format("91.0 [90.5, 91.4]"), of) == []
    assert untraced(table.format("91.0"), of) == []
    for wrong in ("91.0 [90.5, 91.5]", "91.0 [90.5, 91.4] ± 0.3", "91.1", "88.8"):
        assert untraced(table.format(wrong), of) == [f"| seed | {wrong} |"]
    assert untraced("| Text | seed |\n|---|---|\n| Tatoeba | 88.8\\* |\n", of) == ["| Tatoeba | 88.8\\* |"]


def test_the_pages_have_scores() -> None:
    counts = {page: sum(1 for _ in scores(read(page))) for page in RECORDS}
    assert counts["which-method"] > 100
    assert counts["every-task"] > 150


def test_the_table_of_the_authors_rate_is_what_its_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (command,) = re.findall(
        r"`python measurements/which-method/(score_table.py [^`]*rates[^`]*)`", read("which-method")
    )
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", shlex.split(command))
    score_table.main()
    printed = [line.strip("| \n").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    heading = "| Method | Rate | Tatoeba: meaning ↑ | language ↓ | STS 2017 ↑ | MLQE ↑ |"
    shown = {f"{method} at {rate}": cells for method, rate, *cells in table_rows("which-method", heading)}
    assert shown == {method: cells for method, *cells in printed}


def test_a_score_of_several_tasks_is_asked_for_by_one() -> None:
    table = pd.read_parquet(MEASUREMENTS / "every-task/whole.parquet")
    table = spread(table[table["subset"] == "all"])
    with pytest.raises(SystemExit, match="write one of them before it: tatoeba, paracrawl"):
        score_table.cells(table, "tatoeba P@1")
    assert score_table.cells(table, "tatoeba/tatoeba P@1")["original"].startswith("88.6 ")
