"""Thresholds and probabilities of mined pairs, learnt on known translations."""

from __future__ import annotations

import json
import logging
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_checkpoint import make_pairs, write_checkpoint, write_tsv
from typer.testing import CliRunner

from orthoglot import load
from orthoglot.apply.calibrate import (
    _lists,
    _of_the_other_half,
    _present,
    _threshold,
    _with_interval,
    calibrate,
)
from orthoglot.apply.calibration import Calibration, outlook
from orthoglot.apply.encoder_copy import Checkpoint, copy_encoder
from orthoglot.apply.mine import mine
from orthoglot.apply.translated_share import Margins, joint_share, translated_share
from orthoglot.cli import app
from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError, DataError
from orthoglot.search.neighbours import nearest
from orthoglot.statistics.intervals import wilson

PAIRS = make_pairs(400, seed=9)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("calibrate")
    (root / "encoder").mkdir()
    checkpoint = write_checkpoint(root / "tiny-xlmr", offset=0.01)
    copy_encoder(Checkpoint(str(checkpoint), pooling="mean", max_tokens=20), ["en", "gn"], root / "encoder")
    return root / "encoder"


@pytest.fixture(scope="module")
def found(encoder: Path) -> Calibration:
    return calibrate(load(encoder, device="cpu"), PAIRS, part="sentence", share=0.3, target_precision=0.8)


def test_shifted_pairs_are_left_out_or_paired_anew(encoder: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = load(encoder, device="cpu")
    settings: dict[str, Any] = {"part": "sentence", "share": 0.3, "target_precision": 0.5}
    numbered = [tuple(f"{side} {1000 + number}" for side in pair) for number, pair in enumerate(PAIRS)]
    source, target = zip(*numbered, strict=True)
    shifted = list(zip(source[:-1], target[:250] + target[251:], strict=True))
    assert calibrate(model, shifted, **settings) == calibrate(model, numbered[:250], **settings)
    assert "units 251 to 399: the translation stands one line before" in caplog.text
    right = [*numbered[:250], *numbered[251:]]
    assert (
        calibrate(model, shifted, realign=True, **settings).gold == calibrate(model, right, **settings).gold
    )


def test_shifted_pairs_are_found_by_their_vectors(encoder: Path, caplog: pytest.LogCaptureFixture) -> None:
    source, target = zip(*PAIRS, strict=True)
    shifted = list(zip(source[:-1], target[:200] + target[201:], strict=True))
    settings: dict[str, Any] = {"part": "sentence", "share": 0.3, "target_precision": 0.5}
    found = calibrate(load(encoder, device="cpu"), shifted, **settings)
    assert found.gold < round(0.3 * 215 / 1.7)
    assert "by their vectors" in caplog.text


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    """Two files with 50 translations, to be mined."""
    paths = [tmp_path / "en.txt", tmp_path / "gn.txt"]
    for path, lines in zip(paths, zip(*make_pairs(50, seed=2), strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return [str(path) for path in paths]


def lists(n: int, gold: int) -> list[tuple[list[int], list[int]]]:
    """The pairs of the first and of the second list in each draw, in plain words."""
    draws = math.ceil(n / gold)
    turns = [row for start in range(draws) for row in range(start, n, draws)]
    made = []
    for draw in range(draws):
        both = {(turns + turns)[draw * gold + place] for place in range(gold)}
        halves = [set(range(n // 2)), set(range(n // 2, n))]
        if draw % 2:
            halves.reverse()
        made.append((sorted(both | halves[0]), sorted(both | halves[1])))
    return made


def mined_by_hand(
    encoder: Path,
    gold: int,
    threshold: float,
    more: tuple[np.ndarray, np.ndarray] | None = None,
    whole: bool = False,
) -> tuple[int, int, int]:
    """Pairs that are right, all pairs, and translations in both lists, summed over plain runs of mining.

    The lists are as long as the further vectors of their side, or have all of these.
    """
    model = load(encoder, device="cpu")
    sides = [unit(model.encode([pair[side] for pair in PAIRS], part="sentence")) for side in (0, 1)]
    right = kept = 0
    for source, target in (made := lists(len(PAIRS), gold)):
        x, y = sides[0][source], sides[1][target]
        if more is not None:
            sizes = [
                len(text) if whole else len(text) - len(side) for side, text in zip((x, y), more, strict=True)
            ]
            x, y = (
                np.vstack([side, text[np.linspace(0, len(text) - 1, size).round().astype(int)]])
                for side, text, size in zip((x, y), more, sizes, strict=True)
            )
        pairs, _ = mine(x, y, threshold=threshold)
        for i, j in zip(pairs.sources, pairs.targets, strict=True):
            if i < len(source):
                kept += 1
                right += j < len(target) and source[i] == target[j]
    return right, kept, gold * len(made)


def test_the_threshold_has_the_precision_on_these_pairs_by_a_plain_count(
    encoder: Path, found: Calibration
) -> None:
    gold = round(0.3 * 400 / 1.7)
    assert (found.gold, found.draws) == (gold, 6)
    assert abs(found.sources - (400 + gold) / 2) <= gold / 2
    right, kept, total = mined_by_hand(encoder, gold, found.threshold)
    assert found.precision[0] == pytest.approx(right / kept)
    assert found.precision[0] >= 0.8
    assert found.recall == pytest.approx(right / total)
    low, high = found.precision[1:]
    assert low < found.precision[0] < high or found.precision[0] == 1
    assert 0 < found.held_out_precision[0] <= 1
    low, high = found.held_out_recall[1:]
    assert 0 < low < found.held_out_recall[0] < high <= 1


@pytest.mark.parametrize(("n", "gold"), [(400, 71), (100, 5), (21, 20), (50, 50)])
def test_every_pair_is_in_both_lists_in_its_turn_and_its_halves_are_apart(n: int, gold: int) -> None:
    turns = np.zeros(n, dtype=int)
    made = list(_lists(n, gold))
    for source, target in made:
        both = np.intersect1d(source, target)
        assert len(both) == gold
        alone = np.setdiff1d(source, both), np.setdiff1d(target, both)
        assert len(alone[0]) + len(alone[1]) == n - gold
        assert (
            not len(alone[0]) or not len(alone[1]) or (alone[0] < n // 2).all() != (alone[1] < n // 2).all()
        )
        turns[both] += 1
    assert turns.min() >= 1
    assert turns.max() <= 2
    assert [(source.tolist(), target.tolist()) for source, target in made] == lists(n, gold)


def test_among_the_texts_to_be_mined_only_the_known_sentences_count(
    encoder: Path, found: Calibration
) -> None:
    model = load(encoder, device="cpu")
    others = make_pairs(300, seed=4)
    texts = [pair[0] for pair in others], [pair[1] for pair in others[:250]]
    x, y = (unit(model.encode(side, part="sentence")) for side in texts)
    among = calibrate(
        model,
        PAIRS,
        part="sentence",
        share=0.3,
        among=[(texts[0], x), (texts[1], y)],
        target_precision=0.8,
    )
    # As long as the texts: known sentences take the places of others.
    assert found.sources < 250
    assert (among.sources, among.targets) == (300, 250)
    assert (among.gold, among.share) == (found.gold, found.share)
    right, kept, total = mined_by_hand(encoder, among.gold, among.threshold, (x, y))
    assert among.precision[0] == pytest.approx(right / kept)
    assert among.recall == pytest.approx(right / total)


def test_known_translations_in_the_texts_to_be_mined_do_not_count_as_wrong(encoder: Path) -> None:
    model = load(encoder, device="cpu")
    others = make_pairs(300, seed=4)
    # The development pairs were taken out of the texts: their own translations are still there, with other marks.
    known = [(f"{source}!", target.upper()) for source, target in PAIRS]
    texts = [[pair[side] for pair in (*known, *others)] for side in (0, 1)]
    vectors = [unit(model.encode(side, part="sentence")) for side in texts]
    among = list(zip(texts, vectors, strict=True))
    found = calibrate(model, PAIRS, part="sentence", share=0.3, among=among, target_precision=0.8)
    x, y = (side[len(known) :] for side in vectors)
    right, kept, total = mined_by_hand(encoder, found.gold, found.threshold, (x, y), whole=True)
    assert found.precision[0] == pytest.approx(right / kept)
    assert found.recall == pytest.approx(right / total)


def test_neighbours_that_are_absent_are_searched_anew() -> None:
    rng = np.random.default_rng(1)
    x, y = (unit(rng.normal(size=(size, 5))) for size in (30, 40))
    rows = np.sort(rng.choice(40, 12, replace=False))
    for searched in (4, 8, 40):
        found = _present(nearest(x, y, searched).forward, rows, 40, x, y[rows], 4)
        assert (found == nearest(x, y[rows], 4).forward).all()


def test_of_pairs_that_repeat_a_source_fewer_count() -> None:
    right = np.array([True, True, False, True])
    # By hand: sources with 1 and 3 pairs, (1 + 3)^2 / (1 + 9) = 1.6.
    assert _with_interval(right, np.array([7, 8, 8, 8])) == [0.75, *wilson(0.75, 1.6, 0.95)]
    assert _with_interval(right, np.arange(4)) == [0.75, *wilson(0.75, 4, 0.95)]
    assert _with_interval(right[:0], np.array([], dtype=int)) == [0, 0, 1]


def test_the_lowest_threshold_with_the_precision_is_taken() -> None:
    margins, right = np.array([5.0, 4, 3, 2, 1]), np.array([True, False, True, True, False])
    assert _threshold(margins, right, 0.7) == 1.5  # 3 of 4; the 1 of 2 above does not matter
    assert _threshold(margins, right, 0.9) == 4.5
    assert _threshold(margins, ~right, 0.9) is None
    assert _threshold(np.array([]), np.array([], dtype=bool), 0.5) is None


def test_probabilities_rise_with_the_margin_and_agree_with_what_was_right(found: Calibration) -> None:
    margins = np.linspace(0, 3, 200)
    chances = found.probability(margins)
    assert (np.diff(chances) >= 0).all()
    assert chances.min() >= 0
    assert chances.max() <= 1
    assert found.probability(np.array([found.threshold + 0.5]))[0] > found.probability(np.array([0.9]))[0]


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("sizes", [(300, 300), (400, 200)])
def test_the_share_of_a_mixture_is_found(share: float, sizes: tuple[int, int]) -> None:
    """Margins of translations are normal around 1.2, those of others around 1, and of every tenth there is no pair."""
    rng = np.random.default_rng(3)

    def drawn(translated: int, alone: int) -> np.ndarray:
        values = np.concatenate([rng.normal(1.2, 0.06, translated), rng.normal(1.0, 0.06, alone)])
        values[translated::10] = -np.inf
        return values

    sides = [
        Margins(drawn(200, 0), drawn(0, 200), drawn(round(share * size), size - round(share * size)))
        for size in sizes
    ]
    assert joint_share(sides) == pytest.approx(share, abs=0.06)
    # The maximum of the likelihood by a plain loop over shares.
    every = np.concatenate(sides[0])
    edges = np.quantile(every[np.isfinite(every)], np.linspace(0, 1, 12)[1:-1])

    def shares_of_bins(some: np.ndarray, added: float) -> list[float]:
        counts = [0] * 11
        for value in some:
            counts[sum(value > edge for edge in edges)] += 1
        return [(count + added) / (len(some) + 11 * added) for count in counts]

    with_translation, without = (shares_of_bins(some, 0.5) for some in sides[0][:2])
    seen = shares_of_bins(sides[0].unknown, 0)

    def likelihood(guess: float) -> float:
        return sum(
            h * math.log(guess * f1 + (1 - guess) * f0)
            for h, f1, f0 in zip(seen, with_translation, without, strict=True)
        )

    best = max((n / 1000 for n in range(1, 1000)), key=likelihood)
    assert translated_share(sides[0]) == pytest.approx(best, abs=2e-3)


@pytest.mark.parametrize(("gold", "alone"), [(240, 30), (60, 200)])
def test_the_share_is_estimated_from_the_texts(
    gold: int, alone: int, encoder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = make_pairs(gold + 2 * alone, seed=21)
    sides = [
        [one for one, _ in text[: gold + alone]],
        [other for _, other in text[:gold] + text[gold + alone :]],
    ]
    paths = [tmp_path / "en.txt", tmp_path / "gn.txt"]
    for path, lines in zip(paths, sides, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    dev, output = write_tsv(tmp_path / "dev.tsv", PAIRS), tmp_path / "c.json"
    command = ["calibrate", str(dev), "--among", *map(str, paths), "-o", str(output), "--model", str(encoder)]
    with caplog.at_level(logging.INFO):
        done = CliRunner().invoke(app, [*command, "--precision", "0.8"])
    assert done.exit_code == 0, done.exception
    found = Calibration.load(output)
    true = gold / (gold + alone)
    assert found.share == found.estimated_share == pytest.approx(true, abs=0.08)
    assert f"estimated from the texts: {found.share:.2f}" in caplog.text
    caplog.clear()
    doubted = 0.1 if true > 0.5 else 0.9
    done = CliRunner().invoke(app, [*command, "--precision", "0.6", "--share", str(doubted)])
    assert done.exit_code == 0, done.exception
    assert Calibration.load(output).share == doubted
    assert f"--share {doubted:g}, but the texts look like {found.share:.2f}" in caplog.text


def test_a_share_below_what_the_pairs_can_show_is_raised(
    encoder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, others = load(encoder, device="cpu"), make_pairs(200, seed=31)
    texts = [one for one, _ in others[:100]], [other for _, other in others[100:]]
    among = [(side, unit(model.encode(side, part="sentence"))) for side in texts]
    found = calibrate(model, PAIRS[:60], part="sentence", among=among, target_precision=0.5)
    assert found.estimated_share is not None
    assert found.estimated_share < 10 / 65 == found.share
    assert "60 pairs can show a share of 0.154 at least" in caplog.text
    # Texts that hold nothing else.
    known = [[pair[side] for pair in PAIRS] for side in (0, 1)]
    among = [(side, unit(model.encode(side, part="sentence"))) for side in known]
    with pytest.raises(DataError, match="no sentence but those of the pairs: give --share"):
        calibrate(model, PAIRS, part="sentence", among=among)


def test_without_texts_the_pairs_speak_for_themselves_alone(found: Calibration) -> None:
    assert (found.expected_precision, found.promised) == (None, False)
    held = found._replace(
        held_out_precision=[0.7, 0.6, 0.8], held_out_recall=[0.9, 0.8, 1.0], target_precision=0.8
    )
    assert outlook(held) == [
        "of these pairs, cross-validated: precision 70.0 % [60.0, 80.0], recall 90.0 % [80.0, 100.0]; of other text "
        "nothing is known: --among says what to expect there"
    ]
    missed = held._replace(target_precision=0.95)
    assert outlook(missed)[1] == "95 % was not reached: give more pairs, or a higher --precision"


def test_what_the_texts_show_is_said_and_what_they_do_not(found: Calibration) -> None:
    shown = found._replace(
        expected_pairs=812,
        expected_precision=[0.96, 0.91, 0.99],
        expected_recall=[0.9, 0.7, 1.0],
        promised=True,
    )
    line = "expected in these texts: 812 pairs, precision 96.0 % [91.0, 99.0], recall 90.0 % [70.0, 100.0]"
    assert outlook(shown) == [line]
    nothing = shown._replace(
        expected_precision=None, expected_recall=None, promised=False, estimated_share=0.3
    )
    assert "80 % cannot be promised: these texts show nothing of it" in outlook(nothing)[1]
    unknown = shown._replace(
        expected_precision=[0.6, 0.0, 1.0], expected_recall=[0.5, 0.0, 1.0], promised=False
    )
    first, second = outlook(unknown)
    assert first == "expected in these texts: 812 pairs, precision unknown, recall unknown"
    assert second.startswith("80 % cannot be promised: these texts show no threshold with it")
    assert "--review 50" in second


@pytest.mark.parametrize(("gold", "alone"), [(250, 60), (20, 250)])
def test_a_threshold_has_the_precision_in_the_texts_too(
    gold: int, alone: int, encoder: Path, tmp_path: Path
) -> None:
    text = make_pairs(gold + 2 * alone, seed=21)
    sides = [
        [one for one, _ in text[: gold + alone]],
        [other for _, other in text[:gold] + text[gold + alone :]],
    ]
    model = load(encoder, device="cpu")
    vectors = [unit(model.encode(side, part="sentence")) for side in sides]
    found = calibrate(
        model, PAIRS, part="sentence", among=[*zip(sides, vectors, strict=True)], target_precision=0.8
    )
    assert found.promised == (gold > alone)
    pairs, facts = mine(*vectors, threshold=found.threshold)
    assert len(pairs.margins) == found.expected_pairs
    assert found.expected_precision is not None
    assert found.expected_pairs is not None
    assert facts["expected_precision"] == found.expected_precision
    # The command: pairs are drawn, judged, and read back.
    paths = [tmp_path / "en.txt", tmp_path / "gn.txt"]
    for path, lines in zip(paths, sides, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    dev, output = write_tsv(tmp_path / "dev.tsv", PAIRS), tmp_path / "c.json"
    command = ["calibrate", str(dev), "--among", *map(str, paths), "-o", str(output), "--model", str(encoder)]
    command += ["--precision", "0.8", "--review", "15"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.exception
    review = tmp_path / "c.json.review.tsv"
    drawn = min(15, found.expected_pairs)
    assert f"{review}: {drawn} pairs; write yes or no" in first.stderr
    head, *rows = review.read_text().splitlines()
    translated = dict(text)
    words = ["yes" if translated[row.split("\t")[4]] == row.split("\t")[5] else "no" for row in rows]
    review.write_text("\n".join([head, *(word + row for word, row in zip(words, rows, strict=True))]))
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 0, again.exception
    count = words.count("yes")
    share = f"precision {100 * count / drawn:.1f} %"
    assert f"{count} of {drawn} judged pairs are right; by the judgements alone, {share}" in again.stderr


def test_a_review_needs_texts(encoder: Path, tmp_path: Path) -> None:
    dev = write_tsv(tmp_path / "dev.tsv", PAIRS)
    command = [
        "calibrate",
        str(dev),
        "--share",
        "0.3",
        "-o",
        str(tmp_path / "c.json"),
        "--model",
        str(encoder),
    ]
    refused = CliRunner().invoke(app, [*command, "--review", "5"]).exception
    assert isinstance(refused, ConfigError)
    assert "--review draws pairs of the texts of --among" in str(refused)


WRONG = [(source, PAIRS[n - 7][1]) for n, (source, _) in enumerate(PAIRS)]


@pytest.mark.parametrize(
    ("pairs", "share", "precision", "message"),
    [
        (PAIRS[:50], 0.1, 0.95, "50 different pairs, too few: give 95 or a larger share"),
        (PAIRS[:19], 0.9, 0.95, "19 different pairs, too few: give 20 or"),
        ([*PAIRS[:1] * 400], 0.3, 0.95, "1 different pairs"),
        (PAIRS, 0.0, 0.9, "between 0 and 1"),
        (PAIRS, 1.0, 0.9, "between 0 and 1"),
        (PAIRS, 0.5, 1.0, "between 0 and 1"),
        (PAIRS[:19], None, 0.95, "give --among with the texts to be mined"),
        (WRONG, 0.5, 0.95, r"95 % was not reached: no threshold has this precision, the highest is \d"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(
    pairs: list[tuple[str, str]], share: float | None, precision: float, message: str, encoder: Path
) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        calibrate(
            load(encoder, device="cpu"), pairs, part="sentence", share=share, target_precision=precision
        )


def test_mining_takes_threshold_and_probability_from_the_file(
    encoder: Path, texts: list[str], tmp_path: Path
) -> None:
    dev, output = write_tsv(tmp_path / "dev.tsv", PAIRS), tmp_path / "en-gn.json"
    options = ["--model", str(encoder), "--threads", "1"]
    made = CliRunner().invoke(
        app, ["calibrate", str(dev), "-o", str(output), "--share", "0.3", "--precision", "0.8", *options]
    )
    assert made.exit_code == 0, made.exception
    assert "of these pairs, cross-validated: precision " in made.stderr
    assert ", recall " in made.stderr
    assert (tmp_path / "en-gn.json.svg").is_file()
    known = json.loads(output.read_text())
    files = [*texts, "-o", str(tmp_path / "pairs.tsv")]
    mined = CliRunner().invoke(app, ["mine", *files, "--calibration", str(output), *options])
    assert mined.exit_code == 0, mined.exception
    names, *rows = (line.split("\t") for line in (tmp_path / "pairs.tsv").read_text().splitlines())
    assert names == ["margin", "source", "target", "probability"]
    assert rows
    assert all(float(row[0]) >= known["threshold"] - 1e-6 for row in rows)
    assert all(0 <= float(row[3]) <= 1 for row in rows)
    other = CliRunner().invoke(app, ["mine", *files, "--calibration", str(output), "-k", "5", *options])
    assert isinstance(other.exception, ConfigError)


def test_standard_output_has_what_the_files_have_and_no_file_is_left(
    encoder: Path, texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("files", "alone", "temporary"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    dev = write_tsv(tmp_path / "dev.tsv", PAIRS)
    model = ["--model", str(encoder)]
    calibrating = ["calibrate", str(dev), "--among", *texts, "--share", "0.3", "--precision", "0.8", *model]
    for command in (calibrating, ["mine", *texts, *model]):
        monkeypatch.chdir(tmp_path / "files")
        CliRunner().invoke(app, [*command, "-o", "written"])
        monkeypatch.chdir(tmp_path / "alone")
        shown = CliRunner().invoke(app, [*command, "-o", "-"])
        assert shown.exit_code == 0, shown.exception
        assert shown.stdout == (tmp_path / "files/written").read_text() != ""
    assert [*(tmp_path / "alone").iterdir(), *(tmp_path / "temporary").iterdir()] == []


def test_the_vectors_of_the_texts_are_those_that_mining_goes_on_with(
    encoder: Path, found: Calibration, texts: list[str], tmp_path: Path
) -> None:
    dev, output, kept = write_tsv(tmp_path / "dev.tsv", PAIRS), tmp_path / "en-gn.json", tmp_path / "kept"
    options = ["--model", str(encoder), "--threads", "1", "--checkpoint", str(kept)]
    calibrating = ["calibrate", str(dev), "-o", str(output), "--share", "0.3", "--precision", "0.8"]
    made = CliRunner().invoke(app, [*calibrating, "--among", *texts, *options])
    assert made.exit_code == 0, made.exception
    distinct_sources = len({pair[0] for pair in make_pairs(50, seed=2)})
    assert distinct_sources < found.sources
    assert json.loads(output.read_text())["sources"] == found.sources
    before = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    mining = ["mine", *texts, "-o", str(tmp_path / "pairs.tsv"), "--calibration", str(output)]
    mined = CliRunner().invoke(app, [*mining, *options])
    assert mined.exit_code == 0, mined.exception
    assert {path.name: path.stat().st_mtime_ns for path in kept.iterdir()} == before
    without = CliRunner().invoke(app, [*calibrating, "--among", *texts, *options[:4]])
    assert without.exit_code == 0, without.exception
    assert not (tmp_path / "en-gn.json.checkpoint").exists()


def test_what_is_expected_is_of_the_half_that_a_threshold_was_not_learnt_on() -> None:
    """Even sources need a threshold of 4 for half of them to be right, odd ones one of 2."""
    margins = np.array([9.0, 8, 7, 6, 5, 4, 3, 2, 1])
    sources = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8])
    right = np.array([True, True, False, True, False, True, False, False, False])
    learnt = {
        half: _threshold(margins[sources % 2 == half], right[sources % 2 == half], 0.75) for half in (0, 1)
    }
    assert learnt[0] is not None
    assert learnt[1] is not None
    assert learnt[0] > learnt[1]
    tried, halves = _of_the_other_half(sources, margins, right, 0.75)
    expected = [margin >= learnt[1 - source % 2] for source, margin in zip(sources, margins, strict=True)]
    assert tried.tolist() == expected
    assert halves == 2
    # A half without a right pair has no threshold: nothing of the other half is tried.
    tried, halves = _of_the_other_half(sources, margins, right & (sources % 2 == 1), 0.75)
    assert halves == 1
    assert set(sources[tried] % 2) <= {0}


@pytest.mark.parametrize(
    "content",
    [
        {"threshold": "abc"},
        {"threshold": float("nan")},
        {"threshold": None},
        {"threshold": True},
        {"probabilities": {"margin": [1.0, 2.0], "probability": [7.0, 0.5]}},
        {"probabilities": {"margin": [2.0, 1.0], "probability": [0.1, 0.5]}},
        {"probabilities": {"margin": [1.0], "probability": [0.1, 0.5]}},
        {"probabilities": {"margin": [], "probability": []}},
        {"probabilities": {"margin": [1.0]}},
        {"probabilities": 7},
        *("[" * 100_000, "", "7", "null", '{"threshold": 1}', "\ud800"),
    ],
)
def test_what_is_saved_is_read_again_and_anything_else_is_refused(
    content: dict[str, Any] | str, found: Calibration, tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    with pytest.raises(DataError, match=r"c\.json: not a calibration"):
        Calibration.load(path)
    path.write_text(found.as_json())
    assert Calibration.load(path) == found
    text = content if isinstance(content, str) else json.dumps({**found._asdict(), **content})
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(DataError, match=r"c\.json: not a calibration"):
        Calibration.load(path)
