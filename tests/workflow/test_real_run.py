"""The whole miniature workflow for real: from three kinds of text to the report, ablations, and models that load."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from real_run import VARIANTS
from workspace import Workspace

import orthoglot
from orthoglot.errors import ConfigError, DataError
from orthoglot.study import config
from orthoglot.study.jobs import digests
from plan import Plan

COMMAND_LINE = ("orthoglot.cli", "orthoglot.study.cli", "orthoglot.__main__")
# What is only logged.
LOGGED = {"orthoglot.errors:printable", "orthoglot.training.endings:summary"}
# The spelling of languages in settings, which these verbs check although it is other jobs that use them.
SPELLING = {"orthoglot.settings:_canonical", "orthoglot.settings:_norwegian"}
NOT_THEIRS = {"decompose", "embed", "evaluate", "pretrain"}
SENTENCES = ["la bola", "su manfersa veka", "la bola"]


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
    ran: Workspace, tmp_path: Path
) -> None:
    assert any("resumed after" in log.read_text() for log in (ran.folder / "logs").rglob("*.log"))
    again = ran.copy(tmp_path / "w")
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


@pytest.fixture
def of_the_workspace(ran: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Digests are of the workspace's source; nothing of it stays in this process for the tests that follow."""
    with monkeypatch.context() as patched:
        patched.chdir(ran.folder)
        patched.setattr(digests, "SOURCE", ran.folder / "src")
        digests.forget()
        yield
    digests.forget()


@pytest.mark.usefixtures("of_the_workspace")
def test_every_function_that_a_job_ran_is_part_of_its_code(ran: Workspace) -> None:
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
        job = jobs[key]
        counted = {*digests.reached(job.verb, job.settings, job.selects).definitions}
        for module, function in traces[key]:
            name = module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            place = f"orthoglot.{name}"
            # Templates count as a whole, and the command line decides no result.
            if name.endswith(".j2") or place.startswith(COMMAND_LINE) or name in digests.NOT_COUNTED:
                continue
            definition = f"{place}:{function.partition('.')[0]}"
            if function.startswith("<"):  # of a constant
                assert place in job.code, (job.folder, function)
            else:
                spared = LOGGED | (SPELLING if job.verb in NOT_THEIRS else set())
                assert definition in counted | spared, (job.folder, function)


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


def test_trainings_are_timed_beside_their_logs_and_the_time_is_tabulated(ran: Workspace) -> None:
    found = table(ran, "ems")
    seconds = {
        one["encoder_here"]: one["measured"]
        for one in found["cells"]
        if one["dataset"] == "training" and one["measured"] is not None
    }
    assert set(seconds) == set(VARIANTS["ems"])
    for variant, took in seconds.items():
        (file,) = (ran.folder / f"logs/ablation/mini/ems/{variant}/seed3").glob("encoder.*.speed/speed.json")
        stated = json.loads(file.read_text())
        assert took == pytest.approx(1000 * stated["seconds"] / stated["steps"], abs=1e-5)
        assert found["hardware"] == stated["hardware"]
    assert not list((ran.folder / "ablation").rglob("speed.json"))
    # Of Emma-X one for each phase.
    phases = {path.parent.name for path in (ran.folder / "logs/ablation/mini/emma-x").rglob("speed.json")}
    assert phases == {"parallel-encoder-classifier", "text"}


@pytest.fixture
def decomposer(ran: Workspace) -> Path:
    return ran.folder / "models/mini/decomposers/ems-mini/dream+oracle/seed1"


def test_loaded_decomposer_gives_both_parts_of_every_sentence_in_order(decomposer: Path) -> None:
    model = orthoglot.load(decomposer)
    parts = {part: model.encode(SENTENCES, part=part) for part in ("sentence", "meaning", "language")}
    assert all(vectors.shape == (3, 32) and vectors.dtype == np.float32 for vectors in parts.values())
    assert not np.allclose(parts["meaning"], parts["language"])
    np.testing.assert_allclose(parts["meaning"][0], parts["meaning"][2], atol=1e-6)
    assert not np.allclose(parts["meaning"][0], parts["meaning"][1])
    np.testing.assert_allclose(model.encode(SENTENCES[1]), parts["meaning"][1], atol=1e-6)


def test_default_part_is_meaning_and_an_encoder_alone_has_none(decomposer: Path, ran: Workspace) -> None:
    model = orthoglot.load(decomposer)
    np.testing.assert_array_equal(model.encode(SENTENCES), model.encode(SENTENCES, part="meaning"))
    encoder = orthoglot.load(ran.folder / "models/mini/encoders/ems-mini")
    np.testing.assert_allclose(
        encoder.encode(SENTENCES, part="sentence"), model.encode(SENTENCES, part="sentence")
    )
    np.testing.assert_array_equal(encoder.encode(SENTENCES), encoder.encode(SENTENCES, part="sentence"))
    with pytest.raises(ConfigError, match="has no decomposer"):
        encoder.encode(SENTENCES, part="meaning")
    with pytest.raises(ConfigError, match="unknown part 'meening'; known: sentence, meaning, language"):
        model.encode(SENTENCES, part="meening")


def test_centering_asks_for_the_language(ran: Workspace) -> None:
    model = orthoglot.load(ran.folder / "models/mini/decomposers/ems-mini/centering/seed1")
    assert model.encode(SENTENCES, language="qaa").shape == (3, 32)
    with pytest.raises((ConfigError, DataError), match="language"):
        model.encode(SENTENCES)


def test_decomposer_beside_another_encoder_is_refused(
    decomposer: Path, ran: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(ran.folder / "models", tmp_path / "models")
    weights = tmp_path / "models/mini/encoders/ems-mini/model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(DataError, match="trained on encoder"):
        orthoglot.load(tmp_path / decomposer.relative_to(ran.folder))


def test_decomposer_without_its_encoder_is_refused_wherever_it_lies(decomposer: Path) -> None:
    with TemporaryDirectory() as shallow:
        copied = shutil.copytree(decomposer, Path(shallow) / "copied")
        with pytest.raises(DataError, match=r"its encoder is not at .*; copy the whole folder models/PRESET"):
            orthoglot.load(copied)


def test_folder_that_holds_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds neither"):
        orthoglot.load(tmp_path)


def test_encode_verb_writes_the_same_vectors(decomposer: Path, ran: Workspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(SENTENCES) + "\n")
    ran.run(
        "orthoglot",
        "encode",
        str(tmp_path / "a.txt"),
        "--model",
        str(decomposer),
        "-o",
        str(tmp_path / "a.npy"),
    )
    np.testing.assert_allclose(
        np.load(tmp_path / "a.npy"), orthoglot.load(decomposer).encode(SENTENCES), atol=1e-6
    )
