"""Text from OPUS and from the user's own files, a trained and a linked encoder: one workflow of all of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from opus_server import OpusServer, write_opus
from workspace import Workspace

MLM = {
    "vocabulary": 100,
    "layers": 1,
    "width": 16,
    "heads": 2,
    "feed_forward": 32,
    "max_tokens": 16,
    "batch_size": 32,
    "steps": 20,
    "validate_every": 10,
    "warmup_steps": 5,
    "threads": 1,
}
LINKED = {
    "kind": "pretrained",
    "checkpoint": "texts/linked",
    "revision": "local",
    "pooling": "mean",
    "max_tokens": 16,
    "licence": "own",
}
AYMARA = [(f"kunas utji {n}", f"what is there, {n}") for n in range(300)]
GERMAN = [(f"the cat has {n} red hats", f"die Katze hat {n} rote Hüte") for n in range(300)]


@pytest.fixture(scope="module")
def sourced(fresh: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """`fresh` on other text and with other encoders, run to its report; the second encoder copies the first."""
    workspace = fresh.copy(tmp_path_factory.mktemp("sourced") / "w")
    own = workspace.folder / "texts"
    (own / "mine.en-de.tsv").write_text("".join(f"{english}\t{german}\n" for english, german in GERMAN))
    (own / "test.de-en.tsv").write_text("".join(f"{german}\t{english}\n" for english, german in GERMAN[:30]))
    shared = {"licence": "own"}
    workspace.edit(
        loss="centering",
        presets__mini__corpora=["voices", "mine"],
        presets__mini__benchmarks=["own"],
        presets__mini__encoders=["xlmr-mini"],
        corpora__voices={"kind": "opus", "corpus": "Voices", "version": "v1", "pairs": ["en-ay"], **shared},
        corpora__mine={"kind": "local", "pairs": ["en-de"], "files": ["texts/mine.{pair}.tsv"], **shared},
        benchmarks__own={
            "kind": "local",
            "files": "texts/test.{foreign}-{pivot}.tsv",
            "languages": ["de"],
            "pivot": "en",
            **shared,
        },
        **{f"encoders__xlmr-mini__{name}": value for name, value in MLM.items()},
    )
    served = tmp_path_factory.mktemp("opus")
    write_opus(served, "Voices", {("aym", "en"): AYMARA})
    with OpusServer(served) as server:
        workspace.run("snakemake", "--cores", "2", "stage_encoders", ORTHOGLOT_OPUS_API=server.api)
    shutil.copytree(workspace.folder / "models/mini/encoders/xlmr-mini", own / "linked")
    workspace.edit(presets__mini__encoders=["xlmr-mini", "linked"], encoders__linked=LINKED)
    workspace.run("snakemake", "--cores", "2")
    return workspace


def test_fetched_and_own_text_reach_the_report(sourced: Workspace) -> None:
    counts = {
        pair: json.loads((sourced.folder / f"data/mini/bitext/{pair}/counts.json").read_text())
        for pair in ("en-ay", "en-de")
    }
    assert counts["en-ay"]["in"] == {"voices": 300}
    assert sum(counts["en-ay"]["kept"].values()) == 300
    assert counts["en-de"]["in"] == {"mine": 300}
    assert sum(counts["en-de"]["kept"].values()) == 270  # without the 30 of the benchmark
    metrics = json.loads((sourced.folder / "results/metrics.json").read_text())
    assert set(metrics) == {"xlmr-mini", "linked"}
    records = [
        json.loads(line) for line in (sourced.folder / "results/records.jsonl").read_text().splitlines()
    ]
    assert {(record["task"], record["dataset"]) for record in records} >= {("tatoeba", "own")}
    assert (sourced.folder / "results/report.html").stat().st_size > 10_000


def test_nothing_is_due_afterwards_wherever_opus_is(sourced: Workspace) -> None:
    assert sourced.jobs_due() == {}
    assert "up to date" in sourced.run("dvc", "status").stdout


def test_linked_checkpoint_gives_the_vectors_of_the_encoder_that_it_copies(sourced: Workspace) -> None:
    trained, linked = (
        np.load(sourced.folder / f"embeddings/mini/{name}/vectors.npy") for name in ("xlmr-mini", "linked")
    )
    assert trained.shape[1] == 16
    np.testing.assert_array_equal(trained, linked)


def test_changed_checkpoint_makes_only_what_it_is_linked_to_due(sourced: Workspace, tmp_path: Path) -> None:
    changed = sourced.copy(tmp_path / "w")
    with open(changed.folder / "texts/linked/config.json", "a") as handle:
        handle.write("\n")
    assert changed.jobs_due() == {"pretrain": 1, "embed": 1, "decompose": 1, "evaluate": 2, "report": 1}
