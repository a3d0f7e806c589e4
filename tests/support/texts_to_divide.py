"""A language pair of three corpora for a workspace, with pairs that stand in several of them."""

from __future__ import annotations

import random

from workspace import Workspace

PAIR = "en-de"
FOLDER = f"data/mini/bitext/{PAIR}"


def write_corpora(workspace: Workspace, lines: int) -> None:
    """Add the corpora to the preset; their files have so many lines each."""
    draw, names = random.Random(4), ("first", "second", "third")
    for name in names:
        numbers = [draw.randrange(2 * lines) for _ in range(lines)]
        text = "".join(f"Line {n}{draw.choice('.!?')}\tZeile {n}, {n % 97}\n" for n in numbers)
        (workspace.folder / f"texts/{name}.tsv").write_text(text)
    entries = {
        f"corpora__{name}": {
            "kind": "local",
            "pairs": [PAIR],
            "files": [f"texts/{name}.tsv"],
            "licence": "own",
        }
        for name in names
    }
    workspace.edit(presets__mini__corpora=["mini", *names], **entries)
