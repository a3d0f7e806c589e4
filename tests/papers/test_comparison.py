from __future__ import annotations

from collections import Counter
from statistics import fmean

import pytest
from generated_records import METHODS, a_run

from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical
from orthoglot.papers.comparison import (
    NO_DATA,
    NO_ENCODER,
    NO_LANGUAGE,
    NO_METHOD,
    NO_RECORD,
    WHOLE,
    Compared,
    beside,
    beyond,
)
from orthoglot.papers.published_tables import CHECKPOINTS, MEMBERS, TITLES, Printed, published
from orthoglot.statistics.lookup import Measured
from orthoglot.statistics.records import Record

PAPERS = ("oracle", "seed")
EVERY = [one for paper in PAPERS for one in published(paper)]


def one_of(cells: list[Compared], **wanted: object) -> Compared:
    found = [cell for cell in cells if all(getattr(cell, name) == to for name, to in wanted.items())]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("paper", "counts"),
    [
        # 3 encoders x 9 and 5 rows of 12 languages; 12 x 8; 3 x 6; 27 and en-fr (Q4); 26, mSimCSE, 4 rows of 10
        # tracks and en-de twice (Q3); 27.
        ("oracle", {"8": 87, "3": 96, "4": 18, "9": 28, "10": 69, "11": 27}),
        ("seed", {"1": 15 * 7, "3": 4, "4": 15 * 8, "5": 4}),  # two of Table 3 are not legible (Q7)
    ],
)
def test_every_printed_number_has_a_row(paper: str, counts: dict[str, int]) -> None:
    assert Counter(one.table for one in published(paper)) == counts
    assert {(paper, table) for table in counts} == {key for key in TITLES if key[0] == paper}


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("oracle", "8", "laser", "dream+oracle", "language", "all", "en->xx"), "0.19"),
        (("oracle", "8", "labse", "meat", "language", "en-zh", "en->xx"), "60.28"),
        (("oracle", "8", "labse", "original", "sentence", "en-gn", "en->xx"), "12.82"),
        (("oracle", "9", "infoxlm", "meat+oracle", "meaning", "all", "both"), "61.49"),
        (("oracle", "10", "labse", "meat+oracle", "meaning", "en-tr", ""), "74.56"),
        (("oracle", "10", "infoxlm", "dream+oracle", "meaning", "en-de", ""), "49.55"),
        (("oracle", "11", "laser", "meat", "language", "all", "xx->en"), "30.55"),
        (("seed", "1", "me5-large", "meat", "meaning", "ne-en", ""), "0.541"),
        (("seed", "4", "me5-large-instruct", "seed", "meaning", "en-it", ""), "0.851"),
        (("seed", "5", "me5-large-instruct", "seed-without-meaning", "meaning", "all", ""), "0.451"),
    ],
)
def test_known_numbers_stand_where_the_papers_print_them(where: tuple[str, ...], value: str) -> None:
    names = "paper", "table", "encoder", "method", "view", "subset", "direction"
    found = [one for one in EVERY if tuple(getattr(one, name) for name in names) == where]
    assert [one.value for one in found] == [value]


def test_both_directions_of_both_tatoeba_sets_are_told_apart() -> None:
    chosen = [
        one for one in published("oracle") if (one.table, one.encoder, one.method) == ("3", "labse", "meat")
    ]
    assert {(one.view, one.dataset, one.direction): one.value for one in chosen} == {
        ("meaning", "tatoeba-14", "en->xx"): "95.67",
        ("meaning", "tatoeba-14", "xx->en"): "95.76",
        ("meaning", "tatoeba-36", "en->xx"): "95.33",
        ("meaning", "tatoeba-36", "xx->en"): "95.06",
        ("language", "tatoeba-14", "en->xx"): "87.35",
        ("language", "tatoeba-14", "xx->en"): "36.66",
        ("language", "tatoeba-36", "en->xx"): "86.51",
        ("language", "tatoeba-36", "xx->en"): "40.61",
    }


def test_printed_means_are_the_means_of_the_printed_numbers() -> None:
    """A mean of rounded numbers is at most half a unit off, and rounding it once more another half."""
    rows: dict[Printed, dict[str, float]] = {}
    for one in EVERY:
        if one.value:
            rows.setdefault(one._replace(subset="", value="", note=""), {})[one.subset] = float(one.value)
    checked = 0
    for row, cells in rows.items():
        if set(cells) == {"all", *MEMBERS[row.dataset]}:
            unit = 0.001 if row.scale == "-1..1" else 0.01
            assert fmean(cells[name] for name in MEMBERS[row.dataset]) == pytest.approx(
                cells["all"], abs=1.01 * unit
            )
            checked += 1
    assert checked == 5 + 4 + 30


def test_the_ablation_repeats_the_tatoeba_table_and_not_the_sts_one() -> None:
    """Table 4's "ORACLE" is the mean of both directions of LaBSE MEAT+ORACLE in Table 3; STS differs (Q1)."""
    rows = [one for one in published("oracle") if (one.encoder, one.method) == ("labse", "meat+oracle")]
    for one in rows:
        if one.table == "4" and one.task == "tatoeba":
            both = [
                float(r.value)
                for r in rows
                if r.table == "3" and (r.view, r.dataset) == (one.view, one.dataset)
            ]
            assert len(both) == 2
            assert float(one.value) == pytest.approx(fmean(both), abs=0.0051)
    sts = {one.table: one for one in rows if (one.task, one.view, one.subset) == ("sts", "meaning", "all")}
    assert (sts["4"].value, sts["10"].value) == ("74.21", "76.64")
    assert "(Q1)" in sts["4"].note


def test_known_doubts_are_told() -> None:
    told = " ".join(one.note for one in EVERY)
    assert all(f"(Q{number})" in told for number in range(1, 8))
    assert {one.method for one in EVERY if not one.value} == {"original", "seed"}
    assert all("(Q7)" in one.note for one in EVERY if not one.value)


def test_rows_are_well_formed() -> None:
    assert len({one._replace(value="", note="") for one in EVERY}) == len(EVERY)
    for one in EVERY:
        assert one.encoder in CHECKPOINTS
        assert one.subset == "all" or one.subset in MEMBERS[one.dataset]
        low, high = map(float, one.scale.split(".."))
        assert not one.value or low <= float(one.value) <= high
        assert (one.view == "sentence") == (one.method == "original")
    sizes = {"opus-12": 12, "tatoeba-14": 14, "tatoeba-36": 36, "tatoeba-10": 10, "muse-8": 8, "sts17": 10}
    assert {one.dataset: len(set(MEMBERS[one.dataset])) for one in EVERY} == sizes | {
        "sts17-cross": 7,
        "wmt20": 6,
    }
    for members in MEMBERS.values():
        assert all(canonical(code) == code for member in members for code in member.split("-"))


def test_an_unknown_paper_is_refused() -> None:
    with pytest.raises(ConfigError, match="no paper called dream; there are oracle, seed"):
        published("dream")


def slow_mean(
    records: list[Record], cell: Compared, wanted: list[tuple[str, str]], seed: int | None
) -> float:
    """The mean over (data set, subset), looked up one by one."""
    total = 0.0
    for dataset, subset in wanted:
        (found,) = [
            r.value
            for r in records
            if (r.encoder, r.method, r.view) == (cell.encoder_here, cell.method_here, cell.view)
            and (r.task, r.dataset, r.subset) == (cell.task, dataset, subset)
            and (r.metric, r.seed) == (cell.metric, seed)
        ]
        total += found
    return total / len(wanted)


@pytest.mark.parametrize(
    ("paper", "where", "wanted"),
    [
        (
            "oracle",
            {"table": "3", "dataset": "tatoeba-14", "direction": "xx->en", "encoder": "labse"},
            [("tatoeba", "de->en"), ("tatoeba", "fr->en")],
        ),
        (
            "oracle",
            {"table": "9", "subset": "all", "encoder": "labse"},
            [("tatoeba", name) for name in ("en->de", "de->en", "en->fr", "fr->en")],
        ),
        (
            "oracle",
            {"table": "8", "subset": "all", "encoder": "labse"},
            [("test", "en->ar"), ("test", "en->de")],
        ),
        (
            "oracle",
            {"table": "10", "subset": "all", "encoder": "labse"},
            [("sts17", "ar-ar"), ("sts17", "ar-en"), ("sts17", "en-de"), ("sts17-turkish", "en-tr")],
        ),
        (
            "oracle",
            {"table": "11", "encoder": "labse"},
            [("code-switched", "de->en"), ("code-switched", "fr->en")],
        ),
        (
            "seed",
            {"table": "1", "subset": "all", "encoder": "me5-base"},
            [("mlqe", "en-de"), ("mlqe", "ro-en")],
        ),
        ("seed", {"table": "1", "subset": "ro-en", "encoder": "me5-base"}, [("mlqe", "ro-en")]),
    ],
)
def test_a_cell_is_the_mean_over_what_both_have(
    paper: str, where: dict[str, str], wanted: list[tuple[str, str]]
) -> None:
    records = a_run(["labse", "me5-base"])
    cells = [c for c in beside(paper, Measured(records)) if all(getattr(c, k) == v for k, v in where.items())]
    cells = [cell for cell in cells if not cell.reason]
    assert len(cells) >= 4
    records = [record for record in records if record.task == cells[0].task]
    for cell in cells:
        unit = 100 if cell.scale == "-1..1" else 1
        assert cell.measured == pytest.approx(slow_mean(records, cell, wanted, None) / unit)
        seeds = [1, 2, 3] if cell.method_here not in ("original", "centering") else [0]
        by_seed = [slow_mean(records, cell, wanted, seed) / unit for seed in seeds]
        assert cell.seeds == len(seeds)
        if len(seeds) == 1:
            assert cell.sd is None
        else:
            mean = fmean(by_seed)
            assert cell.sd == pytest.approx((sum((v - mean) ** 2 for v in by_seed) / (len(seeds) - 1)) ** 0.5)
        assert len(cell.over) + len(cell.missing) == len(MEMBERS[cell.dataset]) or cell.subset != "all"


def test_both_readings_of_a_row_are_shown() -> None:
    cells = beside("oracle", Measured(a_run(["labse"])))
    chosen = [
        cell
        for cell in cells
        if (cell.table, cell.encoder, cell.method, cell.view) == ("9", "labse", "dream+oracle", "meaning")
    ]
    assert [cell.method_here for cell in chosen] == ["dream+oracle", "dream+oracle-released"]
    assert {cell.published for cell in chosen} == {96.01}


def test_both_sizes_of_infoxlm_stand_beside_the_paper() -> None:
    cells = beside("oracle", Measured(a_run(["infoxlm-large", "infoxlm-base"], ["original"])))
    chosen = [
        cell for cell in cells if (cell.table, cell.encoder, cell.method) == ("11", "infoxlm", "original")
    ]
    assert [cell.encoder_here for cell in chosen] == ["infoxlm-base", "infoxlm-large"]


def test_a_mean_is_compared_over_the_same_languages_where_the_paper_prints_them() -> None:
    cells = beside("oracle", Measured(a_run(["labse"])))
    same = one_of(cells, table="8", method="meat", view="meaning", subset="all", encoder="labse")
    assert same.over == ("en-ar", "en-de")
    assert same.like == pytest.approx((98.75 + 96.14) / 2)
    assert same.difference == pytest.approx(same.measured - same.like)  # type: ignore[operator]
    assert same.like_for_like
    other = one_of(cells, table="8", method="dream", view="meaning", subset="all", encoder="labse")
    assert other.like is None
    assert other.difference == pytest.approx(other.measured - 81.61)  # type: ignore[operator]
    assert not other.like_for_like
    assert one_of(
        cells, table="8", method="meat", view="meaning", subset="en-de", encoder="labse"
    ).like_for_like


def test_the_interval_of_a_whole_data_set_is_its_own_record() -> None:
    """`a_run` gives the mean over all an interval of 0.5 to each side, and 1 to every subset."""
    records = [r for r in a_run(["me5-base"], ["original"]) if r.dataset != "stsb"]
    whole = one_of(
        beside("seed", Measured(records)), table="1", method="original", subset="all", encoder="me5-base"
    )
    assert whole.high - whole.measured == pytest.approx(0.005)  # type: ignore[operator]
    assert not whole.averaged
    part = one_of(
        beside("seed", Measured(records)), table="4", method="original", subset="all", encoder="me5-base"
    )
    assert part.over == ("en-ar", "en-de", "en-tr")
    assert part.high - part.measured == pytest.approx(0.01)  # type: ignore[operator]
    assert part.measured - part.low == pytest.approx(0.01)  # type: ignore[operator]
    assert part.averaged


def test_each_cell_that_cannot_be_measured_says_why() -> None:
    records = [r for r in a_run(["labse"], ["original", "dream"]) if r.task not in ("qe", "code-switched")]
    records = [r for r in records if (r.task, r.view) != ("tatoeba", "language")]
    cells = beside("oracle", Measured(records))
    reasons = {
        (cell.table, cell.encoder, cell.method, cell.view, cell.subset, cell.dataset): cell.reason
        for cell in cells
    }
    assert reasons["9", "laser", "dream", "meaning", "all", "tatoeba-10"] == NO_ENCODER
    assert reasons["9", "labse", "meat", "meaning", "all", "tatoeba-10"] == NO_METHOD
    assert reasons["11", "labse", "dream", "meaning", "all", "muse-8"] == NO_DATA
    assert (
        reasons["10", "labse", "dream", "meaning", "en-it", "sts17"] == NO_LANGUAGE
    )  # stsb has it: other items
    assert reasons["9", "labse", "dream", "language", "all", "tatoeba-10"] == NO_RECORD
    assert reasons["9", "labse", "dream", "meaning", "all", "tatoeba-10"] == ""
    assert all((cell.measured is None) == bool(cell.reason) for cell in cells)
    assert all(cell.over == () for cell in cells if cell.reason)


def test_quality_estimation_has_a_direction_and_similarity_has_none() -> None:
    records = [
        record
        for record in a_run(["me5-base"], ["original"])
        if record.task != "qe" or record.subset != "all"
    ]
    turned = [Record(**{**vars(r), "subset": "en-ro"}) if r.subset == "ro-en" else r for r in records]
    cells = beside("seed", Measured(turned))
    assert (
        one_of(cells, table="1", method="original", subset="ro-en", encoder="me5-base").reason == NO_LANGUAGE
    )
    assert one_of(cells, table="4", method="original", subset="en-ar", encoder="me5-base").reason == ""


def test_what_the_paper_does_not_have_gets_rows_of_its_own() -> None:
    records = a_run(["labse", "ems-mini"])
    further = beyond("oracle", Measured(records))
    assert all(cell.published is None and cell.difference is None for cell in further)
    assert all(cell.measured is not None for cell in further)
    own = {(cell.method, cell.view) for cell in further if (cell.encoder, cell.table) == ("ems-mini", "9")}
    assert own == {("original", "sentence")} | {
        (method, view) for method in METHODS[1:] for view in ("meaning", "language")
    }
    on_labse = {cell.method for cell in further if (cell.encoder, cell.table) == ("labse", "9")}
    assert on_labse == {"centering", "seed"}


def test_a_run_on_invented_languages_shows_the_whole_of_its_data_sets() -> None:
    records = [
        Record(
            **{**vars(r), "subset": r.subset.replace("en", "qaa").replace("de", "qab").replace("fr", "qac")}
        )
        for r in a_run(["ems-mini"], ["original", "seed"])
        if r.task == "tatoeba"
    ]
    further = [cell for cell in beyond("oracle", Measured(records)) if cell.table == "9"]
    assert {(cell.direction, cell.dataset) for cell in further} == {(WHOLE, "tatoeba")}
    (mean,) = [
        r for r in records if (r.method, r.view, r.subset, r.seed) == ("seed", "language", "all", None)
    ]
    assert one_of(further, method="seed", view="language").measured == pytest.approx(mean.value)


def test_damaged_records_are_refused() -> None:
    records = a_run(["labse"], ["original"])
    with pytest.raises(DataError, match="no record"):
        Measured([])
    with pytest.raises(DataError, match="two records of labse original heldout test en->ar sentence P@1"):
        Measured([*records, records[0]])
    with pytest.raises(DataError, match="is nan, not a finite number"):
        Measured([Record(**{**vars(records[0]), "value": float("nan")})])
