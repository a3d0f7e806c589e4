"""The verb that trains: what it starts from comes before it, distillation and several processes for real."""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from shipped_settings import shipped_values

from orthoglot import receipts
from orthoglot.encoders.folder import load_encoder
from orthoglot.errors import ConfigError
from orthoglot.study import config
from orthoglot.study.jobs import pretrain, tokenise
from orthoglot.study.jobs.job import LOCKS, Job, key_of
from orthoglot.text.bitext import SentencePair, write_pairs
from plan import Plan

pytestmark = pytest.mark.usefixtures("_in_an_empty_folder")

SMALL: dict[str, Any] = {"batch_size": 8, "steps": 4, "validate_every": 2, "warmup_steps": 1, "threads": 1}


@pytest.fixture
def values() -> dict[str, Any]:
    found = shipped_values()
    for name in ("ems-mini", "distilled-mini", "ems-xlmr-mini"):
        found["encoders"][name] |= SMALL
    for name in ("ems-mini", "distilled-mini"):
        found["encoders"][name]["network"] |= {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16}
        found["encoders"][name]["network"]["tokenizer"] |= {"vocabulary": 60}
    return found


def planned(values: dict[str, Any], *encoders: str) -> Plan:
    values["presets"]["mini"]["encoders"] = list(encoders)
    return Plan(config.check(values))


def test_what_a_training_starts_from_is_trained_first_though_no_preset_names_it(
    values: dict[str, Any],
) -> None:
    plan = planned(values, "distilled-mini", "ems-xlmr-mini")
    home = "models/mini/encoders"
    assert plan.jobs[f"{home}/distilled-mini"].inputs["teacher"] == [f"{home}/ems-mini"]
    assert plan.jobs[f"{home}/ems-xlmr-mini"].inputs["start"] == [f"{home}/xlmr-mini"]
    # They are trained, and neither embedded nor measured.
    assert {job.folder for job in plan.jobs.values() if job.verb == "pretrain"} >= {
        f"{home}/{name}" for name in ("ems-mini", "xlmr-mini")
    }
    assert "embeddings/mini/ems-mini" not in plan.jobs


def test_a_teacher_that_changes_makes_its_student_due(values: dict[str, Any]) -> None:
    before = planned(values, "distilled-mini").jobs["models/mini/encoders/distilled-mini"].key
    values["encoders"]["ems-mini"]["seed"] = 9
    assert planned(values, "distilled-mini").jobs["models/mini/encoders/distilled-mini"].key != before


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("distilled-mini", {"teacher": "ems-mimi"}, "distilled-mini.teacher: unknown name 'ems-mimi'"),
        ("distilled-mini", {"teacher": "sbert-distill"}, "encoders.distilled-mini.teacher: unknown name"),
        (
            "ems-xlmr-mini",
            {"network": {"start": "encoder", "encoder": "distilled-mini"}},
            "encoders.ems-xlmr-mini.network.encoder: unknown name 'distilled-mini'",
        ),
        (
            "ems-mini",
            {"network": {"start": "encoder", "encoder": "ems-mini"}},
            "encoders.ems-mini.network.encoder: starts from itself: ems-mini <- ems-mini",
        ),
        ("ems-mini", {"xtr_weight": 0.0, "contrastive_weight": 0.0}, "both 0: there is nothing to learn"),
        ("ems-mini", {"network": {"start": "encoder"}}, "encoders.ems-mini.network.encoder: Field required"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_its_place(
    name: str, change: dict[str, Any], message: str, values: dict[str, Any]
) -> None:
    values["encoders"][name] |= change
    with pytest.raises(ConfigError, match=re.escape(message)):
        config.check(values)


@pytest.mark.parametrize(
    ("master", "name", "change", "message"),
    [
        (
            {},
            "distilled-mini",
            {"teacher": "ems-small"},
            "distilled-mini: has vectors of 16 numbers, its teacher ems-small of 256",
        ),
        (
            {},
            "distilled-mini",
            {"network": {"start": "encoder", "encoder": "xlmr-small"}},
            "distilled-mini: has vectors of 256 numbers, its teacher ems-mini of 16; give both",
        ),
        (
            {},
            "emma-x-mini",
            {"parallel": {"pairs": {"qaa-zzz": 5}}},
            "encoders.emma-x-mini.parallel.pairs: the preset has no qaa-zzz; it has",
        ),
        # A frozen teacher covers the first language of every pair.
        (
            {"languages": ["qab"]},
            "distilled-mini",
            {"teacher": "master"},
            "master: does not cover qaa of the preset's",
        ),
        ({"languages": ["qaa"]}, "distilled-mini", {"teacher": "master"}, ""),
        ({}, "distilled-mini", {"teacher": "master"}, ""),
        ({"revision": "main"}, "distilled-mini", {"teacher": "master"}, "it needs a commit of 40 hex digits"),
        (
            {"revision": "main"},
            "distilled-mini",
            {"network": {"start": "encoder", "encoder": "master"}},
            "it needs a commit of 40 hex digits",
        ),
    ],
)
def test_an_encoder_that_the_preset_cannot_train_is_refused_where_it_is_selected(
    master: dict[str, Any], name: str, change: dict[str, Any], message: str, values: dict[str, Any]
) -> None:
    values["encoders"]["master"] = values["encoders"]["labse"] | {"languages": []} | master
    for key, value in change.items():
        before = values["encoders"][name][key]
        values["encoders"][name][key] = before | value if key == "parallel" else value
    assert planned(values, "ems-mini")
    if message:
        with pytest.raises(ConfigError, match=re.escape(message)):
            planned(values, name)
    else:
        assert planned(values, name).jobs["models/mini/encoders/master"].verb == "pretrain"


def run(plan: Plan, output: str, bitext: Path) -> Path:
    """Run the tokenise job of a training, and itself, as their rules do, on text of the test's own."""
    tokenise_for(plan, output, bitext)
    pretrain.run(Job("pretrain", job_text(plan, output, bitext)))
    return Path(output)


def tokenise_for(plan: Plan, output: str, bitext: Path) -> None:
    (tokens,) = plan.jobs[output].inputs["tokens"]
    tokenise.run(Job("tokenise", job_text(plan, tokens, bitext)))


def job_text(plan: Plan, folder: str, bitext: Path) -> str:
    """A job that reads the test's own text."""
    job = plan.jobs[folder]
    content = json.loads(plan.as_json(job.key))
    receipts.write(bitext, "0" * 16) if not (bitext / receipts.NAME).exists() else None
    content["inputs"]["bitext"] = {str(bitext): "0" * 16}
    for role, folders in content["inputs"].items():
        made = {folder: receipts.read(Path(folder)) for folder in folders}
        content["inputs"][role] = {name: receipt.key for name, receipt in made.items() if receipt}
    content["key"] = key_of(job.verb, folder, job.parts, content["inputs"])
    return json.dumps(content)


@pytest.fixture
def bitext(tmp_path: Path) -> Path:
    folder = Path("text/qaa-qab")
    folder.mkdir(parents=True)
    words = ["tree", "house", "dog", "red", "small", "water", "old", "bread"]
    rows = [
        SentencePair(f"{a} {b} {c}", f"{c[::-1]} {a[::-1]} {b[::-1]}")
        for a in words
        for b in words[:4]
        for c in words[4:]
    ]
    splits = {"train": rows[:100], "valid": rows[100:]}
    for split, pairs in splits.items():
        write_pairs(folder / f"{split}-00000.tsv.zst", pairs)
    kept = {split: len(pairs) for split, pairs in splits.items()}
    (folder / "counts.json").write_text(json.dumps({"in": {"test": 128}, "kept": kept}))
    return folder


@pytest.mark.parametrize("processes", [1, 2])
def test_teacher_and_student_are_trained_by_their_jobs(
    processes: int, values: dict[str, Any], bitext: Path
) -> None:
    values["encoders"]["ems-mini"] |= {"processes": processes, "negatives": "gathered"}
    values["encoders"]["distilled-mini"] |= {"processes": processes}
    values |= {"curves": ["dvclive"], "device": "cpu"}
    plan = planned(values, "distilled-mini")
    teacher = run(plan, "models/mini/encoders/ems-mini", bitext)
    student = run(plan, "models/mini/encoders/distilled-mini", bitext)
    for folder in (teacher, student):
        assert load_encoder(folder, "cpu").encode(["tree dog"], "qaa", 64).shape == (1, 16)
        assert {path.name for path in folder.iterdir()} == {
            *("config.json", "encoder.json", "history.jsonl", "model.safetensors"),
            *("receipt", "tokenizer.json", "tokenizer_config.json"),
        }
    assert not list(Path("checkpoints").glob("*"))
    curve = Path("logs/mini/curves/encoders/distilled-mini/dvclive/plots/metrics/valid/total.tsv")
    assert [line.split()[0] for line in curve.read_text().splitlines()] == ["step", "2", "4"]


def test_the_lock_outlives_a_verb_that_is_killed_alone(
    values: dict[str, Any], bitext: Path, tmp_path: Path
) -> None:
    """Its processes go on, and whoever runs the job again waits for them rather than training beside them."""
    values["encoders"]["ems-mini"] |= {"processes": 2, "steps": 100_000, "validate_every": 50_000}
    values |= {"curves": [], "device": "cpu"}
    plan, output = planned(values, "ems-mini"), "models/mini/encoders/ems-mini"
    tokenise_for(plan, output, bitext)
    job = plan.jobs[output]
    Path("job.json").write_text(job_text(plan, output, bitext))
    with open("job.json") as typed:
        verb = subprocess.Popen([sys.executable, "-m", "orthoglot", "study", "job", "pretrain"], stdin=typed)
    lock = LOCKS / f"{job.folder}.lock"

    def held() -> bool:
        with lock.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def workers() -> list[psutil.Process]:
        told = [one for one in psutil.process_iter(["cmdline"]) if str(tmp_path) == cwd_of(one)]
        return [one for one in told if "train-together" in (one.info["cmdline"] or [])]

    try:
        deadline = time.monotonic() + 120
        while len(workers()) < 3 and time.monotonic() < deadline:  # the agent and two processes
            time.sleep(0.2)
        assert len(workers()) == 3
        verb.kill()
        verb.wait()
        assert held()
    finally:
        for one in workers():
            one.kill()
    deadline = time.monotonic() + 30
    while held() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not held()


def cwd_of(process: psutil.Process) -> str:
    try:
        return process.cwd()
    except psutil.Error:
        return ""
