"""Hard negatives: the layout of LASER's files, and its error rate computed pair by pair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collected_sets import collected
from pydantic import ValidationError

from orthoglot.errors import DataError
from orthoglot.study.benchmarks.collected import read_all
from orthoglot.study.benchmarks.kinds import hard_negatives, nway
from orthoglot.study.benchmarks.kinds.hard_negatives import HardNegativeSet, HardNegativeSettings
from orthoglot.study.tasks.kinds.hard_negatives import HardNegatives

NEGATIVES = {
    "Two  dogs.": {"src": "One dog.", "errtype": "number"},
    "A dog.": {"src": "A tree.", "errtype": "entity"},
    "Not in the text.": {"src": "Elsewhere.", "errtype": "negation"},
    "A tree.": {"src": "One dog.", "errtype": "entity"},  # is a sentence of the text
}


def settings(folder: Path, **changed: Any) -> HardNegativeSettings:
    (folder / "de").write_text("Ein Hund.\nEin Baum.\n")
    (folder / "fr").write_text("Un chien.\nUn arbre.\n")
    (folder / "en").write_text("One dog.\nA tree.\n")
    (folder / "negatives.json").write_text(json.dumps(NEGATIVES))
    values = {
        "kind": "hard-negatives",
        "files": f"{folder}/{{language}}",
        "languages": ["de", "en", "fr"],
        "pivot": "en",
        "negatives": f"{folder}/negatives.json",
        "licence": "none",
    }
    return HardNegativeSettings.model_validate(values | changed)


def test_the_files_of_laser_are_read(tmp_path: Path) -> None:
    output = collected(settings(tmp_path), tmp_path / "out")
    german, french = hard_negatives.read(output)
    assert german == HardNegativeSet(
        "out", "de", "en", ["Ein Hund.", "Ein Baum."], ["One dog.", "A tree."], ["Two dogs.", "A dog."],
        ["number", "entity"], [0, 1],
    )  # fmt: skip
    assert french.sentences == ["Un chien.", "Un arbre."]
    assert read_all(output) == [german, french]
    assert nway.read(output) == []
    counts = json.loads((output / "counts.json").read_text())
    assert counts == {"kept": 2, "incomplete": 0, "negatives": 2, "negatives_left_out": 2}
    assert dict(german.sides())["en"] == ["One dog.", "A tree.", "Two dogs.", "A dog."]


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"a": {"src": "One dog."}}', '{"a": {"src": "None", "errtype": "x"}}']
)
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    wanted = settings(tmp_path)
    (tmp_path / "negatives.json").write_text(text)
    with pytest.raises(DataError, match="negative"):
        collected(wanted, tmp_path / "out")


def test_the_candidates_language_is_one_of_the_text(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="es is not among the languages"):
        settings(tmp_path, pivot="es")
    assert settings(tmp_path).within(lambda code: code != "en") is None
    narrowed = settings(tmp_path).within(lambda code: code != "fr")
    assert narrowed is not None
    assert list(narrowed.paths()) == ["de", "en", "negatives"]


def task(noise: float, n: int = 40, seed: int = 1) -> tuple[HardNegatives, dict[str, np.ndarray]]:
    """Each translation has two negatives, near it."""
    rng = np.random.default_rng(seed)
    translations = rng.normal(size=(n, 8))
    negatives = np.repeat(translations, 2, axis=0) + 0.5 * rng.normal(size=(2 * n, 8))
    texts = HardNegativeSet(
        "made", "de", "en", [f"de {i}" for i in range(n)], [f"en {i}" for i in range(n)],
        [f"not {i}" for i in range(2 * n)], ["number", "entity"] * n, np.repeat(np.arange(n), 2).tolist(),
    )  # fmt: skip
    source = translations + noise * rng.normal(size=translations.shape)
    vectors = {"source": source, "candidate": np.concatenate([translations, negatives])}
    return HardNegatives("hard-negatives", texts), {k: v.astype(np.float32) for k, v in vectors.items()}


def by_pair(x: np.ndarray, y: np.ndarray) -> list[int]:
    """What xSIM of LASER takes: of the 4 nearest, that with the highest ratio margin."""
    x, y = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, y))
    cosines = x @ y.T
    mean_x = np.sort(cosines, axis=1)[:, -4:].mean(axis=1)
    mean_y = np.sort(cosines, axis=0)[-4:].mean(axis=0)
    best = []
    for i, row in enumerate(cosines):
        near = np.argsort(-row)[:4]
        best.append(int(near[np.argmax([row[j] / ((mean_x[i] + mean_y[j]) / 2) for j in near])]))
    return best


@pytest.mark.parametrize("noise", [0.2, 0.5, 0.9])
def test_hits_and_errors_are_those_pair_by_pair(noise: float) -> None:
    asked, vectors = task(noise)
    found = asked.score(vectors)
    (hits,) = found.scores.values()
    both = (
        by_pair(vectors["source"], vectors["candidate"]),
        by_pair(vectors["source"], vectors["candidate"][:40]),
    )
    expected = np.array([[best == i for i, best in enumerate(column)] for column in both]).T
    assert (hits == expected).all()
    assert hits[:, 0].sum() < hits[:, 1].sum()
    errors = {"number": 0, "entity": 0, "misaligned": 0}
    for i, best in enumerate(both[0]):
        if best != i:
            own = best >= 40 and (best - 40) // 2 == i
            errors[("number", "entity")[best % 2] if own else "misaligned"] += 1
    assert found.facts["errors"] == {name: count for name, count in sorted(errors.items()) if count}
    assert asked.facts("de->en")["chance"] == pytest.approx(100 / 120, abs=1e-6)


def test_what_has_no_direction_is_left_out_or_no_candidate() -> None:
    asked, vectors = task(0.3)
    vectors["source"][2] = 0
    vectors["candidate"][5] = np.nan
    vectors["candidate"][60] = 0
    (hits,) = asked.score(vectors).scores.values()
    assert np.flatnonzero(np.isnan(hits).any(axis=1)).tolist() == [2, 5]
    vectors["source"][:] = 0
    (hits,) = asked.score(vectors).scores.values()
    assert np.isnan(hits).all()


def test_the_same_translation_twice_is_found_in_either_line() -> None:
    asked, vectors = task(0.0)
    twice = HardNegativeSet(**{**vars(asked.texts), "translations": ["en 1", *asked.texts.translations[1:]]})
    vectors["source"][0] = vectors["source"][1]
    vectors["candidate"][0] = vectors["candidate"][1]
    (hits,) = HardNegatives("hard-negatives", twice).score(vectors).scores.values()
    assert (hits == 1).all()
    # A negative of one line is one of the other too.
    vectors["candidate"][42] = vectors["source"][0]
    vectors["candidate"][:2] = -vectors["source"][:2]
    assert HardNegatives("hard-negatives", twice).score(vectors).facts["errors"] == {"number": 2}


def test_a_sentence_without_a_margin_is_no_misaligned_one() -> None:
    asked, vectors = task(0.0)
    vectors["source"][:], vectors["candidate"][:, 0] = 0, 10
    vectors["source"][3, 0] = -1  # the only one with a direction, away from all candidates
    found = asked.score(vectors)
    assert found.scores["de->en"][3].tolist() == [0, 0]
    assert found.facts["errors"] == {"without-margin": 1}
