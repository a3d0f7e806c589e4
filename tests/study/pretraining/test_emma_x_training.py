"""Training Emma-X on a toy language: gradient flow, candidates, draws, phases, resuming, two processes."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from cut_text import tokens_of
from kills import kill_at_saves
from torch import Tensor, nn
from torch.nn import functional
from toy_training import SETTINGS, history_of, word_for_word, write_folder
from training_process import train_each_together

from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import ConfigError, DataError
from orthoglot.study.pretraining import emma_x_diagnostics as collapse
from orthoglot.study.pretraining.collate import Chunk, TokenBatch
from orthoglot.study.pretraining.emma_x_collate import EmmaXCollator, LimitedRows
from orthoglot.study.pretraining.emma_x_phases import (
    EmmaXBatch,
    EmmaXState,
    ParallelModel,
    TextModel,
    VirtualDraws,
)
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.emma_x import EmmaXSettings
from orthoglot.study.pretraining.objectives.emma_x import ranking_info_nce
from orthoglot.study.pretraining.settings import TrainingSettings
from orthoglot.study.pretraining.tokenised import (
    SPLITS,
    read_bitext,
    read_text,
    text_of_bitext,
    write_bitext,
    write_text,
)
from orthoglot.study.pretraining.trainings import emma_x
from orthoglot.study.pretraining.trainings.emma_x import pretrain_emma_x
from orthoglot.text.bitext import SentencePair

PHASE = {
    "steps": 40,
    "batch_size": 16,
    "learning_rate": 5e-3,
    "classifier_rate": 1e-2,
    "warmup_steps": 5,
    "schedule": "cosine",
    "validate_every": 20,
    "sampling_temperature": 1.0,
    "smoothing": 0.0,
}
EMMA = EmmaXSettings.model_validate(
    SETTINGS.model_dump(include=set(TrainingSettings.model_fields))
    | {
        "kind": "emma-x",
        "ranks": 4,
        "classifier": "mixture",
        "queue": 24,
        "momentum": 0.9,
        "mlm": {"weight": 0.0},
        "parallel": PHASE | {"pairs": {}, "order": "together", "virtual": "paper", "temperature": 0.05},
        "text": PHASE
        | {
            "text": "apart",
            "known_pairs": 0,
            "fixed_classifier": False,
        },
    }
)
# Known pairs alone, as the authors' code has them.
KNOWN = {"text": "none", "batch_size": 0, "known_pairs": 16}
WIDTH = 6


def changed(phase: str = "", **values: Any) -> EmmaXSettings:
    """The settings with other values, of a phase if one is named."""
    if not phase:
        return EMMA.model_copy(update=values)
    return EMMA.model_copy(update={phase: getattr(EMMA, phase).model_copy(update=values)})


class Lookup(nn.Module):
    """An encoder with one vector for each id."""

    def __init__(self, rows: int = 40):
        super().__init__()
        self.table = nn.Embedding(rows, WIDTH)

    def forward(self, ids: Tensor, padded: bool = True) -> Tensor:
        return self.table(ids[:, 0])


def reading(count: int, first: int = 0) -> TokenBatch:
    return TokenBatch((Chunk(torch.arange(first, first + count)[:, None], False),), torch.arange(count))


def contrast(settings: EmmaXSettings = EMMA, **ids: int) -> EmmaXState:
    torch.manual_seed(0)
    return EmmaXState(settings, Lookup(**ids), WIDTH)


def draws(count: int, width: int) -> VirtualDraws:
    """For sources then targets, `count` in all."""
    others = (torch.arange(count) + 1) % count
    return VirtualDraws(others, torch.rand(count, width, generator=torch.Generator().manual_seed(3)))


def run(bitext: list[Path], place: Path, settings: EmmaXSettings = EMMA) -> Path:
    output = place / "encoder"
    output.mkdir(parents=True)
    inputs = Inputs(bitext, tokens=tokens_of(settings, bitext, place))
    pretrain_emma_x(settings, "toy", inputs, RunOptions("cpu", place / "state"), output)
    return output


@pytest.fixture(scope="module")
def trained(bitext: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(bitext, tmp_path_factory.mktemp("trained"))


def gradients(loss: Tensor, module: nn.Module) -> dict[str, Tensor | None]:
    parameters = dict(module.named_parameters())
    wanted = {name: one for name, one in parameters.items() if one.requires_grad}
    found = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True, retain_graph=True)
    return dict(zip(wanted, found, strict=True))


@pytest.mark.parametrize("classifier", ["mixture", "linear"])
def test_x18_each_part_learns_from_its_own_term(classifier: str) -> None:
    settings = changed(classifier=classifier)
    made = contrast(settings)
    text = TextModel(made, settings)
    terms = text(EmmaXBatch(reading(8), (8,)))
    parallel = ParallelModel(made, settings, frozenset({"encoder", "classifier"}))
    more = parallel(EmmaXBatch(reading(8), (4, 4), draws(8, 3)))
    for found, of_encoder in ((terms, "ranking"), (more, "contrastive")):
        for name, gradient in gradients(found[of_encoder], made).items():
            assert (gradient is not None and bool(gradient.any())) == name.startswith("encoder."), name
        by_classifier = gradients(found["classifier"], made)
        assert all(
            gradient is None for name, gradient in by_classifier.items() if name.startswith("encoder.")
        )
        assert any(gradient is not None and gradient.any() for gradient in by_classifier.values())
        torch.testing.assert_close(found["total"], found[of_encoder] + found["classifier"])
    assert not any(parameter.requires_grad for parameter in made.keys.parameters())


def test_the_encoders_gradient_comes_through_the_anchor_alone() -> None:
    """The same as with the candidates made of numbers, though they are vectors of the same sentences."""
    made = contrast()
    pupil = TextModel(made, EMMA).eval()
    made.keys.requires_grad_(True)
    terms, _ = pupil.terms(EmmaXBatch(reading(8), (8,)))
    found = torch.autograd.grad(
        terms["ranking"], [made.encoder.table.weight, made.keys.table.weight], allow_unused=True
    )
    assert found[1] is None
    seen = pupil._compare(EmmaXBatch(reading(8), (8,)))
    candidates = torch.tensor(seen.candidates.tolist())
    ranks = made.classifier.crossed(seen.vectors.detach(), candidates).argmax(dim=0) + 1
    again = ranking_info_nce(seen.vectors @ candidates.T, ranks, pupil.temperatures, seen.valid).sum()
    (expected,) = torch.autograd.grad(again, [made.encoder.table.weight])
    torch.testing.assert_close(found[0], expected)
    assert expected.any()


def test_candidates_are_the_steps_keys_and_the_queue_less_the_own_key() -> None:
    made = contrast()
    made.keys.table.weight.data.mul_(-2)  # so that keys are told from vectors
    pupil = ParallelModel(made, EMMA, frozenset({"encoder"})).eval()
    seen = pupil._compare(EmmaXBatch(reading(6), (3, 3)))
    vectors = functional.normalize(made.encoder.table.weight[:6], dim=1)
    torch.testing.assert_close(seen.candidates, torch.cat([-vectors.detach(), made.queue.vectors]))
    assert seen.valid.sum(dim=1).tolist() == [6 + 24 - 1] * 6
    assert [int(row.logical_not().nonzero()[0, 0]) for row in seen.valid] == [0, 1, 2, 3, 4, 5]
    assert seen.translations is not None
    assert seen.translations.tolist() == [3, 4, 5, 0, 1, 2]
    torch.testing.assert_close(seen.similarity, vectors @ seen.candidates.T)


def test_a_step_of_training_is_remembered_and_validation_is_not() -> None:
    made = contrast()
    pupil = TextModel(made, EMMA)
    before = {name: value.clone() for name, value in made.state_dict().items()}
    pupil.eval()
    pupil.terms(EmmaXBatch(reading(8), (8,)))
    assert all(torch.equal(value, before[name]) for name, value in made.state_dict().items())
    pupil.train()
    pupil(EmmaXBatch(reading(8), (8,)))
    keys = functional.normalize(made.keys.table.weight[:8], dim=1)
    torch.testing.assert_close(made.queue.vectors[:8], keys)
    assert torch.equal(made.queue.vectors[8:], before["queue.vectors"][8:])
    assert not torch.equal(made.scores, before["scores"])


def test_keys_follow_before_they_are_made_and_drop_nothing_out() -> None:
    made = contrast(changed(momentum=0.75))
    made.keys.table.weight.data.zero_()
    made.train()
    assert made.encoder.training
    assert not made.keys.training
    seen = TextModel(made, EMMA).train()._compare(EmmaXBatch(reading(4), (4,)))
    torch.testing.assert_close(made.keys.table.weight, 0.25 * made.encoder.table.weight)
    expected = functional.normalize(made.encoder.table.weight[:4], dim=1)
    torch.testing.assert_close(seen.candidates[:4], expected.detach())


def test_phase_1_by_hand() -> None:
    """Positives, another sentence and virtual examples, each a mean of its own; the ranks' cosines move the scores."""
    made = contrast()
    pupil = ParallelModel(made, EMMA, frozenset({"classifier"})).eval()
    drawn = draws(6, 3)
    terms, vectors = pupil.terms(EmmaXBatch(reading(6), (3, 3), drawn))
    keys = functional.normalize(made.keys.table.weight[:6], dim=1)

    def nll(x: Tensor, y: Tensor, number: int) -> float:
        return -made.classifier.paired(x[None], y[None])[number - 1, 0].item()

    near, far, between = [], [], []
    for i in range(6):
        x, y, other = vectors[i].detach(), keys[(i + 3) % 6], keys[drawn.others[i]]
        near.append(nll(x, y, 1))
        far.append(nll(x, other, 4))
        for share in drawn.shares[i].tolist():
            mixed = (1 - share) * y + share * other
            between.append(nll(x, mixed, int(np.ceil((1 - share) + 4 * share))))
    expected = np.mean(near) + np.mean(far) + np.mean(between)
    assert terms["classifier"].item() == pytest.approx(expected, rel=1e-5)
    assert terms["total"].item() == pytest.approx(expected, rel=1e-5)


def test_phase_1_as_released_by_hand() -> None:
    """Every candidate mixed with the anchor, smoothed by 0.3; the own key and the translation are of rank 1."""
    settings = changed("parallel", virtual="released", smoothing=0.3)
    made = contrast(settings)
    pupil = ParallelModel(made, settings, frozenset({"classifier"})).eval()
    drawn = draws(6, 6 + 24)
    terms, vectors = pupil.terms(EmmaXBatch(reading(6), (3, 3), drawn))
    keys = functional.normalize(made.keys.table.weight[:6], dim=1)
    candidates = torch.cat([keys, made.queue.vectors])
    losses = []
    for i in range(6):
        for k in range(30):
            t = drawn.shares[i, k]
            mixed = (1 - t) * vectors[i].detach() + t * candidates[k]
            number = 1 if k in (i, (i + 3) % 6) else int(4 * t) + 1
            told = made.classifier.paired(vectors[i].detach()[None], mixed[None])[:, 0]
            rest = (told.sum() - told[number - 1]) / 3
            losses.append((-0.7 * told[number - 1] - 0.3 * rest).item())
    assert terms["classifier"].item() == pytest.approx(np.mean(losses), rel=1e-4)


def test_known_translations_are_of_rank_1_for_both() -> None:
    made = contrast()
    told = {}
    for known in (0, 3):
        pupil = TextModel(made, changed("text", known_pairs=known)).eval()
        terms, _ = pupil.terms(EmmaXBatch(reading(8), (3, 3, 2)))
        told[known] = {name: value.item() for name, value in terms.items()}
    valid = 8 * (8 + 24 - 1)
    for who in ("classifier", "encoder"):
        found = told[0][f"{who}_finds"]
        assert found < 1
        assert told[3][f"{who}_finds"] == found
        more = told[3][f"{who}_rank_1"] - told[0][f"{who}_rank_1"]
        assert more == pytest.approx(6 * (1 - found) / valid, abs=1e-6)
    assert told[0]["ranking"] != told[3]["ranking"]
    alone, _ = TextModel(made, EMMA).eval().terms(EmmaXBatch(reading(8), (8,)))
    assert not any(name.endswith("_finds") for name in alone)


def test_candidates_of_three_parts_are_in_their_order_and_translations_are_of_the_first_two() -> None:
    made = contrast()
    seen = TextModel(made, EMMA).eval()._compare(EmmaXBatch(reading(8), (3, 3, 2)))
    assert seen.translations.tolist() == [3, 4, 5, 0, 1, 2]
    assert torch.equal(seen.valid[:, :8], ~torch.eye(8, dtype=torch.bool))
    keys = functional.normalize(made.keys.table.weight[:8], dim=1)
    torch.testing.assert_close(seen.candidates[:8], keys.detach())


def test_shares_of_ranks_add_up_and_the_spread_is_the_variance() -> None:
    made = contrast()
    terms, vectors = TextModel(made, EMMA).eval().terms(EmmaXBatch(reading(9), (9,)))
    for who in ("classifier", "encoder"):
        assert sum(terms[f"{who}_rank_{number}"].item() for number in range(1, 5)) == pytest.approx(1)
    expected = (vectors - vectors.mean(dim=0)).square().sum(dim=1).mean()
    assert terms["spread"].item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_fixed_classifier_stays_and_the_encoder_moves(bitext: list[Path], tmp_path: Path) -> None:
    first = changed("text", steps=0)
    fixed = changed("text", fixed_classifier=True)
    kept: dict[str, EmmaXState] = {}
    real = emma_x.EmmaXState

    for name, settings in (("first", first), ("fixed", fixed), ("full", EMMA)):
        made: list[EmmaXState] = []

        def remembered(*arguments: Any, made: list[EmmaXState] = made) -> EmmaXState:
            made.append(real(*arguments))
            return made[0]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(emma_x, "EmmaXState", remembered)
            run(bitext, tmp_path / name, settings)
        kept[name] = made[0]

    def same(a: str, b: str, part: str) -> bool:
        one, other = (getattr(kept[name], part).state_dict() for name in (a, b))
        return all(torch.equal(one[key], other[key]) for key in one)

    assert same("first", "fixed", "classifier")
    assert not same("first", "full", "classifier")
    assert not same("first", "fixed", "encoder")


def test_both_phases_leave_an_encoder_that_finds_translations(
    trained: Path, bitext: list[Path], tmp_path: Path
) -> None:
    rows = history_of(trained)
    assert [row["phase"] for row in rows] == [1, 1, 2, 2]
    assert [row["epoch"] for row in rows] == [0, 1, 2, 3]
    assert rows[-1]["best"] == 1
    assert rows[1]["valid.retrieval"] > 3 * 100 / 60
    assert rows[1]["valid.contrastive"] < rows[0]["valid.contrastive"]
    known = history_of(run(bitext, tmp_path, changed("text", **KNOWN)))
    assert known[-1]["valid.retrieval"] > 0.8 * known[1]["valid.retrieval"]
    encoder = load_encoder(trained, "cpu")
    assert encoder.languages == ("de", "en")
    card = json.loads((trained / "encoder.json").read_text())
    work = "40 steps of 16 sentence pairs, then 40 steps of 16 sentences without known translations"
    assert (card["training"]["kind"], card["training"]["work"]) == ("emma-x", work)


def test_the_same_settings_give_the_same_bytes_however_often_stopped(
    trained: Path, bitext: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at_saves(monkeypatch, 17, 60)  # within each phase
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(bitext, tmp_path)
        (tmp_path / "encoder").rmdir()
    resumed = run(bitext, tmp_path)
    names = sorted(path.name for path in trained.iterdir())
    assert [name for name in names if (resumed / name).read_bytes() != (trained / name).read_bytes()] == []


@pytest.mark.parametrize(
    "settings",
    [
        changed(classifier="linear", ranks=2),
        changed("parallel", order="apart", virtual="released", smoothing=0.3),
        changed("parallel", order="apart", virtual="released", batch_size=3, schedule="linear"),
        changed("text", **KNOWN, smoothing=0.3),
        changed("text", text="both"),
        changed("text", text="beside"),
        changed(queue=0),
    ],
    ids=["linear", "released", "three-pairs", "pairs", "both", "beside", "no-queue"],
)
def test_every_reading_trains(settings: EmmaXSettings, bitext: list[Path], tmp_path: Path) -> None:
    rows = history_of(run(bitext, tmp_path, settings))
    assert all(np.isfinite(value) for row in rows for value in row.values())
    assert [row["phase"] for row in rows].count(1) == (4 if settings.parallel.order == "apart" else 2)
    assert not (rows[0].get("train.classifier") and settings.parallel.order == "apart")


def parallel(bitext: list[Path], tmp_path: Path, settings: EmmaXSettings) -> EmmaXCollator:
    encoder: Any = SimpleNamespace(
        tokenizer=SimpleNamespace(pad=0, mask=None, before=(), after=()),
        vocabulary=90,
        network=SimpleNamespace(model=None),
    )

    def letters(sentences: Sequence[str], language: str) -> Ragged:
        return Ragged.of([[ord(letter) % 90 for letter in one] for one in sentences])

    for split in SPLITS:
        write_bitext(bitext, split, letters, tmp_path / "tokens")
    corpus = {split: read_bitext(bitext, split, tmp_path / "tokens") for split in SPLITS}
    return EmmaXCollator(settings, bitext, encoder, corpus, torch.device("cpu"))


def test_held_back_pairs_are_seen_neither_in_training_nor_in_validation(tmp_path: Path) -> None:
    rows = word_for_word(60, 0)
    folders = [
        write_folder(tmp_path / pair, {"train": rows[:40], "valid": rows[40:50]})
        for pair in ("en-de", "en-gn")
    ]
    made = parallel(folders, tmp_path, changed("parallel", pairs={"en-gn": 7}))
    assert made.sizes == (40, 7)
    assert made._allowed.rows(np.arange(47)).tolist() == [*range(40), *range(40, 47)]
    assert made.held_out.sizes == (10, 0)
    assert sorted(row for places, _ in made.validation(made.held_out) for row in places) == list(range(10))
    seen = [len(batch.sentences.rows) for batch in made.pairs(made.settings.parallel, False, 0, 0)]
    assert len(seen) == 20
    assert set(seen) <= {30, 32}
    whole = parallel(folders, tmp_path, changed("parallel", pairs={"en-gn": 7, "en-de": 5}))
    assert whole.held_out.sizes == (10, 10)


def test_steps_and_validations_of_one_pair_are_refused(tmp_path: Path) -> None:
    """A step's share of each of many language pairs is rounded down."""
    rows = word_for_word(60, 0)
    folders = [write_folder(tmp_path / "en-de", {"train": rows[:40], "valid": rows[40:41]})]
    with pytest.raises(DataError, match="1 validation pairs: nothing to compare"):
        parallel(folders, tmp_path, EMMA)
    folders = [
        write_folder(tmp_path / pair, {"train": rows[:40], "valid": rows[40:50]})
        for pair in ("en-es", "en-fr", "en-gn", "en-nl", "en-pt")
    ]
    steps = parallel(folders, tmp_path / "more", EMMA)
    phase = EMMA.parallel.model_copy(update={"batch_size": 2, "steps": 3, "validate_every": 3})
    with pytest.raises(DataError, match="a step of 1 sentence pairs: nothing to compare; raise batch_size"):
        list(steps.pairs(phase, False, 0, 0))
    enough = phase.model_copy(update={"batch_size": 5})
    assert [batch.parts for batch in steps.pairs(enough, False, 0, 0)] == [(5, 5)] * 3
    sentences = EMMA.text.model_copy(
        update={"batch_size": 2, "steps": 1, "validate_every": 1, "text": "beside"}
    )
    with pytest.raises(DataError, match="a step of 0 sentences: nothing to compare"):
        list(steps.text(sentences, None, 0, 0))


def test_a_pair_that_is_not_there_is_refused(bitext: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"parallel\.pairs names en-xx; there are en-de"):
        run(bitext, tmp_path, changed("parallel", pairs={"en-xx": 3}))


def test_the_other_sentence_is_neither_the_anchor_nor_its_translation(
    bitext: list[Path], tmp_path: Path
) -> None:
    made = parallel(bitext, tmp_path, EMMA)
    found = np.stack([made._draws("train", 8, number).others.numpy() for number in range(400)])
    assert ((found - np.arange(16)) % 8 != 0).all()
    counts = np.bincount(found[:, 3], minlength=16)
    assert counts[[3, 11]].tolist() == [0, 0]
    assert counts[counts > 0].min() > 10
    assert np.count_nonzero(counts) == 14


def test_text_has_no_translations_unless_asked_for(tmp_path: Path) -> None:
    rows = word_for_word(40, 0)
    twice = [SentencePair(pair.source, f"x{number}") for number, pair in enumerate(rows[:10])]
    folders = [
        write_folder(tmp_path / "en-de", {"train": rows, "valid": rows[:1]}),
        write_folder(tmp_path / "en-gn", {"train": twice, "valid": rows[:1]}),
    ]
    known: list[str] = []

    def tokenise(sentences: Sequence[str], language: str) -> Ragged:
        known.extend(f"{language} {one}" for one in sentences)
        return Ragged.of([[1] * len(one) for one in sentences])

    found = {}
    for apart in (True, False):
        known.clear()
        write_text(text_of_bitext(folders, apart=apart), tokenise, tmp_path / str(apart), folders)
        text = read_text(tmp_path / str(apart))
        assert sum(text.sizes) == len(known) == len(text.sentences.lengths)
        found[apart] = set(known)
        assert len(known) == len(found[apart])
    groups = [{f"en {a}", f"de {b}"} for a, b in rows]
    for group, (_, b) in zip(groups[: len(twice)], twice, strict=True):
        group.add(f"gn {b}")
    assert [len(group & found[True]) for group in groups] == [1] * len(rows)
    languages = {one.split()[0] for one in found[True]}
    assert languages == {"en", "de", "gn"}
    assert found[False] == set().union(*groups)
    write_text(text_of_bitext(folders[::-1], apart=True), tokenise, tmp_path / "turned", folders)
    turned = read_text(tmp_path / "turned")
    assert sum(turned.sizes) == len(rows)


def test_a_collapse_is_told_in_the_log(
    bitext: list[Path], tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collapse, "NEARLY_ONE", 2.0)
    monkeypatch.setattr(collapse, "ERRORS", -100.0)
    with caplog.at_level(logging.WARNING):
        run(bitext, tmp_path)
    assert "toy, text: all vectors are nearly one" in caplog.text
    rows = history_of(tmp_path / "encoder")
    started, ended = max(rows[1:3], key=lambda row: row["valid.retrieval"]), rows[-1]
    told = "fell from {:.1f} % in epoch {:.0f} to {:.1f} % in epoch 3, more than two standard errors"
    values = started["valid.retrieval"], started["epoch"], ended["valid.retrieval"]
    assert f"toy, text: translations found first {told.format(*values)}" in caplog.text


# A vote for a rank is a whole number. In longer trainings rounding alone tips one now and then, and the two part.
FEW_VOTES = {"steps": 2, "validate_every": 1}


def same(alone: Path, both: Path) -> None:
    """Two trainings gave the same encoder and history, but for the order of sums."""
    # Vectors, not weights: a bias of attention's keys changes nothing, and Adam scales its rounding errors up.
    # Of weights that differ by 1e-7, rounding moves vectors by at most 2e-5 of the largest entry.
    text = [pair.source for pair in word_for_word(20, 5)]
    a, b = (load_encoder(folder, "cpu").encode(text, "en", 64) for folder in (alone, both))
    np.testing.assert_allclose(b, a, atol=2e-4 * np.abs(a).max())
    for row, other in zip(history_of(alone), history_of(both), strict=True):
        assert other["valid.total"] == pytest.approx(row["valid.total"], rel=2e-4)
    last = [history_of(folder)[-1] for folder in (alone, both)]
    assert last[1]["valid.score_1"] == pytest.approx(last[0]["valid.score_1"], abs=1e-4)


# What both phases of a training in two processes change; their text divides by two, so that no step is cut.
TOGETHER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "both": ({}, {"text": "both"}),
    "beside": ({}, {"text": "beside", "known_pairs": 4}),
    "released": ({"order": "apart", "virtual": "released"}, KNOWN),
    "fixed": ({}, {"text": "both", "known_pairs": 8, "fixed_classifier": True}),
}


def of_processes(count: int, name: str) -> EmmaXSettings:
    """An entry of `TOGETHER` without dropout, of which each process draws its own; a step has as many rows in all."""
    parallel_phase, text_phase = TOGETHER[name]
    share = {"batch_size": 16 // count}
    shares = {key: text_phase[key] // count for key in ("batch_size", "known_pairs") if key in text_phase}
    short = {"steps": 8, "validate_every": 4}
    return EMMA.model_copy(
        update={
            "network": SETTINGS.network.model_copy(update={"dropout": 0.0, "attention_dropout": 0.0}),
            "processes": count,
            "parallel": EMMA.parallel.model_copy(update=short | share | parallel_phase),
            "text": EMMA.text.model_copy(update=FEW_VOTES | share | text_phase | shares),
        }
    )


@pytest.fixture(scope="module")
def together(bitext: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Encoders that two processes trained, by entry of `TOGETHER`."""
    settings = {name: of_processes(2, name) for name in TOGETHER}
    return train_each_together(settings, bitext, tmp_path_factory.mktemp("together"))


@pytest.mark.parametrize("name", TOGETHER)
def test_two_processes_share_queue_and_scores_and_give_the_training_of_one(
    name: str, together: dict[str, Path], bitext: list[Path], tmp_path: Path
) -> None:
    same(run(bitext, tmp_path, of_processes(1, name)), together[name])


def test_languages_with_few_pairs_are_watched_and_choose_nothing(tmp_path: Path) -> None:
    folders = []
    for seed, pair in enumerate(("en-de", "en-gn")):
        rows = word_for_word(120, seed)
        folders.append(write_folder(tmp_path / pair, {"train": rows[:80], "valid": rows[80:]}))
    settings = changed("parallel", pairs={"en-gn": 7}).model_copy(update={"queue": 0})
    output = tmp_path / "encoder"
    output.mkdir()
    inputs = Inputs(folders, tokens=tokens_of(settings, folders, tmp_path))
    pretrain_emma_x(settings, "toy", inputs, RunOptions("cpu", tmp_path / "state"), output)
    epochs = history_of(output)
    assert all(0 <= row["valid.retrieval_of_few"] <= 100 for row in epochs)
    assert any(row["valid.retrieval_of_few"] != row["valid.retrieval"] for row in epochs)
    made = parallel(folders, tmp_path / "more", settings)
    watched = sorted(
        row for places, _ in made.validation(made.held_back) for row in made.held_back.rows(places)
    )
    first, second = made.corpus["valid"].sizes
    assert watched == list(range(first, first + second))


@pytest.mark.parametrize(
    ("phase", "values", "message"),
    [
        ("text", {"text": "none"}, "text none with a batch_size of 16: none goes with 0"),
        ("text", {"text": "beside", "batch_size": 7}, "its sentences come by twos"),
        ("text", {"batch_size": 0}, "text apart with a batch_size of 0"),
        (
            "text",
            {"text": "none", "batch_size": 0, "known_pairs": 1},
            "needs two sentences or two known pairs",
        ),
        ("text", {"smoothing": 0.75}, r"text\.smoothing of 4 ranks must be below 0\.75"),
        ("parallel", {"smoothing": 0.8}, r"parallel\.smoothing of 4 ranks"),
        ("", {"momentum": 1.0}, "less than 1"),
        ("", {"mlm": {"weight": 1.0}}, "a new network has no head"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(phase: str, values: dict[str, Any], message: str) -> None:
    whole = EMMA.model_dump()
    (whole[phase] if phase else whole).update(values)
    with pytest.raises(ValueError, match=message):
        EmmaXSettings.model_validate(whole)


def test_pairs_beside_each_other_are_all_there_and_not_told(tmp_path: Path) -> None:
    """Limits are on what is known; a step has both sides, and counts who finds them."""
    rows = word_for_word(60, 0)
    folders = [write_folder(tmp_path / "en-gn", {"train": rows[:40], "valid": rows[40:]})]
    settings = changed("parallel", pairs={"en-gn": 5})
    phase = settings.text.model_copy(
        update={"text": "beside", "batch_size": 8, "steps": 10, "validate_every": 10}
    )
    made = parallel(folders, tmp_path, settings)
    batches = list(made.text(phase, None, 0, 0))
    assert {batch.parts for batch in batches} == {(4, 4)}
    seen = {tuple(row.tolist()) for batch in batches for row in _sentences(batch)}
    source, target = (
        side.take(np.arange(40)) for side in (made.corpus["train"].source, made.corpus["train"].target)
    )
    every = {
        tuple(side.ids[a:b].tolist())
        for side in (source, target)
        for a, b in itertools.pairwise(side.offsets)
    }
    assert seen == every
    told, _ = TextModel(contrast(rows=100), settings).eval().terms(batches[0])
    assert "classifier_finds" in told
    known = made.text(phase.model_copy(update={"known_pairs": 2}), None, 0, 0)
    assert {batch.parts for batch in known} == {(2, 2, 4, 4)}


def test_limits_leave_the_first_rows_of_each_group() -> None:
    limited = LimitedRows([4, 0, 5, 3], [2, None, None, 0])
    assert limited.sizes == (2, 0, 5, 0)
    assert limited.rows(np.array([6, 0, 1, 2])).tolist() == [8, 0, 1, 4]


def test_known_pairs_are_not_those_that_lie_beside_them(tmp_path: Path) -> None:
    """Both are drawn from the same pairs, each by draws of its own."""
    rows = word_for_word(400, 0)
    folders = [write_folder(tmp_path / "en-de", {"train": rows[:360], "valid": rows[360:]})]
    made = parallel(folders, tmp_path, EMMA)
    values = {"text": "beside", "batch_size": 16, "known_pairs": 8, "steps": 20, "validate_every": 20}
    shared = 0
    for batch in made.text(EMMA.text.model_copy(update=values), None, 0, 0):
        sources = [tuple(row.tolist()) for row in _in_order(batch)]
        shared += len({*sources[:8]} & {*sources[16:24]})
    assert shared < 20 * 2  # by chance 8 * 8 / 360 in each


def _in_order(batch: EmmaXBatch) -> list[Tensor]:
    every = _sentences(batch)
    return [every[place] for place in batch.sentences.rows.tolist()]


def _sentences(batch: EmmaXBatch) -> list[Tensor]:
    return [row[row != 0] for chunk in batch.sentences.chunks for row in chunk.ids]


def test_an_encoder_that_does_not_learn_reads_as_at_use_and_its_keys_stay() -> None:
    made = contrast(EMMA)
    made.encoder.table.weight.data.add_(1.0)
    before = made.keys.table.weight.clone()
    pupil = ParallelModel(made, EMMA, frozenset({"classifier"})).train()
    pupil(EmmaXBatch(reading(8), (4, 4), draws(8, 3)))
    assert not made.encoder.training
    assert not made.keys.training
    assert made.classifier.training
    torch.testing.assert_close(made.keys.table.weight, before)
