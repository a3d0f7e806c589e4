"""The site of docs/, built as `make docs` builds it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")

ROOT = Path(__file__).parents[2]
# Pages of the site that are not in docs/.
OUTSIDE = {"readme.html", "changelog.html", "worked-examples.html", "contributing.html", "security.html"}


def build(root: Path, output: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(output)]
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=root, env=settings, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("site")
    done = build(ROOT, output)
    assert done.returncode == 0, done.stderr
    return output


class Loaded(HTMLParser):
    """The addresses that a browser loads with a page, and those of its menu."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.menu: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        having = dict(attrs)
        if tag == "link" and having.get("rel") not in ("next", "prev"):
            self.loaded.append(having["href"] or "")
        if tag in ("script", "img", "iframe", "source", "object") and (
            having.get("src") or having.get("data")
        ):
            self.loaded.append(having.get("src") or having["data"] or "")
        if tag == "a" and "md-nav__link" in (having.get("class") or ""):
            self.menu.append(having["href"] or "")


def test_equation_6b_of_seed_is_mathematics(site: Path) -> None:
    page = (site / "papers.html").read_text(encoding="utf-8")
    formula = re.search(r"<math.*?</math>", page[page.index('id="seed-6b"') :], re.DOTALL)
    assert formula
    rows = ["".join(row.itertext()) for row in ElementTree.fromstring(formula[0]).iter("mtr")]
    assert rows[1] == "+D+(es,ms+ls′)+D+(et,mt+lt′)(6b)"


def test_no_formula_is_left_as_text(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = re.sub(
            r"<(pre|code|math|script)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        assert "$" not in re.sub(r"<[^>]+>", "", text), page


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        for address in Loaded(page).loaded:
            path = site / address.lstrip("/") if page.name == "404.html" else page.parent / address
            assert path.is_file(), f"{page}: {address}"
        # What the theme's script would ask GitHub about.
        assert 'data-md-component="source"' not in page.read_text(encoding="utf-8"), page
    for style in site.rglob("*.css"):
        for address in re.findall(r"url\(([^)]+)\)", style.read_text(encoding="utf-8")):
            assert address.strip("\"'").startswith("data:") or (style.parent / address).is_file(), address


def test_the_search_knows_equations_and_the_docstrings(site: Path) -> None:
    found = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    text = {one["location"]: one["title"] + one["text"] for one in found}
    assert "orthoglot.objectives.seed.language_swap" in text["papers.html#seed"]
    assert "by falling margin" in text["api/use.html#orthoglot.mine"]
    assert (site / "search/search_index.js").is_file()  # for a site that is opened from a folder


def test_every_page_is_in_the_menu(site: Path) -> None:
    measured = {
        str(page.relative_to(ROOT).with_suffix(".html")) for page in (ROOT / "measurements").rglob("*.md")
    }
    pages = measured | {
        str(page.relative_to(ROOT / "docs").with_suffix(".html")) for page in (ROOT / "docs").rglob("*.md")
    }
    pages = {page.replace("README.html", "index.html") for page in pages} | OUTSIDE
    menu = {address.split("#")[0] for address in Loaded(site / "index.html").menu} | {"index.html"}
    assert pages - menu == set()


def test_a_docstring_leads_to_its_equation(site: Path) -> None:
    page = (site / "api/use.html").read_text(encoding="utf-8")
    assert 'href="../papers.html#protocol-margin"' in page
    for name, anchor in re.findall(r'href="\.\./([\w/-]+\.html)#([^"]+)"', page):
        assert f'id="{anchor}"' in (site / name).read_text(encoding="utf-8"), (name, anchor)


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "[x](absent.md) [y](run.md#absent)",
            [
                "WARNING -  The following pages exist in the docs directory, but are not included",
                "  - stray.md",
                "WARNING -  Doc file 'gpu.md' contains a link 'absent.md'",
                "WARNING -  Doc file 'gpu.md' contains a link 'run.md#absent'",
            ],
        ),
        ("[x](../absent.py)", ["gpu.md: ../absent.py does not exist"]),
        (r"The map $\absent{x}$", ["'gpu.md'", r"formula \absent{x}"]),
        ("```math\n\\absent{x}\n```", ["'gpu.md'", r"formula \absent{x}"]),
    ],
)
def test_a_fault_ends_the_build(text: str, messages: list[str], tmp_path: Path) -> None:
    for one in ROOT.iterdir():
        if one.name not in ("docs", "site"):
            (tmp_path / one.name).symlink_to(one)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    with open(tmp_path / "docs/gpu.md", "a", encoding="utf-8") as page:
        page.write(f"\n{text}\n")
    (tmp_path / "docs" / "stray.md").write_text("# Outside of the menu\n")
    done = build(tmp_path, tmp_path / "out")
    assert done.returncode != 0
    assert [one for one in messages if one not in done.stderr] == [], done.stderr
