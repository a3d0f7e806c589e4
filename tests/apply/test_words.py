"""Words without a counterpart, and the quality that they give a translation."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checkpoints import bert, pretrained, xlmr
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
from small_checkpoint import make_pairs, write_checkpoint, write_tsv
from typer.testing import CliRunner

import orthoglot
from orthoglot import load
from orthoglot.apply import words
from orthoglot.apply.score import score
from orthoglot.apply.scored import COPY, Words
from orthoglot.apply.words import Limits, Match, compare, limits, match, tokens, without_counterpart
from orthoglot.cli import app
from orthoglot.decomposers.base import unit
from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.kinds.sentence_transformers import SentenceTransformersSettings
from orthoglot.encoders.pretrained import PretrainedEncoder
from orthoglot.encoders.sentence_transformer import link_sentence_transformers
from orthoglot.encoders.token_states import Pieces
from orthoglot.encoders.tokenization import TextTokenizer
from orthoglot.errors import ConfigError

PAIRS = make_pairs(60, seed=5)


def test_quality_is_what_its_formula_says() -> None:
    found = Match(np.array([0.1, 0.5]), np.array([0.2]))
    worst = ((0.1**8 + 0.5**8) / 2) ** (1 / 8)
    assert found.quality(0.6) == pytest.approx((0.6 + 1 - (worst + 0.2) / 2) / 2)
    # Everything as near as can be, and as far.
    assert Match(np.zeros(3), np.zeros(2)).quality(1) == 1
    assert Match(np.full(3, 2.0), np.full(2, 2.0)).quality(-1) == pytest.approx(-1)


def test_a_worse_match_lowers_the_quality_more_than_many_good_ones_raise_it() -> None:
    even, one_bad = Match(np.full(10, 0.2), np.zeros(1)), Match(np.r_[np.full(9, 0.1), 0.9], np.zeros(1))
    assert one_bad.source.mean() < even.source.mean()
    assert one_bad.quality(0.5) < even.quality(0.5)


def test_distances_are_those_of_the_nearest_token_of_the_other_side() -> None:
    draw = np.random.default_rng(1)
    source, target = (unit(draw.standard_normal((n, 5))) for n in (4, 7))
    found = match(source, target)
    np.testing.assert_allclose(found.source, [1 - max(float(a @ b) for b in target) for a in source])
    np.testing.assert_allclose(found.target, [1 - max(float(a @ b) for a in source) for b in target])


def test_the_limit_is_that_of_the_better_half_of_pairs() -> None:
    good = [Match(np.full(4, n / 100), np.full(2, n / 50)) for n in range(1, 11)]
    bad = [Match(np.full(4, 1.5), np.full(2, 1.5)) for _ in range(10)]
    assert limits((bad + good)[1:]) == Limits(np.inf, np.inf)  # 19 pairs
    found = limits(bad + good)
    assert found == pytest.approx(
        Limits(*(np.quantile(np.concatenate([one[side] for one in good]), 0.95) for side in (0, 1)))
    )


@pytest.mark.parametrize(
    ("text", "tokens", "distances", "said"),
    [
        ("a well-known man", ["a", " well", "-", "known", " man"], [0, 0, 0, 1, 0], "well-known"),
        ("one two three", ["one", " two", " three"], [1, 0, 1], "one three"),
        ("Ende.", ["End", "e", "."], [0, 0, 1], "."),
        ("don't go", ["don", "'", "t", " go"], [0, 0, 1, 0], "don't"),
        # No spaces between words: tokens are shown, and those side by side together.
        ("今天天气好", ["今天", "天气", "好"], [0, 1, 1], "天气好"),
        ("ใน Bonn", ["ใ", "น", " Bonn"], [1, 0, 0], "ใ"),
        ("all found", ["all", " found"], [0, 0], ""),
    ],
)
def test_a_word_is_shown_whole_where_words_have_spaces(
    text: str, tokens: list[str], distances: list[float], said: str
) -> None:
    ends = np.cumsum([len(one) for one in tokens])
    spans = np.stack([ends - [len(one) for one in tokens], ends], axis=1)
    assert text == "".join(tokens)
    assert without_counterpart(text, spans, np.array(distances), 0.5) == said


def folder(where: Path, kind: str, prefix: str = "", *further: Any, network: Any = xlmr) -> Path:
    """An encoder's folder, of a checkpoint or of a model of sentence-transformers."""
    place = where / "encoder"
    place.mkdir()
    checkpoint = network(where / "checkpoint")
    if kind == "pretrained":
        link(pretrained(checkpoint, prefix=prefix), "tiny", place)
        return place
    modules = [Transformer(str(checkpoint)), Pooling(8, pooling_mode="mean"), *further]
    SentenceTransformer(modules=modules, device="cpu").save(str(where / "model"), create_model_card=False)
    settings = {"kind": kind, "checkpoint": str(where / "model"), "revision": "", "licence": "none"}
    given = SentenceTransformersSettings.model_validate(settings | {"max_tokens": 8, "prefix": prefix})
    link_sentence_transformers(given, "tiny", place)
    return place


@pytest.mark.parametrize("network", [xlmr, bert])
@pytest.mark.parametrize("prefix", ["", "query "])
@pytest.mark.parametrize("kind", ["pretrained", "sentence-transformers"])
def test_pieces_are_the_tokens_of_the_sentence_alone(
    tmp_path: Path, kind: str, prefix: str, network: Callable[[Path], Path]
) -> None:
    encoder = load_encoder(folder(tmp_path, kind, prefix, network=network), "cpu", "float32")
    sentences = ["the cat sat", "mat", "on the mat the cat sat on a mat"]
    found = encoder.pieces(sentences, "", 64)
    words = [
        [text[first:last].strip() for first, last in one.spans]
        for text, one in zip(sentences, found, strict=True)
    ]
    # Of 8 tokens, two are the network's, and one the prefix.
    assert words == [["the", "cat", "sat"], ["mat"], sentences[2].split()[: 6 - bool(prefix)]]
    assert [one.cut for one in found] == [False, False, True]
    np.testing.assert_allclose([one.vector for one in found], encoder.encode(sentences, "", 64), atol=1e-6)
    # One at a time, with its own padding: the same states.
    for sentence, one in zip(sentences, found, strict=True):
        (alone,) = encoder.pieces([sentence], "", 64)
        np.testing.assert_allclose(one.states, alone.states, atol=1e-5)
        assert one.states.shape == (len(one.spans), encoder.dim)
    if isinstance(encoder, PretrainedEncoder) and not prefix:
        # The vector is the mean of these states and of the network's own two tokens.
        tokens = encoder.tokens(sentences[:1], "")
        states = encoder.model(encoder.padded(tokens, np.arange(1))).last_hidden_state[0].detach().numpy()
        np.testing.assert_allclose(found[0].states, states[1:-1], atol=1e-6)


def test_a_first_token_that_begins_with_the_space_of_the_prefix_is_of_the_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load_encoder(folder(tmp_path, "pretrained", "query "), "cpu", "float32")
    own = encoder.tokenizer.spans
    # As the tokenizer of XLM-R has it: a token begins with the space before it.
    monkeypatch.setattr(
        type(encoder.tokenizer), "spans", lambda _, texts: [(one - [1, 0]).clip(min=0) for one in own(texts)]
    )
    (found,) = encoder.pieces(["the cat"], "", 64)
    assert found.spans.tolist() == [[0, 3], [3, 7]]


def test_encoders_without_such_tokens_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "encoder").mkdir()
    link(pretrained(xlmr(tmp_path / "xlmr"), pooling="cls"), "tiny", tmp_path / "encoder")
    pairs = [("the cat", "a mat")]
    with pytest.raises(ConfigError, match="tiny: its vector is not the mean of its tokens"):
        list(score(load(tmp_path / "encoder", device="cpu"), pairs, words=True))
    (tmp_path / "other").mkdir()
    dense = folder(tmp_path / "other", "sentence-transformers", "", Dense(8, 4))
    with pytest.raises(ConfigError, match="tiny: its vector is not the mean of its tokens"):
        list(score(load(dense, device="cpu"), pairs, words=True))
    (tmp_path / "slow").mkdir()
    slow = load(folder(tmp_path / "slow", "pretrained"), device="cpu")
    # As of words by Moses' rules.
    monkeypatch.setattr(type(slow.encoder.tokenizer), "spans", TextTokenizer.spans)
    with pytest.raises(ConfigError, match="tiny: its tokenizer does not say where its tokens are"):
        list(score(slow, pairs, words=True))
    model = load(dense, device="cpu")
    monkeypatch.setattr(model, "encoder", SimpleNamespace(name="use"))
    with pytest.raises(
        ConfigError, match="words cannot be compared: encoder use gives vectors of sentences alone"
    ):
        list(score(model, pairs, words=True))


def test_words_leave_scores_and_flags_as_they_are_and_show_what_has_no_counterpart(
    models: dict[str, Path],
) -> None:
    model = load(models["plda"], device="cpu")
    # The fourth word of the first translation is one that its source has not.
    words = PAIRS[0][1].split()
    other = next(f"b{n:02}" for n in range(80) if f"b{n:02}" not in words)
    changed = (PAIRS[0][0], " ".join([*words[:3], other, *words[4:]]))
    pairs = [changed, *PAIRS[1:], (PAIRS[0][0], PAIRS[0][0]), ("", "b01")]
    plain = list(score(model, pairs, identify=False))
    found = list(score(model, pairs, identify=False, words=True))
    assert [one[:2] for one in found] == [(pytest.approx(one.score, abs=1e-5), one.flag) for one in plain]
    assert all(one.words is None for one in plain)
    assert found[-1].words is None  # a blank line
    assert found[-2].flag == COPY
    assert found[-2].words.quality == -1
    assert other in found[0].words.target.split()
    assert PAIRS[0][0].split()[3] in found[0].words.source.split()
    # Few words of good translations are shown, and the changed one is worse than most.
    shown = [len(one.words.target.split()) for one in found[1:60]]
    assert np.mean(shown) < 1
    assert found[0].words.quality < np.median([one.words.quality for one in found[1:60]])
    # An encoder alone compares its own tokens, and blocks change nothing but the limit.
    alone = load(models["encoder"], device="cpu")
    first, second = (
        [one.words.quality for one in score(alone, PAIRS, identify=False, words=True, block=block)]
        for block in (7, 4096)
    )
    np.testing.assert_allclose(first, second, atol=1e-5)


def test_the_limit_is_learnt_from_the_first_block(models: dict[str, Path]) -> None:
    model = load(models["plda"], device="cpu")
    wrong = [(PAIRS[n][0], PAIRS[n + 1][1]) for n in range(30)]
    found = list(score(model, PAIRS[:30] + wrong, identify=False, words=True, block=30))
    shown = [len(one.words.source.split()) for one in found]
    assert np.mean(shown[30:]) > 3 > 1 > np.mean(shown[:30])


def test_copies_and_repeated_pairs_do_not_lower_the_limit(models: dict[str, Path]) -> None:
    model = load(models["plda"], device="cpu")
    copies = [(pair[0], pair[0]) for pair in PAIRS[:40]]
    easy = min(
        zip(score(model, PAIRS, words=True, identify=False), PAIRS, strict=True),
        key=lambda one: -one[0].score,
    )

    def shown(further: list[tuple[str, str]]) -> list[str]:
        found = list(score(model, PAIRS + further, words=True, identify=False))
        return [one.words.target for one in found[: len(PAIRS)]]

    assert shown(copies) == shown([easy[1]] * 60) == shown([])


def test_few_pairs_show_no_words_and_say_so(
    models: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    model = load(models["plda"], device="cpu")
    found = list(score(model, PAIRS[:19], words=True, identify=False))
    assert {(one.words.source, one.words.target) for one in found} == {("", "")}
    assert all(-1 < one.words.quality < 1 for one in found)
    assert "shown from 20 different pairs on" in caplog.text


def test_a_pair_that_is_cut_or_without_tokens_has_no_quality(models: dict[str, Path]) -> None:
    model = load(models["plda"], device="cpu")
    # 20 tokens, two of which are the network's.
    longest, longer = (" ".join(["a01 a02"] * n) for n in (9, 10))
    found = list(
        score(model, [*PAIRS, (longest, "b01"), (longer, "b01"), ("a01", longer)], words=True, identify=False)
    )
    assert found[60].words.quality is not None
    assert [one.words for one in found[61:]] == [Words()] * 2
    assert all(one.score is not None for one in found)
    nothing = Pieces(
        np.zeros((0, 2), dtype=int), np.zeros((0, 32), dtype=np.float32), np.ones(32, np.float32), False
    )
    some = model.encoder.pieces(["a01 a02"], "en", 64)
    _, (one,) = compare(model, ([nothing], some), (None, None))
    assert one.words(["\x07", "a01 a02"], 0.5, Limits(0, 0), least=False) == Words()


@pytest.mark.parametrize("kind", ["pretrained", "sentence-transformers"])
def test_words_of_a_language_that_the_encoder_does_not_cover_are_refused(tmp_path: Path, kind: str) -> None:
    place = folder(tmp_path, kind)
    card = json.loads((place / "encoder.json").read_text())
    (place / "encoder.json").write_text(json.dumps(card | {"languages": ["en"]}))
    encoder = load_encoder(place, "cpu", "float32")
    assert len(encoder.pieces(["the cat"], "en", 64)) == 1
    with pytest.raises(ConfigError, match="does not cover language 'de'"):
        encoder.pieces(["the cat"], "de", 64)


def test_the_states_of_many_tokens_are_split_some_at_once(
    models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(models["plda"], device="cpu")
    read = model.encoder.pieces([pair[0] for pair in PAIRS], "en", 64)
    whole = tokens(model, read, None, None)
    sizes: list[int] = []
    split = model.split
    monkeypatch.setattr(
        model, "split", lambda states, *given: (sizes.append(len(states)), split(states, *given))[1]
    )
    monkeypatch.setattr(words, "AT_ONCE", 20)
    for one, other in zip(whole, tokens(model, read, None, None), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert len(sizes) > 10
    assert sum(sizes) == sum(len(one.states) for one in read)


def test_sentences_and_tokens_are_compared_by_their_meaning(models: dict[str, Path]) -> None:
    model = load(models["plda"], device="cpu")
    (found,) = score(model, PAIRS[3:4], identify=False, words=True)
    sides = [model.encoder.pieces([sentence], "", 64)[0] for sentence in PAIRS[3]]
    x, y = (unit(model.split(side.vector[None]).meaning)[0] for side in sides)
    source, target = (unit(model.split(side.states).meaning) for side in sides)
    cosines = np.array([[float(a @ b) for b in target] for a in source])
    worst = [np.mean((1 - cosines.max(axis=axis)) ** 8) ** (1 / 8) for axis in (1, 0)]
    assert found.words.quality == pytest.approx((x @ y + 1 - sum(worst) / 2) / 2, abs=1e-5)


@pytest.mark.parametrize("words_too", [False, True])
def test_each_side_is_split_with_its_language_and_that_of_the_other(
    models: dict[str, Path], monkeypatch: pytest.MonkeyPatch, words_too: bool
) -> None:
    model = load(models["plda"], device="cpu")
    split, given = model.split, []
    monkeypatch.setattr(model, "split", lambda vectors, *ways: (given.append(ways), split(vectors, *ways))[1])
    list(score(model, PAIRS[:3], ("en", "gn"), identify=False, words=words_too))
    assert given == [("en", "gn"), ("gn", "en")] * (1 + words_too)


def test_lists_have_the_same_words(models: dict[str, Path]) -> None:
    model = load(models["plda"], device="cpu")
    sides = [[pair[side] for pair in PAIRS] for side in (0, 1)]
    found = orthoglot.score(*sides, model, words=True)
    assert found.words == [one.words for one in score(model, PAIRS, words=True)]
    assert orthoglot.score(*sides, model).words == [None] * len(PAIRS)


def test_the_command_adds_three_columns(models: dict[str, Path], tmp_path: Path) -> None:
    file, output = write_tsv(tmp_path / "pairs.tsv", [*PAIRS[:8], ("a01", "")]), tmp_path / "scores.tsv"
    given = ["score", str(file), "-o", str(output), "--model", str(models["plda"]), "--words"]
    done = CliRunner().invoke(app, [*given, "--no-identify"])
    assert done.exit_code == 0, done.output
    with output.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    assert [*rows[0]] == ["source", "target", "score", "flag", "quality", "source_words", "target_words"]
    assert all(-1 <= float(row["quality"]) <= 1 for row in rows[:8])
    again = CliRunner().invoke(app, ["score", str(output), *given[2:-1], "--no-identify"])
    assert again.exit_code == 0, again.output
    assert output.read_text().splitlines()[0] == "source\ttarget\tscore\tflag"
    assert rows[8] == dict.fromkeys(rows[0], "") | {"source": "a01", "flag": "blank"}


def test_a_state_that_is_not_finite_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "encoder").mkdir()
    link(pretrained(write_checkpoint(tmp_path / "xlmr")), "tiny", tmp_path / "encoder")
    model = load(tmp_path / "encoder", device="cpu")
    network = type(model.encoder)._states
    monkeypatch.setattr(
        type(model.encoder), "_states", lambda *given: ((out := network(*given))[0] * np.inf, out[1])
    )
    with pytest.raises(Exception, match="not finite"):
        list(score(model, [("a01 a02", "b01 b02")], identify=False, words=True))
