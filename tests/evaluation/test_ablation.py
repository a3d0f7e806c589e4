from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from generated_records import record
from safetensors.numpy import save_file

from orthoglot.errors import DataError
from orthoglot.evaluation.ablation import (
    NO_TIME,
    NO_VARIANT,
    Outcome,
    ablation_claims,
    outcomes,
    parameters,
    read_variants,
    spread,
)
from orthoglot.evaluation.ablation_table import write_ablation
from orthoglot.evaluation.base import write_records
from orthoglot.evaluation.papers import NO_DATA, NO_LANGUAGE, WHOLE
from orthoglot.evaluation.printed import MEMBERS_OF_EMS, transcribed
from orthoglot.evaluation.verdicts import FAILS, HOLDS, UNDECIDED, UNTESTABLE
from orthoglot.languages import canonical

# Student's t, 97.5 %: 12.706 for two values, 4.303 for three.
T2, T3 = 12.706204736, 4.302652730
# Tatoeba de<->en and xh<->en (which EMS has not), FLORES de<->fr, by variant and seed.
SCORES = {
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
            about = "ems-named", "original", "sentence", task, dataset, subset, "accuracy", float(value)
            records += [record(*about), record(*about, seed=0)]
    write_records(folder / "records.jsonl", records)
    return folder


def evaluations(root: Path, scores: Mapping[str, Mapping[int, Mapping[str, float]]] = SCORES) -> list[Path]:
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
    return outcomes(read_variants(evaluations(tmp_path)), 0.95)


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


def test_groups_have_the_sizes_that_the_paper_prints() -> None:
    sizes = {name: len(set(members)) for name, members in MEMBERS_OF_EMS.items()}
    assert (sizes["tatoeba-58"], sizes["tatoeba-43"], sizes["tatoeba-15"]) == (58, 43, 15)
    assert (2 * sizes["flores-182"], 2 * sizes["flores-240"]) == (182, 240)
    codes = {code for members in MEMBERS_OF_EMS.values() for one in members for code in one.split("-")}
    assert all(canonical(code) == code for code in codes)


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
    told = ablation_claims(outcomes(read_variants(evaluations(tmp_path, scores)), 0.95), "ems-mini", 0.95)
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
    with pytest.raises(DataError, match="no accuracy"):
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
    write_ablation(folders, encoders, "ems-mini", 0.95, tmp_path / "out")
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
    own = rows_of(made.text["ems-table.md"], "Table XIV: whole data sets of this run")
    assert own[0] == [
        "Variant",
        "tatoeba, all of tatoeba here",
        "nway, all of flores here",
        "Parameters at use",
    ]
    assert own[2] == ["EMS", "45.50 [39.15, 51.85]", "56.00 [43.29, 68.71]", "2,000"]
    assert "2 seeds (1, 2)" in made.text["ems-table.md"]


def test_files_hold_every_cell_with_its_seeds(made: SimpleNamespace) -> None:
    told: dict[str, Any] = json.loads(made.text["ems-table.json"])
    rows = list(csv.DictReader(made.text["ems-table.csv"].splitlines()))
    assert len(rows) == len(told["cells"]) == 12 * 8 + 3 * 2
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
