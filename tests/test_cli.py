"""The command line: quick, quiet about its insides, one line per failure."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

ORTHOGLOT = Path(sys.executable).parent / "orthoglot"


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ORTHOGLOT), *arguments], cwd=cwd, capture_output=True, text=True, timeout=60)


def test_help_lists_the_verbs_without_loading_torch() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom orthoglot.cli import app\n"
        "text = CliRunner().invoke(app, ['--help']).output\n"
        "heavy = [m for m in ('torch', 'transformers', 'pandas', 'sklearn', 'pydantic') if m in sys.modules]\n"
        "assert not heavy, heavy\nprint(text)"
    )
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    verbs = [
        "generate",
        "fetch",
        "benchmark",
        "prepare",
        "pretrain",
        "embed",
        "decompose",
        "evaluate",
        "report",
    ]
    places = [text.index(f" {verb} ") for verb in verbs]
    assert places == sorted(places)


def test_job_file_that_is_none_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text("{}")
    result = run("embed", str(tmp_path / "job.json"))
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "not a job file" in result.stderr


def test_failed_job_leaves_no_output_and_keeps_the_old_one(tmp_path: Path) -> None:
    old = tmp_path / "out"
    old.mkdir()
    (old / "kept.txt").write_text("old")
    job = {
        "verb": "prepare",
        "key": "k",
        "output": "out",
        "inputs": {"benchmarks": [], "roots": []},
        "before": {},
        "settings": {
            "pair": "qaa-qab",
            "sources": [{"name": "mine", "kind": "files", "paths": [str(tmp_path / "absent.tsv")]}],
            "cleaning": {
                "min_characters": 1,
                "max_characters": 100,
                "max_ratio": 9.0,
                "drop_copies": True,
                "drop_duplicates": True,
            },
            "splits": {"seed": 1, "valid": 0.1, "test": 0.1, "max_train": 0, "max_valid": 0, "max_test": 0},
        },
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    result = run("prepare", str(tmp_path / "job.json"), cwd=tmp_path)
    assert result.returncode in (1, 4)
    assert "absent.tsv" in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == [".jobs", "job.json", "out"]
    assert (old / "kept.txt").read_text() == "old"


def test_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    job = {
        "verb": "generate",
        "key": "k",
        "output": "world",
        "inputs": {},
        "before": {},
        "settings": {
            "kind": "mini",
            "seed": 1,
            "pivot": "qaa",
            "languages": {"qab": 2000},
            "retrieval_pairs": 100,
            "graded_items": 10,
        },
    }
    (tmp_path / "job.json").write_text(json.dumps(job))

    def at_most_ten_kilobytes_a_file() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    result = subprocess.run(
        [str(ORTHOGLOT), "generate", str(tmp_path / "job.json")],
        cwd=tmp_path,
        preexec_fn=at_most_ten_kilobytes_a_file,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 1
    assert "File too large" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == [".jobs", "job.json"]


def test_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("one\n")
    result = run("encode", str(tmp_path), str(tmp_path / "text.txt"), str(tmp_path / "o.npy"))
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].endswith("holds neither encoder.json nor decomposer.json")
    assert not (tmp_path / "o.npy").exists()
