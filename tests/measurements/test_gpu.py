"""The command that proves and measures everything on a GPU, tried on a CPU with small sizes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from gpu_parts import PARTS
from gpu_parts.page import page

ROOT = Path(__file__).resolve().parents[2]


KILLED = """
import os
import subprocess
from pathlib import Path


def measure(part):
    with part.tried("a piece"):
        part.row("T", n=1)
    Path("{place}").write_text(str(subprocess.Popen(["sleep", "600"]).pid))
    os.kill(os.getpid(), 9)
"""


ENDLESS = """
import os
import time
from pathlib import Path


def measure(part):
    with part.tried("a piece"):
        part.row("T", n=1)
    Path("{place}").write_text(str(os.getpid()))
    time.sleep(600)
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def command(output: Path, *arguments: str, root: Path = ROOT) -> list[str]:
    return [
        sys.executable,
        str(root / "measurements/gpu/gpu.py"),
        "--tiny",
        "--output",
        str(output),
        *arguments,
    ]


def run(output: Path, *arguments: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    given = command(output, *arguments, root=root)
    return subprocess.run(given, capture_output=True, text=True, env=ENVIRONMENT, timeout=600)


def copy_of_the_benchmark(copy: Path) -> Path:
    """A copy whose parts a test may replace; returns their folder."""
    copy.mkdir()
    for name in ("src", "tests", "workflow", "catalogue", "params.yaml", "profiles"):
        (copy / name).symlink_to(ROOT / name)
    parts = copy / "measurements/gpu/gpu_parts"
    parts.mkdir(parents=True)
    (copy / "measurements/gpu/gpu.py").write_bytes((ROOT / "measurements/gpu/gpu.py").read_bytes())
    for path in (ROOT / "measurements/gpu/gpu_parts").glob("*.py"):
        (parts / path.name).write_bytes(path.read_bytes())
    return parts


def has_ended(number: str) -> bool:
    child = Path("/proc") / number / "stat"
    return not child.exists() or child.read_text().split()[2] == "Z"


def read(output: Path, name: str) -> dict:  # type: ignore[type-arg]
    return json.loads((output / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    output = tmp_path_factory.mktemp("gpu")
    return output, run(output)


def test_every_part_runs_on_a_cpu(tried: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    output, found = tried
    assert found.returncode == 0, found.stdout + found.stderr
    for name in PARTS:
        part = read(output, name)
        assert part["state"] == "done", (name, part["reason"], part["failures"])
        assert [one for one in part["failures"] if one["optional"] == "False"] == []
        assert part["tables"]
    assert all(read(output, name)["CPU seconds"] > 0 for name in PARTS)


def test_a_cpu_gives_its_own_results_again(tried: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Loss terms, methods, encoders, retrieval and a killed training: all comparisons of the CPU with itself hold."""
    tables = read(tried[0], "same-results")["tables"]
    rows = [row for table in tables.values() for row in table["rows"]]
    assert all(row["within"] for row in rows if "within" in row and "bfloat16" not in row["what"])
    assert all(row["twice the same"] for row in rows if "twice the same" in row)
    assert "Killed and resumed under torchrun" in tables
    (steps,) = tables["EMS in bfloat16, layers compiled"]["rows"]
    assert (steps["packed"], steps["graphs"]) == (False, 0)
    assert not any(row["said"] for row in tables["What the log of EMS and Emma-X says"]["rows"])
    assert {row["what"] for row in tables["Waiting within steps"]["rows"]} >= {
        "SEED",
        "EMS",
        "Emma-X, Phase 2",
    }


def test_encoding_is_measured_way_by_way(tried: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    rows = read(tried[0], "encoding")["tables"]["Way by way, bfloat16"]["rows"]
    assert [row["way"] for row in rows] == [
        "padded",
        "packed",
        "packed, compiled",
        "packed, compiled, thread",
    ]
    assert all(row["sentences/s"] > 0 and row["share of the limit, %"] > 0 for row in rows)
    # A CPU reads padded sentences whatever the way is called.
    assert not any(row["packed"] or row["compiled"] for row in rows)


def test_goals_of_a_trial_are_neither_reached_nor_missed(
    tried: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    goals = [goal for name in PARTS for goal in read(tried[0], name)["goals"]]
    assert goals
    assert all(goal["reached"] is None for goal in goals)


def test_parts_that_are_done_are_not_run_again_and_others_are(
    tried: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    for name in PARTS:
        (tmp_path / f"{name}.json").write_bytes((tried[0] / f"{name}.json").read_bytes())
    search = read(tmp_path, "search")
    (tmp_path / "search.json").write_text(json.dumps({**search, "code": "of another commit"}))
    (tmp_path / "workflow.json.partial").write_text("{")  # of a run that was killed while it wrote
    before = {name: (tmp_path / f"{name}.json").stat().st_mtime_ns for name in PARTS}
    found = run(tmp_path)
    assert found.returncode == 0, found.stderr
    changed = [name for name in PARTS if (tmp_path / f"{name}.json").stat().st_mtime_ns != before[name]]
    assert changed == ["search"]
    assert "encoding: done before" in found.stdout
    assert read(tmp_path, "search")["code"] == search["code"]


def test_a_broken_part_fails_the_run_and_the_others_still_run(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    parts = copy_of_the_benchmark(copy)
    # One part raises, one kills its process, one lacks a module, and the last one is as it was.
    (parts / "encoders.py").write_text("def measure(part):\n    raise ValueError('broken on purpose')\n")
    (parts / "decomposers.py").write_text(KILLED.format(place=str(tmp_path / "child")))
    (parts / "encoding.py").write_text(
        "from gpu_parts.result import needs\n\n\ndef measure(part):\n    needs('no_such_module')\n"
    )
    output = tmp_path / "out"
    asked = ("encoders", "decomposers", "encoding", "search")
    found = run(output, *(word for name in asked for word in ("--part", name)), root=copy)
    assert found.returncode == 1
    assert "not done: encoders, decomposers, encoding" in found.stdout
    # What it had measured is kept, and what it had started is ended.
    assert read(output, "decomposers")["tables"]["T"]["rows"] == [{"n": 1}]
    assert has_ended((tmp_path / "child").read_text())
    assert [read(output, name)["state"] for name in asked] == ["failed", "failed", "missing", "done"]
    text = (output / "gpu.md").read_text()
    assert "failed: ValueError: broken on purpose" in text
    assert "failed: ended with status -9" in text
    assert "missing: no_such_module cannot be imported" in text


def test_a_run_that_is_terminated_ends_its_part_and_keeps_what_it_measured(tmp_path: Path) -> None:
    copy, child = tmp_path / "copy", tmp_path / "child"
    (copy_of_the_benchmark(copy) / "search.py").write_text(ENDLESS.format(place=child))
    given = command(tmp_path / "out", "--part", "search", root=copy)
    with subprocess.Popen(
        given, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        for _ in range(600):
            if child.exists() and child.read_text():
                break
            time.sleep(0.1)
        process.terminate()
        # The pipe closes only when nobody is left who could write to it.
        process.communicate(timeout=60)
    assert process.returncode == 143
    assert has_ended(child.read_text())
    found = read(tmp_path / "out", "search")
    assert found["state"] == "failed"
    assert found["tables"]["T"]["rows"] == [{"n": 1}]


def goal(name: str, wanted: float, **more: object) -> dict[str, object]:
    return {"name": name, "wanted": wanted, "most": False, "unit": "", "finished": True, **more}


def test_the_page_is_made_of_the_files_alone() -> None:
    part = {
        **{
            "part": "search",
            "title": "Search",
            "tiny": False,
            "code": "c0de",
            "commit": "abc",
            "state": "done",
        },
        **{"reason": "", "device": "A GPU", "date": "2026-11-23", "seconds": 3.0, "notes": ["A note."]},
        "environment": {"torch": "2.13.0", "CUDA": "13.0", "driver": "580"},
        "goals": [
            goal("a", 1, most=True, found=0.5, unit="s", reached=True),
            goal("b", 60, found=12.345, unit="%", reached=False),
            goal("c", 2, found=None, reached=None),
            goal("d", 5, most=True, found=1.69, unit="min", finished=False, reached=False),
        ],
        "tables": {"T": {"columns": ["way", "n"], "rows": [{"way": "x|y", "n": 12345}, {"way": "z"}]}},
        "failures": [{"what": "compile", "reason": "no compiler", "optional": "True"}],
    }
    text = page({"search": part})
    assert "- 2026-11-23, A GPU, commit abc (code c0de); torch 2.13.0, CUDA 13.0, driver 580" in text
    assert "| Search | a | at most 1 s | 0.5 s | reached |" in text
    assert "| Search | b | at least 60 % | 12.3 % | missed |" in text
    assert "| Search | c | at least 2 | – | not measured |" in text
    assert "| Search | d | at most 5 min | 1.69 min, then stopped | missed |" in text
    assert "| Encoding | – | – | – | not measured |" in text
    assert "| x\\|y | 12,345 |\n| z | – |" in text
    assert "- compile: no compiler" in text
    assert "3 s. A note." in text
