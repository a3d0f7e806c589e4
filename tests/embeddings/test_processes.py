"""Work shared among processes: the same bytes, one-line failures, no process left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import ems_encoders
import numpy as np
import pytest
import torch
from job_texts import job_text
from process_work import die, note, refuse

from orthoglot import receipts
from orthoglot.embeddings import embed as module
from orthoglot.embeddings import shards
from orthoglot.embeddings.processes import in_processes
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.folder import identity
from orthoglot.errors import DataError
from orthoglot.study.jobs import digests
from orthoglot.study.jobs import embed as embed_verb
from orthoglot.study.jobs.job import Job
from orthoglot.text.bitext import SentencePair, write_pairs

WORDS = ["the", "a", "cat", "dog", "house", "river", "old", "new", "red", "runs", "sleeps", "sees", "under"]
SETTINGS = EmbeddingSettings(batch_tokens=64, dtype="float16", train_pairs=100)

# Killed with SIGKILL as soon as some shards are there; each shard takes long enough for that.
SLOW = """
import sys, time
from pathlib import Path
from orthoglot.embeddings import embed as module, shards
from orthoglot.encoders.pretrained import PretrainedEncoder
from orthoglot.embeddings.settings import EmbeddingSettings
shards.SENTENCES = 8
encode = PretrainedEncoder.encode
def slow(self, *arguments):
    time.sleep(0.1)
    return encode(self, *arguments)
PretrainedEncoder.encode = slow
root = Path(sys.argv[1])
(root / "out").mkdir()
settings = EmbeddingSettings(batch_tokens=64, dtype="float16", train_pairs=100)
module.embed(root / "encoder", module.bitext_texts([root / "en-de"], settings.train_pairs), settings,
             device="cpu", checkpoint=root / "checkpoint", output=root / "out")
"""

PARENT = """
import sys
from functools import partial
from pathlib import Path
from process_work import note
from orthoglot.embeddings.processes import in_processes
if __name__ == "__main__":
    in_processes(partial(note, Path(sys.argv[1])), ["cpu"], range(10_000), print)
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small EMS encoder with random weights and one language pair."""
    root = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(2, 20))) for _ in range(130)]
    folder = root / "en-de"
    folder.mkdir()
    pairs = [SentencePair(text, text.upper() + " .") for text in texts]
    for split, rows in (("train", pairs[:110]), ("valid", pairs[110:120]), ("test", pairs[120:])):
        write_pairs(folder / f"{split}-00000.tsv.zst", rows)
    (folder / "counts.json").write_text(json.dumps({"kept": {"train": 110, "valid": 10, "test": 10}}))
    network = ems_encoders.network(width=32, feed_forward=64, max_tokens=40)
    ems_encoders.write(root / "encoder", {"en": texts, "de": texts}, network)
    return root


def run(world: Path, root: Path, monkeypatch: pytest.MonkeyPatch, workers: int = 1) -> dict[str, bytes]:
    """Every file of a store that so many processes made."""
    monkeypatch.setattr(shards, "SENTENCES", 8)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)  # not those of other processes
    output = root / f"out{workers}"
    output.mkdir(parents=True)
    module.embed(
        world / "encoder",
        module.bitext_texts([world / "en-de"], SETTINGS.train_pairs),
        SETTINGS,
        device="cpu",
        checkpoint=root / "checkpoint",
        output=output,
        processes=workers,
    )
    return {path.name: path.read_bytes() for path in output.iterdir()}


def test_two_processes_make_the_bytes_of_one(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = run(world, tmp_path / "a", monkeypatch)
    shared = run(world, tmp_path / "b", monkeypatch, workers=2)
    assert alone == shared
    assert len(np.load(tmp_path / "a" / "out1" / "vectors.npy")) > 200


def test_a_job_with_more_pairs_encodes_only_what_its_folder_lacks(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Through the verb, whose output folder holds the earlier store; two processes share the new sentences."""
    monkeypatch.chdir(tmp_path)
    for name in ("encoder", "en-de"):
        shutil.copytree(world / name, tmp_path / name)
        receipts.write(tmp_path / name, "k")

    def job(train_pairs: int, output: str = "out", code: str = "same", processes: int = 1) -> EmbeddingStore:
        inputs = {"encoder": {"encoder": "k"}, "bitext": {"en-de": "k"}, "benchmarks": {}}
        monkeypatch.setattr(digests, "job_code", lambda *_: {"orthoglot.encoders": code})
        settings = {"batch_tokens": 64, "train_pairs": train_pairs}
        text = job_text("embed", settings, output=output, inputs=inputs, frozen=code != "trained")
        described = Job("embed", text)
        described.processes = processes
        with caplog.at_level("INFO"):
            caplog.clear()
            embed_verb.run(described)
        return EmbeddingStore.open(Path(output), identity(Path("encoder")))

    fewer = job(40)
    assert "copied" not in caplog.text
    kept = {name: (Path("out") / name).read_bytes() for name in ("vectors.npy", "meta.json")}
    more = job(100, processes=2)
    assert f"{len(fewer.vectors)} vectors are copied from the earlier store, 120 are new" in caplog.text
    fresh = job(100, output="elsewhere")
    assert "copied" not in caplog.text
    assert np.array_equal(more.digests, fresh.digests)
    # Sentences that were encoded in other batches differ by rounding.
    difference = np.abs(more.vectors - fresh.vectors).max(axis=1) / np.abs(fresh.vectors).max(axis=1)
    assert difference.max() <= 1e-5
    # A job whose code is not that of the store, or of a trained encoder, copies nothing; nor one of a damaged store.
    for code in ("other", "trained"):
        job(40, code=code)
        assert "copied" not in caplog.text
    job(40)
    assert kept == {name: (Path("out") / name).read_bytes() for name in kept}
    (Path("out") / "rows.npy").write_bytes(b"damaged")
    job(100)
    assert "copied" not in caplog.text


def test_a_killed_run_goes_on_and_gives_the_same_bytes(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(world, tmp_path / "whole", monkeypatch)
    for name in ("encoder", "en-de"):
        (tmp_path / name).symlink_to(world / name)
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    checkpoint, deadline = tmp_path / "checkpoint", time.monotonic() + 60
    while len(list(checkpoint.glob("*.shard"))) < 3 and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in checkpoint.glob("*.shard")}
    assert 3 <= len(kept) < 20
    assert run(world, tmp_path, monkeypatch) == whole
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_items_are_dealt_out_in_turn(tmp_path: Path) -> None:
    counts: list[int] = []
    in_processes(partial(note, tmp_path), ["first", "second"], range(5), counts.append)
    assert sorted(counts) == [0, 1, 2, 3, 4]
    notes = [(tmp_path / str(item)).read_text().split() for item in range(5)]
    assert [device for _, device in notes] == ["first", "second", "first", "second", "first"]
    assert len({process for process, _ in notes}) == 2
    in_processes(partial(note, tmp_path), ["cpu", "cpu"], [], counts.append)
    assert len(counts) == 5


def test_an_error_and_a_death_end_the_work_with_their_cause() -> None:
    with pytest.raises(DataError, match="item 3 is bad"):
        in_processes(refuse, ["cpu", "cpu"], range(6), print)
    with pytest.raises(OSError, match="process 0 on cpu ended early, with status 9"):
        in_processes(die, ["cpu"], [1], print)


def test_no_process_outlives_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    notes = tmp_path / "notes"
    notes.mkdir()
    path = os.pathsep.join([str(Path(__file__).parents[1] / "support"), *sys.path])
    process = subprocess.Popen(
        [sys.executable, str(script), str(notes)], env={**os.environ, "PYTHONPATH": path}
    )
    deadline = time.monotonic() + 60
    while not (notes / "1").exists() and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.01)
    worker = int((notes / "0").read_text().split()[0])
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{worker}").exists() and "Z" not in _state(worker) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{worker}").exists() or _state(worker) == "Z"


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"
