"""Files for those who join say what the project really runs."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_a_commit_runs_what_make_check_runs() -> None:
    hooks = [
        hook for repo in yaml.safe_load(read(".pre-commit-config.yaml"))["repos"] for hook in repo["hooks"]
    ]
    (line,) = re.findall(r"^check: setup\n\t\$\(IN_VENV\) (.+)$", read("Makefile"), re.MULTILINE)
    whole = [command.strip().removesuffix(" .") for command in line.split("&&")]
    files = "snakefmt --check"
    assert [files if command.startswith(files) else command for command in whole] == [
        hook["entry"] for hook in hooks
    ]
    assert all(hook["language"] == "system" for hook in hooks)


def test_public_tests_run_the_one_command_for_every_python_that_is_promised() -> None:
    jobs = yaml.safe_load(read(".github/workflows/tests.yml"))["jobs"]
    job = jobs["test"]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["bash .ci/run"]
    project = tomllib.loads(read("pyproject.toml"))["project"]
    promised = re.findall(
        r"^Programming Language :: Python :: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE
    )
    assert job["strategy"]["matrix"]["python"] == promised
    assert project["requires-python"] == f">={promised[0]}"
    assert f"Python {promised[0]} to {promised[-1]}" in read("docs/versions.md")


def test_files_that_pages_for_joiners_name_are_there() -> None:
    for page in ("CONTRIBUTING.md", "SECURITY.md"):
        for link in re.findall(r"\]\((?!https://)([^)#]+)", read(page)):
            assert (ROOT / link).exists(), (page, link)
        for place in re.findall(
            r"`((?:src|tests|docs|workflow|measurements|catalogue)/[\w./-]*)`", read(page)
        ):
            assert (ROOT / place).exists(), (page, place)


def test_templates_are_yaml_that_asks_something() -> None:
    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    assert [path.name for path in forms] == ["bug.yml", "feature.yml"]
    for path in forms:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert form["name"], path
        assert form["description"], path
        assert all(field["attributes"]["label"] for field in form["body"])
    assert json.loads(read(".zenodo.json"))["upload_type"] == "software"
