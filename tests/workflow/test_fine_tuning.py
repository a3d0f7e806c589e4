"""A fine-tuning through the workflow: one job for each training and seed, then its records."""

from __future__ import annotations

from pathlib import Path

import pytest
from workspace import Workspace

from orthoglot.statistics.records import read_records

QUICK = {"learning_rate": 1e-3, "epochs": 1, "batch_size": 16, "max_tokens": 24}
TARGET = "evaluations/mini/xlmr-mini/fine-tuned"


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = Workspace.make(tmp_path_factory.mktemp("tuned") / "w")
    small = {"layers": 1, "width": 32, "heads": 2, "feed_forward": 64, "vocabulary": 300, "threads": 1}
    steps = {"steps": 10, "validate_every": 5, "warmup_steps": 2}
    workspace.edit(
        device="cpu",
        encoders={"xlmr-mini": small | steps},
        presets__mini__encoders=["xlmr-mini"],
        presets__mini__ablations=[],
        presets__mini__fine_tuning={
            "benchmarks": ["mini-inference", "mini-sts"],
            "seeds": [1, 2],
            "threads": 1,
            "recipes": {"pairs": dict(QUICK), "similarity": dict(QUICK)},
        },
    )
    workspace.commit("fine-tuning")
    return workspace


def test_trainings_are_jobs_and_their_records_those_of_a_method(tuned: Workspace) -> None:
    ran = tuned.jobs_run("snakemake", "--cores", "2", TARGET)
    home = "evaluations/mini/xlmr-mini/fine-tuning"
    wanted = {f"{home}/{name}/seed{seed}" for name in ("mini-inference", "mini-sts-train") for seed in (1, 2)}
    assert set(ran) >= {*wanted, TARGET}
    assert not any(folder.startswith("embeddings") for folder in ran)
    records = read_records(tuned.folder / TARGET / "records.jsonl")
    assert {one.method for one in records} == {"fine-tuned"}
    assert {(one.task, one.dataset, one.metric) for one in records} >= {
        ("classification", "mini-inference", "accuracy"),
        ("sts", "mini-sts", "spearman"),
    }
    assert {one.seed for one in records} == {1, 2, None}
    assert tuned.jobs_due(TARGET) == {}
    tuned.edit(presets__mini__fine_tuning__recipes__similarity__epochs=2)
    assert tuned.jobs_due(TARGET) == {"finetune": 2, "gather": 1}


def test_the_weights_are_not_kept(tuned: Workspace) -> None:
    files = {path.name for path in Path(tuned.folder / "evaluations").rglob("*") if path.is_file()}
    assert not any(name.endswith((".safetensors", ".pt")) for name in files)
