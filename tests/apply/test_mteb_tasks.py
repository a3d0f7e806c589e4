"""Tasks of mteb itself by `orthoglot evaluate`, their data from a hub on this machine: our own measures' scores."""

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

from mteb.results.task_result import TaskResult  # noqa: E402

TASKS = (
    "FloresBitextMining", "STSBenchmark", "Banking77Classification", "BelebeleRetrieval", "WebFAQRetrieval",
)  # fmt: skip
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
LANGUAGES = ("--source-language", "en", "--target-language", "gn")


def repositories(root: Path) -> list[Repository]:
    """The data of the tasks at the commits that mteb pins, with generated text."""
    texts = [
        {"text": text, "label": label, "label_text": f"class {label}"}
        for text, label in zip(TEXTS, LABELS, strict=True)
    ]
    graded = zip(A, B, GOLD, strict=True)
    # Belebele has a table of passages and questions for each language, WebFAQ three tables.
    read = {
        language: [
            {"link": f"https://{row}", "question_number": 1, "flores_passage": text, "question": f"q {text}"}
            for row, text in enumerate(side)
        ]
        for language, side in (("eng_Latn", A), ("grn_Latn", B))
    }
    rows: dict[str, dict[str, list[dict[str, Any]]]] = {
        "FloresBitextMining": {
            "devtest": [{"eng_Latn": a, "grn_Latn": b} for a, b in zip(A, B, strict=True)]
        },
        "STSBenchmark": {
            "test": [{"sentence1": a, "sentence2": b[::-1], "score": score} for a, b, score in graded]
        },
        "Banking77Classification": {"train": texts[:FIRST], "test": texts[FIRST:]},
        "BelebeleRetrieval": read,
        "WebFAQRetrieval": {
            "eng-corpus": [{"id": f"d{row}", "title": "", "text": text} for row, text in enumerate(A)],
            "eng-queries": [{"id": f"q{row}", "text": text} for row, text in enumerate(B)],
            "eng-qrels": [
                {"query-id": f"q{row}", "corpus-id": f"d{row}", "score": 1} for row in range(len(A))
            ],
        },
    }
    found = []
    for name, splits in rows.items():
        data = mteb.get_task(name).metadata.dataset
        folder = root / name
        folder.mkdir(parents=True)
        files = [{"split": split, "path": f"{split}.jsonl"} for split in splits]
        tables = [{"config_name": "default", "data_files": files}]
        if name.endswith("Retrieval"):
            tables = [
                {"config_name": table, "data_files": [{"split": "test", "path": f"{table}.jsonl"}]}
                for table in splits
            ]
        configs = yaml.safe_dump({"configs": tables})
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
    asked = ",".join(f"mteb:{name}" for name in TASKS)
    place = tmp_path / "scores"
    command = [sys.executable, "-m", "orthoglot", "evaluate", str(folder), "--tasks", asked, "--part", part]
    command += [*LANGUAGES, "--output", str(place), "--device", "cpu"]
    with HubServer(*repositories(tmp_path / "data")) as hub:
        done = subprocess.run(
            command, env=known | {"HF_ENDPOINT": hub.endpoint}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert {"devtest.jsonl", "test.jsonl", "train.jsonl"} <= set(hub.asked)
    results = {path.stem: TaskResult.from_disk(path) for path in place.rglob("*.json") if path.stem in TASKS}
    found = {name: (result.dataset_revision, result.scores) for name, result in results.items()}
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
    asked_in_gn = scores["BelebeleRetrieval"]["eng_Latn-grn_Latn"]["ndcg_at_10"]
    assert asked_in_gn == pytest.approx(gains(vectors([f"q {text}" for text in B]), x), abs=1e-4)
    faq = scores["WebFAQRetrieval"]["eng"]["ndcg_at_10"]
    assert faq == pytest.approx(gains(y, x), abs=1e-4)
    assert 0 < faq < 1
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
    as_the_leaderboard_has_them(place, f"orthoglot/tiny-my-residual-{part}", model.identity)
    assert not any(str(tmp_path) in path.read_text() for path in place.rglob("*.json"))
    printed = done.stdout.splitlines()
    assert (
        f"| STSBenchmark | test | default | cosine_spearman | {100 * graded['main_score']:.1f} |" in printed
    )
    assert len(printed) == 2 + 4 + 5
    # Every result is there: nothing is fetched or computed again.
    again = subprocess.run(command, env=known | {"HF_HUB_OFFLINE": "1"}, capture_output=True, text=True)
    assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr
    damaged = next(place.rglob("STSBenchmark.json"))
    damaged.write_text(damaged.read_text()[:200])
    failed = subprocess.run(command, env=known | {"HF_HUB_OFFLINE": "1"}, capture_output=True, text=True)
    assert failed.returncode
    assert failed.stderr.splitlines()[-1].startswith(f"orthoglot: {damaged}: no result of mteb (")


def gains(queries: np.ndarray, passages: np.ndarray) -> float:
    """nDCG@10 where passage n alone answers query n: 1 / log2(1 + its rank), 0 from rank 11 on."""
    ranks = (-(unit(queries) @ unit(passages).T)).argsort(axis=1).argsort(axis=1).diagonal() + 1
    return float(np.where(ranks <= 10, 1 / np.log2(1 + ranks), 0).mean())


def as_the_leaderboard_has_them(place: Path, model: str, revision: str) -> None:
    """The checks of the repository of the leaderboard's results, but that mteb has the model under its name.

    github.com/embeddings-benchmark/results: test_correct_folder_structure, test_ensure_correct_metadata,
    test_load_results, test_task_name_matches_filename, test_new_results_run_settings. mteb writes the settings of a run
    with lists of splits and subsets, for which that test may ask one by one.
    """
    (described,) = place.rglob("model_meta.json")
    assert described.parent == place / "results" / model.replace("/", "__") / revision
    meta = json.loads(described.read_text())
    assert (meta["name"], meta["revision"]) == (model, revision)
    settings = [json.loads(line) for line in (described.parent / "run_settings.jsonl").open()]
    run = {
        (one["task"], split, subset)
        for one in settings
        for split in one["splits"]
        for subset in one["subsets"]
        if one["version"]["mteb"] == mteb.__version__
    }
    for path in described.parent.glob("*.json"):
        if path != described:
            result = TaskResult.from_disk(path)
            assert (result.task_name, result.mteb_version) == (path.stem, mteb.__version__)
            scored = {
                (path.stem, split, one["hf_subset"]) for split, rows in result.scores.items() for one in rows
            }
            assert scored <= run
    loaded = mteb.ResultCache(place).load_results(models=[model], tasks=list(TASKS))
    assert {one.task_name for own in loaded.model_results for one in own.task_results} == set(TASKS)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        (
            "--tasks Tatoeba -o out",
            "--tasks Tatoeba: write mteb: and the name of a task of mteb, e.g. mteb:Tatoeba",
        ),
        (
            "--tasks mteb: -o out",
            "--tasks mteb:: write mteb: and the name of a task of mteb, e.g. mteb:Tatoeba",
        ),
        ("--tasks mteb:Tatoeba", "--output -: name the folder for mteb's results"),
        ("--tasks mteb:Tatoeba -o {file}", "--output {file}: name the folder for mteb's results"),
        (
            "--tasks mteb:Tatoeba -o out --json",
            "--tasks: mteb's tasks take no --benchmark, --text, --columns, --method and --json",
        ),
        (
            "--tasks mteb:Tatoeba -o out --method leace",
            "--tasks: mteb's tasks take no --benchmark, --text, --columns, --method and --json",
        ),
        ("--tasks mteb:Tatoba -o out", f"mteb {mteb.__version__} has no task 'Tatoba'"),
        (
            "--tasks mteb:NusaXBitextMining -o out --source-language zh --target-language gn",
            "mteb's NusaXBitextMining has no subset in zh and gn alone",
        ),
        (
            "--tasks mteb:NusaXBitextMining -o out",
            "mteb's NusaXBitextMining: Couldn't reach 'mteb/NusaXBitextMining' on the Hub (OfflineModeIsEnabled)",
        ),
        ("--part meaning", "nothing to measure on: give --benchmark FILE, or --tasks mteb:NAME"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_line(given: str, cause: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    model = Path(__file__).parent / "model-1.0/model"
    command = [sys.executable, "-m", "orthoglot", "evaluate", str(model), *given.format(file=file).split()]
    known = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, env=known, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode
    assert done.stderr.splitlines()[-1] == f"orthoglot: {cause.format(file=file)}"
    assert not list((tmp_path).rglob("*.json"))
