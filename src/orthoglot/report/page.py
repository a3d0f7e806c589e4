"""From the evaluations of a preset to one page that opens anywhere, and the records behind it."""

from __future__ import annotations

import json
import logging
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from orthoglot import __version__
from orthoglot.errors import DataError
from orthoglot.pretraining import emma_x_diagnostics as collapse
from orthoglot.report import plots as figures
from orthoglot.report import queries as frames
from orthoglot.report import tables
from orthoglot.report.corpus_tables import pairs_table, read_counts, text_table
from orthoglot.report.plots import Curve
from orthoglot.statistics.comparisons import ORIGINAL, compare_methods
from orthoglot.statistics.records import ALL, Record, read_records, write_records
from orthoglot.statistics.settings import EvaluationSettings
from orthoglot.statistics.summary import Scored, read_scores
from orthoglot.tasks.projections import Map, TextMap, read_map, read_text_maps

TEMPLATE = "page.html.j2"
LIBRARIES = ("torch", "transformers", "numpy", "scikit-learn", "scipy")
logger = logging.getLogger(__name__)


def report(
    evaluations: Sequence[Path],
    histories: Sequence[Path],
    counts: Sequence[Path],
    title: str,
    settings: EvaluationSettings,
    *,
    text: Sequence[Path] = (),
    licences: Mapping[str, str],
    output: Path,
) -> None:
    """Write report.html, tables.md, records.jsonl, records.parquet, metrics.json and plots/*.csv.

    The page depends on its inputs, the installed versions, the machine's name plate and the day; set
    SOURCE_DATE_EPOCH to fix the day.

    Args:
        evaluations: folders that `evaluate` wrote, one per encoder and method.
        histories: history.jsonl files, or folders with one: .../<encoder>/<method>/seed<k> or .../<encoder>.
        counts: prepared folders, or their counts.json, called by language pair.
        title: of the page, e.g. "orthoglot, preset mini".
        settings: resampling of the comparisons.
        text: prepared text folders, or their counts.json.
        licences: of the data and checkpoints used, by name.
        output: an existing folder.
    Raises:
        DataError: no evaluation, or two of the same encoder and method.
    """
    records, scored, drawn, text_maps = _read(evaluations)
    records += compare_methods(scored, settings, {"orthoglot": __version__})
    trainings = [read_curve(path) for path in histories]
    write_records(output / "records.jsonl", records)
    table = frames.frame(records)
    table.to_parquet(output / "records.parquet", index=False)
    _write_json(output / "metrics.json", nested(table))
    (output / "plots").mkdir()
    corners(table).to_csv(output / "plots" / "corner.csv", index=False, lineterminator="\n")
    curve_rows(trainings).to_csv(output / "plots" / "curves.csv", index=False, lineterminator="\n")
    top, sections = tables.headline(table), tables.sections(table)
    (output / "tables.md").write_text(tables.markdown(top, sections), encoding="utf-8")
    corpora = {"corpora": pairs_table([read_counts(path) for path in counts])} if counts else {}
    if text:
        corpora["text"] = text_table([read_counts(path) for path in text])
    ranked = [one for one in trainings if collapse.has_votes(one.rows)]
    page = render(
        TEMPLATE,
        title=title,
        verdict=frames.verdict(table),
        facts=facts(table, licences),
        headline=top,
        sections=sections,
        corners=[
            _figure(figures.corner, table, one.task, one.dataset, one.metric) if one.metric else ""
            for one in sections
            if _has_parts(table)
        ],
        curves=_figure(figures.curves, trainings) if trainings else None,
        collapse=collapse,
        votes=_figure(figures.votes, ranked) if ranked else None,
        alarms=[f"{one.encoder}: {told}" for one in ranked for told in collapse.alarms(one.rows)],
        shapes={name: _figure(figures.geometry, table, name) for name in text_maps},
        text_maps={name: _figure(figures.text_maps, table, name, found) for name, found in text_maps.items()},
        maps=_figure(figures.maps, drawn),
        maps_left_out=len(drawn) - len(figures.chosen_maps(list(drawn))),
        corpora=corpora,
    )
    (output / "report.html").write_text(page, encoding="utf-8")
    logger.info("report: %d records of %d evaluations", len(records), len(scored))


def nested(records: pd.DataFrame) -> dict[str, Any]:
    """encoder -> method -> task -> view -> score, for `dvc metrics`; metrics of leakage and geometry stand as tasks."""
    tree: dict[str, Any] = {}
    chosen = records[(records["subset"] == ALL) & records["seed"].isna()]
    told = chosen["metric"].isin({**frames.SCALES, **frames.SHAPES}) | (chosen["task"] == frames.LEAKAGE)
    for row in frames.lines(chosen[told]):
        methods = tree.setdefault(row.encoder, {}).setdefault(row.method, {})
        methods.setdefault(frames.label(row.task, row.dataset, row.metric), {})[row.view] = round(
            row.value, 4
        )
    return tree


def corners(records: pd.DataFrame) -> pd.DataFrame:
    """One row per encoder, method and task with the scores of both views, for `dvc plots`."""
    values = frames.overall(records)
    values["task"] = [frames.label(row.task, row.dataset, row.metric) for row in frames.lines(values)]
    keys = ["encoder", "method", "task"]
    wide = values.pivot(index=keys, columns="view", values="value").reindex(columns=["meaning", "language"])
    return wide.dropna().round(4).reset_index()


def curve_rows(trainings: Iterable[Curve]) -> pd.DataFrame:
    """Total validation (`loss`) and training loss by epoch, for `dvc plots`."""
    rows = [
        (one.encoder, one.method, one.seed, int(row["epoch"]), row["valid.total"], row["train.total"])
        for one in trainings
        for row in one.rows
    ]
    columns = ["encoder", "method", "seed", "epoch", "loss", "train"]
    return pd.DataFrame(rows, columns=columns).astype({"seed": "Int64"}).round(6)


def read_curve(path: Path) -> Curve:
    """A training's history, named by its folder."""
    file = path / "history.jsonl" if path.is_dir() else path
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, json.JSONDecodeError) as error:
        raise DataError(f"{file}: not a training history ({error})") from error
    names = file.parent.parts
    if names[-1].startswith("seed"):
        return Curve(names[-3], names[-2], int(names[-1].removeprefix("seed")), rows)
    return Curve(names[-1], "pretraining", None, rows)


def render(template: str, **told: Any) -> str:
    """The page; whatever is not `Markup` is escaped, and a name that the template misses is an error."""
    environment = Environment(
        loader=FileSystemLoader([Path(__file__).parent, Path(__file__).parents[1] / "papers"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**told)


def facts(records: pd.DataFrame, licences: Mapping[str, str]) -> dict[str, str]:
    """What was run, on whose terms, where and with which versions."""
    seeds = sorted(records.loc[records["method"] != ORIGINAL, "seed"].dropna().unique())
    installed = [f"{name} {version(name)}" for name in LIBRARIES]
    return {
        "Encoders": ", ".join(records["encoder"].unique()),
        "Methods": ", ".join(frames.ordered(records["method"])),
        "Seeds": ", ".join(map(str, seeds)) or "none (nothing was trained)",
        "Tasks": ", ".join(_tasks(records)),
        "Licences": ", ".join(f"{name} {licence}" for name, licence in licences.items()) or "none stated",
        "Numbers": f"{len(records):,} records",
        "Day": _now().strftime("%Y-%m-%d"),
        "Versions": ", ".join(
            [f"orthoglot {__version__}", f"Python {platform.python_version()}", *installed]
        ),
        "Machine of this report": _machine(),
    }


def _tasks(records: pd.DataFrame) -> list[str]:
    """What methods are compared by, then what is measured beside."""
    beside = [
        frames.TITLES[task] for task in (frames.LEAKAGE, frames.GEOMETRY) if (records["task"] == task).any()
    ]
    return [*(frames.title(*task) for task in frames.tasks(records)), *beside]


def _read(
    evaluations: Sequence[Path],
) -> tuple[
    list[Record],
    dict[tuple[str, str], Scored],
    dict[tuple[str, str], Map],
    dict[str, dict[tuple[str, str], TextMap]],
]:
    """Records, scores, maps, and maps by text; encoders in the order given, methods in the order of the papers."""
    if not evaluations:
        raise DataError("report: no evaluation to report")
    found: dict[tuple[str, str], tuple[list[Record], Path]] = {}
    for folder in evaluations:
        records = read_records(folder / "records.jsonl")
        if not records:
            raise DataError(f"{folder}: no record")
        name = records[0].encoder, records[0].method
        if name in found:
            raise DataError(f"report: {found[name][1]} and {folder} both evaluate {' with '.join(name)}")
        found[name] = records, folder
    encoders = dict.fromkeys(encoder for encoder, _ in found)
    methods = frames.ordered([method for _, method in found])
    names = [(encoder, method) for encoder in encoders for method in methods if (encoder, method) in found]
    text_maps: dict[str, dict[tuple[str, str], TextMap]] = {}
    for name in names:
        for text, one in read_text_maps(found[name][1] / "text-maps.npz").items():
            text_maps.setdefault(text, {})[name] = one
    return (
        [record for name in names for record in found[name][0]],
        {name: read_scores(found[name][1] / "scores.npz") for name in names},
        {name: read_map(found[name][1] / "map.npz") for name in names},
        text_maps,
    )


def _has_parts(records: pd.DataFrame) -> bool:
    return bool((records["view"] == "meaning").any())


def _figure(draw: Any, *arguments: Any) -> Markup:
    # Safe: matplotlib writes the SVG and escapes every text in it.
    return Markup(draw(*arguments))


def _now() -> datetime:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)


def _machine() -> str:
    """E.g. "Linux x86_64, 8 cores, 31 GiB"."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB"


def _write_json(path: Path, value: object) -> None:
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
