"""One page that needs no network, made from the evaluations of a preset, and the records behind it."""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup

from orthoglot import __version__
from orthoglot.drawing.page import render
from orthoglot.drawing.svg import Spec, file, svg
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.statistics.records import P_AT_1, Record, read_records, write_records
from orthoglot.statistics.summary import read_scores
from orthoglot.study.pretraining import emma_x_diagnostics as diagnostics
from orthoglot.study.report import corpus_tables, maps, plots, queries, tables
from orthoglot.study.report.comparisons import compare_methods
from orthoglot.study.report.frame import frame, rows, where
from orthoglot.study.report.headline import Row, headline, sentences
from orthoglot.study.report.heat import HeatMap, family_maps, heat_maps
from orthoglot.study.report.maps import Panel
from orthoglot.study.report.panels import NOTE, panels
from orthoglot.study.report.plots import History
from orthoglot.study.report.tables import Section, Table
from orthoglot.study.tasks import registry
from orthoglot.study.tasks.examples import EXAMPLES, Shown, read_examples, write_examples
from orthoglot.study.tasks.projections import TextMap, read_map, read_text_maps, write_text_maps
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.training.endings import Ending, warnings
from orthoglot.training.progress import best_epoch

TEMPLATE, LANGUAGES = Path(__file__).with_name("report.html.j2"), "languages.json"
# The maps of each text by each encoder's undivided vectors, by "text/encoder".
TEXT_MAPS_FILE = "text-maps.npz"
LIBRARIES = ("torch", "transformers", "numpy", "scikit-learn", "scipy")
QUESTION = (
    "Does a sentence vector that is divided into meaning and language find translations by its meaning, and none by "
    "its language?"
)
CORNER = "Each point is a method, with the intervals of both views."
HOSTED = "A line leads to a method from the one that it adds to."
DASHED = "The dashed line is the undivided vector."
WHERE_BETTER = {
    ("higher", "lower"): "Best is the upper left corner.",
    ("lower", "higher"): "Best is the lower right corner.",
}
NEAREST_ZERO = "Best is high up, and to the side the nearer to 0."
GEOMETRY = (
    "Meaning view of each method and the encoder's own vectors, with their intervals. The arrow shows which way is "
    "better."
)
TEXT_MAPS = (
    f"The colour is the language: the more the colours mix, the less the vectors reveal it. At most 20 languages and "
    f"{maps.TEXT_MAP_POINTS} points, meaning view with the first seed. t-SNE by cosines, perplexity 10; PCA: first "
    "two principal components. Numbers are of all languages and sentences, with that seed. t-SNE shows neighbours; "
    "sizes and distances of its clusters mean nothing."
)
logger = logging.getLogger(__name__)


class Figure(NamedTuple):
    """Drawings that stand next to each other, each with a heading, and their caption."""

    drawn: list[tuple[str, Markup]]
    caption: str


class Task(NamedTuple):
    """One task on one data set: its main metric, the other metrics, and what is drawn of the main one.

    `short` has the rows of the methods of the first table, where nothing is drawn; `compared` has the maps of all
    encoders; `examples` are sentences.
    """

    name: str
    question: str
    short: Table | None
    main: Section
    others: list[Section]
    heat: list[HeatMap]
    families: list[HeatMap]
    figures: list[Figure]
    compared: Markup | None
    panels: list[Panel]
    examples: Table | None


def report(
    evaluations: Sequence[Path],
    histories: Sequence[Path],
    counts: Sequence[Path],
    title: str,
    settings: EvaluationSettings,
    *,
    methods: Mapping[str, str | None],
    selected: Sequence[str],
    text: Sequence[Path] = (),
    invented: Collection[str] = (),
    fine_tuned: Sequence[Path] = (),
    licences: Mapping[str, str],
    known: Mapping[str, Sequence[str]] = MappingProxyType({}),
    output: Path,
) -> None:
    """Write report.html, tables.md, records, examples, languages, maps and metrics, plots/*.csv and figures/*.svg.

    The figures are the page's pictures of the answer and its curves of the trainings.

    The page depends on its inputs, the installed versions and the kind of system alone: another run with the same
    results writes the same bytes.

    Args:
        evaluations: folders that `evaluate` wrote, one per encoder and method.
        histories: history.jsonl files, or folders with one: .../<encoder>/<method>/seed<k> or .../<encoder>.
        counts: prepared folders, or their counts.json, called by language pair.
        title: of the page, e.g. "orthoglot, preset mini".
        settings: resampling of the comparisons.
        methods: {method: the method that it adds terms to, its host, or None}, in the order of the tables.
        selected: the methods that metrics.json averages over: those under test, without the baselines.
        text: prepared text folders, or their counts.json.
        invented: test sets whose languages are invented.
        fine_tuned: folders with the records of fine-tuned encoders: a table of their own, and no comparison.
        licences: of the data and checkpoints used, by name.
        known: the languages that each encoder states; none of one that states none.
        output: an existing folder.
    Raises:
        DataError: no evaluation, two of the same encoder and method, or one of a method that is not in `methods`.
    """
    measured, folders = _read(evaluations, list(methods))
    scores = {name: read_scores(folder / "scores.npz") for name, folder in folders.items()}
    records = measured + compare_methods(
        scores,
        settings,
        {"orthoglot": __version__},
        hosts=methods,
        measures=registry.measures(settings.tasks),
    )
    trainings = [read_history(path) for path in histories]
    further = [record for folder in fine_tuned for record in read_records(folder / "records.jsonl")]
    write_records(output / "records.jsonl", records + further)
    table = frame(records)
    (frame(records + further) if further else table).to_parquet(output / "records.parquet", index=False)
    metrics = json.dumps(tables.tracked(table, selected), indent=2, sort_keys=True, ensure_ascii=False)
    (output / "metrics.json").write_text(f"{metrics}\n", encoding="utf-8")
    (output / "plots").mkdir()
    corners, curves = plots.corner_table(table, methods), plots.curves_table(trainings)
    for plot, data in (("corner", corners), ("curves", curves)):
        data.to_csv(output / "plots" / f"{plot}.csv", index=False, lineterminator="\n")
    answer, sections = headline(table), tables.sections(table)
    pretraining = {training.method: None for training in trainings if training.method not in methods}
    pictures = _pictures(answer, corners, methods)
    losses = plots.curves(curves, {**methods, **pretraining}) if trainings else None
    (output / "figures").mkdir()
    for figure, drawn, missing in (
        ("answer", plots.row(pictures) if pictures else None, "no retrieval by two views in this run"),
        ("training", losses, "no training in this run"),
    ):
        (output / "figures" / f"{figure}.svg").write_text(file(drawn, missing), encoding="utf-8")
    examples = _examples(folders, queries.undivided(table))
    write_examples(output / EXAMPLES, [example for shown in examples.values() for example in shown])
    early = _early_ends(trainings)
    overview = [tables.headline_table(answer, early), tables.means_table(table)]
    if further:
        overview.append(tables.fine_tuned_table(frame(further), table))
    folded = [
        (section.table, *(table for details in section.details.values() for table in details))
        for section in sections
    ]
    folded.append(tuple(tables.examples_table(task, shown) for (task, _), shown in examples.items()))
    (output / "tables.md").write_text(tables.markdown([*overview, *chain(*folded)]), encoding="utf-8")
    corpora = {}
    pairs, texts = ([corpus_tables.read_counts(path) for path in paths] for paths in (counts, text))
    if pairs:
        corpora["corpora"] = corpus_tables.corpus_table(pairs)
    if texts:
        corpora["text"] = corpus_tables.text_table(texts)
    if any(entry.get("benchmarks") for entry in (*pairs, *texts)):
        corpora["overlaps"] = corpus_tables.overlap_table([*pairs, *texts])
    languages = sorted({code for entry in pairs for code in parse_pair(entry["pair"])})
    coverage = json.dumps({"languages": languages, "known": dict(known)}, indent=1)
    (output / LANGUAGES).write_text(f"{coverage}\n", encoding="utf-8")
    if known and languages:
        corpora["languages"] = corpus_tables.language_table(
            languages, {name: corpus_tables.seen(languages, stated) for name, stated in known.items()}
        )
    text_maps: dict[str, dict[tuple[str, str], TextMap]] = {}
    for name, folder in folders.items():
        for dataset, text_map in read_text_maps(folder / "text-maps.npz").items():
            text_maps.setdefault(dataset, {})[name] = text_map
    by_encoder = {
        dataset: _undivided(drawn, queries.undivided(table)) for dataset, drawn in text_maps.items()
    }
    write_text_maps(
        output / TEXT_MAPS_FILE,
        {
            f"{dataset}/{name}": text_map
            for dataset, drawn in by_encoder.items()
            for name, text_map in drawn.items()
        },
    )
    voting = [training for training in trainings if diagnostics.has_votes(training.rows)]
    page = render(
        TEMPLATE,
        title=title,
        question=QUESTION,
        answers=sentences(answer),
        pictures=_figure(pictures, WHERE_BETTER["higher", "lower"]) if pictures else None,
        overview=overview,
        marks={
            name: (colour, plots.SIGNS[form]) for name, (colour, form) in plots.method_styles(methods).items()
        },
        verdict=queries.verdict(table, methods),
        facts=facts(table, licences, methods),
        hosts=tables.host_table(table, methods),
        tasks=_tasks(sections, answer, table, corners, methods, text_maps, by_encoder, examples, invented),
        curves=svg(losses) if losses else None,
        training_notes=early,
        diagnostics=diagnostics,
        votes=plots.votes(voting) if voting else None,
        alarms=[
            f"{training.encoder}: {alarm}"
            for training in voting
            for alarm in diagnostics.alarms(training.rows)
        ],
        maps=maps.maps({name: read_map(folder / "map.npz") for name, folder in folders.items()}),
        pair_maps=maps.maps(
            {
                name: read_map(folder / "pair-map.npz")
                for name, folder in folders.items()
                if (folder / "pair-map.npz").is_file()
            }
        ),
        text_maps_caption=TEXT_MAPS,
        panels_caption=NOTE,
        corpora=corpora,
    )
    (output / "report.html").write_text(page, encoding="utf-8")
    logger.info("report: %d records of %d evaluations", len(records), len(folders))


def _early_ends(trainings: Sequence[History]) -> Mapping[tuple[str, str], list[str]]:
    """{(encoder, method): why its training may have ended too early}, in sentences; only of those with a reason.

    None is of the training of an encoder, which has a fixed length.
    """
    endings: dict[tuple[str, str], list[Ending]] = {}
    for training in trainings:
        if training.seed is not None and training.rows:
            ending = Ending(len(training.rows), best_epoch(training.rows), training.capped)
            endings.setdefault((training.encoder, training.method), []).append(ending)
    warned = {name: warnings(ended) for name, ended in endings.items()}
    return {name: reasons for name, reasons in warned.items() if reasons}


def read_history(path: Path) -> History:
    """A training's history, named by its folder; a decomposer's file says how it ended.

    Raises:
        DataError: not a history.
    """
    file = path / "history.jsonl" if path.is_dir() else path
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        decomposer = file.with_name("decomposer.json")
        details = json.loads(decomposer.read_text(encoding="utf-8"))["details"] if decomposer.exists() else {}
    except (OSError, json.JSONDecodeError) as error:
        raise DataError(f"{file}: not a training history ({error})") from error
    names = file.parent.parts
    if names[-1].startswith("seed"):
        seed = int(names[-1].removeprefix("seed"))
        return History(names[-3], names[-2], seed, rows, details.get("stopped") == "cap")
    return History(names[-1], "pretraining", None, rows)


def facts(
    records: pd.DataFrame, licences: Mapping[str, str], methods: Mapping[str, str | None]
) -> dict[str, str]:
    """What was run, on whose terms, on what system and with which versions."""
    whole = queries.undivided(records)
    seeds = sorted(records.loc[~records["method"].isin(whole), "seed"].dropna().unique())
    names = [queries.title(*task) for task in queries.tasks(records)]
    for task in (queries.LEAKAGE, queries.GEOMETRY):
        names += [registry.title(task)] * bool((records["task"] == task).any())
    versions = [f"{name} {version(name)}" for name in LIBRARIES]
    versions = [f"orthoglot {__version__}", f"Python {platform.python_version()}", *versions]
    return {
        "Encoders": ", ".join(_encoders(records)),
        "Methods": ", ".join(name for name in methods if name in set(records["method"])),
        "Seeds": ", ".join(map(str, seeds)) or "none (nothing was trained)",
        "Tasks": ", ".join(names),
        "Licences": ", ".join(f"{name} {licence}" for name, licence in licences.items()) or "none stated",
        "Numbers": f"{len(records):,} records",
        "Versions": ", ".join(versions),
        "System": f"{platform.system()} {platform.machine()}",
    }


def _encoders(records: pd.DataFrame) -> list[str]:
    """Each encoder, with the number of bits to which its weights are rounded, if they are."""
    first = records.drop_duplicates("encoder").reindex(columns=["encoder", "bits"])
    return [
        row.encoder if pd.isna(row.bits) else f"{row.encoder} (weights rounded to {row.bits} bits)"
        for row in rows(first)
    ]


def _read(
    evaluations: Sequence[Path], methods: Sequence[str]
) -> tuple[list[Record], dict[tuple[str, str], Path]]:
    """All records and the folders by encoder and method; encoders in the order given, methods in that of the preset."""
    if not evaluations:
        raise DataError("report: no evaluation to report")
    evaluated: dict[tuple[str, str], tuple[list[Record], Path]] = {}
    for folder in evaluations:
        records = read_records(folder / "records.jsonl")
        if not records:
            raise DataError(f"{folder}: no record")
        name = records[0].encoder, records[0].method
        if name in evaluated:
            raise DataError(f"report: {evaluated[name][1]} and {folder} both evaluate {' with '.join(name)}")
        if name[1] not in methods:
            raise DataError(f"{folder}: evaluates {name[1]}, which is none of {', '.join(methods)}")
        evaluated[name] = records, folder
    encoders = list(dict.fromkeys(encoder for encoder, _ in evaluated))
    names = sorted(evaluated, key=lambda name: (encoders.index(name[0]), methods.index(name[1])))
    return [record for name in names for record in evaluated[name][0]], {
        name: evaluated[name][1] for name in names
    }


def _examples(
    folders: Mapping[tuple[str, str], Path], whole: Collection[str]
) -> dict[tuple[str, str], list[Shown]]:
    """The examples by task and data set, of each encoder's undivided vectors, or of its first method without them."""
    chosen: dict[str, Path] = {}
    for (encoder, method), folder in folders.items():
        if encoder not in chosen or method in whole:
            chosen[encoder] = folder
    examples: dict[tuple[str, str], list[Shown]] = {}
    for encoder, folder in chosen.items():
        for example in read_examples(folder / EXAMPLES):
            examples.setdefault((example.task, example.dataset), []).append(example._replace(encoder=encoder))
    return examples


def _pictures(
    answer: Sequence[Row], corners: pd.DataFrame, methods: Mapping[str, str | None]
) -> list[tuple[str, Spec]]:
    """The answer as a picture per encoder with a heading; none without retrieval by two views."""
    asked = {row.encoder: (row.task, row.dataset) for row in answer}
    drawn = []
    for encoder, (task, dataset) in asked.items():
        label = queries.label(task, dataset, P_AT_1)
        if len(where(corners, encoder=encoder, task=label)):
            heading = f"{encoder}: {queries.title(task, dataset)}"
            drawn.append((heading, plots.corner(corners, encoder, label, "P@1 (%)", methods)))
    return drawn


def _figure(drawn: Sequence[tuple[str, Spec]], ways: str) -> Figure:
    """Meaning against language, with a caption that says what is drawn and which way is better."""
    points = [point for _, spec in drawn for point in spec["data"]["values"]]
    hosted = any(point["host_meaning"] is not None for point in points)
    dashed = any(point["sentence"] is not None for point in points)
    caption = " ".join([CORNER, *[HOSTED] * hosted, *[DASHED] * dashed, ways])
    return Figure([(heading, svg(spec)) for heading, spec in drawn], caption)


def _tasks(
    sections: Sequence[Section],
    answer: Sequence[Row],
    records: pd.DataFrame,
    corners: pd.DataFrame,
    methods: Mapping[str, str | None],
    text_maps: Mapping[str, Mapping[tuple[str, str], TextMap]],
    by_encoder: Mapping[str, Mapping[str, TextMap]],
    examples: Mapping[tuple[str, str], Sequence[Shown]],
    invented: Collection[str],
) -> list[Task]:
    """A `Task` for the sections of each task and data set; Spearman's is the main one of correlations."""
    grouped: dict[tuple[str, str], list[Section]] = {}
    for section in sections:
        grouped.setdefault((section.task, section.dataset), []).append(section)
    tasks = []
    for (task, dataset), by_metric in grouped.items():
        main = next((section for section in by_metric if section.metric == "spearman"), by_metric[0])
        others = [section for section in by_metric if section is not main]
        heat = list(heat_maps(records, task, dataset, main.metric)) if main.metric else []
        chosen = {row.method for row in answer}
        families = list(family_maps(records, task, dataset, main.metric, chosen)) if main.metric else []
        figures = _figures(main, records, corners, methods)
        drawn = _has_maps(main, text_maps)
        gallery = maps.text_maps(records, dataset, text_maps[dataset]) if drawn else []
        compared = panels(by_encoder[dataset]) if drawn and by_encoder[dataset] else None
        few = [cells for cells in main.table.rows if cells[1].text in chosen]
        short = main.table._replace(rows=few) if few and not figures else None
        asked = " ".join([registry.load(task).QUESTION, *[queries.INVENTED] * (dataset in invented)])
        name = queries.title(task, dataset)
        texts = tables.examples_table(task, examples[task, dataset]) if (task, dataset) in examples else None
        tasks.append(
            Task(name, asked, short, main, others, heat, families, figures, compared, gallery, texts)
        )
    return tasks


def _undivided(drawn: Mapping[tuple[str, str], TextMap], whole: Collection[str]) -> dict[str, TextMap]:
    """The map of each encoder's undivided vectors, where it has one."""
    return {encoder: text_map for (encoder, method), text_map in drawn.items() if method in whole}


def _has_maps(section: Section, text_maps: Mapping[str, object]) -> bool:
    return section.task == queries.GEOMETRY and section.dataset in text_maps


def _figures(
    section: Section, records: pd.DataFrame, corners: pd.DataFrame, methods: Mapping[str, str | None]
) -> list[Figure]:
    """Meaning against language of each encoder, or the geometry by metric."""
    task, dataset, metric = section[:3]
    if task == queries.GEOMETRY:
        return [Figure([("", chart) for chart in plots.geometry(records, dataset, methods)], GEOMETRY)]
    if metric is None:
        return []
    label = queries.label(task, dataset, metric)
    drawable = set(where(corners, task=label)["encoder"])
    encoders = [encoder for encoder in records["encoder"].unique() if encoder in drawable]
    unit = f"{queries.metric_name(metric)} × 100"
    ways = NEAREST_ZERO
    if metric in queries.PERCENT:
        unit = f"{queries.metric_name(metric)} (%)"
        ways = WHERE_BETTER[queries.better(task, "meaning"), queries.better(task, "language")]
    drawn = [(encoder, plots.corner(corners, encoder, label, unit, methods)) for encoder in encoders]
    return [_figure(drawn, ways)] if drawn else []
