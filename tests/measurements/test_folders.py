"""A folder of measurements/ says first what was asked, what was found, and how to repeat it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

MEASUREMENTS = Path(__file__).parents[2] / "measurements"
FOLDERS = sorted(place.name for place in MEASUREMENTS.iterdir() if any(place.glob("*.md")))
# A question, an answer, a table, and then a command.
BEGINNING = re.compile(r"# [^\n]+\?\n\n(?!#|\||```).*?\n\|[^\n]+\|\n\|[- |:]+\|\n.*?\n```\n\S", re.DOTALL)


def begins_well(text: str) -> bool:
    """Whether all of them stand in this order before the second heading of a part."""
    return bool(BEGINNING.match("## ".join(re.split(r"^## ", text, flags=re.MULTILINE)[:2])))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_page_begins_with_question_answer_table_and_command(folder: str) -> None:
    assert begins_well((MEASUREMENTS / folder / "README.md").read_text(encoding="utf-8"))


def test_the_list_has_every_folder() -> None:
    text = (MEASUREMENTS / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\|.*?\]\(([\w-]+)/README\.md\)", text, re.MULTILINE)) == FOLDERS


def test_a_page_without_its_command_or_its_question_is_seen() -> None:
    page = "# Is it?\n\nIt is.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nrun it\n```\n"
    assert begins_well(page)
    assert begins_well(page.replace("It is.\n", "It is.\n\n## A part\n"))
    for wrong in ("?", "It is.\n\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "```\nrun it\n```\n"):
        assert not begins_well(page.replace(wrong, ""))
    assert not begins_well(page.replace("```\nrun", "## A part\n\n## Another\n\n```\nrun"))
