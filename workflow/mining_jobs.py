"""The jobs of a mining: both texts in parts, encoded, searched part by part, and merged into pairs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from orthoglot import decomposers
from orthoglot.apply import ready
from orthoglot.apply.early_checks import check_model
from orthoglot.encoders import kinds
from orthoglot.errors import ConfigError
from orthoglot.study.jobs.digests import files_digest
from orthoglot.study.mining.settings import MineSettings
from orthoglot.text.bitext import SIDES

if TYPE_CHECKING:
    from grid import Grid


def add_mining(grid: Grid) -> None:
    """Plan the jobs of mining.smk; without a text to mine, asking for one says so."""
    settings, result = grid.preset.mine, f"mined/{grid.name}"
    if settings is None:
        grid.refused[result] = (
            f"there is nothing to mine: give --config source=en.txt target=sw.txt, or presets.{grid.name}.mine"
        )
        return
    try:
        texts, vectors = _parts(grid, settings)
    except ConfigError as error:
        grid.refused[result] = f"presets.{grid.name}.mine: {error}"
        return
    both = {"texts": list(texts.values())}
    home, cells = f"mining/{grid.name}", {"cells": settings.cells}
    centre = [grid.add("centre", f"{home}/centre", cells, inputs={**both, **vectors})]
    if settings.cells:
        sorted_parts = _sorted(grid, settings, vectors, centre)
        both |= {f"{side}_cells": folders for side, folders in sorted_parts.items()}
        neighbours = _neighbours_in_cells(grid, settings, sorted_parts, centre)
    else:
        neighbours = _neighbours(grid, settings, vectors, centre)
    size = {"parts", "cells", "probes"}
    chosen = {"precision", "neighborhood", "margin", "retrieval", "threshold", "best", "numbers"}
    about = {"languages": [settings.source_language, settings.target_language]}
    grid.add(
        "mine",
        result,
        about | settings.model_dump(include=size | chosen),
        inputs={**both, **neighbours, "centre": centre},
    )


def _parts(grid: Grid, settings: MineSettings) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The jobs that cut and encode each text: the folder of its sentences, and those of its vectors."""
    entry = f"presets.{grid.name}.mine"
    folders, files = _model(grid, settings.model, f"{entry}.model")
    paths = settings.source, settings.target
    source, target = files_digest(paths)
    if source == target != "missing":
        raise ConfigError(f"{' and '.join(paths)} are the same text")
    languages = settings.source_language, settings.target_language
    texts, vectors = {}, {}
    for side, path, language, partner in zip(SIDES, paths, languages, reversed(languages), strict=True):
        home = f"mining/{grid.name}/{side}"
        texts[side] = grid.add(
            "split",
            f"{home}/text",
            {"text": path, "parts": settings.parts},
            inputs={},
            own={path: f"{entry}.{side}"},
        )
        about = settings.model_dump(include={"model", "part", "precision", "own_mean"})
        about |= {"language": language, "partner": partner}
        vectors[side] = [
            grid.add(
                "encode",
                f"{home}/vectors/{number}",
                {"number": number, **about},
                selects=[*kinds.names(), *decomposers.names()],  # a model may be of any
                inputs={"text": [texts[side]], "model": folders},
                reads=[] if settings.model else [str(ready.FILE)],
                own=files,
            )
            for number in range(1, settings.parts + 1)
        ]
    return texts, vectors


def _model(grid: Grid, folder: str | None, entry: str) -> tuple[list[str], dict[str, str]]:
    """The folders of the jobs that make a model, and its files if the user has made it."""
    if folder is None:
        return [], {}
    made = {encoder: [encoder] for encoder in grid.encoders.values()}
    for (encoder, method), folders in grid.decomposers.items():
        seeds = grid.preset.seeds if grid.params.methods[method].terms else grid.preset.seeds[:1]
        for fitted in folders:
            needed = [fitted, grid.encoders[encoder]]
            made |= {f"{fitted}/seed{seed}": needed for seed in seeds}
    place = Path(os.path.relpath(folder))
    if str(place) in made:
        return made[str(place)], {}
    if place.is_relative_to(f"models/{grid.name}"):
        raise ConfigError(f"model: no job of the preset makes {place}; e.g. {max(made)} is made")
    if place.is_dir():
        check_model(place)
    files = sorted(str(path) for path in place.rglob("*") if path.is_file())
    return [], dict.fromkeys(files or [folder], entry)


def _neighbours(
    grid: Grid,
    settings: MineSettings,
    vectors: dict[str, list[str]],
    centre: list[str],
) -> dict[str, list[str]]:
    """The jobs that search each pair of parts, and merge what they have found: a folder for each part of a side."""
    home = f"mining/{grid.name}"
    about = {"neighborhood": settings.neighborhood}
    tiles = [
        [
            grid.add(
                "search",
                f"{home}/candidates/{row}-{column}",
                about,
                inputs={"source": [source], "target": [target], "centre": centre},
            )
            for column, target in enumerate(vectors["target"], 1)
        ]
        for row, source in enumerate(vectors["source"], 1)
    ]
    return {
        side: [
            grid.add(
                "merge",
                f"{home}/{side}/neighbours/{number}",
                {"side": side, "other": other, **about},
                inputs={
                    side: [part],
                    other: vectors[other],
                    "centre": centre,
                    "candidates": list(searches),
                },
            )
            for number, (part, searches) in enumerate(zip(vectors[side], lines, strict=True), 1)
        ]
        for side, other, lines in (
            ("source", "target", tiles),
            ("target", "source", zip(*tiles, strict=True)),
        )
    }


def _sorted(
    grid: Grid, settings: MineSettings, vectors: dict[str, list[str]], centre: list[str]
) -> dict[str, list[str]]:
    """The jobs that sort each part by the cells that its sentences look up: a folder for each part of a side."""
    about = settings.model_dump(include={"neighborhood", "probes"}) | {"blocks": settings.parts}
    return {
        side: [
            grid.add(
                "assign",
                f"mining/{grid.name}/{side}/cells/{number}",
                {"side": side, "other": other, **about},
                inputs={"vectors": [part], "centre": centre},
            )
            for number, part in enumerate(vectors[side], 1)
        ]
        for side, other in zip(SIDES, reversed(SIDES), strict=True)
    }


def _neighbours_in_cells(
    grid: Grid, settings: MineSettings, parts: dict[str, list[str]], centre: list[str]
) -> dict[str, list[str]]:
    """The jobs that search a block of cells each, and collect what they have found, as those of `_neighbours`."""
    home, numbers = f"mining/{grid.name}", range(1, settings.parts + 1)
    about = {"neighborhood": settings.neighborhood}
    cut = {"blocks": settings.parts, "cells": settings.cells}
    blocks = [
        grid.add(
            "look_up",
            f"{home}/blocks/{number}",
            {"number": number, **cut, **about},
            inputs={**parts, "centre": centre},
        )
        for number in numbers
    ]
    return {
        side: [
            grid.add(
                "collect",
                f"{home}/{side}/collected/{number}",
                {"side": side, "other": other, "number": number, **about},
                inputs={"blocks": blocks, "centre": centre},
            )
            for number in numbers
        ]
        for side, other in zip(SIDES, reversed(SIDES), strict=True)
    }
