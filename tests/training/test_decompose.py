"""Training decomposers: the known answer of a synthetic world, MEAT's two updates, files in and out."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from kills import kill_at_saves
from synthetic_world import World
from torch import Tensor
from toy_store import folders

from orthoglot import catalogue
from orthoglot.decomposers.base import Decomposer, Parts, load_decomposer
from orthoglot.decomposers.modules import Maps
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.folder import identity
from orthoglot.errors import ConfigError, DataError
from orthoglot.objectives.base import Objective
from orthoglot.search.hits import hits
from orthoglot.study import config
from orthoglot.training import decompose as training
from orthoglot.training import loop
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import collect, fit_decomposer, train, write
from orthoglot.training.settings import DecompositionSettings, MethodSettings, Stopping
from orthoglot.training.step import Update

CPU = torch.device("cpu")
METHODS = config.load(catalogue.shipped()).methods


def method(architecture: str, partners: str, terms: list[str]) -> MethodSettings:
    return MethodSettings.model_validate(
        {"architecture": architecture, "partners": partners, "terms": dict.fromkeys(terms, 1.0)}
    )


def recipe(learning_rate: float = 1e-2, epochs: int = 50) -> DecompositionSettings:
    return DecompositionSettings(learning_rate=learning_rate, batch_size=256, max_epochs=epochs, patience=10)


def wrap(chosen: MethodSettings, weights: dict[str, np.ndarray]) -> Decomposer:
    return Decomposer(chosen.architecture, "m", "e", "i", ["qaa", "qab", "qac"], 32, weights, {})


def parts_of(decomposer: Decomposer, world: World) -> tuple[Parts, Parts]:
    names = [decomposer.languages[k] for k in world.target_language.tolist()]
    return (
        decomposer.transform(world.source.numpy(), "qaa"),
        decomposer.transform(world.target.numpy(), names),
    )


def retrieval(source: np.ndarray, target: np.ndarray, target_language: Tensor) -> float:
    """Share of sentences that find their translation among the other side's, per pair of languages.

    The candidates are of one language, so knowing the language is no help and no hindrance; chance is 1/150.
    """
    found: list[np.ndarray] = []
    for k in (1, 2):
        rows = (target_language == k).numpy()
        found += hits(source[rows], target[rows])
    return float(np.concatenate(found).mean())


def probe(source: np.ndarray, target: np.ndarray, target_language: Tensor) -> float:
    """Accuracy of the nearest language mean, on rows that the means do not hold; chance is 1/3 to 1/2."""
    rows = torch.nn.functional.normalize(torch.from_numpy(np.concatenate([source, target])), dim=1)
    language = torch.cat([torch.zeros_like(target_language), target_language])
    known = torch.arange(len(rows)) // 2 % 2 == 0
    means = torch.stack([rows[known & (language == k)].mean(dim=0) for k in range(3)])
    return (torch.cdist(rows[~known], means).argmin(dim=1) == language[~known]).float().mean().item()


class Claim(NamedTuple):
    """What a method must reach in the synthetic world; None where it does not claim so much."""

    method: str
    learning_rate: float
    meaning_retrieval: float | None
    language_retrieval: float
    meaning_probe: float | None


CLAIMS = [
    Claim("dream", 1e-2, 0.95, 0.05, 0.5),
    # The release's partners mix languages: language vectors of all languages attract, so meaning keeps some
    Claim("dream-released", 1e-2, 0.95, 0.05, None),
    Claim("dream+oracle", 1e-2, 0.95, 0.05, 0.5),
    Claim("dream+oracle-released", 1e-2, 0.95, 0.05, None),
    Claim("meat", 3e-3, 0.95, 0.12, 0.6),
    # ORACLE's terms compete with the discriminator: what language is left varies with the seed, see below
    Claim("meat+oracle", 3e-3, 0.95, 0.05, None),
    Claim("meat+oracle-released", 3e-3, 0.95, 0.05, None),
    Claim("oracle", 1e-2, 0.95, 0.05, 0.5),
    # As printed, nothing aligns the meanings
    Claim("oracle-printed", 1e-2, None, 0.05, None),
    Claim("seed", 1e-2, 0.95, 0.05, 0.5),
]


def trained(chosen: MethodSettings, world: World, learning_rate: float, seed: int = 1) -> tuple[Parts, Parts]:
    """The held-out pairs as a decomposer splits them that was trained for at most 50 epochs."""
    weights, _ = train(chosen, recipe(learning_rate), "m", world.data, seed=seed, device=CPU, checkpoint=None)
    return parts_of(wrap(chosen, weights), world)


def test_raw_vectors_know_the_language_and_the_translation(world: World) -> None:
    source, target = world.source.numpy(), world.target.numpy()
    assert retrieval(source, target, world.target_language) > 0.7
    assert probe(source, target, world.target_language) == 1


def test_a_language_view_that_is_the_vector_itself_fails_every_claim(world: World) -> None:
    names = ("meaning", "language")
    weights: dict[str, np.ndarray] = {f"{name}.weight": np.eye(32, dtype=np.float32) for name in names}
    weights |= {f"{name}.bias": np.zeros(32, dtype=np.float32) for name in names}
    source, target = parts_of(wrap(METHODS["dream"], weights), world)
    found = retrieval(source.language, target.language, world.target_language)
    assert found > max(claim.language_retrieval for claim in CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.method)
def test_known_answer(world: World, claim: Claim) -> None:
    source, target = trained(METHODS[claim.method], world, claim.learning_rate)
    if claim.meaning_retrieval is not None:
        assert retrieval(source.meaning, target.meaning, world.target_language) > claim.meaning_retrieval
    if claim.meaning_probe is not None:
        assert probe(source.meaning, target.meaning, world.target_language) < claim.meaning_probe
    assert retrieval(source.language, target.language, world.target_language) < claim.language_retrieval
    assert probe(source.language, target.language, world.target_language) > 0.7


def test_meat_with_oracle_takes_language_out_of_meaning_on_average(world: World) -> None:
    """Single seeds leave 0.66 to 0.82 of it; the raw vectors and identity maps 1."""
    found = []
    for seed in (1, 2, 3):
        source, target = trained(METHODS["meat+oracle"], world, 3e-3, seed)
        found.append(probe(source.meaning, target.meaning, world.target_language))
    assert np.mean(found) < 0.85


def test_without_the_terms_on_meaning_there_is_no_answer(world: World) -> None:
    """The known answer is the terms' doing: reconstruction and identification alone leave all as it was."""
    source, target = trained(
        method("two_head", "none", ["dream.reconstruction", "dream.identification"]), world, 1e-2
    )
    assert retrieval(source.language, target.language, world.target_language) > 0.05
    assert probe(source.meaning, target.meaning, world.target_language) > 0.9


def test_m10_each_meat_update_leaves_the_others_parameters_bit_identical(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the discriminator's comes first: the maps answer the discriminator as it is after its step."""
    moved: list[tuple[str, list[bool]]] = []
    built = training.updates

    def watched(maps: Maps, objective: Objective, learning_rate: float) -> list[Update]:
        found = built(maps, objective, learning_rate)
        parameters = [*objective.parameters(), *maps.parameters()]

        def watch(update: Update) -> None:
            step = update.optimizer.step

            def stepped() -> None:
                before = [tensor.detach().clone() for tensor in parameters]
                step()
                changed = [not torch.equal(a, b) for a, b in zip(parameters, before, strict=True)]
                moved.append((update.name, changed))

            update.optimizer.step = stepped  # type: ignore[method-assign]

        for update in found:
            watch(update)
        return found

    monkeypatch.setattr(training, "updates", watched)
    train(METHODS["meat"], recipe(epochs=1), "m", world.data, seed=1, device=CPU, checkpoint=None)
    assert moved[:2] == [("discriminator", [True] * 2 + [False] * 4), ("maps", [False] * 2 + [True] * 4)]


def test_training_partners_differ_between_epochs_and_validation_partners_do_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[int, list[Tensor]] = {}
    made = training.make_batches

    def watched(pairs: PairRows, *rule: Any, **settings: Any) -> list[Any]:
        batches = made(pairs, *rule, **settings)
        drawn.setdefault(len(pairs), []).append(batches[0].peer)
        return batches

    monkeypatch.setattr(training, "make_batches", watched)
    train(METHODS["seed"], recipe(epochs=3), "m", world.data, seed=1, device=CPU, checkpoint=None)
    first, second, third = drawn[len(world.data.train)]
    assert not torch.equal(first, second)
    assert not torch.equal(second, third)
    assert len(drawn[len(world.data.valid)]) == 1


def test_validation_counts_every_pair_once(world: World) -> None:
    """300 pairs in batches of 256 and 44: the mean over pairs, not over batches, at the weights it is taken with."""
    weights, history = train(
        METHODS["meat"], recipe(epochs=1), "m", world.data, seed=1, device=CPU, checkpoint=None
    )
    valid = world.data.valid
    rows = [world.data.vectors[side].numpy() for side in (valid.source, valid.target)]
    parts = [wrap(METHODS["meat"], weights).transform(side, "qaa") for side in rows]

    def push(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        cosines = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        return cosines.clip(min=0)

    expected = push(parts[0].language, parts[1].language).mean()
    assert history[0]["valid.meat.language"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "stopping"),
    [("meat", None), ("dream+oracle", None), ("meat", "retrieval"), ("meat", "without-opponents")],
)
def test_a_killed_training_resumes_to_the_same_end_at_any_step(
    name: str, stopping: Stopping | None, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both optimisers and the best weights survive, and patience that has begun to run out."""
    impatient = recipe(1.5e-2, 8).model_copy(update={"patience": 3})
    chosen = METHODS[name].model_copy(update={"stopping": stopping})
    settings: Any = {"seed": 1, "device": CPU}
    weights, history = train(chosen, impatient, name, world.data, checkpoint=None, **settings)
    kill_at_saves(monkeypatch, 3, 17)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            train(chosen, impatient, name, world.data, checkpoint=tmp_path, **settings)
    resumed, again = train(chosen, impatient, name, world.data, checkpoint=tmp_path, **settings)
    assert again == history
    for key, weight in weights.items():
        np.testing.assert_array_equal(resumed[key], weight)
    monkeypatch.setattr(training, "inputs", None)  # a finished training takes no further step
    third, _ = train(chosen, impatient, name, world.data, checkpoint=tmp_path, **settings)
    np.testing.assert_array_equal(third["meaning.weight"], weights["meaning.weight"])


def test_a_loss_that_rises_ends_by_patience_not_by_an_error(world: World) -> None:
    """MEAT's discriminator may gain on the maps: what the check for divergence would refuse."""
    rate = recipe(0.3, 30).model_copy(update={"patience": 12})
    _, history = train(METHODS["meat"], rate, "m", world.data, seed=1, device=CPU, checkpoint=None)
    first, last = history[0]["train.total"], history[-1]["train.total"]
    assert len(history) * (len(world.data.train) // 256) > loop.WINDOW
    assert last > 1.5 * first + 1
    assert history[-1]["best"] == 0


def test_a_loss_that_is_not_finite_names_step_seed_and_term(world: World) -> None:
    vectors = world.data.vectors.clone()
    vectors[world.data.train.source[:300]] = float("nan")
    data = replace(world.data, vectors=vectors)
    with pytest.raises(DataError, match=r"m, seed 1: epoch 0, step \d+.*seed\.meaning=nan"):
        train(METHODS["seed"], recipe(), "m", data, seed=1, device=CPU, checkpoint=None)


# --- files in, files out ---


def run(
    root: Path,
    chosen: MethodSettings,
    name: str,
    *,
    valid: int = 20,
    train_pairs: int = 1000,
) -> Path:
    pair, encoder, store = folders(root, valid)
    output = root / "output"
    output.mkdir()
    opened = EmbeddingStore.open(store, identity(encoder))
    decomposer, history = fit_decomposer(
        chosen,
        None if chosen.architecture == "centering" else recipe(epochs=2),
        name,
        collect(opened, [pair], train_pairs),
        seed=1,
        device=torch.device("cpu"),
        checkpoint=root / "checkpoint",
    )
    write(decomposer, history, opened, output, "0123456789abcdef")
    return output


def test_a_decomposer_states_the_text_and_the_code_that_made_it(tmp_path: Path) -> None:
    texts = {}
    for name, pairs, valid in (("a", 50, 20), ("same", 50, 20), ("fewer", 49, 20), ("valid", 50, 19)):
        output = run(tmp_path / name, METHODS["centering"], "centering", train_pairs=pairs, valid=valid)
        texts[name] = load_decomposer(output).details["text"]
    assert len(texts["a"]) == 16
    assert texts["a"] == texts["same"]
    assert len({texts[name] for name in ("a", "fewer", "valid")}) == 3
    assert load_decomposer(output).details["code"] == "0123456789abcdef"
    assert not (output / "history.jsonl").exists()  # nothing was trained


@pytest.mark.parametrize("name", ["centering", "procrustes"])
def test_the_job_of_a_closed_form_loads_no_torch_and_writes_what_the_trainings_write(
    name: str, tmp_path: Path
) -> None:
    output = run(tmp_path, METHODS[name], name, train_pairs=50)
    (tmp_path / "job").mkdir()
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "import orthoglot.study.jobs.decompose\n"
        "from orthoglot.embeddings.store import EmbeddingStore\n"
        "from orthoglot.encoders.folder import identity\n"
        "from orthoglot.training.closed_form_fit import compute_stored\n"
        "from orthoglot.training.stored_pairs import stored\n"
        "from orthoglot.training.settings import MethodSettings\n"
        f"method = MethodSettings.model_validate({METHODS[name].model_dump()})\n"
        "store = EmbeddingStore.open(Path('store'), identity(Path('encoder')))\n"
        "data = stored(store, [Path('bitext/qaa-qab')], 50)\n"
        f"compute_stored(method, {name!r}, store, data, seed=1, output=Path('job'), code='0123456789abcdef')\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    for file in ("decomposer.json", "weights.safetensors"):
        assert (tmp_path / "job" / file).read_bytes() == (output / file).read_bytes()


def test_files_of_a_trained_method(tmp_path: Path) -> None:
    output = run(tmp_path / "a", METHODS["dream+oracle"], "dream+oracle", train_pairs=50)
    assert sorted(path.name for path in output.iterdir()) == [
        "decomposer.json",
        "history.jsonl",
        "weights.safetensors",
    ]
    lines = [json.loads(line) for line in (output / "history.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [0, 1]
    assert {
        f"{split}.{term}"
        for split in ("train", "valid")
        for term in [*METHODS["dream+oracle"].terms, "total"]
    } <= set(lines[0])
    loaded = load_decomposer(output)
    assert (loaded.method, loaded.encoder) == ("dream+oracle", "toy")
    assert loaded.identity == identity(tmp_path / "a" / "encoder")
    assert (loaded.languages, loaded.dim, loaded.details["train_pairs"]) == (["qaa", "qab"], 8, 50)
    best = max(line["epoch"] for line in lines if line["best"])
    ended = {
        key: loaded.details[key] for key in ("epochs", "best_epoch", "stopped", "max_epochs", "stopping")
    }
    assert ended == {"epochs": 2, "best_epoch": best, "stopped": "cap", "max_epochs": 2, "stopping": "total"}
    again = run(tmp_path / "b", METHODS["dream+oracle"], "dream+oracle", train_pairs=50)
    for path in output.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


def test_a_methods_own_recipe_comes_before_that_of_the_preset(world: World) -> None:
    own = METHODS["seed"].model_copy(update={"learning_rate": 2e-3, "max_epochs": 3, "patience": 2})
    preset = recipe(learning_rate=1e-2, epochs=7)
    same = preset.model_copy(update={"learning_rate": 2e-3, "max_epochs": 3, "patience": 2})
    fits = [
        fit_decomposer(chosen, how, "seed", world.data, seed=1, device=CPU, checkpoint=None)
        for chosen, how in ((own, preset), (METHODS["seed"], same), (METHODS["seed"], preset))
    ]
    (first, history), (second, again), (other, longer) = fits
    assert history == again
    assert (len(history), len(longer)) == (3, 7)
    assert {name: first.details[name] for name in ("learning_rate", "max_epochs")} == {
        "learning_rate": 2e-3,
        "max_epochs": 3,
    }
    assert first.details == second.details != other.details
    for name, weight in first.weights.items():
        np.testing.assert_array_equal(weight, second.weights[name])


def test_methods_that_cannot_be_trained_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'original' has nothing to train"):
        run(tmp_path / "a", METHODS["original"], "original")
    with pytest.raises(ConfigError, match="need partners"):
        run(tmp_path / "b", method("two_head", "none", ["dream.meaning"]), "dream")
    with pytest.raises(DataError, match="no valid pairs"):
        run(tmp_path / "c", METHODS["meat"], "meat", valid=0)
