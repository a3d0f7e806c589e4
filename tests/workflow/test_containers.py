"""The two images' definitions, and jobs in one: what they install is what the package and its lock say."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from workspace import ROOT, Workspace

from bridge import IMAGE

FOLDER = ROOT / "containers"
DOCKERFILE = (FOLDER / "Dockerfile").read_text()
DEFINITION = (FOLDER / "orthoglot.def").read_text()
STEPS = (FOLDER / "install.sh").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Python of Debian's releases
PYTHON = {"bookworm": "3.11", "trixie": "3.13"}
# In place of Apptainer's command: it writes down its arguments, and runs the job's command outside.
RECORDER = """#!{python}
import os, pathlib, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("apptainer version 1.4.5"))
with open(pathlib.Path(__file__).with_name("images"), "a") as images:
    images.write(sys.argv[sys.argv.index("bash") - 1] + "\\n")
os.execvp("bash", sys.argv[sys.argv.index("bash"):])
"""


def section(name: str) -> list[str]:
    """The lines of a section of the definition, without comments."""
    text = re.search(rf"^%{name}\n(.*?)(?=^%|\Z)", DEFINITION, re.S | re.M)
    assert text is not None, name
    return [line for line in map(str.strip, text[1].splitlines()) if line and not line.startswith("#")]


def test_both_images_have_the_same_base_arguments_and_files() -> None:
    base = re.search(r"^FROM (.*)$", DOCKERFILE, re.M)
    assert base is not None
    assert f"\nBootstrap: docker\nFrom: {base[1]}\n" in DEFINITION
    assert re.findall(r"^ARG (.*)$", DOCKERFILE, re.M) == section("arguments")
    copied = [line.split() for line in re.findall(r"^COPY (.*)$", DOCKERFILE, re.M)]
    # COPY takes the files in a folder, %files the folder.
    flat = {
        (name, target if (ROOT / name).is_file() else f"{Path(target).parent}/")
        for *names, target in copied
        for name in names
    }
    assert {tuple(line.split()) for line in section("files")} == flat
    assert all((ROOT / name).exists() for name, _ in flat)
    for variable in ("PATH=/opt/orthoglot/bin:$PATH", "LANG=C.UTF-8"):
        assert variable in DOCKERFILE
        assert variable in section("environment")[0]


def test_what_the_package_is_built_from_is_copied() -> None:
    hatch = PROJECT["tool"]["hatch"]
    wheel = hatch["build"]["targets"]["wheel"]
    needed = {
        *(one["path"] for one in hatch["metadata"]["hooks"]["fancy-pypi-readme"]["fragments"]),
        *wheel["force-include"],
        "src",
        "pyproject.toml",
        "constraints.txt",
    }
    assert needed | {"containers/install.sh"} == {line.split()[0] for line in section("files")}


def test_python_is_that_of_the_package_and_of_conda() -> None:
    release = re.search(r"^FROM debian:(\w+)-slim$", DOCKERFILE, re.M)
    assert release is not None
    version = PYTHON[release[1]]
    assert (
        f"python={version}"
        in yaml.safe_load((ROOT / "workflow/envs/orthoglot.yaml").read_text())["dependencies"]
    )
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert "install --yes --no-install-recommends python3-venv\n" in STEPS


def test_every_package_comes_in_the_version_of_the_lock() -> None:
    subprocess.run(["sh", "-n", str(FOLDER / "install.sh")], check=True)
    installs = re.findall(r"^.*pip install.*$", STEPS, re.M)
    assert len(installs) == 1
    assert " -c constraints.txt" in installs[0]
    pinned = {
        line.partition("==")[0].lower()
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    extras = PROJECT["project"]["optional-dependencies"]
    default = dict(line.split("=", 1) for line in section("arguments"))["EXTRAS"]
    wanted = PROJECT["project"]["dependencies"] + [
        package for name in default.split(",") for package in extras[name]
    ]
    names = {re.split(r"[><=;\[ ]", package)[0].lower() for package in wanted}
    assert names - pinned == {"orthoglot"}  # the extra workflow contains study


def test_no_pin_file_stands_in_for_packages_of_pip() -> None:
    # Snakemake makes the environment from NAME.PLATFORM.pin.txt alone, which cannot name packages of pip.
    for path in (ROOT / "workflow/envs").glob("*.yaml"):
        if any(isinstance(package, dict) for package in yaml.safe_load(path.read_text())["dependencies"]):
            assert not list(path.parent.glob(f"{path.stem}.*.pin.txt"))


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    folder = tmp_path / "apptainer"
    folder.mkdir()
    (folder / "apptainer").write_text(RECORDER.format(python=sys.executable))
    (folder / "apptainer").chmod(0o755)
    return folder


def test_every_job_runs_in_the_image_if_asked_and_is_done_without_it(
    fresh: Workspace, recorder: Path, tmp_path: Path
) -> None:
    workspace = fresh.copy(tmp_path / "w")
    workspace.programs = f"{recorder}:{workspace.programs}"
    text = workspace.run("snakemake", "--cores", "2", "--sdm", "apptainer", check=False).stdout
    assert f"there is no {IMAGE}; docs/run.md#containers says how" in text
    (workspace.folder / IMAGE).touch()
    jobs = workspace.jobs_run("snakemake", "--cores", "2", "--sdm", "apptainer")
    assert [Path(name).name for name in (recorder / "images").read_text().splitlines()] == [IMAGE] * len(jobs)
    assert "results" in jobs
    (workspace.folder / IMAGE).unlink()
    assert workspace.jobs_due() == {}
