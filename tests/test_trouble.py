"""docs/trouble.md quotes messages that the code has, and the exit statuses that the command line gives."""

from __future__ import annotations

import re
from pathlib import Path

from orthoglot.cli import STATUS

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/trouble.md").read_text(encoding="utf-8")


def test_every_message_is_one_of_the_code() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("src", "workflow")
        for path in sorted((ROOT / folder).rglob("*.py"))
    )
    # Long messages are written on two lines of code, and with values in braces.
    said = re.sub(r'"\s+f?"', "", code).replace("{lock}", "fetched.lock")
    messages = re.findall(r"^\| `([^`]+)` \|", PAGE, flags=re.MULTILINE)
    assert len(messages) > 8
    assert [message for message in messages if message not in said] == []


def test_every_exit_status_is_listed() -> None:
    listed = {int(status) for status in re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)}
    assert listed == set(STATUS.values())
