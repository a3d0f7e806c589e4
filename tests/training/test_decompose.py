"""Training decomposers: the known answer of a synthetic world, MEAT's two updates, files in and out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from synthetic_world import World, make_world
from torch import Tensor

from orthoglot.corpora.bitext import SentencePair, write_pairs
from orthoglot.decomposers.base import Decomposer, Parts, load_decomposer
from orthoglot.decomposers.linear import TwoHead
from orthoglot.embeddings.store import DIGESTS, META, ROWS, VECTORS, digests_of, index_digest
from orthoglot.errors import ConfigError, DataError
from orthoglot.objectives.base import Objective, Pairs
from orthoglot.streams import stream
from orthoglot.training import loop
from orthoglot.training.batching import Batch, batches, pairs_of
from orthoglot.training.decompose import center, decompose, train, updates_of
from orthoglot.training.settings import DecompositionSettings, MethodSettings

CPU = torch.device("cpu")
DREAM = ["dream.reconstruction", "dream.meaning", "dream.language", "dream.identification"]
MEAT = ["meat.reconstruction", "meat.cross_reconstruction", "meat.language", "meat.adversarial"]
ORACLE = ["oracle.intra_class", "oracle.inter_class"]
SEED = ["seed.meaning", "seed.language", "seed.separation", "seed.language_swap", "seed.meaning_swap"]
ALONE = ["oracle.intra_class_released", "oracle.alignment", "oracle.inter_class_old"]


@pytest.fixture(scope="module")
def world() -> World:
    return make_world()


def method(architecture: str, partners: str, terms: list[str]) -> MethodSettings:
    return MethodSettings.model_validate(
        {"architecture": architecture, "partners": partners, "terms": dict.fromkeys(terms, 1.0)}
    )


def recipe(learning_rate: float = 1e-2, epochs: int = 50) -> DecompositionSettings:
    return DecompositionSettings(learning_rate=learning_rate, batch_size=256, max_epochs=epochs, patience=10)


def wrap(chosen: MethodSettings, weights: dict[str, np.ndarray], dim: int) -> Decomposer:
    return Decomposer(chosen.architecture, "m", "e", "i", ["qaa", "qab", "qac"], dim, weights, {})


def parts_of(decomposer: Decomposer, world: World) -> tuple[Parts, Parts]:
    names = [decomposer.languages[k] for k in world.target_language.tolist()]
    return (
        decomposer.transform(world.source.numpy(), "qaa"),
        decomposer.transform(world.target.numpy(), names),
    )


def retrieval(source: np.ndarray, target: np.ndarray) -> float:
    """Share of sentences whose nearest neighbour among all others of all languages is their translation."""
    pool = torch.nn.functional.normalize(torch.from_numpy(np.concatenate([source, target])), dim=1)
    similarity = (pool @ pool.T).fill_diagonal_(-2)
    n = len(source)
    wanted = (torch.arange(2 * n) + n) % (2 * n)
    return (similarity.argmax(dim=1) == wanted).float().mean().item()


def probe(source: np.ndarray, target: np.ndarray, target_language: Tensor) -> float:
    """Accuracy of the nearest language mean, on rows that the means do not hold; chance is 1/3 to 1/2."""
    rows = torch.nn.functional.normalize(torch.from_numpy(np.concatenate([source, target])), dim=1)
    language = torch.cat([torch.zeros_like(target_language), target_language])
    known = torch.arange(len(rows)) // 2 % 2 == 0
    means = torch.stack([rows[known & (language == k)].mean(dim=0) for k in range(3)])
    return (torch.cdist(rows[~known], means).argmin(dim=1) == language[~known]).float().mean().item()


CASES = [
    pytest.param(method("two_head", "dream", DREAM), 1e-2, 0.5, id="dream"),
    pytest.param(method("two_head", "dream", DREAM + ORACLE), 1e-2, 0.6, id="dream+oracle"),
    pytest.param(method("two_head", "none", MEAT), 3e-3, 0.6, id="meat"),
    # ORACLE's terms compete with the discriminator: part of the language is left after so few epochs
    pytest.param(method("two_head", "none", MEAT + ORACLE), 3e-3, 0.9, id="meat+oracle"),
    pytest.param(method("two_head", "none", ALONE), 1e-2, 0.5, id="oracle"),
    pytest.param(method("residual", "same_language", SEED), 1e-2, 0.5, id="seed"),
]


def test_raw_vectors_know_the_language_and_not_the_translation(world: World) -> None:
    source, target = world.source.numpy(), world.target.numpy()
    assert retrieval(source, target) == 0
    assert probe(source, target, world.target_language) == 1


@pytest.mark.parametrize(("chosen", "learning_rate", "language_left"), CASES)
def test_known_answer(
    world: World, chosen: MethodSettings, learning_rate: float, language_left: float
) -> None:
    weights, _ = train(chosen, recipe(learning_rate), "m", world.data, seed=1, device=CPU, checkpoint=None)
    source, target = parts_of(wrap(chosen, weights, 32), world)
    assert retrieval(source.meaning, target.meaning) > 0.9
    assert retrieval(source.language, target.language) < 0.05
    assert probe(source.meaning, target.meaning, world.target_language) < language_left
    assert probe(source.language, target.language, world.target_language) > 0.7


def test_known_answer_of_centering(world: World) -> None:
    chosen = method("centering", "none", [])
    source, target = parts_of(wrap(chosen, center(world.data), 32), world)
    assert retrieval(source.meaning, target.meaning) > 0.9
    assert probe(source.meaning, target.meaning, world.target_language) < 0.5
    assert probe(source.language, target.language, world.target_language) == 1


def test_without_the_terms_on_meaning_there_is_no_answer(world: World) -> None:
    """The known answer is the terms' doing: reconstruction and identification alone leave all as it was."""
    chosen = method("two_head", "none", ["dream.reconstruction", "dream.identification"])
    weights, _ = train(chosen, recipe(epochs=20), "m", world.data, seed=1, device=CPU, checkpoint=None)
    source, target = parts_of(wrap(chosen, weights, 32), world)
    assert retrieval(source.meaning, target.meaning) < 0.1
    assert probe(source.meaning, target.meaning, world.target_language) > 0.9


def one_batch(world: World) -> Batch:
    return next(
        batches(
            world.data.train,
            "none",
            batch_size=64,
            drop_last=True,
            order=stream(0),
            partners=stream(0),
            device=CPU,
        )
    )


def test_m10_each_meat_update_leaves_the_others_parameters_bit_identical(world: World) -> None:
    maps = TwoHead(32, stream(0))
    objective = Objective(dict.fromkeys(MEAT, 1.0), dim=32, n_languages=3, generator=stream(1))

    def pairs(batch: Batch) -> Pairs:
        return pairs_of(maps, world.data.vectors, batch, 3)

    updates = updates_of(maps, objective, pairs, 1e-2)
    assert [update.name for update in updates] == ["discriminator", "maps"]
    theirs = [tensor for opponent in objective.opponents() for tensor in opponent.parameters()]
    ours = list(maps.parameters())
    for update, moving, resting in ((updates[0], theirs, ours), (updates[1], ours, theirs)):
        before = [[tensor.detach().clone() for tensor in group] for group in (moving, resting)]
        values = update.loss(one_batch(world))
        update.optimizer.zero_grad()
        values["total"].backward()
        update.optimizer.step()
        assert not any(torch.equal(a, b) for a, b in zip(moving, before[0], strict=True))
        assert all(torch.equal(a, b) for a, b in zip(resting, before[1], strict=True))


def test_dream_head_is_trained_with_the_maps() -> None:
    objective = Objective(dict.fromkeys(DREAM, 1.0), dim=4, n_languages=3, generator=stream(1))
    assert [tuple(tensor.shape) for tensor in objective.heads()] == [(3, 4), (3,)]
    assert objective.opponents() == []


def test_same_seed_same_weights_and_validation_partners_stay(world: World) -> None:
    chosen = method("residual", "same_language", SEED)
    first, history = train(chosen, recipe(1e-30, 2), "m", world.data, seed=1, device=CPU, checkpoint=None)
    # nothing moves at this rate: equal values in both epochs mean equal validation partners
    assert history[0]["valid.total"] == history[1]["valid.total"]
    assert history[0]["train.total"] != history[1]["train.total"]
    again, _ = train(chosen, recipe(1e-30, 2), "m", world.data, seed=1, device=CPU, checkpoint=None)
    other, _ = train(chosen, recipe(1e-30, 2), "m", world.data, seed=2, device=CPU, checkpoint=None)
    assert np.array_equal(first["meaning.weight"], again["meaning.weight"])
    assert not np.array_equal(first["meaning.weight"], other["meaning.weight"])


def test_resumed_training_equals_the_uninterrupted_one(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both optimisers of MEAT and the best state survive."""
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
    chosen = method("two_head", "none", MEAT)
    whole, history = train(chosen, recipe(epochs=5), "m", world.data, seed=1, device=CPU, checkpoint=None)
    train(chosen, recipe(epochs=3), "m", world.data, seed=1, device=CPU, checkpoint=tmp_path)
    resumed, again = train(chosen, recipe(epochs=5), "m", world.data, seed=1, device=CPU, checkpoint=tmp_path)
    assert again == history
    for name, weight in whole.items():
        assert np.array_equal(weight, resumed[name])


# --- files in, files out ---


def folders(root: Path, valid: int = 20) -> tuple[Path, Path]:
    """A prepared pair qaa-qab and a store of its sentences; the test split has no vectors."""
    pair = root / "bitext" / "qaa-qab"
    pair.mkdir(parents=True)
    sizes = {"train": 60, "valid": valid, "test": 5}
    sentences: dict[str, list[str]] = {"qaa": [], "qab": []}
    for split, n in sizes.items():
        pairs = [SentencePair(f"{split} source {i}", f"{split} target {i}") for i in range(n)]
        if n:
            write_pairs(pair / f"{split}.tsv.gz", pairs)
        if split != "test":
            sentences["qaa"] += [pair.source for pair in pairs]
            sentences["qab"] += [pair.target for pair in pairs]
    (pair / "counts.json").write_text(json.dumps({"kept": sizes}))
    store = root / "store"
    store.mkdir()
    digests = np.concatenate([digests_of(texts, language) for language, texts in sentences.items()])
    rows = np.argsort(digests)
    vectors = torch.randn(len(rows), 8, generator=stream(0)).numpy()
    vectors[60 + valid :] += 3
    np.save(store / VECTORS, vectors)
    np.save(store / DIGESTS, digests[rows])
    np.save(store / ROWS, rows)
    index = index_digest(digests[rows], rows)
    meta = {"encoder": "toy", "identity": "abc", "dim": 8, "n": len(rows), "index": index}
    (store / META).write_text(json.dumps(meta))
    return pair, store


def run(root: Path, chosen: MethodSettings, name: str, *, valid: int = 20, train_pairs: int = 1000) -> Path:
    pair, store = folders(root, valid)
    output = root / "output"
    output.mkdir()
    decompose(
        chosen,
        None if chosen.architecture == "centering" else recipe(epochs=2),
        name,
        store,
        [pair],
        seed=1,
        train_pairs=train_pairs,
        device="cpu",
        checkpoint=root / "checkpoint",
        output=output,
    )
    return output


def test_files_of_a_trained_method(tmp_path: Path) -> None:
    output = run(tmp_path / "a", method("two_head", "dream", DREAM + ORACLE), "dream+oracle", train_pairs=50)
    assert sorted(path.name for path in output.iterdir()) == [
        "decomposer.json",
        "history.jsonl",
        "weights.safetensors",
    ]
    lines = [json.loads(line) for line in (output / "history.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [0, 1]
    assert {f"{split}.{term}" for split in ("train", "valid") for term in [*DREAM, "total"]} <= set(lines[0])
    loaded = load_decomposer(output)
    assert (loaded.method, loaded.encoder, loaded.identity) == ("dream+oracle", "toy", "abc")
    assert (loaded.languages, loaded.dim, loaded.details["train_pairs"]) == (["qaa", "qab"], 8, 50)
    again = run(tmp_path / "b", method("two_head", "dream", DREAM + ORACLE), "dream+oracle", train_pairs=50)
    for path in output.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


def test_s10_centering_from_files_has_zero_means(tmp_path: Path) -> None:
    output = run(tmp_path, method("centering", "none", []), "centering")
    assert (output / "history.jsonl").read_text() == ""
    vectors = np.load(tmp_path / "store" / VECTORS)
    loaded = load_decomposer(output)
    assert np.abs(loaded.transform(vectors[:60], "qaa").meaning.mean(axis=0)).max() < 1e-6
    assert np.abs(loaded.transform(vectors[80:140], "qab").meaning.mean(axis=0)).max() < 1e-6


def test_methods_that_cannot_be_trained_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'original' has nothing to train"):
        run(tmp_path / "a", method("original", "none", []), "original")
    with pytest.raises(ConfigError, match="need partners"):
        run(tmp_path / "b", method("two_head", "none", DREAM), "dream")
    with pytest.raises(DataError, match="no valid pairs"):
        run(tmp_path / "c", method("two_head", "none", MEAT), "meat", valid=0)
