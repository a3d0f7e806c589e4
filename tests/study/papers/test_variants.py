from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from generated_records import record
from safetensors.numpy import save_file

from orthoglot.errors import DataError
from orthoglot.statistics.records import HEAD, LONG_TAIL, write_records
from orthoglot.study.papers.claims import FAILS, HOLDS, UNDECIDED, UNTESTABLE, Outcome, evaluate_claims
from orthoglot.study.papers.matching import Run, parameters, run_of_variants
from orthoglot.study.papers.measured import (
    NO_LANGUAGE,
    NO_TASK,
    NO_TIME,
    NO_TUNING,
    NO_VARIANT,
    WHOLE,
    PaperCell,
    cells,
    further_cells,
    whole_cells,
)
from orthoglot.study.papers.published import P_AT_1, PAPERS, TIME
from orthoglot.study.papers.table import write_paper
from orthoglot.training.speed import Speed

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
            about = "ems-named", "original", "sentence", task, dataset, subset, P_AT_1, float(value)
            records += [record(*about), record(*about, seed=0)]
    write_records(folder / "records.jsonl", records)
    return folder


def evaluations(root: Path, scores: Scores = SCORES) -> list[Path]:
    return [
        evaluation(root, variant, seed, values)
        for variant, seeds in scores.items()
        for seed, values in seeds.items()
    ]


# What each of these changes, by its name here.
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "ems": {},
    "without-contrastive": {"contrastive_weight": 0.0},
    "without-xtr": {"xtr_weight": 0.0},
    "ugt": {"target": "ugt"},
    "shared-output-embedding": {"tied_output": True},
    "released": {"bag": "distinct"},
    "full": {},
    "phase-1-only": {"text": {"steps": 0}},
    "fixed-mixture": {"text": {"fixed_classifier": True}},
    "linear-classifier": {"classifier": "linear"},
}


def run_of(
    root: Path,
    scores: Scores = SCORES,
    *,
    paper: str = "ems",
    changes: Mapping[str, Any] = CHANGES,
    **about: Any,
) -> Run:
    about = {"encoder": "ems-mini", "variants": changes, "long_tail": (), "confidence": 0.95, **about}
    return run_of_variants(PAPERS[paper], evaluations(root, scores), **about)


def every_cell(run: Run) -> list[PaperCell]:
    return [*cells(run), *further_cells(run), *whole_cells(run)]


def those(found: Sequence[PaperCell], *, variant: str = "", **wanted: object) -> list[PaperCell]:
    return [
        one
        for one in found
        if variant in ("", one.encoder, one.printed.encoder)
        and all(getattr(one.printed, name) == to for name, to in wanted.items())
    ]


def one_of(found: Sequence[PaperCell], **wanted: Any) -> PaperCell:
    (one,) = those(found, **wanted)
    return one


@pytest.fixture
def found(tmp_path: Path) -> list[PaperCell]:
    return every_cell(run_of(tmp_path))


def interval(root: Path, by_seed: Mapping[int, float], confidence: float) -> tuple[float, Any, Any]:
    """Of P@1 that is `by_seed` in one direction."""
    scores = {"ems": {seed: {"de->en": value, "de->fr": 0} for seed, value in by_seed.items()}}
    run = run_of(root, scores, confidence=confidence)
    measured = one_of(whole_cells(run), task="tatoeba").measured
    assert measured is not None
    return measured.value, measured.low, measured.high


def test_interval_over_seeds_is_students(tmp_path: Path) -> None:
    # sd = sqrt(2), so the half width is t / sqrt(2) * sqrt(2).
    assert interval(tmp_path / "two", {1: 75.0, 2: 77.0}, 0.95) == pytest.approx((76, 76 - T2, 76 + T2))
    half = T3 * 7**0.5 / 3**0.5
    values = {1: 1.0, 2: 2.0, 3: 6.0}
    assert interval(tmp_path / "three", values, 0.95) == pytest.approx((3, 3 - half, 3 + half))
    assert interval(tmp_path / "less", values, 0.9)[1] > 3 - half
    assert interval(tmp_path / "one", {5: 3.0}, 0.95) == (3.0, None, None)


def test_a_cell_is_the_mean_over_the_languages_that_both_have(found: list[PaperCell]) -> None:
    cell = one_of(found, variant="ems", dataset="tatoeba-58")
    assert cell.over == ("en-de",)
    assert len(cell.missing) == 57
    assert cell.measured is not None
    assert cell.measured.by_seed == {1: 75.0, 2: 77.0}
    assert (cell.measured.value, cell.measured.low) == pytest.approx((76, 76 - T2))
    assert (cell.printed.number, cell.printed_less_base) == (89.8, 0.0)
    assert cell.difference == pytest.approx(76 - 89.8)
    assert not cell.like_for_like
    assert cell.less_base is not None
    assert cell.less_base.by_seed == {1: 0.0, 2: 0.0}
    flores = one_of(found, variant="ems", dataset="flores-182")
    assert flores.over == ("de-fr",)
    assert flores.measured is not None
    assert flores.measured.by_seed == {1: 55.0, 2: 57.0}


def test_a_difference_is_paired_by_seed(found: list[PaperCell]) -> None:
    cell = one_of(found, variant="without-xtr", dataset="tatoeba-58")
    assert cell.measured is not None
    assert cell.measured.by_seed == {1: 65.0, 2: 66.0}
    assert cell.less_base is not None
    assert cell.less_base.by_seed == {1: -10.0, 2: -11.0}
    half = T2 * 0.5
    assert cell.less_base[:3] == pytest.approx((-10.5, -10.5 - half, -10.5 + half))
    assert cell.printed_less_base == -4.3


def test_a_whole_data_set_of_the_run_has_a_column_of_its_own(found: list[PaperCell]) -> None:
    cell = one_of(found, variant="ems", task="tatoeba", direction=WHOLE)
    assert cell.printed.subset == "all"
    assert cell.measured is not None
    assert cell.measured.by_seed == {1: 45.0, 2: 46.0}
    assert cell.printed.number is None
    flores = one_of(found, variant="released", task="nway", direction=WHOLE)
    assert flores.less_base is not None
    assert flores.less_base.by_seed == {1: 2.0, 2: 2.0}


def test_what_cannot_be_measured_says_why(found: list[PaperCell]) -> None:
    names = "encoder", "dataset", "direction"
    reasons = {tuple(getattr(one.printed, name) for name in names): one.reason for one in found}
    assert reasons["ems", "mldoc", "en->xx"] == NO_TASK
    assert reasons["ems", "flores-240", "both"] == NO_LANGUAGE
    assert reasons["ems", "training", ""] == NO_TIME
    assert reasons["ugt", "tatoeba-58", "both"] == NO_VARIANT
    assert reasons["a100", "tatoeba-58", "both"] == NO_VARIANT
    assert reasons["ems", "tatoeba-58", "both"] == ""
    order = list(dict.fromkeys(one.printed.encoder for one in found))
    assert order[:4] == ["ems", "without-language-token", "without-contrastive", "without-xtr"]
    assert order[-2:] == ["a100", "released"]


def test_a_variant_is_recognised_by_what_it_changes(tmp_path: Path) -> None:
    names = {"ems": "as it is", "without-xtr": "halved", "released": "ugt"}
    scores = {names[variant]: seeds for variant, seeds in SCORES.items()}
    changes = {names[variant]: CHANGES[variant] for variant in SCORES}
    before = every_cell(run_of(tmp_path / "before"))
    after = every_cell(run_of(tmp_path / "after", scores, changes=changes))
    assert [one.measured for one in before] == [one.measured for one in after]
    assert [one.less_base for one in before] == [one.less_base for one in after]
    assert one_of(after, variant="halved", dataset="tatoeba-58").printed.encoder == "without-xtr"
    assert those(after, variant="ugt", dataset="tatoeba-58")[0].reason == NO_VARIANT
    other = {**CHANGES, "without-xtr": {"xtr_weight": 0.5}}
    found = every_cell(run_of(tmp_path / "other", changes=other))
    assert those(found, variant="without-xtr", dataset="tatoeba-58")[0].reason == NO_VARIANT


def claims_of(root: Path, less: Mapping[int, float]) -> dict[str, Outcome]:
    """Claims where one variant of each scores `less` than EMS in Tatoeba."""
    variants = ("without-contrastive", "without-xtr", "ugt", "shared-output-embedding")
    scores = {
        variant: {
            seed: {"de->en": 80 + seed - by, "en->de": 80 + seed - by, "de->fr": 50, "fr->de": 50}
            for seed, by in by_seed.items()
        }
        for variant, by_seed in {"ems": dict.fromkeys(less, 0.0), **dict.fromkeys(variants, less)}.items()
    }
    outcomes = evaluate_claims(run_of(root, scores))
    # A share of hits cannot be negative, so these are 50 above the differences.
    above = interval(root / "again", {seed: 50 + by for seed, by in less.items()}, 0.95)
    ends = tuple(None if end is None else end - 50 for end in above)
    for case in (case for outcome in outcomes for case in outcome.cases):
        assert case.encoder == "ems-mini"
        if case.data == "nway flores":
            assert case.verdict == UNTESTABLE
            assert case.ground == "the same score with every seed, 50.00 on average"
        elif any(less.values()):
            assert case.seeds == tuple(less.values())
            assert (case.value, case.low, case.high) == pytest.approx(ends)
    return {outcome.claim.text: outcome for outcome in outcomes}


@pytest.mark.parametrize(
    ("less", "decided"),
    [
        ({1: 5.0, 2: 5.5, 3: 6.0}, HOLDS),
        ({1: -5.0, 2: -5.5, 3: -6.0}, FAILS),
        ({1: 5.0, 2: 0.1, 3: 6.0}, UNDECIDED),  # the interval spans 0
        ({1: 5.0}, UNDECIDED),  # one seed has no interval
    ],
)
def test_a_case_is_decided_by_all_seeds_and_their_interval(
    less: dict[int, float], decided: str, tmp_path: Path
) -> None:
    found = claims_of(tmp_path, less)
    both = found["XTR with the contrastive objective beats either alone"]
    assert both.counts == {decided: 2, UNTESTABLE: 2}
    assert both.verdict == f"holds in {2 if decided == HOLDS else 0} of 2"
    assert found["UGT instead of XTR is worse"].counts == {decided: 1, UNTESTABLE: 1}
    assert found["LaBSE's objective alone, without a head, is worse"].verdict == UNTESTABLE


def test_scores_that_never_differ_decide_nothing(tmp_path: Path) -> None:
    found = claims_of(tmp_path, {1: 0.0, 2: 0.0})
    assert {outcome.verdict for outcome in found.values()} == {UNTESTABLE}


def test_folders_that_do_not_say_their_seed_or_do_not_match_are_refused(tmp_path: Path) -> None:
    folders = evaluations(tmp_path)
    about: dict[str, Any] = {"encoder": "e", "variants": CHANGES, "long_tail": (), "confidence": 0.95}
    with pytest.raises(DataError, match="different seeds"):
        run_of_variants(PAPERS["ems"], folders[:-1], **about)
    (tmp_path / "ems" / "seed1").rename(tmp_path / "ems" / "first")
    with pytest.raises(DataError, match="seed"):
        run_of_variants(PAPERS["ems"], [tmp_path / "ems" / "first" / "evaluation"], **about)
    write_records(folders[-1] / "records.jsonl", [])
    with pytest.raises(DataError, match=str(folders[-1])):
        run_of_variants(PAPERS["ems"], folders[-1:], **about)


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
    about: dict[str, Any] = {
        "encoder": "ems-mini",
        "variants": CHANGES,
        "long_tail": ["xh"],
        "confidence": 0.95,
    }
    write_paper(run_of_variants(PAPERS["ems"], folders, encoders, **about), tmp_path / "out")
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
    found = {(row[0], row[1]): row[2:] for row in rows[2:]}
    assert found["EMS", "published"] == ["89.8", "95.4", "73.7", "99.7", "47.0", "75.3", "75.7", "732"]
    assert found["EMS", "measured"][0] == "76.00 [63.29, 88.71] ± 1.41 1 of 58 among 1,000"
    assert found["EMS", "difference"][0] == "-13.80 ≠"
    assert found["EMS", "measured"][2] == "– no language"
    assert found["EMS", "measured"][3] == "56.00 [43.29, 68.71] ± 1.41 1 of 91 pairs among 1,000, paper 1,012"
    assert found["EMS", "measured"][-1] == "– no time"
    assert "No time: its training was not timed, or its logs were removed." in made.text["ems-table.md"]
    assert "Seconds" not in made.text["ems-table.md"]
    assert found["A100, batch 200", "published"][0] == "89.8 no variant"
    assert ("A100, batch 200", "measured") not in found
    assert ("released", "measured") in found
    assert ("released", "published") not in found
    rows = rows_of(made.text["ems-table.md"], "Table XIV: less EMS")[2:]
    less = {(row[0], row[1]): row[2:] for row in rows}
    assert less["− XTR", "published"][0] == "-4.30"
    assert less["− XTR", "measured"][0] == "-10.50 [-16.85, -4.15] 1 of 58 among 1,000"
    own = rows_of(made.text["ems-table.md"], "Whole data sets of this run")
    assert own[0] == [
        "Variant",
        "",
        "all of tatoeba here",
        "head of tatoeba here",
        "long-tail of tatoeba here",
        "all of flores here",
        "Parameters at use",
    ]
    assert own[2] == [
        "EMS",
        "measured",
        "45.50 [39.15, 51.85] ± 0.71 among 1,000",
        "76.00 [63.29, 88.71] ± 1.41 among 1,000",
        "15.00 [15.00, 15.00] ± 0.00 among 1,000",
        "56.00 [43.29, 68.71] ± 1.41 among 1,000",
        "2,000",
    ]
    assert "Long tail: directions from or to xh; head: the others." in made.text["ems-table.md"]
    assert "2 seeds (1, 2)" in made.text["ems-table.md"]


def timed(root: Path, **about: Speed) -> Mapping[Path, Speed]:
    """Speeds by encoder folder, of "variant_seed"."""
    parts = {name.rpartition("_"): speed for name, speed in about.items()}
    return {
        root / variant.replace("_", "-") / f"seed{seed}" / "encoder": speed
        for (variant, _, seed), speed in parts.items()
    }


def test_seconds_of_a_training_stand_in_their_column_with_the_hardware(tmp_path: Path) -> None:
    speeds = timed(
        tmp_path / "in",
        ems_1=Speed(500, 20.0, "A"),
        ems_2=Speed(250, 10.5, "A"),
        without_xtr_1=Speed(500, 15.0, "A"),
        without_xtr_2=Speed(500, 15.5, "A"),
    )
    run = run_of(tmp_path / "in", speeds=speeds)
    found = every_cell(run)
    cell = one_of(found, variant="without-xtr", task=TIME)
    assert cell.measured is not None
    assert cell.less_base is not None
    assert cell.measured.by_seed == {1: 30.0, 2: 31.0}
    assert cell.less_base.by_seed == {1: -10.0, 2: -11.0}
    assert (cell.printed.number, cell.printed_less_base) == (696, -36)
    assert (cell.difference, cell.like_for_like) == (30.5 - 696, False)
    assert one_of(found, variant="ugt", task=TIME).reason == NO_VARIANT
    # A variant that the paper does not have is shown with what is known of it.
    assert those(found, variant="released", task=TIME) == []
    assert not any(one.printed.task == TIME for one in whole_cells(run))
    (tmp_path / "out").mkdir()
    write_paper(run, tmp_path / "out")
    text = (tmp_path / "out/ems-table.md").read_text()
    shown = {(row[0], row[1]): row[2:] for row in rows_of(text, "Table XIV: ablation")}
    assert shown["EMS", "published"][-1] == "732"
    assert shown["EMS", "measured"][-1] == "41 [28, 54] ± 1"
    assert shown["EMS", "difference"][-1] == "-691 ≠"
    assert "Seconds: all steps, without validation and saving, on A; the paper's are of four V100." in text
    content = json.loads((tmp_path / "out/ems-table.json").read_text())
    assert content["hardware"] == "A"
    # Fewer seconds are better, fewer hits are not.
    less = (tmp_path / "out/ems-table.html").read_text().split("less EMS", 1)[1]
    assert re.search(r'class="good">-10 ', less)
    assert re.search(r'class="bad">-10\.50 ', less)


def test_what_was_not_timed_is_grey_beside_what_was(tmp_path: Path) -> None:
    speeds = timed(tmp_path, ems_1=Speed(500, 20.0, "A"), ems_2=Speed(500, 30.0, "B"))
    run = run_of(tmp_path, speeds=speeds)
    assert run.hardware == "A: ems; B: ems"
    found = every_cell(run)
    assert one_of(found, variant="ems", task=TIME).measured is not None
    cell = one_of(found, variant="without-xtr", task=TIME)
    assert (cell.measured, cell.reason) == (None, NO_TIME)


def test_files_hold_every_cell_with_its_seeds(made: SimpleNamespace) -> None:
    content: dict[str, Any] = json.loads(made.text["ems-table.json"])
    rows = list(csv.DictReader(made.text["ems-table.csv"].splitlines()))
    assert len(rows) == len(content["cells"]) == 11 * 8 + 3 + 3 * 4  # of `released` what was measured

    def those(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
        (one,) = [one for one in found if (one["encoder"], one["dataset"]) == ("without-xtr", "tatoeba-58")]
        return one

    cell = those(content["cells"])
    assert cell["less_base_by_seed"] == ["1:-10.0", "2:-11.0"]
    assert (cell["measured"], cell["published"], cell["published_less_base"]) == (65.5, 85.5, -4.3)
    row = those(rows)
    assert row["less_base_by_seed"] == "1:-10.0 2:-11.0"
    assert row["over"] == "en-de"
    assert content["parameters"]["ems"] == 2000
    assert len(content["claims"]) == 5
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
def of_emma_x(tmp_path: Path) -> Run:
    return run_of(tmp_path, LEVELS, paper="emma-x", encoder="emma-x-mini", long_tail=["kk", "fr"])


def test_the_long_tail_is_every_direction_from_or_to_one_of_its_languages(of_emma_x: Run) -> None:
    found = every_cell(of_emma_x)

    def part(subset: str) -> PaperCell:
        return one_of(found, variant="fixed-mixture", direction=WHOLE, task="tatoeba", subset=subset)

    def seeds(number: Any) -> dict[int, float]:
        return number.by_seed

    assert set(part(HEAD).over) == {"de->en", "en->de"}
    assert set(part(LONG_TAIL).over) == {"kk->en", "en->kk"}
    assert seeds(part(HEAD).measured) == {1: 81.0, 2: 82.0, 3: 83.0}
    assert seeds(part(LONG_TAIL).measured) == {1: 32.0, 2: 34.0, 3: 36.0}
    half = T3 * 2 / 3**0.5
    tail = part(LONG_TAIL).measured
    assert tail is not None
    assert tail[:3] == pytest.approx((34, 34 - half, 34 + half))
    assert seeds(part(LONG_TAIL).less_base) == dict.fromkeys((1, 2, 3), -10.0)
    assert seeds(part("all").measured) == {1: 56.5, 2: 58.0, 3: 59.5}
    # Every direction of the wide file touches fr: a long tail that is all there is has no column of its own.
    assert {one.printed.subset for one in those(found, task="nway", direction=WHOLE)} == {"all"}


def test_a_column_is_one_language_or_says_why_it_is_not_measured(of_emma_x: Run) -> None:
    found = every_cell(of_emma_x)
    one = one_of(found, variant="full", table="5", subset="en-kk")
    assert one.measured is not None
    assert one.measured.by_seed == {1: 41.0, 2: 42.0, 3: 43.0}  # into English alone, as printed
    assert (one.printed.number, one.over, one.missing) == (86.0, ("en-kk",), ())
    mean = one_of(found, variant="phase-1-only", table="5", subset="all")
    assert (mean.over, len(mean.missing), mean.printed_less_base) == (("en-de", "en-kk"), 34, -8.15)
    assert mean.less_base is not None
    assert mean.less_base.by_seed == dict.fromkeys((1, 2, 3), -11.0)
    reasons = {one.printed.dataset: one.reason for one in those(found, variant="full", table="6")}
    assert (reasons.pop("bucc"), reasons.pop("tatoeba-112")) == (NO_TASK, "")
    assert set(reasons.values()) == {NO_TUNING}
    assert one_of(found, variant="ranks-8", table="5", subset="en-te").reason == NO_VARIANT


def test_a_claim_may_compare_two_variants_neither_of_which_is_the_papers_own(of_emma_x: Run) -> None:
    phases, scarce, classifier, ranks = evaluate_claims(of_emma_x)
    assert phases.counts == {HOLDS: 2, UNTESTABLE: 2}
    assert scarce.counts == {HOLDS: 2}
    assert [(case.data, case.quantity, case.value) for case in scarce.cases] == [
        ("tatoeba tatoeba, 2 long-tail", f"fixed-mixture − phase-1-only, {P_AT_1}", 10.0),
        ("tatoeba tatoeba, 2 long-tail", f"full − fixed-mixture, {P_AT_1}", 10.0),
    ]
    assert [case.value for case in phases.cases if case.data == "tatoeba tatoeba"] == [5.0, 6.0]
    assert [case.verdict for case in classifier.cases] == [FAILS, UNTESTABLE]
    assert (ranks.cases, ranks.verdict) == ((), UNTESTABLE)


def test_each_table_of_the_paper_has_its_columns_reasons_and_doubts(of_emma_x: Run, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    of_emma_x.long_tail = ["kk"]
    write_paper(of_emma_x, output)
    text = (output / "emma-x-table.md").read_text()
    phases = rows_of(text, "Table 5: what each phase brings, Tatoeba into English")
    assert phases[0][:5] == ["Variant", "", "Tatoeba 36", "af→en", "ar→en"]
    assert len(phases[0]) == 3 + 36
    found = {(row[0], row[1]): row[2:] for row in phases[2:]}
    assert found["Phase 1 only", "published"][:4] == ["83.80", "86.7", "84.9", "87.8"]
    assert found["fixed GMM", "measured"][0].startswith(
        "57.00 [54.52, 59.48] ± 1.00 2 of 36 among 1,000, paper 575"
    )
    place = phases[0].index("kk→en") - 2
    assert found["Emma-X", "measured"][place].startswith("42.00 [39.52, 44.48]")
    assert found["FCN, N = 4", "measured"][2] == "– no language"
    assert ("GMM, N = 2", "measured") not in found
    assert "Tatoeba 36: averaged by us over the 36 languages" in text
    ranks = rows_of(text, "Table 6: classifier and number of ranks; Emma-X has GMM, N = 4")
    assert len(ranks[0]) == 2 + 12
    lines = {(row[0], row[1]): dict(zip(ranks[0][2:], row[2:], strict=True)) for row in ranks[2:]}
    assert lines["GMM, N = 2", "published"]["MultiARC (MAE ↓)"].startswith("30.6")
    assert lines["Emma-X", "measured"]["XNLI"] == "– no fine-tuning"
    assert lines["Emma-X", "measured"]["Tatoeba xx→en"].startswith("63.00 [60.52, 65.48] ± 1.00 2 of 112")
    less = rows_of(text, "Table 6: less Emma-X")
    # Also of a variant that was not run it is the difference: XNLI 85.20 less 88.10.
    assert [row[2] for row in less if row[:2] == ["GMM, N = 2", "published"]] == ["-2.90 no fine-tuning"]
    assert "Emma-X" not in [row[0] for row in less]
    whole = rows_of(text, "Whole data sets of this run: less Emma-X")
    shown = [cell.removesuffix(" among 1,000") for cell in whole[2][:5]]
    assert shown == [
        "Phase 1 only",
        "measured",
        "-11.00 [-11.00, -11.00]",
        "-2.00 [-2.00, -2.00]",
        "-20.00 [-20.00, -20.00]",
    ]
