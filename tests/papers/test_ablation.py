from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
from generated_records import record
from safetensors.numpy import save_file

from orthoglot.errors import DataError
from orthoglot.papers.ablation import (
    NO_TIME,
    NO_TUNING,
    NO_VARIANT,
    Outcome,
    ablation_claims,
    outcomes,
    parameters,
    read_variants,
    spread,
)
from orthoglot.papers.ablation_claims import ABLATION_PAPERS
from orthoglot.papers.ablation_table import write_ablation
from orthoglot.papers.comparison import NO_DATA, NO_LANGUAGE, WHOLE
from orthoglot.papers.published_tables import MEMBERS, Paper, transcribed
from orthoglot.papers.verdicts import FAILS, HOLDS, UNDECIDED, UNTESTABLE
from orthoglot.statistics.records import HEAD, LONG_TAIL, write_records

# Student's t, 97.5 %: 12.706 for two values, 4.303 for three.
T2, T3 = 12.706204736, 4.302652730
Scores = Mapping[str, Mapping[int, Mapping[str, float]]]
# Tatoeba de<->en and xh<->en (which EMS has not), FLORES de<->fr, by variant and seed.
SCORES: Scores = {
    "ems": {
        1: {"de->en": 80, "en->de": 70, "xh->en": 10, "en->xh": 20, "de->fr": 50, "fr->de": 60},
        2: {"de->en": 84, "en->de": 70, "xh->en": 10, "en->xh": 20, "de->fr": 50, "fr->de": 64},
    },
    "without-xtr": {
        1: {"de->en": 70, "en->de": 60, "xh->en": 10, "en->xh": 20, "de->fr": 50, "fr->de": 60},
        2: {"de->en": 72, "en->de": 60, "xh->en": 10, "en->xh": 20, "de->fr": 50, "fr->de": 64},
    },
    "released": {
        1: {"de->en": 81, "en->de": 71, "xh->en": 10, "en->xh": 20, "de->fr": 52, "fr->de": 62},
        2: {"de->en": 85, "en->de": 71, "xh->en": 10, "en->xh": 20, "de->fr": 52, "fr->de": 66},
    },
}


def evaluation(root: Path, variant: str, seed: int, values: Mapping[str, float]) -> Path:
    """What `evaluate` leaves of an encoder's own vectors: equal records of seed 0 and of the mean over seeds."""
    folder = root / variant / f"seed{seed}" / "evaluation"
    folder.mkdir(parents=True)
    records = []
    for task, dataset in (("tatoeba", "tatoeba"), ("nway", "flores")):
        own = {way: value for way, value in values.items() if ("fr" in way) == (task == "nway")}
        found = own | {"all": float(np.mean(list(own.values())))}
        for subset, value in found.items():
            about = "ems-named", "original", "sentence", task, dataset, subset, "P@1", float(value)
            records += [record(*about), record(*about, seed=0)]
    write_records(folder / "records.jsonl", records)
    return folder


def evaluations(root: Path, scores: Scores = SCORES) -> list[Path]:
    return [
        evaluation(root, variant, seed, values)
        for variant, seeds in scores.items()
        for seed, values in seeds.items()
    ]


def one_of(found: Sequence[Outcome], **wanted: object) -> Outcome:
    chosen = [one for one in found if all(getattr(one, name) == to for name, to in wanted.items())]
    assert len(chosen) == 1, chosen
    return chosen[0]


@pytest.fixture
def found(tmp_path: Path) -> list[Outcome]:
    return outcomes("ems", read_variants(evaluations(tmp_path)), (), 0.95)


def test_table_xiv_is_transcribed_whole() -> None:
    printed = transcribed("ems")
    assert Counter(one.table for one in printed) == {"XIV": 10 * 8 - 1, "IV": 1}  # A100 has no time
    values = {(one.encoder, one.dataset, one.direction): one.value for one in printed}
    assert len(values) == len(printed)
    assert values["ems", "tatoeba-58", "both"] == "89.8"
    assert values["without-contrastive", "tatoeba-15", "both"] == "56.6"
    assert values["shared-output-embedding", "flores-240", "both"] == "32.2"
    assert values["labse-ems-vanilla", "mldoc", "xx->en"] == "58.7"
    assert values["labse-ems-mlp", "tatoeba-58", "both"] == "87.6"
    assert values["labse-ems-joint", "training", ""] == "747"
    assert values["a100", "tatoeba-43", "both"] == "95.5"
    means = {one.encoder: {} for one in printed}
    for one in printed:
        means[one.encoder][one.dataset] = float(one.value)
    for variant, mean in means.items():
        if variant != "labse-ems-mlp":  # of 43 and 15 of the 58 languages
            both = (43 * mean["tatoeba-43"] + 15 * mean["tatoeba-15"]) / 58
            assert mean["tatoeba-58"] == pytest.approx(both, abs=0.11), variant


def test_tables_5_and_6_are_transcribed_whole() -> None:
    printed = transcribed("emma-x")
    assert Counter(one.table for one in printed) == {"5": 3 * 9, "6": 4 * 12}
    values = {(one.encoder, one.dataset, one.subset): one.value for one in printed}
    assert len(values) == len(printed)
    assert values["phase-1-only", "tatoeba-36", "all"] == "83.80"
    assert values["fixed-mixture", "tatoeba-36", "en-kk"] == "67.1"
    assert values["full", "tatoeba-36", "en-zh"] == "92.7"
    assert values["linear-classifier", "americasnli", "all"] == "46.63"
    assert values["ranks-2", "tatoeba-112", "all"] == "82.3"
    assert values["ranks-8", "paws-x", "all"] == "95.1"
    for one in printed:
        low, high = map(float, one.scale.split(".."))
        assert low <= float(one.value) <= high
        assert one.subset == "all" or one.subset in MEMBERS[one.dataset]
        if one.metric == "mean absolute error":
            assert (one.dataset, one.scale) == ("multiarc", "0..400")
        if one.dataset == "tatoeba-36":
            assert ("averaged by us" in one.note) == (one.subset == "all")
    # Q12: the paper's averages over the twelve columns, the error of MultiARC among them.
    for variant, mean in {"full": 70.7, "linear-classifier": 68.1}.items():
        row = [float(one.value) for one in printed if (one.table, one.encoder) == ("6", variant)]
        assert np.mean(row) == pytest.approx(mean, abs=0.06)


def test_a_paper_describes_every_table_variant_and_column_that_it_prints() -> None:
    assert not set(get_args(Paper)) & set(ABLATION_PAPERS)
    for kind, about in ABLATION_PAPERS.items():
        printed = transcribed(kind)
        own = [one for one in printed if one.encoder == about.base]
        assert {one.paper for one in printed} == {kind}
        assert list(dict.fromkeys(one.table for one in own)) == list(about.tables)
        assert {one.encoder for one in printed} == set(about.names)
        assert {one.column for one in printed} == {one.column for one in own}
        assert {(one.dataset, one.direction) for one in printed} == set(about.headings)
        assert {one.table for one in about.claims} <= set(about.tables)
        assert {name for one in about.claims for pair in one.pairs for name in pair} <= set(about.names)


def test_groups_have_the_sizes_that_the_papers_print() -> None:
    sizes = {name: len(set(members)) for name, members in MEMBERS.items()}
    assert (sizes["tatoeba-58"], sizes["tatoeba-43"], sizes["tatoeba-15"]) == (58, 43, 15)
    assert (2 * sizes["flores-182"], 2 * sizes["flores-240"]) == (182, 240)
    assert sizes["tatoeba-112"] == len(MEMBERS["tatoeba-112"]) == 112


def test_interval_over_seeds_is_students() -> None:
    two = spread({1: 75.0, 2: 77.0}, 0.95)
    # sd = sqrt(2), so the half width is t / sqrt(2) * sqrt(2).
    assert (two.value, two.low, two.high) == pytest.approx((76, 76 - T2, 76 + T2))
    three = spread({1: 1.0, 2: 2.0, 3: 6.0}, 0.95)
    half = T3 * 7**0.5 / 3**0.5
    assert (three.value, three.low, three.high) == pytest.approx((3, 3 - half, 3 + half))
    assert spread({1: 1.0, 2: 2.0, 3: 6.0}, 0.9).low > three.low
    assert spread({5: 3.0}, 0.95)[:3] == (3.0, None, None)


def test_a_cell_is_the_mean_over_the_languages_that_both_have(found: list[Outcome]) -> None:
    cell = one_of(found, variant="ems", dataset="tatoeba-58")
    assert cell.over == ("en-de",)
    assert len(cell.missing) == 57
    assert cell.measured.by_seed == {1: 75.0, 2: 77.0}
    assert (cell.measured.value, cell.measured.low) == pytest.approx((76, 76 - T2))
    assert (cell.published, cell.published_difference) == (89.8, 0.0)
    assert cell.difference.by_seed == {1: 0.0, 2: 0.0}
    flores = one_of(found, variant="ems", dataset="flores-182")
    assert flores.over == ("de-fr",)
    assert flores.measured.by_seed == {1: 55.0, 2: 57.0}


def test_a_difference_is_paired_by_seed(found: list[Outcome]) -> None:
    cell = one_of(found, variant="without-xtr", dataset="tatoeba-58")
    assert cell.measured.by_seed == {1: 65.0, 2: 66.0}
    assert cell.difference.by_seed == {1: -10.0, 2: -11.0}
    half = T2 * 0.5
    assert cell.difference[:3] == pytest.approx((-10.5, -10.5 - half, -10.5 + half))
    assert cell.difference.sign == -1
    assert cell.published_difference == -4.3


def test_a_whole_data_set_of_the_run_has_a_column_of_its_own(found: list[Outcome]) -> None:
    cell = one_of(found, variant="ems", task="tatoeba", direction=WHOLE)
    assert cell.subset == "all"
    assert cell.measured.by_seed == {1: 45.0, 2: 46.0}
    assert cell.published is None
    assert one_of(found, variant="released", task="nway", direction=WHOLE).difference.by_seed == {
        1: 2.0,
        2: 2.0,
    }


def test_what_cannot_be_measured_says_why(found: list[Outcome]) -> None:
    reasons = {(one.variant, one.dataset, one.direction): one.reason for one in found}
    assert reasons["ems", "mldoc", "en->xx"] == NO_DATA
    assert reasons["ems", "flores-240", "both"] == NO_LANGUAGE
    assert reasons["ems", "training", ""] == NO_TIME
    assert reasons["ugt", "tatoeba-58", "both"] == NO_VARIANT
    assert reasons["a100", "tatoeba-58", "both"] == NO_VARIANT
    assert reasons["ems", "tatoeba-58", "both"] == ""
    order = list(dict.fromkeys(one.variant for one in found))
    assert order[:4] == ["ems", "without-language-token", "without-contrastive", "without-xtr"]
    assert order[-2:] == ["a100", "released"]


def verdicts(tmp_path: Path, less: Mapping[int, float]) -> dict[str, str]:
    """Verdicts by claim where one variant of each claim scores `less` than EMS in Tatoeba."""
    variants = ("without-contrastive", "without-xtr", "ugt", "shared-output-embedding")
    scores = {
        variant: {
            seed: {"de->en": 80 + seed - by, "en->de": 80 + seed - by, "de->fr": 50, "fr->de": 50}
            for seed, by in by_seed.items()
        }
        for variant, by_seed in {"ems": dict.fromkeys(less, 0.0), **dict.fromkeys(variants, less)}.items()
    }
    measured = read_variants(evaluations(tmp_path, scores))
    told = ablation_claims("ems", outcomes("ems", measured, (), 0.95), "ems-mini", 0.95)
    for claim in told:
        for case in claim.cases:
            assert case.encoder == "ems-mini"
            if case.data == "nway flores":
                assert case.verdict == UNTESTABLE
                assert case.how == "the same score with every seed, 50.00 on average"
            elif any(less.values()):
                assert case.seeds == tuple(less.values())
                ends = spread(less, 0.95)
                assert (case.value, case.low, case.high) == pytest.approx((ends.value, ends.low, ends.high))
    return {claim.text: claim.verdict for claim in told}


@pytest.mark.parametrize(
    ("less", "verdict"),
    [
        ({1: 5.0, 2: 5.5, 3: 6.0}, HOLDS),
        ({1: -5.0, 2: -5.5, 3: -6.0}, FAILS),
        ({1: 5.0, 2: 0.1, 3: 6.0}, UNDECIDED),  # the interval spans 0
        ({1: 5.0}, UNDECIDED),  # one seed has no interval
    ],
)
def test_a_claim_is_decided_by_all_seeds_and_their_interval(
    less: dict[int, float], verdict: str, tmp_path: Path
) -> None:
    found = verdicts(tmp_path, less)
    assert found["XTR with the contrastive objective beats either alone"] == verdict
    assert found["UGT in place of XTR is worse"] == verdict
    assert found["LaBSE's objective alone, without a head, is worse"] == UNTESTABLE


def test_scores_that_never_differ_decide_nothing(tmp_path: Path) -> None:
    found = verdicts(tmp_path, {1: 0.0, 2: 0.0})
    assert set(found.values()) == {UNTESTABLE}


def test_folders_that_do_not_say_their_seed_or_do_not_match_are_refused(tmp_path: Path) -> None:
    folders = evaluations(tmp_path)
    with pytest.raises(DataError, match="different seeds"):
        read_variants(folders[:-1])
    (tmp_path / "ems" / "seed1").rename(tmp_path / "ems" / "first")
    with pytest.raises(DataError, match="says the seed"):
        read_variants([tmp_path / "ems" / "first" / "evaluation"])
    write_records(folders[-1] / "records.jsonl", [])
    with pytest.raises(DataError, match="no P@1"):
        read_variants(folders[-1:])


def test_parameters_are_counted_without_reading_them(tmp_path: Path) -> None:
    save_file({"a": np.zeros((3, 5)), "b": np.zeros(7)}, tmp_path / "model.safetensors")
    assert parameters(tmp_path) == 22
    assert parameters(tmp_path / "nowhere") is None


@pytest.fixture
def made(tmp_path: Path) -> SimpleNamespace:
    folders = evaluations(tmp_path / "in")
    encoders = [folder.parent / "encoder" for folder in folders]
    for encoder in encoders:
        encoder.mkdir()
        save_file({"a": np.zeros((1000, 2))}, encoder / "model.safetensors")
    (tmp_path / "out").mkdir()
    about = {"paper": "ems", "encoder": "ems-mini", "long_tail": ["xh"], "confidence": 0.95}
    write_ablation(folders, encoders, **about, output=tmp_path / "out")
    return SimpleNamespace(text={path.name: path.read_text() for path in (tmp_path / "out").iterdir()})


def rows_of(text: str, title: str) -> list[list[str]]:
    part = text.split(f"### {title}\n")[1].split("###")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_table_is_shaped_like_the_papers(made: SimpleNamespace) -> None:
    assert sorted(made.text) == [f"ems-table.{kind}" for kind in ("csv", "html", "json", "md")]
    rows = rows_of(made.text["ems-table.md"], "Table XIV: ablation")
    assert rows[0][:4] == ["Variant", "", "Tatoeba 58", "> 300k (43)"]
    assert rows[0][4:] == [
        "&lt; 300k (15)",
        "FLORES 182",
        "FLORES 240",
        "MLDoc en→xx",
        "MLDoc xx→en",
        "s / 1k steps",
    ]
    cells = {(row[0], row[1]): row[2:] for row in rows[2:]}
    assert cells["EMS", "published"] == ["89.80", "95.40", "73.70", "99.70", "47.00", "75.30", "75.70", "732"]
    assert cells["EMS", "measured"][0] == "76.00 [63.29, 88.71] ≠ 1 of 58"
    assert cells["EMS", "measured"][2] == "– no language"
    assert cells["EMS", "measured"][3] == "56.00 [43.29, 68.71] ≠ 1 of 91 pairs"
    assert cells["EMS", "measured"][-1] == "– no time"
    assert ("A100, batch 200", "published") in cells
    assert ("released", "published") not in cells
    less = {
        (row[0], row[1]): row[2:] for row in rows_of(made.text["ems-table.md"], "Table XIV: less EMS")[2:]
    }
    assert less["− XTR", "published"][0] == "-4.30"
    assert less["− XTR", "measured"][0] == "-10.50 [-16.85, -4.15] ≠ 1 of 58"
    own = rows_of(made.text["ems-table.md"], "Whole data sets of this run")
    assert own[0] == [
        "Variant",
        "tatoeba, all of tatoeba here",
        "tatoeba, head of tatoeba here",
        "tatoeba, long-tail of tatoeba here",
        "nway, all of flores here",
        "Parameters at use",
    ]
    assert own[2] == [
        "EMS",
        "45.50 [39.15, 51.85]",
        "76.00 [63.29, 88.71]",
        "15.00 [15.00, 15.00]",
        "56.00 [43.29, 68.71]",
        "2,000",
    ]
    assert "Long tail: directions from or to xh; head: the others." in made.text["ems-table.md"]
    assert "2 seeds (1, 2)" in made.text["ems-table.md"]


def test_files_hold_every_cell_with_its_seeds(made: SimpleNamespace) -> None:
    told: dict[str, Any] = json.loads(made.text["ems-table.json"])
    rows = list(csv.DictReader(made.text["ems-table.csv"].splitlines()))
    assert len(rows) == len(told["cells"]) == 12 * 8 + 3 * 4
    (cell,) = [
        one for one in told["cells"] if (one["variant"], one["dataset"]) == ("without-xtr", "tatoeba-58")
    ]
    assert cell["difference_by_seed"] == {"1": -10.0, "2": -11.0}
    assert cell["measured"] == 65.5
    (row,) = [one for one in rows if (one["variant"], one["dataset"]) == ("without-xtr", "tatoeba-58")]
    assert row["difference_by_seed"] == "1:-10.0 2:-11.0"
    assert row["over"] == "en-de"
    assert told["parameters"]["ems"] == 2000
    assert {claim["verdict"] for claim in told["claims"]} <= {HOLDS, UNTESTABLE, UNDECIDED, FAILS}
    assert "−10" not in made.text["ems-table.html"]
    assert 'class="bad">-10.50' in made.text["ems-table.html"]


def by_seed(**levels: tuple[float, float]) -> Scores:
    """Variants that find so many on the head (de) and on the long tail (kk), a little more with every further seed."""
    return {
        variant.replace("_", "-"): {
            seed: {
                "de->en": head + seed, "en->de": head + seed, "kk->en": tail + seed, "en->kk": tail + 3 * seed,
                "de->fr": 50.0, "fr->de": 50.0,
            }
            for seed in (1, 2, 3)
        }
        for variant, (head, tail) in levels.items()
    }  # fmt: skip


LEVELS = by_seed(phase_1_only=(80, 20), fixed_mixture=(80, 30), full=(82, 40), linear_classifier=(90, 40))


@pytest.fixture
def of_emma_x(tmp_path: Path) -> list[Outcome]:
    return outcomes("emma-x", read_variants(evaluations(tmp_path, LEVELS)), ["kk", "fr"], 0.95)


def test_the_long_tail_is_every_direction_from_or_to_one_of_its_languages(of_emma_x: list[Outcome]) -> None:
    def part(subset: str) -> Outcome:
        return one_of(of_emma_x, variant="fixed-mixture", direction=WHOLE, task="tatoeba", subset=subset)

    assert (set(part(HEAD).over), set(part(LONG_TAIL).over)) == ({"de->en", "en->de"}, {"kk->en", "en->kk"})
    assert part(HEAD).measured.by_seed == {1: 81.0, 2: 82.0, 3: 83.0}
    assert part(LONG_TAIL).measured.by_seed == {1: 32.0, 2: 34.0, 3: 36.0}
    half = T3 * 2 / 3**0.5
    assert part(LONG_TAIL).measured[:3] == pytest.approx((34, 34 - half, 34 + half))
    assert part(LONG_TAIL).difference.by_seed == dict.fromkeys((1, 2, 3), -10.0)
    assert part("all").measured.by_seed == {1: 56.5, 2: 58.0, 3: 59.5}
    # Every direction of the wide file touches fr: a long tail that is all there is has no column of its own.
    assert {one.subset for one in of_emma_x if (one.task, one.direction) == ("nway", WHOLE)} == {"all"}


def test_a_column_is_one_language_or_says_why_it_is_not_measured(of_emma_x: list[Outcome]) -> None:
    one = one_of(of_emma_x, variant="full", table="5", subset="en-kk")
    assert one.measured.by_seed == {1: 41.0, 2: 42.0, 3: 43.0}  # into English alone, as printed
    assert (one.published, one.over, one.missing) == (86.0, ("en-kk",), ())
    mean = one_of(of_emma_x, variant="phase-1-only", table="5", subset="all")
    assert (mean.over, len(mean.missing), mean.published_difference) == (("en-de", "en-kk"), 34, -8.15)
    assert mean.difference.by_seed == dict.fromkeys((1, 2, 3), -11.0)
    reasons = {one.dataset: one.reason for one in of_emma_x if (one.variant, one.table) == ("full", "6")}
    assert (reasons.pop("bucc"), reasons.pop("tatoeba-112")) == (NO_DATA, "")
    assert set(reasons.values()) == {NO_TUNING}
    assert one_of(of_emma_x, variant="ranks-8", table="5", subset="en-te").reason == NO_VARIANT


def test_a_claim_may_compare_two_variants_neither_of_which_is_the_papers_own(
    of_emma_x: list[Outcome],
) -> None:
    told = {one.text: one for one in ablation_claims("emma-x", of_emma_x, "emma-x-mini", 0.95)}
    phases, scarce, classifier, ranks = told.values()
    assert [one.verdict for one in told.values()] == [HOLDS, HOLDS, FAILS, UNTESTABLE]
    assert [(case.data, case.quantity, case.value) for case in scarce.cases] == [
        ("tatoeba tatoeba, long-tail", "fixed-mixture − phase-1-only, P@1", 10.0),
        ("tatoeba tatoeba, long-tail", "full − fixed-mixture, P@1", 10.0),
    ]
    assert [case.value for case in phases.cases if case.data == "tatoeba tatoeba"] == [5.0, 6.0]
    assert [case.verdict for case in classifier.cases] == [FAILS, UNTESTABLE]
    assert ranks.cases == []


def test_each_table_of_the_paper_has_its_columns_reasons_and_doubts(tmp_path: Path) -> None:
    folders = evaluations(tmp_path / "in", LEVELS)
    (tmp_path / "out").mkdir()
    about = {"paper": "emma-x", "encoder": "emma-x-mini", "long_tail": ["kk"], "confidence": 0.95}
    write_ablation(folders, [], **about, output=tmp_path / "out")
    text = (tmp_path / "out" / "emma-x-table.md").read_text()
    phases = rows_of(text, "Table 5: what each phase brings, Tatoeba into English")
    assert phases[0] == ["Variant", "", "Tatoeba 36", "de", "hi", "jv", "kk", "sw", "te", "tl", "zh"]
    cells = {(row[0], row[1]): row[2:] for row in phases[2:]}
    assert cells["Phase 1 only", "published"][:4] == ["83.80", "96.60", "84.90", "22.60"]
    assert cells["fixed GMM", "measured"][0] == "57.00 [54.52, 59.48] ≠ 2 of 36"
    assert cells["Emma-X", "measured"][4] == "42.00 [39.52, 44.48]"
    assert cells["FCN, N = 4", "measured"][2] == "– no language"
    assert ("GMM, N = 2", "published") not in cells
    assert "Tatoeba 36: averaged by us over the 36 languages" in text
    ranks = rows_of(text, "Table 6: classifier and number of ranks; Emma-X has GMM, N = 4")
    assert len(ranks[0]) == 2 + 12
    cells = {(row[0], row[1]): dict(zip(ranks[0][2:], row[2:], strict=True)) for row in ranks[2:]}
    assert cells["GMM, N = 2", "published"]["MultiARC (MAE ↓)"] == "30.60"
    assert cells["Emma-X", "measured"]["XNLI"] == "– no fine-tuning"
    assert cells["Emma-X", "measured"]["Tatoeba xx→en"] == "63.00 [60.52, 65.48] ≠ 2 of 112"
    less = rows_of(text, "Table 6: less Emma-X")
    assert ["GMM, N = 2", "published"] in [row[:2] for row in less]
    assert "Emma-X" not in [row[0] for row in less]
    whole = rows_of(text, "Whole data sets of this run: less Emma-X")
    assert whole[2][:4] == [
        "Phase 1 only",
        "-11.00 [-11.00, -11.00]",
        "-2.00 [-2.00, -2.00]",
        "-20.00 [-20.00, -20.00]",
    ]
