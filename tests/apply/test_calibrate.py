"""Thresholds and probabilities of mined pairs, learnt on known translations."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from small_checkpoint import make_pairs, write_checkpoint, write_tsv
from typer.testing import CliRunner

from orthoglot import load
from orthoglot.apply.calibrate import Calibration, _threshold, calibrate, picture
from orthoglot.apply.encoder_copy import Checkpoint, copy_encoder
from orthoglot.apply.mine import distinct, mine, mine_text
from orthoglot.cli import app
from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError, DataError

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


def lists(gold: int) -> tuple[list[str], list[str]]:
    """The lists that 400 pairs make: some pairs whole, sources of the first half, targets of the second."""
    order = [pair for two in zip(PAIRS[:200], PAIRS[200:], strict=True) for pair in two]
    whole = {order[row] for row in np.linspace(0, 399, gold).round().astype(int)}
    source = [pair[0] for pair in order if pair in whole or pair in PAIRS[:200]]
    return source, [pair[1] for pair in order if pair in whole or pair in PAIRS[200:]]


def test_the_threshold_has_the_precision_on_these_pairs_by_a_plain_count(
    encoder: Path, found: Calibration, tmp_path: Path
) -> None:
    gold = round(0.3 * 400 / 1.7)
    assert found.gold == gold
    assert abs(found.sources - (400 + gold) / 2) <= gold / 2
    # The same lists once more, mined with that threshold.
    source, target = lists(gold)
    mine_text(
        load(encoder, device="cpu"),
        distinct(source, "en"),
        distinct(target, "gn"),
        tmp_path / "pairs.tsv",
        tmp_path / "work",
        part="sentence",
        threshold=found.threshold,
    )
    mined = [tuple(line.split("\t")[1:]) for line in (tmp_path / "pairs.tsv").read_text().splitlines()]
    right = sum(pair in set(PAIRS) for pair in mined)
    assert found.precision[0] == pytest.approx(right / len(mined))
    assert found.precision[0] >= 0.8
    assert found.recall == pytest.approx(right / gold)
    low, high = found.precision[1:]
    assert low < found.precision[0] < high or found.precision[0] == 1
    assert 0 < found.held_out_precision[0] <= 1


def test_among_the_texts_to_be_mined_only_the_known_sentences_count(
    encoder: Path, found: Calibration
) -> None:
    model = load(encoder, device="cpu")
    others = make_pairs(300, seed=4)
    x, y = (unit(model.encode([pair[side] for pair in others], part="sentence")) for side in (0, 1))
    among = calibrate(model, PAIRS, part="sentence", share=0.3, among=(x, y[:250]), target_precision=0.8)
    assert (among.sources, among.targets) == (found.sources + 300, found.targets + 250)
    assert (among.gold, among.share) == (found.gold, found.share)
    # More sentences have nearer neighbours, so that the same cosine has a lower margin.
    assert among.threshold < found.threshold
    # The same lists once more by hand.
    source, target = lists(found.gold)
    a, b = (unit(model.encode(side, part="sentence")) for side in (source, target))
    pairs, _ = mine(np.vstack([a, x]), np.vstack([b, y[:250]]), threshold=among.threshold)
    mined = [
        j < len(target) and (source[i], target[j]) in set(PAIRS)
        for i, j in zip(pairs.sources, pairs.targets, strict=True)
        if i < len(source)
    ]
    assert among.precision[0] == pytest.approx(np.mean(mined))
    assert among.recall == pytest.approx(sum(mined) / among.gold)


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


def test_what_is_saved_is_read_again(found: Calibration, tmp_path: Path) -> None:
    (tmp_path / "en-gn.json").write_text(found.as_json())
    assert Calibration.load(tmp_path / "en-gn.json") == found
    (tmp_path / "other.json").write_text('{"threshold": 1}')
    for name in ("other.json", "absent.json"):
        with pytest.raises(DataError, match="not a calibration"):
            Calibration.load(tmp_path / name)


def test_the_picture_has_three_curves(found: Calibration) -> None:
    drawn = picture(found)
    assert drawn.startswith("<svg")
    for name in ("precision", "recall", "probability"):
        assert name in drawn


def test_what_cannot_be_calibrated_is_refused(encoder: Path) -> None:
    model = load(encoder, device="cpu")
    with pytest.raises(DataError, match="20 are needed: give 380 pairs"):
        calibrate(model, PAIRS[:50], part="sentence", share=0.1)
    with pytest.raises(DataError, match="20 are needed"):
        calibrate(model, [*PAIRS[:1] * 400], part="sentence", share=0.3)
    for share, precision in ((0.0, 0.9), (1.0, 0.9), (0.5, 1.0)):
        with pytest.raises(ConfigError, match="between 0 and 1"):
            calibrate(model, PAIRS, part="sentence", share=share, target_precision=precision)
    wrong = [(source, PAIRS[n - 7][1]) for n, (source, _) in enumerate(PAIRS)]
    with pytest.raises(DataError, match="no threshold has a precision"):
        calibrate(model, wrong, part="sentence", share=0.5, target_precision=0.95)


def test_mining_takes_threshold_and_probability_from_the_file(encoder: Path, tmp_path: Path) -> None:
    dev, output = write_tsv(tmp_path / "dev.tsv", PAIRS), tmp_path / "en-gn.json"
    options = ["--model", str(encoder), "--threads", "1"]
    made = CliRunner().invoke(
        app, ["calibrate", str(dev), "-o", str(output), "--share", "0.3", "--precision", "0.8", *options]
    )
    assert made.exit_code == 0, made.exception
    assert "precision on halves" in made.stderr
    assert (tmp_path / "en-gn.json.svg").is_file()
    known = json.loads(output.read_text())
    for side, name in enumerate(("en.txt", "gn.txt")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in make_pairs(50, seed=2)))
    files = [str(tmp_path / "en.txt"), str(tmp_path / "gn.txt"), "-o", str(tmp_path / "pairs.tsv")]
    mined = CliRunner().invoke(app, ["mine", *files, "--calibration", str(output), *options])
    assert mined.exit_code == 0, mined.exception
    rows = [line.split("\t") for line in (tmp_path / "pairs.tsv").read_text().splitlines()]
    assert rows
    assert all(float(row[0]) >= known["threshold"] - 1e-6 for row in rows)
    assert all(0 <= float(row[3]) <= 1 for row in rows)
    other = CliRunner().invoke(app, ["mine", *files, "--calibration", str(output), "-k", "5", *options])
    assert isinstance(other.exception, ConfigError)


def test_standard_output_has_what_the_files_have_and_no_file_is_left(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("files", "alone", "temporary"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    dev = write_tsv(tmp_path / "dev.tsv", PAIRS)
    for side, name in enumerate(("en.txt", "gn.txt")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in make_pairs(50, seed=2)))
    model, texts = ["--model", str(encoder)], [str(tmp_path / "en.txt"), str(tmp_path / "gn.txt")]
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
    encoder: Path, found: Calibration, tmp_path: Path
) -> None:
    dev, output, kept = write_tsv(tmp_path / "dev.tsv", PAIRS), tmp_path / "en-gn.json", tmp_path / "kept"
    for side, name in enumerate(("en.txt", "gn.txt")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in make_pairs(50, seed=2)))
    texts = [str(tmp_path / "en.txt"), str(tmp_path / "gn.txt")]
    options = ["--model", str(encoder), "--threads", "1", "--checkpoint", str(kept)]
    calibrating = ["calibrate", str(dev), "-o", str(output), "--share", "0.3", "--precision", "0.8"]
    made = CliRunner().invoke(app, [*calibrating, "--among", *texts, *options])
    assert made.exit_code == 0, made.exception
    distinct_sources = len({pair[0] for pair in make_pairs(50, seed=2)})
    assert json.loads(output.read_text())["sources"] == found.sources + distinct_sources
    before = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    mining = ["mine", *texts, "-o", str(tmp_path / "pairs.tsv"), "--calibration", str(output)]
    mined = CliRunner().invoke(app, [*mining, *options])
    assert mined.exit_code == 0, mined.exception
    assert {path.name: path.stat().st_mtime_ns for path in kept.iterdir()} == before
    without = CliRunner().invoke(app, [*calibrating, "--among", *texts, *options[:4]])
    assert without.exit_code == 0, without.exception
    assert not (tmp_path / "en-gn.json.checkpoint").exists()
