"""What `mkdocs.yml` cannot say: formulas as MathML, pages and links from outside of docs/, and citations as links."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor
from math_core import LatexError, LatexToMathML
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.superfences import SuperFencesException

ROOT = Path(__file__).resolve().parents[1]
MEASUREMENTS = ROOT / "measurements"
# Files outside of docs/ that are pages of the site, and the pictures of measurements.
PAGES = {
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "tests/worked-examples.md": "worked-examples.md",
}
for _path in sorted([*MEASUREMENTS.rglob("*.md"), *MEASUREMENTS.rglob("*.svg")]):
    PAGES[_path.relative_to(ROOT).as_posix()] = _path.relative_to(ROOT).as_posix()
LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)\s#]+)")
# An interval in a row of a table stays on one line, and so does its ±.
INTERVAL = re.compile(r"(\[[+−-]?\d+\.\d+,|±) (?=[+−-]?\d)")
CITATION = re.compile(r"\b(docs|measurements)/([\w/-]+)\.md(#[\w-]*\w)?(?!\w)")
# By this the theme's script finds the link to the repository, and asks GitHub for its stars.
STARS = ' data-md-component="source"'
CONVERTER = LatexToMathML(fancy_error=False)


class FormulaError(PluginError, SuperFencesException):
    """A formula that cannot be read; any other exception a fence would take for code."""


def mathml(formula: str, display: bool) -> str:
    """A formula of LaTeX as MathML, in a box that can be scrolled. One that cannot be read ends the build."""
    try:
        markup = CONVERTER.convert_with_local_state(formula, displaystyle=display)
    except LatexError as error:
        raise FormulaError(f"formula {formula.strip()}: {error}") from None
    return f'<div class="formula">{markup}</div>' if display else f'<span class="formula">{markup}</span>'


def fence(source: str, *_: object, **__: object) -> str:
    """A fence of the name math."""
    return mathml(source, display=True)


class Inline(InlineProcessor):
    """A formula between two dollars."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # noqa: N802
        """Where the formula stands in the text; Python-Markdown puts it there at its end."""
        return self.md.htmlStash.store(mathml(m[1], display=False)), m.start(), m.end()


class Mathematics(Extension):
    """Formulas as GitHub reads them; code goes first, so that a dollar in it stays one."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Called by Python-Markdown."""
        md.inlinePatterns.register(
            Inline(r"(?<![\w$])\$(?!\s)([^$]+?)(?<!\s)\$(?![\w$])", md), "formula", 185
        )


def on_config(config: MkDocsConfig) -> None:
    """Register both kinds of formulas."""
    config.markdown_extensions.append(Mathematics())
    config.mdx_configs["pymdownx.superfences"] = {
        "custom_fences": [{"name": "math", "class": "math", "format": fence}]
    }


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages from outside of docs/."""
    for source, name in PAGES.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Lead links to the page of the site, or to the repository where there is none; hold intervals together."""
    names = {name: source for source, name in PAGES.items()}
    here = page.file.src_uri
    folder = posixpath.dirname(names.get(here, f"docs/{here}"))

    def target(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        name = PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else "")
        if name and not (ROOT / path).is_dir():
            return posixpath.relpath(name, posixpath.dirname(here) or ".")
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        if not (ROOT / path).exists():
            raise PluginError(f"{here}: {match[1]} does not exist")
        return f"{config.repo_url}/{kind}/main/{path}"

    lines = LINK.sub(target, markdown).split("\n")
    return "\n".join(INTERVAL.sub("\\1\u00a0", line) if line.startswith("|") else line for line in lines)


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Lead the citations of docstrings to their page."""
    if page.file.src_uri.startswith("api/"):
        output = CITATION.sub(_cited, output)
    return output.replace(STARS, "")


def _cited(match: re.Match[str]) -> str:
    folder, name, anchor = match[1], match[2], match[3] or ""
    if folder == "docs":
        return f'<a href="../{name}.html{anchor}">{name}.md{anchor}</a>'
    address = re.sub(r"README$", "index", name)
    return f'<a href="../measurements/{address}.html{anchor}">{match[0]}</a>'


def on_post_template(output_content: str, **_: object) -> str:
    """Of the page for addresses that do not exist."""
    return output_content.replace(STARS, "")
