"""A small form of a paper's preset, through the workflow; `make papers-small` runs all of them, whole."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from workspace import Workspace

from orthoglot.study.papers.measured import NO_DATA, NO_RUN

# Two of the form's five encoders.
CHOSEN = "presets={ems-62-small: {encoders: [tiny-ems, tiny]}}"
ABSENT = {"labse-ems-vanilla", "labse-ems-mlp", "labse-ems-joint", "labse-bilingual"}


def test_the_rows_of_an_encoder_lack_text_alone(tmp_path: Path) -> None:
    """No cell lacks its task; only rows that no encoder of the run stands for lack one. Numbers stand below."""
    workspace = Workspace.make(tmp_path / "w")
    # So few of the miniature's graded items have not every topic.
    workspace.edit(corpora__mini__graded_items=80)
    form = (
        "--configfile",
        "workflow/papers-small.yaml",
        "--config",
        "preset=ems-62-small",
        "device=cpu",
        CHOSEN,
    )
    workspace.run("snakemake", "--cores", "2", "ems-table", *form)
    table = json.loads((workspace.folder / "tables/ems-encoders/ems-encoders-table.json").read_text())
    reasons: dict[str, set[str]] = defaultdict(set)
    for cell in table["cells"]:
        if cell["published"] is not None:
            reasons[cell["encoder"]].add(cell["reason"])
    assert reasons == {name: {NO_RUN if name in ABSENT else NO_DATA} for name in reasons}
    assert ABSENT | {"ems", "laser", "labse", "muse"} <= set(reasons)
    whole = [cell for cell in table["cells"] if cell["direction"] == "all"]
    assert {cell["task"] for cell in whole} >= {"tatoeba", "nway", "mining", "paracrawl", "classification"}
    assert {cell["encoder_here"] for cell in whole} == {"tiny", "tiny-ems"}
    assert all(cell["measured"] is not None for cell in whole)
