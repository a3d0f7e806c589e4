"""Citations of pages and links between them lead somewhere, and the functions named in docs/papers.md exist."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ROOT / "docs/papers.md"
CITING = (
    "src",
    "workflow",
    "tests",
    "docs",
    "measurements",
    "examples",
    "schemas",
    "README.md",
    "params.yaml",
    "pyproject.toml",
    "Makefile",
    "catalogue",
    "CHANGELOG.md",
)
TEXT = {".py", ".md", ".ipynb", ".smk", ".yaml", ".yml", ".toml", ".j2", ".json", ".csv"}


@cache
def sources() -> dict[str, str]:
    """Text of every file that may cite, by path."""
    found = {}
    for name in CITING:
        place = ROOT / name
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if (path.suffix in TEXT or path.name == "Makefile") and path != Path(__file__).resolve():
                found[str(path.relative_to(ROOT))] = path.read_text(encoding="utf-8")
    return found


def slug(heading: str) -> str:
    """The anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r'<a id="([^"]+)">', text)
    return frozenset(named) | {slug(line) for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def resolve(name: str) -> Any:
    """The object of a dotted name."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


def test_every_citation_leads_to_a_page_and_an_anchor() -> None:
    page = re.compile(
        r"(?<![\w/])((?:(?:docs|measurements)/[\w./-]+|tests/worked-examples)\.md)(?:#([\w-]*\w)(?![\w-]*\{))?"
    )
    cited = [(path, *names) for path, text in sources().items() for names in page.findall(text)]
    assert len(cited) > 300
    assert [
        f"{path}: {name}#{anchor}"
        for path, name, anchor in cited
        if not (ROOT / name).is_file() or (anchor and anchor not in anchors(ROOT / name))
    ] == []


@pytest.mark.parametrize("page", [PAPERS, ROOT / "tests/worked-examples.md"])
def test_anchors_are_unique(page: Path) -> None:
    named = re.findall(r'<a id="([^"]+)">', page.read_text(encoding="utf-8"))
    assert sorted(set(named)) == sorted(named)


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    pages = [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        ROOT / "tests/worked-examples.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "measurements").rglob("*.md"),
        ROOT / "examples/README.md",
        *(ROOT / "examples").glob("*.ipynb"),
    ]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8")):
            name, _, anchor = target.partition("#")
            other = (page.parent / name).resolve() if name else page
            if not other.exists() or (anchor and anchor not in anchors(other)):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`(orthoglot(?:\.\w+)+)`", PAPERS.read_text(encoding="utf-8"))))
)
def test_functions_named_on_the_page_exist(name: str) -> None:
    resolve(name)


def test_no_citation_of_a_document_outside_the_repository() -> None:
    section = re.compile(r"\bmethods(?:\.md)?,?\s+(?:#\s+)?\d+(?:\.\d+)*\b")
    # E5 is the encoder.
    code = re.compile(r"\b(?!E5\b)[XEVCOQ]-?\d{1,2}\b")
    found = []
    for path, text in sources().items():
        # Codes of tests and reports of measurements are often names of something else.
        of_others = path.startswith(("tests/", "measurements/", "pyproject.toml", "schemas/"))
        patterns = [section] if of_others else [section, code]
        found += [f"{path}: {match.group(0)!r}" for pattern in patterns for match in pattern.finditer(text)]
    assert found == []
