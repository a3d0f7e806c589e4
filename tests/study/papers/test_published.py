from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter, defaultdict
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from orthoglot.errors import ConfigError
from orthoglot.languages import canonical
from orthoglot.study import config
from orthoglot.study.papers.published import (
    DATA_SETS,
    DECOMPOSER_PAPERS,
    ENCODER_PAPERS,
    METHODS,
    PAPERS,
    PUBLISHED,
    Printed,
    load_paper,
    printed_numbers,
)

ROOT = Path(__file__).parents[3]
EVERY = [one for paper in DECOMPOSER_PAPERS for one in printed_numbers(paper)]
PRINTED = [one for paper in PAPERS for one in printed_numbers(paper)]


def members(name: str) -> tuple[str, ...]:
    return DATA_SETS[name].members


# Per table how many numbers it has and their sum, added up from the papers' tables and not from these files.
TOTALS = {
    # 27 rows of 12, 10, 10 and 8 languages and their mean; 12 x 8; 3 x 6; 12 languages.
    "oracle": {
        "8": (351, "14515.83"),
        "3": (96, "3828.40"),
        "4": (18, "972.02"),
        "9": (297, "14231.88"),
        "10": (297, "12108.24"),
        "11": (243, "11680.85"),
        "2": (12, "8.74"),
    },
    # Two of Table 3 are not legible (docs/papers.md#doubt-7).
    "seed": {"1": (105, "47.571"), "3": (2, "1.487"), "4": (120, "95.698"), "5": (4, "1.929")},
    "ems": {"XIV": (79, "11829.4"), "IV": (1, "87.6")},
    # 8 models of 58 and of 54 languages with their mean; 9 of 6 groups, 10 groups without a number; 5 of 10, 22, 15, 19
    # and 11 columns, 7 of 5.
    "ems-encoders": {
        "IV": (472, "41317.1"),
        "V": (44, "3851.3"),
        "VI": (440, "20108.1"),
        "VII": (50, "2616.1"),
        "IX": (35, "3185.2"),
        "X": (110, "9383.9"),
        "XI": (75, "5619.6"),
        "XII": (95, "7434.5"),
        "XIII": (55, "4587.5"),
    },
    # Table 5 with three means of ours.
    "emma-x": {"5": (111, "9658.34"), "6": (48, "3340.14")},
    # Four models of 12 tasks and ChatGPT of 8; five models of 6 and of 4, four of 9; then four or five by language.
    "xrete": {
        "1": (56, "3673.61"),
        "2": (30, "1448.6"),
        "3": (20, "1509.6"),
        "4": (36, "553.9638"),
        "10": (80, "6417.1"),
        "11": (55, "2623.50"),
        "12": (44, "3487.8"),
        "14": (48, "31.140"),
        "15": (48, "2182.7"),
        "16": (48, "2647.0"),
        "17": (60, "4476.6"),
        "18": (20, "1524.0"),
        "19": (40, "3473.7"),
    },
}
# Two numbers that change places leave a sum as it is: these are of every value with what it belongs to, line by line.
DIGESTS = {
    "oracle": "4fe29cf4ae5d3593",
    "seed": "7ab31e293a86c087",
    "ems": "5493460c71ddc5aa",
    "ems-encoders": "fc69d6d2efa9f7f9",
    "emma-x": "db766417b2314410",
    "xrete": "a751a7d57746a3eb",
}


@pytest.mark.parametrize("paper", TOTALS)
def test_the_printed_numbers_add_up_to_the_papers_totals(paper: str) -> None:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    counts: Counter[str] = Counter()
    with open(PUBLISHED / f"{paper}.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:
        if row["value"]:
            sums[row["table"]] += Decimal(row["value"])
            counts[row["table"]] += 1
    assert {table: (counts[table], str(sums[table])) for table in sums} == TOTALS[paper]
    text = "\n".join(",".join(row[name] for name in row if name != "note") for row in rows)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == DIGESTS[paper]


def test_the_page_states_how_many_numbers_each_table_has() -> None:
    text = (ROOT / "docs/papers.md").read_text(encoding="utf-8").split("**Numbers by table**")[1]
    for paper, tables in TOTALS.items():
        for table, (count, _) in tables.items():
            if (paper, table) == ("ems", "IV"):  # again in ems-encoders
                continue
            ours = 3 if (paper, table) == ("emma-x", "5") else 0
            title = {"ems-encoders": "EMS", "xrete": "Emma-X", "emma-x": "Emma-X"}.get(paper, paper.upper())
            (line,) = [line for line in text.splitlines() if line.startswith(f"| {title} |")]
            assert f"{table}: {count - ours}" in re.split(r"[,|] ?", line.replace(" |", "|")), (paper, table)


def test_groups_have_the_languages_that_the_papers_name() -> None:
    def of(codes: str) -> set[str]:
        return {f"en-{code}" for code in codes.split()}

    assert set(members("muse-8")) == of("ar de es fr it nl pt ro")
    assert set(members("opus-12")) == of("ar ay de es fr gn it ja nl pt ro zh")
    assert set(members("tatoeba-10")) == of("ar de es fr it ja nl pt ro zh")
    fourteen = of("ar bg de el es fr hi ru sw th tr ur vi zh")
    assert set(members("tatoeba-14")) == fourteen
    more = of("af bn et eu fa fi he hu id it ja jv ka kk ko ml mr nl pt ta te tl")
    assert set(members("tatoeba-36")) == fourteen | more
    few = of("af hi hy jv ka kk ku mn mr nb sw ta te tl ur")
    many = of(
        "ar bg bn ca cs da de el eo es et eu fa fi fr gl he hr hu id it ja ko lt lv max mk ml nl pl pt ro ru sk sl sq "
        "sr sv th tr uk vi zh"
    )
    assert set(members("tatoeba-15")) == few
    assert set(members("tatoeba-43")) == many
    assert set(members("tatoeba-58")) == few | many
    flores = "ar de es fr it ja ko nl pl pt ru th tr zh"
    assert members("flores-182") == tuple(map("-".join, combinations(flores.split(), 2)))
    scarce = "af gu hi hy jv ka kk mr my nb sw ta te tl ur yo"
    assert members("flores-240") == tuple(map("-".join, combinations(scarce.split(), 2)))
    cross = {"en-ar", "en-de", "en-tr", "en-es", "en-fr", "en-it", "en-nl"}
    assert set(members("sts17-cross")) == cross
    assert set(members("sts17")) == cross | {"ar-ar", "en-en", "es-es"}
    assert set(members("wmt20")) == {"en-de", "en-zh", "ro-en", "et-en", "ne-en", "si-en"}
    assert set(members("mldoc")) == of("de es fr it ja ru zh")
    assert set(members("bucc")) == of("de fr ru zh")
    assert set(members("tatoeba-36")) < set(members("tatoeba-112"))
    assert set(members("tatoeba-76")) == set(members("tatoeba-112")) - set(members("tatoeba-36"))
    unseen = {one.subset for one in printed_numbers("ems-encoders") if one.table == "VI"} - {"all"}
    assert set(members("tatoeba-54")) == unseen == set(members("tatoeba-112")) - set(members("tatoeba-58"))
    assert set(members("tatoeba-58")) == {
        one.subset for one in printed_numbers("ems-encoders") if one.table == "IV"
    } - {"all"}


def test_groups_have_the_sizes_that_the_papers_print() -> None:
    for name, size in {"tatoeba-58": 58, "tatoeba-43": 43, "tatoeba-15": 15, "tatoeba-112": 112}.items():
        assert len(members(name)) == len(set(members(name))) == size
    assert (2 * len(members("flores-182")), 2 * len(members("flores-240"))) == (182, 240)
    assert (len(members("flores-68")), len(members("paracrawl-21"))) == (68, 21)
    for data_set in DATA_SETS.values():
        codes = {code for member in data_set.members for code in member.split()[-1].split("-")} - {"all"}
        assert all(canonical(code) == code for code in codes)


def test_candidates_are_those_of_the_test_sets() -> None:
    tatoeba = DATA_SETS["tatoeba-36"]
    fewer = {"sw": 390, "th": 548, "jv": 205, "ka": 746, "kk": 575, "ml": 687, "ta": 307, "te": 234}
    for member in tatoeba.members:
        assert tatoeba.candidates[member] == fewer.get(member[3:], 1000)
    stated = {name: one.candidates.get(one.members[0]) for name, one in DATA_SETS.items() if one.members}
    assert (stated["opus-12"], stated["muse-8"], stated["flores-182"]) == (50_000, 1000, 1012)
    assert (stated["sts17"], stated["wmt20"]) == (None, None)
    assert max(DATA_SETS["tatoeba-112"].candidates.values()) == 1000
    assert DATA_SETS["tatoeba-58"].candidates["en-max"] == 284
    assert (stated["flores-68"], stated["paracrawl-21"]) == (3001, 200_000)


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


def test_both_directions_of_both_tatoeba_sets_are_distinct() -> None:
    rows = printed_numbers("oracle")
    chosen = [one for one in rows if (one.table, one.encoder, one.method) == ("3", "labse", "meat")]
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


def unit(value: str) -> float:
    """The last digit of a printed number."""
    return float(Decimal(1).scaleb(Decimal(value).as_tuple().exponent))  # type: ignore[arg-type]


def test_printed_means_are_the_means_of_the_printed_numbers() -> None:
    """A mean of rounded numbers is at most half a unit off, and rounding it once more another half.

    Source: docs/papers.md#doubt-11.
    """
    rows: dict[tuple[str, ...], dict[str, Printed]] = {}
    for one in PRINTED:
        if one.value and one.dataset in DATA_SETS:
            rows.setdefault(one.row, {})[one.subset] = one
    checked: Counter[str] = Counter()
    wrong = []
    for cells in rows.values():
        whole = cells.get("all")
        if whole and whole.members and set(cells) == {"all", *whole.members}:
            mean = fmean(float(cells[name].value) for name in whole.members)
            if mean != pytest.approx(float(whole.value), abs=1.01 * unit(whole.value)):
                wrong.append((whole.table, whole.encoder, whole.value, round(mean, 2)))
            checked[whole.paper] += 1
    assert wrong == [("16", "emma-x", "59.6", 60.16)]
    # Every row of Tables 8 to 11; Tables 1 and 4; IV, VI, IX and X; Table 5; Tables 10 to 12 and 14 to 19.
    assert checked == {
        "oracle": 27 + 27 + 27 + 27,
        "seed": 15 + 15,
        "ems-encoders": 8 + 8 + 7 + 5,
        "emma-x": 3,
        "xrete": 5 + 5 + 4 + 4 + 4 + 4 + 5 + 4 + 5,
    }


def by_place(table: str) -> dict[str, dict[tuple[str, str, str], float]]:
    """Of a table of EMS: {encoder: {(data set, member, direction): number}}."""
    found: dict[str, dict[tuple[str, str, str], float]] = defaultdict(dict)
    for one in printed_numbers("ems-encoders"):
        if one.table == table:
            found[one.encoder][one.dataset, one.subset, one.direction] = float(one.value)
    return found


@pytest.mark.parametrize(("table", "count"), [("XI", 14), ("XII", 18), ("XIII", 10)])
def test_means_over_both_ways_are_those_of_the_printed_numbers(table: str, count: int) -> None:
    for cells in by_place(table).values():
        (mean,) = [value for (_, member, _), value in cells.items() if member == "all"]
        own = [value for (_, member, _), value in cells.items() if member != "all"]
        assert len(own) == count
        assert fmean(own) == pytest.approx(mean, abs=0.101)


def test_groups_of_languages_have_the_printed_means() -> None:
    """Table V from Table IV: half a unit of a rounded mean, and half of the rounded numbers.

    Source: docs/papers.md#doubt-9.
    """
    single = by_place("IV")
    checked = 0
    for encoder, groups in by_place("V").items():
        for (dataset, _, _), mean in groups.items():
            if encoder in single:
                own = [single[encoder]["tatoeba-58", member, "both"] for member in members(dataset)]
                assert fmean(own) == pytest.approx(mean, abs=0.101), (encoder, dataset)
                checked += 1
    assert checked == 44 - 1  # mUSE is not in Table IV


def test_the_ablation_of_ems_repeats_the_means_of_its_tables_by_language() -> None:
    """Table XIV; a mean of rounded numbers is at most half a unit off, and rounding it once more another half."""
    single, pairs, documents = (by_place(table) for table in ("IV", "VII", "XI"))
    checked = 0
    for one in printed_numbers("ems"):
        if one.encoder not in single or one.table != "XIV" or not one.members:
            continue
        if one.task == "tatoeba":
            own = [single[one.encoder]["tatoeba-58", member, "both"] for member in one.members]
        elif one.encoder not in pairs:
            continue
        elif one.task == "nway":
            own = [pairs[one.encoder][one.dataset, "all", "both"]]
        else:
            own = [documents[one.encoder]["mldoc", member, one.direction] for member in one.members]
        assert fmean(own) == pytest.approx(float(one.value), abs=0.101), one
        checked += 1
    assert checked == 7 + 7 + 3  # EMS, LaBSE-EMS-joint, and LaBSE-EMS-vanilla on Tatoeba


def test_head_and_long_tail_together_give_the_mean_over_112_languages() -> None:
    """36 and 76 languages of Table 3; their mean stands in Table 2 (docs/papers.md#doubt-15)."""
    printed = {
        (one.table, one.encoder, one.dataset): float(one.value)
        for one in printed_numbers("xrete")
        if one.task == "tatoeba"
    }
    for encoder in ("s-bert", "labse", "infoxlm", "xlm-r", "emma-x"):
        head, tail = (printed["3", encoder, f"tatoeba-{size}"] for size in (36, 76))
        assert (36 * head + 76 * tail) / 112 == pytest.approx(printed["2", encoder, "tatoeba-112"], abs=0.101)


def test_means_by_task_are_those_of_the_tables_by_language() -> None:
    """Table 1 and Tables 10 to 19; of BUCC, Emma-X's differ (docs/papers.md#doubt-10)."""
    means: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for one in printed_numbers("xrete"):
        if one.subset == "all" and one.table not in {"2", "3", "4"}:
            means[one.encoder, one.dataset][one.table] = float(one.value) * (
                100 if one.scale == "-1..1" else 1
            )
    differ = {}
    for about, found in means.items():
        if len(found) == 2:
            first, second = found.values()
            if first != pytest.approx(second, abs=0.051):
                differ[about] = (first, second)
    assert differ == {("emma-x", "bucc"): (87.1, 81.9)}


def test_the_ablation_repeats_the_tatoeba_table_and_not_the_sts_one() -> None:
    """Table 4's "ORACLE" is the mean of both directions of LaBSE MEAT+ORACLE in Table 3; STS differs.

    Source: docs/papers.md#doubt-1.
    """
    rows = [
        one for one in EVERY if (one.paper, one.encoder, one.method) == ("oracle", "labse", "meat+oracle")
    ]
    for one in rows:
        if one.table == "4" and one.task == "tatoeba":
            same = [r for r in rows if r.table == "3" and (r.view, r.dataset) == (one.view, one.dataset)]
            assert len(same) == 2
            assert float(one.value) == pytest.approx(fmean(float(r.value) for r in same), abs=0.0051)
    sts = {one.table: one for one in rows if (one.task, one.view, one.subset) == ("sts", "meaning", "all")}
    assert (sts["4"].value, sts["10"].value) == ("74.21", "76.64")
    assert "(docs/papers.md#doubt-1)" in sts["4"].note


def test_known_doubts_are_noted() -> None:
    notes = " ".join(one.note for one in EVERY)
    assert all(f"(docs/papers.md#doubt-{number})" in notes for number in range(1, 8))
    assert {one.method for one in EVERY if not one.value} == {"original", "seed"}
    assert all("(docs/papers.md#doubt-7)" in one.note for one in EVERY if not one.value)


def test_rows_are_well_formed() -> None:
    assert len({one._replace(value="", note="") for one in EVERY}) == len(EVERY)
    for one in EVERY:
        assert one.encoder in PAPERS[one.paper].encoders
        assert one.method in METHODS
        assert one.subset == "all" or one.subset in members(one.dataset)
        low, high = map(float, one.scale.split(".."))
        assert not one.value or low <= float(one.value) <= high
        assert (one.view == "sentence") == (one.method == "original")


def test_table_xiv_is_transcribed_whole() -> None:
    printed = printed_numbers("ems")
    values = {(one.encoder, one.dataset, one.direction): one.value for one in printed}
    assert len(values) == len(printed)
    assert values["without-contrastive", "tatoeba-15", "both"] == "56.6"
    assert values["shared-output-embedding", "flores-240", "both"] == "32.2"
    assert values["labse-ems-vanilla", "mldoc", "xx->en"] == "58.7"
    assert values["labse-ems-mlp", "tatoeba-58", "both"] == "87.6"
    assert values["labse-ems-joint", "training", ""] == "747"
    assert values["a100", "tatoeba-43", "both"] == "95.5"
    means: dict[str, dict[str, float]] = defaultdict(dict)
    for one in printed:
        means[one.encoder][one.dataset] = float(one.value)
    for variant, mean in means.items():
        if variant != "labse-ems-mlp":  # of 43 and 15 of the 58 languages
            both = (43 * mean["tatoeba-43"] + 15 * mean["tatoeba-15"]) / 58
            assert mean["tatoeba-58"] == pytest.approx(both, abs=0.11), variant


def test_tables_5_and_6_are_transcribed_whole() -> None:
    printed = printed_numbers("emma-x")
    values = {(one.encoder, one.dataset, one.subset): one.value for one in printed}
    assert len(values) == len(printed)
    assert values["fixed-mixture", "tatoeba-36", "en-kk"] == "67.1"
    assert values["full", "tatoeba-36", "en-zh"] == "92.7"
    assert values["linear-classifier", "americasnli", "all"] == "46.63"
    assert values["ranks-2", "tatoeba-112", "all"] == "82.3"
    assert values["ranks-8", "paws-x", "all"] == "95.1"
    for one in printed:
        low, high = map(float, one.scale.split(".."))
        assert low <= float(one.value) <= high
        assert one.subset == "all" or one.subset in members(one.dataset)
        assert one.dataset in DATA_SETS or one.method == "fine-tuned"
        if one.metric == "mean absolute error":
            assert (one.dataset, one.scale) == ("multiarc", "0..400")
        if one.dataset == "tatoeba-36":
            assert ("averaged by us" in one.note) == (one.subset == "all")
    # docs/papers.md#doubt-12: the paper's averages over the twelve columns, the error of MultiARC among them.
    for variant, mean in {"full": 70.7, "linear-classifier": 68.1}.items():
        row = [float(one.value) for one in printed if (one.table, one.encoder) == ("6", variant)]
        assert np.mean(row) == pytest.approx(mean, abs=0.06)


def test_a_paper_describes_everything_that_it_prints_and_claims() -> None:
    assert set(DECOMPOSER_PAPERS) == {"oracle", "seed"}
    assert set(ENCODER_PAPERS) == {"ems", "emma-x"}
    for name, paper in PAPERS.items():
        printed = printed_numbers(name)
        own = [one for one in printed if one.encoder == paper.base] if paper.variants else printed
        assert {one.paper for one in printed} == {name}
        assert list(dict.fromkeys(one.table for one in own)) == list(paper.tables)
        assert {one.encoder for one in printed} == set(paper.variants or paper.encoders)
        named = paper.variants or METHODS
        for claim in paper.claims:
            assert claim.pairs
            assert {side for pair in (*claim.pairs, *claim.further) for side in pair} <= set(named)
            assert set(claim.encoders) <= set(paper.encoders)
            assert claim.above < claim.below
            assert any(
                f"{word}{table}" in claim.evidence for table in paper.tables for word in ("Table ", " ", "s ")
            )
        if paper.variants:
            assert {one.column for one in printed} == {one.column for one in own}
            assert {f"{one.dataset} {one.direction}".strip() for one in own if one.subset == "all"} == set(
                paper.headings
            )


def test_an_unknown_paper_is_refused() -> None:
    with pytest.raises(ConfigError, match="no paper called dream; there are oracle, seed"):
        load_paper("dream", DECOMPOSER_PAPERS)
    with pytest.raises(ConfigError, match="dream"):
        load_paper("dream")


@pytest.fixture(scope="module")
def catalogue() -> config.Params:
    return config.load(ROOT / "params.yaml")


def test_methods_of_the_catalogue_count_as_the_papers_by_how_they_are_trained(
    catalogue: config.Params,
) -> None:
    """Its names are labels: these are those of the catalogue at hand."""
    here = {}
    uncentred = {name: method for name, method in catalogue.methods.items() if not method.centre}
    for name, method in uncentred.items():
        terms = ",".join(f"{term}={weight:g}" for term, weight in sorted(method.terms.items()))
        here[name] = method.architecture, method.partners, terms
    found = {
        (paper, reading): sorted(name for name in here if here[name] == definition)
        for paper, definitions in METHODS.items()
        for reading, definition in enumerate(definitions)
    }
    for paper in (
        "original",
        "centering",
        "dream",
        "dream+oracle",
        "meat",
        "meat+oracle",
        "seed",
        "seed+oracle",
    ):
        trained_as_published = {f"{paper}-recipe"} & set(here)
        assert found.pop((paper, 0)) == [paper, *trained_as_published]
    assert found.pop(("fine-tuned", 0)) == []  # an encoder of its own, no method on vectors
    for part in ("meaning", "language", "consistency"):
        assert found.pop((f"seed-without-{part}", 0)) == [f"seed-without-{part}"]
    assert found.pop(("dream", 1)) == ["dream-released"]
    assert [found.pop(("oracle", reading)) for reading in (0, 1)] == [
        ["oracle-printed"],
        ["oracle", "oracle-recipe"],
    ]
    for host in ("dream", "meat", "seed"):
        assert found.pop((f"{host}+oracle", 1)) == [f"{host}+oracle-released"]
    for part in ("ic", "is"):
        assert found.pop((f"meat+oracle-without-{part}", 0)) == [f"meat+oracle-without-{part}"]
        assert found.pop((f"meat+oracle-without-{part}", 1)) == [f"meat+oracle-released-without-{part}"]
    assert not found


def test_encoders_benchmarks_and_variants_of_the_catalogue_count_as_the_papers(
    catalogue: config.Params,
) -> None:
    checkpoints: dict[str, set[str]] = defaultdict(set)
    for name, encoder in catalogue.encoders.items():
        if checkpoint := getattr(encoder, "checkpoint", None):
            checkpoints[Path(checkpoint).name].add(name)
    found = {
        (paper.name, name): {here for one in wanted for here in checkpoints.get(one, ())}
        for paper in PAPERS.values()
        for name, wanted in paper.encoders.items()
    }
    assert found["oracle", "labse"] == found["seed", "labse"] == {"labse", "labse-cls"}
    assert found["oracle", "laser"] == {"laser1", "laser2"}
    assert found["ems-encoders", "laser"] == {"laser1"}
    assert found["oracle", "infoxlm"] == {"infoxlm-large"}
    for size in ("base", "large", "large-instruct"):
        assert found["seed", f"me5-{size}"] == {f"me5-{size}", f"me5-{size}-released"}
    sources: dict[str, set[str]] = defaultdict(set)
    for name, benchmark in catalogue.benchmarks.items():
        sources[benchmark.source].add(name)
    assert sources["sts-2017"] == {
        "sts17",
        "sts17-turkish",
        "sts17-extended",
    }  # not track 4b, and not the STS benchmark
    assert sources["wmt20-qe"] == {"mlqe", "mlqe-south-asia", "mlqe-russian"}
    assert sources["flores-200"] == {
        "flores",
        "flores-muse",
        "flores-low-resource",
        "flores-ems-40",
        "flores-emma-x",
    }
    assert sources["tatoeba"] == {"tatoeba", "tatoeba-112"}
    xrete = {"xnli", "americasnli", "paws-x", "xcopa", "multieurlex", "multiarc", "mewsli-x", "wmt21-qe"}
    reviews = {"amazon-v1-books", "amazon-v1-dvd", "amazon-v1-music", "amazon-v2"}
    # Of these the catalogue has nothing, or a part.
    elsewhere = {"bucc-2018", "flores-200-whole", "paracrawl-v5"}
    stated = {one.source for one in DATA_SETS.values()} - elsewhere
    here = {
        "",
        "tatoeba",
        "bucc-2018-training",
        "flores-200",
        "sts-2017",
        "wmt20-qe",
        "lareqa-xquad-r",
        "mldoc",
    }
    assert stated == here | reviews | xrete
    stand_ins = {one.stand_in for one in DATA_SETS.values()}
    assert stand_ins == {"", "xnli-dev", "paws-x-dev", "bucc-2018-xtreme-dev", "flores-200"}
    assert stated | stand_ins <= set(sources)
    assert sources["xnli"] == {"xnli", "xnli-all"}
    for kind in ENCODER_PAPERS:
        for name, variant in PAPERS[kind].variants.items():
            same = [here for here, changes in catalogue.variants[kind].items() if changes == variant.changes]
            assert same == ([] if name == "a100" else [name])
