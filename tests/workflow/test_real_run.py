"""The whole miniature workflow for real: from three kinds of text to the report and the tables of ablations."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_run import VARIANTS, RealRun
from workspace import Workspace

import digests
from orthoglot import config
from plan import Plan


@pytest.fixture
def ran(real: RealRun) -> Workspace:
    return real.workspace


def test_report_and_metrics_are_there_and_both_engines_agree(ran: Workspace) -> None:
    assert (ran.folder / "results/report.html").stat().st_size > 10_000
    records = [json.loads(line) for line in (ran.folder / "results/records.jsonl").read_text().splitlines()]
    assert {(record["task"], record["dataset"]) for record in records} >= {
        ("tatoeba", "mini-tatoeba"),
        ("tatoeba", "own"),
        ("sts", "mini-sts"),
    }
    found = {(record["encoder"], record["method"]) for record in records}
    methods = ("original", "centering", "dream+oracle")
    assert found >= {
        (encoder, method) for encoder in ("ems-mini", "xlmr-mini", "linked") for method in methods
    }
    assert json.loads((ran.folder / "results/metrics.json").read_text())
    assert "up to date" in ran.run("dvc", "status").stdout
    assert ran.jobs_due("all", "ablation") == {}
    assert ran.run(str(Path(Workspace.programs) / "orthoglot"), "doctor").returncode == 0


def test_a_training_killed_between_epochs_goes_on_from_there_to_the_same_bytes(
    real: RealRun, tmp_path: Path
) -> None:
    assert "resumed after" in real.printed
    again = real.workspace.copy(tmp_path / "w")
    folder = "models/mini/encoders/ems-mini"
    weights = again.folder / folder / "model.safetensors"
    before = weights.read_bytes()
    receipt = next((again.folder / folder).glob("receipt/*.json")).relative_to(again.folder)
    assert again.jobs_run("snakemake", "--cores", "2", "--forcerun", str(receipt), "--", folder) == [folder]
    assert weights.read_bytes() == before


def test_files_have_the_mode_that_the_umask_gives(ran: Workspace) -> None:
    os.umask(umask := os.umask(0o022))
    for top in ("data", "models", "embeddings", "evaluations", "results", "tables"):
        for path in (ran.folder / top).rglob("*"):
            if path.is_file():
                assert path.stat().st_mode & 0o777 == 0o666 & ~umask, path


def test_fetched_and_own_text_reach_the_report(ran: Workspace) -> None:
    counts = {
        pair: json.loads((ran.folder / f"data/mini/bitext/{pair}/counts.json").read_text())
        for pair in ("en-ay", "en-de")
    }
    assert counts["en-ay"]["in"] == {"voices": 300}
    assert sum(counts["en-ay"]["kept"].values()) == 300
    assert counts["en-de"]["in"] == {"mine": 300}
    assert sum(counts["en-de"]["kept"].values()) == 270  # without the 30 of the benchmark


def test_linked_checkpoint_gives_the_vectors_of_the_encoder_that_it_copies(ran: Workspace) -> None:
    trained, linked = (
        np.load(ran.folder / f"embeddings/mini/{name}/vectors.npy") for name in ("xlmr-mini", "linked")
    )
    assert trained.shape[1] == 16
    np.testing.assert_array_equal(trained, linked)


def test_changed_checkpoint_makes_only_what_it_is_linked_to_due(ran: Workspace, tmp_path: Path) -> None:
    changed = ran.copy(tmp_path / "w")
    with open(changed.folder / "texts/linked/config.json", "a") as handle:
        handle.write("\n")
    assert changed.jobs_due() == {"pretrain": 1, "embed": 1, "decompose": 2, "evaluate": 3, "report": 1}


def test_every_function_that_a_job_ran_is_part_of_its_code(
    ran: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ran.folder)
    monkeypatch.setattr(digests, "SOURCE", ran.folder / "src")
    digests.forget()
    params = config.load(ran.folder / "params.yaml")
    plan = Plan(params)
    jobs = {job.key: job for job in plan.jobs.values()}
    traces = {path.stem: json.loads(path.read_text()) for path in Path(".cache/trace").glob("*.json")}
    checked = {jobs[key].verb for key in traces if key in jobs}
    assert checked >= {
        "generate",
        "benchmark",
        "prepare",
        "tokenise",
        "pretrain",
        "embed",
        "decompose",
        "evaluate",
    }
    for key in traces.keys() & jobs.keys():
        known = set(digests.reached(f"orthoglot.cli.jobs:{jobs[key].verb}", jobs[key].names))
        for module, function in traces[key]:
            name = f"orthoglot.{module.removesuffix('.py').replace('/', '.').removesuffix('.__init__')}"
            definition = function.split(".")[0]
            # Templates count as a whole, and validators change no value that is in the settings.
            validated = (
                name == "orthoglot.settings" or f"{name}:{definition}" == "orthoglot.languages:canonical"
            )
            if not name.endswith(".j2") and not validated:
                assert f"{name}:{definition}" in known, (jobs[key].folder, function)


def table(workspace: Workspace, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((workspace.folder / f"tables/{kind}/{kind}-table.json").read_text())
    return found


def test_variants_are_trained_measured_and_tabulated(ran: Workspace) -> None:
    assert len(list((ran.folder / "ablation/mini/tokens").iterdir())) == 1  # all tokenise alike
    for kind, (base, variant) in {kind: tuple(some) for kind, some in VARIANTS.items()}.items():
        found = table(ran, kind)
        cells = {
            (one["encoder_here"], one["dataset_here"], one["subset"]): one
            for one in found["cells"]
            if one["direction"] == "all" and one["measured"] is not None
        }
        assert set(cells) == {
            (name, dataset, subset)
            for name in (base, variant)
            for dataset in ("mini-tatoeba", "own", "test")
            for subset in ("all", "head", "long-tail")
            if (dataset, subset) not in {("own", "head"), ("own", "long-tail")}
        }
        own, other = (cells[name, "mini-tatoeba", "long-tail"] for name in (base, variant))
        assert set(own["over"]) == {"qaa->qac", "qac->qaa"}
        assert own["measured_by_seed"] == [f"3:{own['measured']}"]
        assert own["less_base"] == 0
        assert other["less_base"] == round(other["measured"] - own["measured"], 6)
        assert other["less_base_low"] is None  # one seed has no spread
        assert set(found["parameters"].values()) == {found["parameters"][base]}
