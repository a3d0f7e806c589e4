"""The wheel holds the package and its data, and neither tests nor workflow; built without a network."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from orthoglot import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_citation_names_the_version_of_the_package() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_contents(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    info = f"orthoglot-{__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"orthoglot", info}
    assert {"orthoglot/py.typed", "orthoglot/params.yaml", "orthoglot/__main__.py"} <= names
    files = [path for path in (ROOT / "catalogue").rglob("*") if path.is_file()]
    assert {f"orthoglot/{path.relative_to(ROOT).as_posix()}" for path in files} <= names
    assert "orthoglot = orthoglot.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()


def test_every_dependency_of_users_has_its_licence_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {
        name: needed
        for name, needed in project["optional-dependencies"].items()
        if name not in ("test", "demo")
    }
    wanted = {
        (re.split(r"[<>=;]", one)[0], where)
        for where, needed in [("always", project["dependencies"]), *extras.items()]
        for one in needed
    }
    page = (ROOT / "docs/licences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+) \| (?:extra `(\S+)`|always) \| (\S.*) \|$", page, re.MULTILINE)
    assert {(name, extra or "always") for name, extra, _ in rows} == wanted


def test_only_the_extra_needs_the_workflow_engines(wheel: zipfile.ZipFile) -> None:
    metadata = wheel.read(f"orthoglot-{__version__}.dist-info/METADATA").decode()
    extras = set(re.findall(r"^Provides-Extra: (\S+)", metadata, re.MULTILINE))
    assert {"workflow", "gpu", "faiss", "mteb", "opusfilter"} <= extras
    needed = [line for line in metadata.splitlines() if re.match(r"Requires-Dist: (snakemake|dvc)", line)]
    assert needed
    assert all("extra ==" in line for line in needed)
