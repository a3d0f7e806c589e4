"""Scores of translations, and what is no translation."""

from __future__ import annotations

import gzip
import json
import logging
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_checkpoint import make_pairs, write_tsv
from typer.testing import CliRunner

from orthoglot import load
from orthoglot.apply.score import (
    BLANK,
    COPY,
    GUESS,
    LEAST,
    NO_LETTERS,
    OTHER,
    SHORT,
    UNTRANSLATED,
    identified,
    means,
    other_language,
    score,
    untranslated,
)
from orthoglot.apply.scored import Scored, summary
from orthoglot.cli import app
from orthoglot.corpora.language_identifier import labels, probabilities
from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError, DataError

PAIRS = make_pairs(60, seed=5)


def test_good_translations_score_high_and_others_have_a_flag(models: dict[str, Path]) -> None:
    wrong = [(PAIRS[n][0], PAIRS[n + 1][1]) for n in range(10)]
    same = [(PAIRS[20][0], PAIRS[20][0] + " .")]
    left = [(PAIRS[n][0], PAIRS[n + 1][0]) for n in range(30, 40)]
    blank = [("", PAIRS[0][1]), (PAIRS[0][0], " ")]
    found = list(
        score(load(models["plda"], device="cpu"), PAIRS + wrong + same + left + blank, identify=False)
    )
    good, wrong_scores = found[:60], found[60:70]
    # The invented language is none that the identifier knows: language parts alone tell what is untranslated.
    assert [one.flag for one in found] == [""] * 70 + [COPY] + [UNTRANSLATED + GUESS] * 10 + [BLANK] * 2
    assert min(one.score for one in good) > np.mean([one.score for one in wrong_scores])
    assert found[70].score == LEAST
    assert found[70].similarity > 0.5
    assert all(one.score == one.similarity for one in found[71:81])
    assert [one.score for one in found[81:]] == [None, None]
    # The score is the cosine of the meaning parts.
    model = load(models["plda"], device="cpu")
    x, y = (unit(model.encode([pair[side] for pair in PAIRS[:3]])) for side in (0, 1))
    np.testing.assert_allclose([one.score for one in good[:3]], (x * y).sum(axis=1), atol=1e-5)


def test_text_without_letters_has_a_flag_and_is_filtered(models: dict[str, Path], tmp_path: Path) -> None:
    pairs = [*PAIRS[:30], ("1234 !!", "1234 !!"), ("12.50", "13 %"), ("a01 a02", "—"), ("42", PAIRS[0][1])]
    found = list(score(load(models["plda"], device="cpu"), pairs, identify=False))
    assert [one.flag for one in found[30:]] == [COPY, NO_LETTERS, NO_LETTERS, NO_LETTERS]
    assert all(one.score == one.similarity for one in found[31:])
    write_tsv(tmp_path / "pairs.tsv", pairs)
    options = ["--threshold", "-1", "-o", str(tmp_path / "kept.tsv"), "--no-identify"]
    told = run(models, "filter", str(tmp_path / "pairs.tsv"), *options).stderr
    assert "34 pairs: 1 copy, 30 kept, 3 no_letters" in told


def test_score_ends_with_a_summary(
    models: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    long = (" ".join(["a01"] * 40), " ".join(["b01"] * 40))  # the encoder reads 20 tokens
    write_tsv(tmp_path / "pairs.tsv", [*PAIRS[:20], ("a01", "a01"), ("", "b01"), long])
    with caplog.at_level(logging.INFO):
        run(models, "score", str(tmp_path / "pairs.tsv"), "-o", str(tmp_path / "scored.tsv"), "--no-identify")
    rows = [line.split("\t") for line in (tmp_path / "scored.tsv").read_text().splitlines()[1:]]
    scores = [float(row[2]) for row in rows if row[2]]
    lines = [record.getMessage() for record in caplog.records if record.name == "orthoglot.cli.score"]
    assert lines[0] == f"corpus score {np.mean(scores):.4f}: the mean of 22 of 23 pairs"
    histogram = [line.split() for line in lines[1:11]]
    assert sum(int(bin[1]) for bin in histogram) == 21  # without the copy
    assert float(histogram[0][0]) == pytest.approx(min(score for score in scores if score > -1), abs=1e-3)
    assert max(len(bin[2]) for bin in histogram if len(bin) > 2) == 40
    assert "1 blank, 1 copy" in lines[11]
    assert lines[12] == "2 sentences are longer than the encoder reads: their ends do not count"


def test_the_summary_by_hand() -> None:
    def scored(value: float | None, flag: str = "") -> Scored:
        return Scored(value, flag, value)

    assert summary([scored(0.5), scored(-1.0, COPY), scored(None, BLANK)]) == [
        "corpus score -0.2500: the mean of 2 of 3 pairs",
        "  0.500        1  " + "#" * 40,
        "flags: 1 blank, 1 copy",
    ]
    lines = summary([scored(0.0), *[scored(1.0)] * 4], bins=2, width=4)
    assert lines[1:] == ["  0.000        1  #", "  0.500        4  ####"]
    assert summary([scored(None, BLANK)]) == ["no corpus score: the mean of 0 of 1 pairs", "flags: 1 blank"]
    swapped = summary([scored(-1.0, UNTRANSLATED), scored(-1.0, UNTRANSLATED), scored(0.5)])
    assert (
        swapped[-1] == "most translations are in the language of the source: are the two languages swapped?"
    )
    assert summary([scored(-1.0, UNTRANSLATED), scored(0.5)])[-1] == "flags: 1 untranslated"


def test_pairs_of_a_shifted_run_have_a_flag_and_a_message(
    models: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    numbered = [tuple(f"{side} {1000 + number}" for side in pair) for number, pair in enumerate(PAIRS * 2)]
    source, target = zip(*numbered, strict=True)
    shifted = list(zip(source[:-1], target[:60] + target[61:], strict=True))
    found = list(score(load(models["plda"], device="cpu"), shifted, identify=False))
    assert [one.flag for one in found] == [""] * 60 + ["shifted"] * 59
    assert all(one.score == one.similarity for one in found)
    assert "units 61 to 119: the translation stands one line before" in caplog.text


def test_vectors_alone_show_a_shift(models: dict[str, Path], caplog: pytest.LogCaptureFixture) -> None:
    source, target = zip(*make_pairs(200, seed=6), strict=True)
    found = list(
        score(
            load(models["plda"], device="cpu"),
            list(zip(source[:-2], target[2:], strict=True)),
            identify=False,
        )
    )
    assert {one.flag for one in found} == {"shifted"}
    assert "by the vectors of a block, 198 units are not parallel and flagged" in caplog.text


def test_blocks_change_no_score(models: dict[str, Path]) -> None:
    model = load(models["plda"], device="cpu")
    whole, apart = (list(score(model, PAIRS, block=block)) for block in (60, 25))
    assert [one.flag for one in whole] == [one.flag for one in apart]
    np.testing.assert_allclose([one.score for one in whole], [one.score for one in apart], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        ("encoder", 60, "has no decomposer"),
        ("centering", 60, "takes the language as given: its vectors"),
        ("plda", 19, "of fewer (19) they are not asked"),
    ],
)
def test_where_nothing_tells_the_languages_apart_only_copies_are_found(
    name: str, count: int, message: str, models: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    pairs = [*PAIRS[: count - 2], (PAIRS[0][0], PAIRS[1][0]), (PAIRS[0][0], PAIRS[0][0])]
    with caplog.at_level(logging.WARNING):
        found = list(score(load(models[name], device="cpu"), pairs, ("en", "gn"), identify=False))
    assert message in caplog.text
    assert [one.flag for one in found] == [""] * (count - 1) + [COPY]


def test_many_untranslated_sentences_do_not_move_the_mean_of_the_translations() -> None:
    rng = np.random.default_rng(0)
    english, other = np.eye(8)[0], np.eye(8)[1]
    source = (english + 0.1 * rng.normal(size=(200, 8))).astype(np.float32)
    left = np.arange(200) < 80
    target = (np.where(left[:, None], english, other) + 0.1 * rng.normal(size=(200, 8))).astype(np.float32)
    sides = means(source, target)
    found = untranslated(target, sides)
    assert not found[~left].any()
    assert found[left].mean() > 0.9
    # Those that are farther from the sources' mean than most sources are still far from that of the translations.
    assert other_language(target, sides)[left].all()
    assert sides.target @ other > 0.98
    # All untranslated: nothing is left to tell the languages apart by, and no number becomes NaN.
    assert np.isfinite(means(source, source).target).all()


def test_a_third_language_is_noticed_by_its_angle() -> None:
    rng = np.random.default_rng(1)
    english, other, third = np.eye(8)[:3]
    source = english + 0.1 * rng.normal(size=(400, 8))
    foreign = np.arange(400) < 40
    target = np.where(foreign[:, None], third, other) + 0.1 * rng.normal(size=(400, 8))
    sides = means(source, target)
    found = other_language(target, sides)
    assert found[foreign].all()
    # 2.5 standard deviations of a normal distribution leave out 0.6 %; angles have a longer tail.
    assert found[~foreign].mean() < 0.03
    # The limit by hand, of those that are not nearer to English, by chance some of the third language.
    kept = target[target @ sides.target >= target @ sides.source]
    assert 360 <= len(kept) < 400
    angles = np.arccos(kept @ sides.target / np.linalg.norm(kept, axis=1))
    deviation = 1.4826 * np.median(np.abs(angles - np.median(angles)))
    assert sides.target_radius == pytest.approx(np.median(angles) + 2.5 * deviation, rel=1e-6)


def test_what_is_far_from_both_languages_is_not_called_untranslated() -> None:
    rng = np.random.default_rng(3)
    english, other = np.eye(8)[:2]
    source, target = (one + 0.1 * rng.normal(size=(300, 8)) for one in (english, other))
    # Nearer to English, but far from every English sentence.
    odd = (english + 0.9 * other + 3 * np.eye(8)[2])[None]
    sides = means(source, target)
    assert not untranslated(odd, sides)[0]
    assert other_language(odd, sides)[0]
    assert untranslated(english[None], sides)[0]


def test_language_parts_that_are_all_equal_are_of_no_other_language() -> None:
    source, target = (np.repeat(np.eye(4, dtype=np.float32)[[row]], 50, axis=0) for row in (0, 1))
    target[:, 2] += 1e-4 * np.random.default_rng(2).normal(size=50).astype(np.float32)
    sides = means(source, target)
    assert not other_language(target, sides).any()
    # Where every translation is untranslated, nothing is said of other languages.
    assert not other_language(source, means(source, source)).any()


def test_a_pair_of_another_language_keeps_its_score_and_is_filtered(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orthoglot.apply.score.other_language", lambda target, _: np.arange(len(target)) == 3)
    model = load(models["plda"], device="cpu")
    pairs = [*PAIRS[:29], (PAIRS[29][0], PAIRS[29][0])]
    found = list(score(model, pairs, identify=False))
    assert [row for row, one in enumerate(found) if one.flag == OTHER + GUESS] == [3]
    assert found[3].score == found[3].similarity
    write_tsv(tmp_path / "web.tsv", pairs)
    options = [str(tmp_path / "web.tsv"), "-o", str(tmp_path / "good.tsv"), "--threshold", "-1"]
    told = run(models, "filter", *options).stderr
    assert "30 pairs: 1 copy, 29 kept\n" in told
    assert "of those kept: 1 other_language?; --drop-guesses drops them" in told
    assert pairs[3] in [tuple(line.split("\t")) for line in (tmp_path / "good.tsv").read_text().splitlines()]
    counts = json.loads(run(models, "filter", *options, "--json").stderr)
    facts = {"pairs": 30, "threshold": -1}
    agreed = {"disagree": {"numbers": [], "lengths": []}}
    assert counts == {
        **facts,
        "copy": 1,
        "kept": 29,
        "kept_though": {"other_language?": 1},
        **agreed,
    }
    counts = json.loads(run(models, "filter", *options, "--json", "--drop-guesses").stderr)
    assert counts == {**facts, "copy": 1, "kept": 28, "other_language?": 1, "kept_though": {}, **agreed}


# Translations of each other, in the order of the languages.
SENTENCES = {
    "en": [
        "The train to the city leaves every morning at seven.",
        "My brother has been looking for his black shoes all week.",
        "We should eat before the rain comes back tonight.",
        "Nobody in the village knew who had written the letter.",
    ],
    "nl": [
        "De trein naar de stad vertrekt elke ochtend om zeven uur.",
        "Mijn broer zoekt al de hele week naar zijn zwarte schoenen.",
        "We kunnen beter eten voordat het vanavond weer gaat regenen.",
        "Niemand in het dorp wist wie de brief had geschreven.",
    ],
    "de": [
        "Der Zug in die Stadt fährt jeden Morgen um sieben Uhr ab.",
        "Mein Bruder sucht schon die ganze Woche seine schwarzen Schuhe.",
        "Wir sollten essen, bevor es heute Abend wieder regnet.",
        "Niemand im Dorf wusste, wer den Brief geschrieben hatte.",
    ],
}


@pytest.mark.parametrize("languages", [("en", "nl"), (None, None)])
def test_the_identifier_tells_what_is_untranslated_and_what_is_in_a_third_language(
    languages: tuple[str | None, str | None], models: dict[str, Path]
) -> None:
    good = list(zip(SENTENCES["en"], SENTENCES["nl"], strict=True)) * 5
    bad = [(SENTENCES["en"][0], SENTENCES["de"][0]), (SENTENCES["en"][1], SENTENCES["en"][2])]
    model = load(models["encoder"], device="cpu")
    found = list(score(model, [*good, *bad], languages))
    assert [one.flag for one in found] == [""] * 20 + [OTHER, UNTRANSLATED]
    assert found[20].score == found[20].similarity
    assert found[21].score == LEAST
    assert [one.flag for one in score(model, bad, languages, identify=False)] == ["", ""]


def test_where_no_language_is_that_of_most_sentences_the_identifier_has_no_say(
    models: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    mixed = list(zip(SENTENCES["en"], SENTENCES["nl"][:2] + SENTENCES["de"][2:], strict=True))
    with caplog.at_level(logging.WARNING):
        found = list(score(load(models["encoder"], device="cpu"), mixed))
    assert [one.flag for one in found] == [""] * 4
    assert "cannot check the language of the target: not known" in caplog.text
    assert "of the source" not in caplog.text


@pytest.mark.parametrize(
    ("found", "source", "target", "flag"),
    [
        ({"nl": 0.9, "af": 0.1}, "en", "nl", ""),
        ({"af": 0.89, "nl": 0.09, "en": 0.0}, "en", "nl", ""),
        ({"af": 0.91, "nl": 0.09, "en": 0.0}, "en", "nl", OTHER),
        ({"en": 0.91, "nl": 0.09}, "en", "nl", UNTRANSLATED),
        ({"en": 0.014, "nl": 0.007}, "en", "nl", ""),  # a name, of which the identifier knows nothing
        ({"en": 0.89, "nl": 0.09}, "en", "", ""),
        ({"en": 0.91, "nl": 0.09}, "en", "", UNTRANSLATED),
        ({"de": 0.99, "nl": 0.01}, "en", "", ""),
        ({"de": 0.99, "nl": 0.01}, "", "nl", OTHER),
        ({"sr": 0.6, "hr": 0.35, "bs": 0.05}, "sr", "hr bs", ""),
    ],
)
def test_how_much_more_probable_another_language_has_to_be(
    found: dict[str, float], source: str, target: str, flag: str
) -> None:
    assert identified(found, frozenset(source.split()), frozenset(target.split())) == flag


def test_related_languages_of_real_text_are_told_apart(shared_data: Path) -> None:
    with gzip.open(shared_data / "nway/ntrex128.tsv.gz", "rt", encoding="utf-8") as file:
        names = next(file).rstrip("\n").split("\t")
        lines = [dict(zip(names, line.rstrip("\n").split("\t"), strict=True)) for line in islice(file, 100)]
    english = labels("en")
    for language, own, other in (("zu", "zul", "swa"), ("nl", "nld", "afr"), ("cs", "ces", "slk")):
        wanted = labels(language)
        good, bad = (
            [identified(probabilities(line[one]), english, wanted) for line in lines] for one in (own, other)
        )
        assert sum(map(bool, good)) <= 2, language
        assert bad.count(OTHER) >= 80, language
        untranslated = [identified(probabilities(line["eng"]), english, wanted) for line in lines]
        assert untranslated.count(UNTRANSLATED) >= 95, language


def test_languages_that_the_identifier_confuses_are_not_flagged(shared_data: Path) -> None:
    with gzip.open(shared_data / "nway/ntrex128.tsv.gz", "rt", encoding="utf-8") as file:
        names = next(file).rstrip("\n").split("\t")
        lines = [dict(zip(names, line.rstrip("\n").split("\t"), strict=True)) for line in islice(file, 100)]
    for language, column in (("nso", "nso"), ("yue", "yue"), ("hr", "hrv"), ("bs", "hrv"), ("sr", "hrv")):
        flags = [identified(probabilities(line[column]), labels("en"), labels(language)) for line in lines]
        assert sum(map(bool, flags)) <= 2, language
    for language in ("nso", "yue", "sr"):
        flags = [identified(probabilities(line["nld"]), labels("en"), labels(language)) for line in lines]
        assert flags.count(OTHER) >= 95, language


def test_alike_languages_share_their_labels() -> None:
    assert labels("sr") == labels("hr") == labels("bs") == {"bs", "hr", "sr"}
    assert labels("arz") == labels("ar")
    assert labels("st") == {"nso", "st"}
    assert labels("sl") == {"sl"}


def run(models: dict[str, Path], verb: str, *options: str, stdin: str = "") -> Any:
    # The text is of no language that the identifier knows.
    given = [verb, *options, "--model", str(models["plda"]), "--threads", "1", "--no-identify"]
    return CliRunner().invoke(app, given, input=stdin)


def test_a_line_per_pair_on_standard_output(models: dict[str, Path], tmp_path: Path) -> None:
    pairs = [*PAIRS[:30], (PAIRS[0][0], "")]
    write_tsv(tmp_path / "pairs.tsv", pairs)
    (tmp_path / "en").write_text("".join(f"{source}\n" for source, _ in pairs))
    (tmp_path / "gn").write_text("".join(f"{target}\n" for _, target in pairs))
    one_file = run(models, "score", str(tmp_path / "pairs.tsv"))
    names, *rows = (line.split("\t") for line in one_file.stdout.splitlines())
    assert names == ["source", "target", "score", "flag"]
    assert [tuple(row[:2]) for row in rows] == pairs
    assert rows[30][2:] == ["", "blank"]
    assert all(-1 <= float(row[2]) <= 1 for row in rows[:30])
    assert run(models, "score", str(tmp_path / "en"), str(tmp_path / "gn")).stdout == one_file.stdout
    assert run(models, "score", "-", stdin=(tmp_path / "pairs.tsv").read_text()).stdout == one_file.stdout
    output = tmp_path / "scores.jsonl.gz"
    run(models, "score", str(tmp_path / "pairs.tsv"), "-o", str(output), "--threshold", "-1")
    found = [json.loads(line) for line in gzip.decompress(output.read_bytes()).splitlines()]
    assert [(one["source"], one["target"]) for one in found] == PAIRS[:30]
    assert [f"{one['score']:.6f}" for one in found] == [row[2] for row in rows[:30]]


def test_progress_counts_the_bytes_of_both_sides(models: dict[str, Path]) -> None:
    counted: list[int] = []
    pairs = [*PAIRS[:30], ("", "ñandutí"), ("same", "same")]
    list(score(load(models["plda"], device="cpu"), pairs, block=10, done=counted.append))
    assert sum(counted) == sum(len(side.encode()) for pair in pairs for side in pair)
    assert len(counted) >= 2 * 4


def test_what_was_filtered_and_why(models: dict[str, Path], tmp_path: Path) -> None:
    pairs = [*PAIRS[:30], (PAIRS[30][0], PAIRS[31][0]), (PAIRS[32][0], PAIRS[32][0]), ("", PAIRS[0][1])]
    write_tsv(tmp_path / "web.tsv", pairs)
    output, rejected = tmp_path / "good.tsv", tmp_path / "bad.tsv"
    scores = sorted(
        float(line.split("\t")[2])
        for line in run(models, "score", str(tmp_path / "web.tsv")).stdout.splitlines()[1:31]
    )
    options = [str(tmp_path / "web.tsv"), "-o", str(output), "--rejected", str(rejected)]
    result = run(models, "filter", *options, "--threshold", str(scores[5] - 1e-6), "--drop-guesses")
    assert "33 pairs: 1 blank, 1 copy, 25 kept, 5 low_score, 1 untranslated?" in result.stderr
    kept = output.read_text().splitlines()
    names, *dropped = (line.split("\t") for line in rejected.read_text().splitlines())
    assert names == ["source", "target", "score", "reason"]
    assert len(kept) + len(dropped) == 33
    assert {tuple(line.split("\t")) for line in kept} < set(PAIRS[:30])
    assert sorted(row[3] for row in dropped) == sorted(["blank", "copy", "untranslated?", *5 * ["low_score"]])


def test_good_translations_decide_the_threshold(models: dict[str, Path], tmp_path: Path) -> None:
    good = [*PAIRS[:40], (PAIRS[0][0], PAIRS[0][0])]  # a copy has no say
    write_tsv(tmp_path / "dev.tsv", good)
    write_tsv(tmp_path / "web.tsv", PAIRS[:40])
    options = [str(tmp_path / "web.tsv"), "-o", str(tmp_path / "out.tsv")]
    for loss, low in (("0.1", 4), ("0", 0)):
        result = run(models, "filter", *options, "--good", str(tmp_path / "dev.tsv"), "--loss", loss)
        assert len((tmp_path / "out.tsv").read_text().splitlines()) == 40 - low, result.stderr
    # --columns are those of the pairs, not of the good ones.
    lines = (tmp_path / "web.tsv").read_text().splitlines()
    (tmp_path / "wide.tsv").write_text("".join(f"{number}\t{line}\n" for number, line in enumerate(lines)))
    wide = [str(tmp_path / "wide.tsv"), "--columns", "2,3", *options[1:]]
    result = run(models, "filter", *wide, "--good", str(tmp_path / "dev.tsv"), "--loss", "0.1")
    assert result.exit_code == 0, result.exception
    assert len((tmp_path / "out.tsv").read_text().splitlines()) == 36
    for given in ([], ["--threshold", "0", "--good", str(tmp_path / "dev.tsv")]):
        result = run(models, "filter", *options, *given)
        assert isinstance(result.exception, ConfigError)
        assert "give --threshold, or --good" in str(result.exception)


def test_bad_input_is_refused(models: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "short").write_text("a\n")
    (tmp_path / "long").write_text("a\nb\n")
    for files, kind, message in (
        ([str(tmp_path / "short"), str(tmp_path / "long")], DataError, "has 1 lines but"),
        (["-", "-"], ConfigError, "give one file, or a source and its translation"),
        ([str(tmp_path / "long")], DataError, "not 2"),
    ):
        error = run(models, "score", *files).exception
        assert isinstance(error, kind)
        assert message in str(error)


def test_what_most_translations_are_copies_of_is_no_language_to_expect(
    models: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    """Four of five lines are left in English: English is not taken for the language of the translations."""
    left = [(source, source.rsplit(" ", 1)[0]) for source in SENTENCES["en"]] * 5
    good = list(zip(SENTENCES["en"], SENTENCES["de"], strict=True))
    model = load(models["encoder"], device="cpu")
    for languages in ((None, None), ("en", None)):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            found = list(score(model, [*left, *good], languages))
        assert "both sides seem to be in one language" in caplog.text
        assert {one.flag for one in found} == {""}
    named = list(score(model, [*left, *good], ("en", "de")))
    assert [one.flag for one in named] == [UNTRANSLATED] * 20 + [""] * 4


def test_of_a_short_text_the_identifier_guesses(models: dict[str, Path]) -> None:
    model, short = load(models["encoder"], device="cpu"), "the dogs are here"
    texts = [short, short + " and the cats are there"]
    assert len(short) < SHORT <= len(texts[1])
    found = list(score(model, [("Wo sind die Hunde?", text) for text in texts], ("de", "nl")))
    assert [one.flag for one in found] == [OTHER + GUESS, OTHER]


@pytest.mark.parametrize("verb", ["filter", "score"])
@pytest.mark.parametrize("threshold", ["nan", "inf", "1e999"])
def test_a_threshold_that_is_no_number_is_refused(
    verb: str, threshold: str, models: dict[str, Path], tmp_path: Path
) -> None:
    write_tsv(tmp_path / "web.tsv", PAIRS[:2])
    given = [verb, str(tmp_path / "web.tsv"), "--threshold", threshold, "-o", str(tmp_path / "out.tsv")]
    done = CliRunner().invoke(app, [*given, "--model", str(models["plda"])])
    assert done.exit_code == 2
    assert "is not finite" in done.output
    assert not (tmp_path / "out.tsv").exists()


def test_a_model_of_one_language_pair_names_the_languages(models: dict[str, Path]) -> None:
    """All translations are in a third language, which no majority can show."""
    model = load(models["plda"], device="cpu")
    assert model.decomposer is not None
    model.decomposer = replace(model.decomposer, languages=["en", "nl"])
    offered = list(zip(SENTENCES["en"], SENTENCES["de"], strict=True))
    assert [one.flag for one in score(model, offered)] == [OTHER] * 4
    back = [pair[::-1] for pair in zip(SENTENCES["en"], SENTENCES["nl"], strict=True)]
    assert [one.flag for one in score(model, back)] == [""] * 4
    assert [one.flag for one in score(model, offered, ("en", "de"))] == [""] * 4
    model.decomposer = replace(model.decomposer, languages=["de", "en", "nl"])
    assert [one.flag for one in score(model, offered)] == [""] * 4
