"""The wheel: what it holds, and that it works in an environment with its dependencies alone; without a network."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from small_checkpoint import make_pairs, write_checkpoint, write_tsv

from orthoglot import __version__

ROOT = Path(__file__).parents[2]
# Extras that bring versions of their own, which no test has seen together with the others.
APART = ("gpu", "mteb", "opusfilter")
# Modules that are for the users of an extra alone.
OF_AN_EXTRA = {
    "src/orthoglot/apply/mteb_model.py": "mteb",
    "src/orthoglot/apply/mteb_tasks.py": "mteb",
    "src/orthoglot/apply/opusfilter_class.py": "opusfilter",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_citation_and_archive_say_what_the_package_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    archive = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert citation["license"] == archive["license"] == project["license"]
    assert citation["authors"] == archive["creators"] == project["authors"]
    assert citation["repository-code"] == project["urls"]["Source"]
    assert citation["keywords"] == archive["keywords"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(__version__)}$", changes, re.MULTILINE)
    # Zenodo cites each paper that the pages name by its address.
    papers = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    assert all(one["identifier"] in papers for one in archive["related_identifiers"])


def test_an_index_accepts_the_wheel_and_the_source(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """Their metadata and description, and a size that none of their users would mind."""
    name = str(wheel.filename)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (source,) = map(str, tmp_path.glob("*.tar.gz"))
    # What the source holds is enough for the same wheel.
    shutil.unpack_archive(source, tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=unpacked, check=True, capture_output=True, timeout=120)
    (again,) = tmp_path.glob("*.whl")
    assert zipfile.ZipFile(again).namelist() == wheel.namelist()
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", name, source],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert Path(name).stat().st_size < 4_000_000
    metadata = wheel.read(f"orthoglot-{__version__}.dist-info/METADATA").decode()
    # Where the description stands alone, a relative link or picture leads nowhere.
    assert re.findall(r"\]\((?!https://|#)[^)]*\)", metadata) == []


def test_contents(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    info = f"orthoglot-{__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"orthoglot", info}
    assert {"orthoglot/py.typed", "orthoglot/params.yaml", "orthoglot/__main__.py"} <= names
    files = [path for path in (ROOT / "catalogue").rglob("*") if path.is_file()]
    assert {f"orthoglot/{path.relative_to(ROOT).as_posix()}" for path in files} <= names
    assert "orthoglot = orthoglot.__main__:main" in wheel.read(f"{info}/entry_points.txt").decode()


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
        if not one.startswith("orthoglot[")
    }
    page = (ROOT / "docs/licences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:extra `(\S+)`|always) \| \S.* \| (\S.*) \|$", page, re.MULTILINE)
    listed = [(name, extra or "always") for extra, names in rows for name in names.split(", ")]
    assert sorted(listed) == sorted(wanted)


@pytest.mark.parametrize(
    ("folder", "always"),
    [
        ("src", ["dependencies"]),
        ("src/orthoglot/study", ["dependencies", "study"]),
        ("workflow", ["dependencies", "study", "workflow"]),
    ],
)
def test_every_package_that_is_imported_is_declared(folder: str, always: list[str]) -> None:
    """At the head of a module only what `always` has; within a function what any extra of users has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"dependencies": project["dependencies"], **project["optional-dependencies"]}
    named = {
        name: {canonicalize_name(Requirement(one).name) for one in needed} for name, needed in groups.items()
    }
    at_the_head = set.union(*(named[name] for name in always))
    anywhere = set.union(*(some for name, some in named.items() if name != "test"))
    owners = packages_distributions()
    own = {"orthoglot", *(path.stem for path in (ROOT / "workflow").glob("*.py")), *sys.stdlib_module_names}
    undeclared = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        if folder == "src" and "study" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        where = str(path.relative_to(ROOT))
        extra = named.get(OF_AN_EXTRA.get(where, ""), set())
        head = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in ast.walk(tree):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for package in {module.partition(".")[0] for module in modules} - own:
                names = {canonicalize_name(name) for name in owners.get(package, [package])}
                if not names & (at_the_head | extra if node in head else anywhere):
                    undeclared.append(f"{where}: {package}")
    assert undeclared == []


def test_every_package_of_users_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    pinned = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}
    extras = {name: some for name, some in project["optional-dependencies"].items() if name not in APART}
    for requirement in map(
        Requirement, [*project["dependencies"], *(one for some in extras.values() for one in some)]
    ):
        if requirement.name == "orthoglot":
            continue
        version = pinned.get(canonicalize_name(requirement.name))
        assert version, f"constraints.txt has no {requirement.name}"
        assert version in requirement.specifier, f"constraints.txt: {requirement.name}=={version}"


def test_only_the_extra_needs_the_workflow_engines(wheel: zipfile.ZipFile) -> None:
    metadata = wheel.read(f"orthoglot-{__version__}.dist-info/METADATA").decode()
    extras = set(re.findall(r"^Provides-Extra: (\S+)", metadata, re.MULTILINE))
    assert {"workflow", "gpu", "faiss", "mteb", "opusfilter"} <= extras
    needed = [line for line in metadata.splitlines() if re.match(r"Requires-Dist: (snakemake|dvc)", line)]
    assert needed
    assert all("extra ==" in line for line in needed)


def needed_by(requirements: list[str]) -> dict[str, Distribution]:
    """The installed distributions that a list of requirements leads to, by name."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    ahead = [(Requirement(one), "") for one in requirements]
    while ahead:
        one, extra = ahead.pop()
        if one.marker and not one.marker.evaluate({"extra": extra}):
            continue
        own = distribution(one.name)
        found[own.name] = own
        for wanted in ["", *one.extras]:
            if (own.name, wanted) not in seen:
                seen.add((own.name, wanted))
                ahead += [(Requirement(line), wanted) for line in own.requires or ()]
    return found


@pytest.fixture(scope="module")
def scripts(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the wheel, and with links to what it needs of this one."""
    # Importing pip would keep setuptools, which PyTorch's compiler needs, from being imported in this process.
    if "pip" not in packages_distributions():
        pytest.skip("needs pip")
    root = tmp_path_factory.mktemp("clean")
    venv.create(root, symlinks=True)
    metadata = wheel.read(f"orthoglot-{__version__}.dist-info/METADATA").decode()
    packages = needed_by(re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE))
    site = Path(sysconfig.get_path("purelib", vars={"base": str(root)}))
    for package in packages.values():
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not name.endswith(".pth") and not (site / name).exists():
                (site / name).symlink_to(Path(str(package.locate_file(name))))
    python, found = str(root / "bin/python"), str(wheel.filename)
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", found]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return root / "bin"


# Does the commands one after another, as their programs would; a line ends what each prints.
DAILY = """
import sys
from orthoglot.__main__ import main

for line in sys.argv[1:]:
    sys.argv = ["orthoglot", *line.split()]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
    print("end of", line, flush=True)
"""


def test_the_wheel_does_the_daily_jobs_with_its_dependencies_alone(scripts: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(program: str, *words: str) -> str:
        command = [str(scripts / program), *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def orthoglot(line: str) -> str:
        return run("orthoglot", *line.split())

    find = "from importlib.util import find_spec"
    names = ("snakemake", "dvc", "faiss", "pytest", "pandas", "opustools")
    absent = f"print(*(name for name in {names} if find_spec(name)))"
    place = "import orthoglot; print(orthoglot.__file__)"
    assert run("python", "-c", f"{find}; {absent}") == "\n"
    assert Path(run("python", "-c", place).strip()).is_relative_to(scripts.parent)
    assert orthoglot("--version") == f"orthoglot {__version__}\n"

    refused = subprocess.run(
        [str(scripts / "orthoglot"), "study", "results"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    needs = "orthoglot study needs opustools, pandas: pip install 'orthoglot[study]'"
    assert refused.stderr == f"orthoglot: {needs}\n"

    # Every module of the tool can be imported, but for those of an extra.
    modules = "[one.name for one in pkgutil.walk_packages(orthoglot.__path__, 'orthoglot.')]"
    lacking = f"""
import importlib, pkgutil, orthoglot
for name in {modules}:
    if not name.endswith("__main__") and ".study" not in name:
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(name, error.name)
"""
    assert run("python", "-c", lacking).splitlines() == [
        "orthoglot.apply.mteb_model mteb",
        "orthoglot.apply.mteb_tasks mteb",
        "orthoglot.apply.opusfilter_class opusfilter",
    ]

    write_checkpoint(tmp_path / "weights", offset=0.05)
    write_tsv(tmp_path / "train.tsv", make_pairs(400, 1))
    write_tsv(tmp_path / "dev.tsv", make_pairs(300, 2))
    for side, name in enumerate(("en.txt", "gn.txt")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in make_pairs(50, 3)))
    settings = "--pooling mean --max-tokens 20 --method plda --output model"
    assert "| meaning |" in orthoglot(f"fit --encoder weights --bitext train.tsv --pair en-gn {settings}")
    commands = [
        "calibrate dev.tsv --model model --share 0.3 --precision 0.5 -o known.json",
        "mine en.txt gn.txt --model model --calibration known.json -o -",
        "score en.txt gn.txt --model model --no-identify",
        "filter train.tsv --model model --no-identify --good dev.tsv -o good.tsv",
        "encode en.txt --model model -o vectors.npy",
    ]
    said, printed = run("python", "-c", DAILY, *commands), []
    for command in commands:
        lines, _, said = said.partition(f"end of {command}\n")
        printed.append(lines.splitlines())
    mined, scored = printed[1:3]
    assert mined
    assert {line.count("\t") for line in mined} == {3}
    assert len(scored) == 1 + 50
    assert (tmp_path / "good.tsv").stat().st_size
    assert (tmp_path / "vectors.npy").stat().st_size > 50 * 4
