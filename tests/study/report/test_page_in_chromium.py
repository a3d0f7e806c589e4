"""The report in a browser: nothing on the console, tables that sort and filter, no text beyond the screen."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from markupsafe import Markup

from orthoglot.drawing.page import render
from orthoglot.study.report.headline import Row, Score
from orthoglot.study.report.maps import Panel
from orthoglot.study.report.overview import headline_table
from orthoglot.study.report.page import TEMPLATE
from orthoglot.study.report.table import Cell, Table

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
# Works the page as a reader does and writes what it finds into the document.
READER = """
const table = document.querySelector("#corpora table"), head = table.tHead.rows[0].cells[1];
const column = () => [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[1].textContent);
const found = {};
head.querySelector("button").focus();
found.focus = document.activeElement.textContent;
document.activeElement.click();
found.down = column().join();
found.aria = head.ariaSort;
document.activeElement.click();
found.up = column().join();
const field = document.querySelector("#corpora input");
field.value = "word 1";
field.dispatchEvent(new Event("input"));
found.filtered = column().length;
found.wide = document.documentElement.scrollWidth > innerWidth;
document.querySelector("main").style.width = "400px";
const change = document.querySelector("#answer tbody tr").cells[2].getBoundingClientRect();
found.change = change.right < document.querySelector("#answer .scroll").getBoundingClientRect().right;
document.body.append(`FOUND ${JSON.stringify(found)} END`);
"""


def opened(tmp_path: Path) -> tuple[str, str]:
    """The document after its scripts, and what the browser logged of them."""
    rows = [[Cell(f"word {n}"), Cell("–" if n == 3 else f"{1000 * n:,}")] for n in (2, 10, 3, *range(11, 18))]
    empty = {name: [] for name in ("answers", "tasks", "alarms", "choices")} | {"training_notes": {}}
    gone = dict.fromkeys(("pictures", "curves", "votes", "verdict"), None)
    table = Table("Corpora", "", ["Name", "Count"], rows)
    panel = Panel(["e"], Markup("<svg></svg>"), {"a": "red"})
    nothing = Table("", "", [], [])
    whole, by_language, change = Score(92.4, 91.5, 94.1), Score(22.4, 20.2, 24.9), Score(-10.4, -11.3, -10.5)
    family = "meat-centred", "MEAT", "best"
    answer = [
        Row(encoder, *family, "heldout", "test", whole, by_language, change, "bad")
        for encoder in ("a", "b", "c")
    ]
    overview = [headline_table(answer)]
    about = {"title": "t", "question": "q", "overview": overview, "hosts": nothing, "facts": {}}
    page = render(
        TEMPLATE,
        **empty,
        **gone,
        **about,
        text_maps_caption="",
        panels_caption="",
        maps=[panel],
        pair_maps=[panel],
        corpora={"corpora": table},
    )
    # The reader is no part of the page, whose policy allows its own script alone.
    page = re.sub("<meta http-equiv.*?>", "", page).replace("</body>", f"<script>{READER}</script></body>")
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        "--window-size=500,900",
    ]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def test_tables_sort_and_filter_by_keyboard_and_the_console_stays_empty(tmp_path: Path) -> None:
    document, console = opened(tmp_path)
    assert console == ""
    shown = re.findall("FOUND (.*?) END", document)[-1]
    assert '"focus":"Count"' in shown
    numbers = [f"{n},000" for n in (2, *range(10, 18))]
    # A missing number stays last, whichever way the others run.
    assert f'"down":"{",".join(reversed(numbers))},–"' in shown
    assert '"aria":"descending"' in shown
    assert f'"up":"{",".join(numbers)},–"' in shown
    # The words "word" and "1" are in the rows 10 to 17.
    assert '"filtered":8' in shown
    assert '"wide":false' in shown
    # On a phone the change and its interval are seen without sliding the table.
    assert '"change":true' in shown
