"""Tasks of mteb itself, whose data a hub on this machine has: as many points as our own measures give on that text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hub_server import HubServer, Repository
from scipy import stats
from sklearn.linear_model import LogisticRegression
from small_checkpoint import make_pairs, write_checkpoint
from test_export import model_folder

import orthoglot
from orthoglot.decomposers.base import unit
from orthoglot.search.hits import hits
from orthoglot.search.neighbours import nearest
from orthoglot.search.pair_cosines import cosines

mteb = pytest.importorskip("mteb", reason="the extra `mteb` is not installed")

TASKS = ("FloresBitextMining", "STSBenchmark", "Banking77Classification")
A, B = (list(side) for side in zip(*make_pairs(80), strict=True))
# The first word tells the class. mteb draws 8 texts of each to learn from, and there are no others.
CLASSES, DRAWN = 3, 8
GOLD = np.random.default_rng(5).uniform(0, 5, size=len(A)).tolist()


def labelled() -> tuple[list[str], list[int], int]:
    """Texts, their classes, and how many of them are to learn from, which come first."""
    classes = np.random.default_rng(6).integers(CLASSES, size=150).tolist()
    texts = [f"a{one:02} {text}" for one, (text, _) in zip(classes, make_pairs(150, seed=1), strict=True)]
    drawn = [
        row for one in range(CLASSES) for row in np.flatnonzero(np.array(classes) == one)[:DRAWN].tolist()
    ]
    order = [*drawn, *sorted(set(range(len(texts))) - set(drawn))]
    return [texts[row] for row in order], [classes[row] for row in order], len(drawn)


TEXTS, LABELS, FIRST = labelled()
EVALUATE = """
import json, sys
import mteb
from orthoglot.apply.mteb_model import MtebModel
folder, part, place, *names = sys.argv[1:]
tasks = mteb.get_tasks(tasks=names, languages=["eng", "grn"], exclusive_language_filter=True)
cache = mteb.ResultCache(place)
found = mteb.evaluate(MtebModel(folder, part, "cpu"), tasks, cache=cache, show_progress_bar=False)
with open(f"{place}/found.json", "w") as file:
    json.dump({one.task_name: [one.dataset_revision, one.scores] for one in found.task_results}, file)
"""


def repositories(root: Path) -> list[Repository]:
    """The data of the tasks at the commits that mteb pins, with generated text."""
    texts = [
        {"text": text, "label": label, "label_text": f"class {label}"}
        for text, label in zip(TEXTS, LABELS, strict=True)
    ]
    graded = zip(A, B, GOLD, strict=True)
    rows: dict[str, dict[str, list[dict[str, Any]]]] = {
        "FloresBitextMining": {
            "devtest": [{"eng_Latn": a, "grn_Latn": b} for a, b in zip(A, B, strict=True)]
        },
        "STSBenchmark": {
            "test": [{"sentence1": a, "sentence2": b[::-1], "score": score} for a, b, score in graded]
        },
        "Banking77Classification": {"train": texts[:FIRST], "test": texts[FIRST:]},
    }
    found = []
    for name, splits in rows.items():
        data = mteb.get_task(name).metadata.dataset
        folder = root / name
        folder.mkdir(parents=True)
        files = [{"split": split, "path": f"{split}.jsonl"} for split in splits]
        configs = yaml.safe_dump({"configs": [{"config_name": "default", "data_files": files}]})
        (folder / "README.md").write_text(f"---\n{configs}---\n")
        for split, lines in splits.items():
            (folder / f"{split}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        found.append(Repository(folder, data["path"], data["revision"], "datasets"))
    return found


@pytest.mark.parametrize("part", ["meaning", "sentence"])
def test_real_tasks_have_our_scores(part: str, tmp_path: Path) -> None:
    folder = model_folder(
        tmp_path, write_checkpoint(tmp_path / "tiny"), "residual", pooling="mean", max_tokens=20
    )
    known = {**os.environ, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"}
    (tmp_path / "scores").mkdir()
    with HubServer(*repositories(tmp_path / "data")) as hub:
        command = [sys.executable, "-c", EVALUATE, str(folder), part, str(tmp_path / "scores"), *TASKS]
        done = subprocess.run(
            command, env=known | {"HF_ENDPOINT": hub.endpoint}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert {"devtest.jsonl", "test.jsonl", "train.jsonl"} <= set(hub.asked)
    found = json.loads((tmp_path / "scores/found.json").read_text())
    for name in TASKS:
        assert found[name][0] == mteb.get_task(name).metadata.dataset["revision"]
    scores = {
        name: {one["hf_subset"]: one for split in rows.values() for one in split}
        for name, (_, rows) in found.items()
    }
    model = orthoglot.load(folder, "cpu")

    def vectors(texts: list[str]) -> np.ndarray:
        return model.encode(texts, part=part)

    x, y = vectors(A), vectors(B)
    for subset, (one, other) in (("eng_Latn-grn_Latn", (x, y)), ("grn_Latn-eng_Latn", (y, x))):
        own = np.arange(len(one))
        closest = nearest(unit(one), unit(other)).forward[:, 0]
        f1 = float(((closest == own) * 2 / (1 + np.bincount(closest, minlength=len(own)))).mean())
        mined = scores["FloresBitextMining"][subset]
        assert mined["accuracy"] == pytest.approx(float(hits(one, other)[0].mean()), abs=1e-6)
        assert mined["f1"] == pytest.approx(f1, abs=1e-6)
        assert 0 < mined["accuracy"] < 1
    predicted = cosines(x, vectors([text[::-1] for text in B]))
    graded = scores["STSBenchmark"]["default"]
    assert graded["cosine_spearman"] == pytest.approx(stats.spearmanr(predicted, GOLD)[0], abs=1e-6)
    assert graded["cosine_pearson"] == pytest.approx(stats.pearsonr(predicted, GOLD)[0], abs=1e-6)
    # mteb's adapter gives parts of length 1, and the encoder's own vector as it is.
    inputs = vectors(TEXTS) if part == "sentence" else unit(vectors(TEXTS))
    classifier = LogisticRegression(max_iter=100).fit(inputs[:FIRST], LABELS[:FIRST])
    expected = float((classifier.predict(inputs[FIRST:]) == LABELS[FIRST:]).mean())
    assert 1 / CLASSES < expected < 1
    assert scores["Banking77Classification"]["default"]["accuracy"] == pytest.approx(expected, abs=1e-6)
    (written,) = (tmp_path / "scores").rglob("model_meta.json")
    meta = json.loads(written.read_text())
    assert (meta["name"], meta["revision"]) == (f"orthoglot/tiny-my-residual-{part}", model.identity)
    assert str(tmp_path) not in written.read_text()
