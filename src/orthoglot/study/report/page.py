"""One page that needs no network, made from the evaluations of a preset, and the files behind it."""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from orthoglot import __version__
from orthoglot.drawing import page
from orthoglot.drawing.svg import Spec, file, svg
from orthoglot.languages import parse_pair
from orthoglot.statistics.records import P_AT_1, Record, write_records
from orthoglot.study.pretraining import emma_x_diagnostics as diagnostics
from orthoglot.study.report import maps, overview, plots, queries
from orthoglot.study.report.comparisons import compare_methods
from orthoglot.study.report.corpus_tables import corpus_tables
from orthoglot.study.report.emma_x_figure_2 import NOTE, panels
from orthoglot.study.report.frame import frame, rows, where
from orthoglot.study.report.headline import Row, headline, sentences
from orthoglot.study.report.heat_maps import HeatMap, family_maps, heat_maps
from orthoglot.study.report.maps import Panel
from orthoglot.study.report.plots import History
from orthoglot.study.report.sources import Evaluation, Gathered, Sources, gather
from orthoglot.study.report.table import Table, markdown
from orthoglot.study.report.task_tables import Section, examples_table, sections
from orthoglot.study.tasks import registry
from orthoglot.study.tasks.examples import EXAMPLES, Shown, write_examples
from orthoglot.study.tasks.projections import TextMap, write_text_maps
from orthoglot.training.endings import Ending, warnings
from orthoglot.training.training_state import best_epoch

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
    """One task on one data set."""

    name: str
    question: str
    short: Table | None  # the methods of the first table, where nothing is drawn
    main: Section  # the metric that is drawn
    others: list[Section]  # the other metrics
    heat: list[HeatMap]
    families: list[HeatMap]
    figures: list[Figure]
    compared: Markup | None  # maps of all encoders
    panels: list[Panel]
    examples: Table | None  # sentences


class Content(NamedTuple):
    """What both the page and the other files show."""

    records: pd.DataFrame  # all evaluations and comparisons
    answer: list[Row]
    sections: list[Section]
    overview: list[Table]  # the answer in numbers, and tables over all tasks
    early: Mapping[Evaluation, list[str]]  # {(encoder, method): why its training may have ended too early}
    corners: pd.DataFrame  # meaning against language
    curves: pd.DataFrame  # losses of the trainings by epoch
    pictures: list[tuple[str, Spec]]  # the answer, a picture per encoder with a heading
    losses: Spec | None  # curves of the trainings; None without one
    examples: dict[tuple[str, str], list[Shown]]  # {(task, data set): sentences}
    text_maps: dict[str, dict[str, TextMap]]  # {text: {encoder: map of its undivided vectors}}


def report(sources: Sources, output: Path) -> None:
    """Write report.html, tables.md, records, examples, languages, maps and metrics, plots/*.csv and figures/*.svg.

    The figures are the page's pictures of the answer and its curves of the trainings. The page depends on its inputs,
    the installed versions and the kind of system alone: another run with the same results writes the same bytes.

    Args:
        sources: What to report.
        output: An existing folder.
    Raises:
        DataError: as `gather`.
    """
    run = gather(sources)
    records = compare(run)
    content = show(run, records)
    write_files(run, records, content, output)
    (output / "report.html").write_text(render(run, content), encoding="utf-8")
    logger.info("report: %d records of %d evaluations", len(records), len(run.scores))


def compare(run: Gathered) -> list[Record]:
    """The records of all evaluations, then the records that compare their methods."""
    return run.records + compare_methods(
        run.scores,
        run.sources.settings,
        {"orthoglot": __version__},
        hosts=run.sources.methods,
        measures=registry.measures(run.sources.settings.tasks),
    )


def show(run: Gathered, records: Sequence[Record]) -> Content:
    """Tables and pictures of the records."""
    methods, table = run.sources.methods, frame(records)
    whole, answer = queries.undivided(table), headline(table)
    early, corners = _early_ends(run.trainings), plots.corner_table(table, methods)
    curves = plots.curves_table(run.trainings)
    over_tasks = [overview.headline_table(answer, early), overview.means_table(table)]
    if run.fine_tuned:
        over_tasks.append(overview.fine_tuned_table(frame(run.fine_tuned), table))
    pretraining = {training.method: None for training in run.trainings if training.method not in methods}
    return Content(
        records=table,
        answer=answer,
        sections=sections(table),
        overview=over_tasks,
        early=early,
        corners=corners,
        curves=curves,
        pictures=_pictures(answer, corners, methods),
        losses=plots.curves(curves, {**methods, **pretraining}) if run.trainings else None,
        examples=_examples(run, whole),
        text_maps={
            text: {encoder: drawn for (encoder, method), drawn in by_name.items() if method in whole}
            for text, by_name in run.text_maps.items()
        },
    )


def write_files(run: Gathered, records: Sequence[Record], content: Content, output: Path) -> None:
    """Write every file but the page."""
    every_record = [*records, *run.fine_tuned]
    write_records(output / "records.jsonl", every_record)
    table = frame(every_record) if run.fine_tuned else content.records
    table.to_parquet(output / "records.parquet", index=False)
    metrics = overview.tracked(content.records, run.sources.selected)
    _write_json(output / "metrics.json", metrics, indent=2, sort_keys=True, ensure_ascii=False)
    coverage = {"languages": _languages(run), "known": dict(run.sources.known)}
    _write_json(output / LANGUAGES, coverage, indent=1)
    (output / "plots").mkdir()
    for plot, data in (("corner", content.corners), ("curves", content.curves)):
        data.to_csv(output / "plots" / f"{plot}.csv", index=False, lineterminator="\n")
    (output / "figures").mkdir()
    answer = plots.row(content.pictures) if content.pictures else None
    for figure, drawn, missing in (
        ("answer", answer, "no retrieval by two views in this run"),
        ("training", content.losses, "no training in this run"),
    ):
        (output / "figures" / f"{figure}.svg").write_text(file(drawn, missing), encoding="utf-8")
    write_examples(output / EXAMPLES, [example for shown in content.examples.values() for example in shown])
    text_maps = {
        f"{text}/{encoder}": drawn
        for text, by_encoder in content.text_maps.items()
        for encoder, drawn in by_encoder.items()
    }
    write_text_maps(output / TEXT_MAPS_FILE, text_maps)
    listed = list(content.overview)
    for section in content.sections:
        listed += [section.table, *(table for details in section.details.values() for table in details)]
    listed += [examples_table(task, shown) for (task, _), shown in content.examples.items()]
    (output / "tables.md").write_text(markdown(listed), encoding="utf-8")


def render(run: Gathered, content: Content) -> str:
    """The page."""
    methods = run.sources.methods
    voting = [training for training in run.trainings if diagnostics.has_votes(training.rows)]
    return page.render(
        TEMPLATE,
        title=run.sources.title,
        question=QUESTION,
        answers=sentences(content.answer),
        pictures=_figure(content.pictures, WHERE_BETTER["higher", "lower"]) if content.pictures else None,
        overview=content.overview,
        marks={
            name: (colour, plots.SIGNS[form]) for name, (colour, form) in plots.method_styles(methods).items()
        },
        verdict=queries.verdict(content.records, methods),
        facts=_facts(run.sources, content.records),
        hosts=overview.host_table(content.records, methods),
        tasks=_tasks(run, content),
        curves=svg(content.losses) if content.losses else None,
        training_notes=content.early,
        diagnostics=diagnostics,
        votes=plots.votes(voting) if voting else None,
        alarms=[
            f"{training.encoder}: {alarm}"
            for training in voting
            for alarm in diagnostics.alarms(training.rows)
        ],
        maps=maps.maps(run.maps),
        pair_maps=maps.maps(run.pair_maps),
        text_maps_caption=TEXT_MAPS,
        panels_caption=NOTE,
        corpora=corpus_tables(run.pairs, run.texts, _languages(run), run.sources.known),
    )


def _write_json(path: Path, content: object, **form: Any) -> None:
    path.write_text(f"{json.dumps(content, **form)}\n", encoding="utf-8")


def _languages(run: Gathered) -> list[str]:
    return sorted({code for entry in run.pairs for code in parse_pair(entry["pair"])})


def _early_ends(trainings: Sequence[History]) -> Mapping[Evaluation, list[str]]:
    """`Content.early`, without the trainings of encoders, which have a fixed length."""
    endings: dict[Evaluation, list[Ending]] = {}
    for training in trainings:
        if training.seed is not None and training.rows:
            endings.setdefault((training.encoder, training.method), []).append(
                {
                    "epochs": len(training.rows),
                    "best_epoch": best_epoch(training.rows),
                    "stopped": training.stopped,
                }
            )
    return {name: reasons for name, ended in endings.items() if (reasons := warnings(ended))}


def _facts(sources: Sources, records: pd.DataFrame) -> dict[str, str]:
    """What was run, on whose terms, on what system and with which versions."""
    seeds = sorted(records.loc[~records["method"].isin(queries.undivided(records)), "seed"].dropna().unique())
    names = [queries.title(*task) for task in queries.tasks(records)]
    names += [
        registry.title(task)
        for task in (queries.LEAKAGE, queries.GEOMETRY)
        if (records["task"] == task).any()
    ]
    versions = {"orthoglot": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in LIBRARIES}
    return {
        "Encoders": ", ".join(_encoders(records)),
        "Methods": ", ".join(name for name in sources.methods if name in set(records["method"])),
        "Seeds": ", ".join(map(str, seeds)) or "none (nothing was trained)",
        "Tasks": ", ".join(names),
        "Licences": ", ".join(map(" ".join, sources.licences.items())) or "none stated",
        "Numbers": f"{len(records):,} records",
        "Versions": ", ".join(map(" ".join, versions.items())),
        "System": f"{platform.system()} {platform.machine()}",
    }


def _encoders(records: pd.DataFrame) -> list[str]:
    """Each encoder, with the number of bits to which its weights are rounded, if they are."""
    first = records.drop_duplicates("encoder").reindex(columns=["encoder", "bits"])
    return [
        row.encoder if pd.isna(row.bits) else f"{row.encoder} (weights rounded to {row.bits} bits)"
        for row in rows(first)
    ]


def _examples(run: Gathered, whole: set[str]) -> dict[tuple[str, str], list[Shown]]:
    """The examples of each encoder's undivided vectors, or of its first method without them."""
    chosen: dict[str, str] = {}
    for encoder, method in run.examples:
        if encoder not in chosen or method in whole:
            chosen[encoder] = method
    examples: dict[tuple[str, str], list[Shown]] = {}
    for encoder, method in chosen.items():
        for example in run.examples[encoder, method]:
            examples.setdefault((example.task, example.dataset), []).append(example._replace(encoder=encoder))
    return examples


def _pictures(
    answer: Sequence[Row], corners: pd.DataFrame, methods: Mapping[str, str | None]
) -> list[tuple[str, Spec]]:
    pictures = []
    for encoder, (task, dataset) in {row.encoder: (row.task, row.dataset) for row in answer}.items():
        label = queries.label(task, dataset, P_AT_1)
        if len(where(corners, encoder=encoder, task=label)):
            heading = f"{encoder}: {queries.title(task, dataset)}"
            pictures.append((heading, plots.corner(corners, encoder, label, "P@1 (%)", methods)))
    return pictures


def _figure(pictures: Sequence[tuple[str, Spec]], ways: str) -> Figure:
    """Meaning against language, with a caption that says what is drawn and which way is better."""
    points = [point for _, spec in pictures for point in spec["data"]["values"]]
    caption = [CORNER]
    if any(point["host_meaning"] is not None for point in points):
        caption.append(HOSTED)
    if any(point["sentence"] is not None for point in points):
        caption.append(DASHED)
    return Figure([(heading, svg(spec)) for heading, spec in pictures], " ".join([*caption, ways]))


def _tasks(run: Gathered, content: Content) -> list[Task]:
    """A `Task` for the sections of each task and data set; Spearman's is the main one of correlations."""
    grouped: dict[tuple[str, str], list[Section]] = {}
    for section in content.sections:
        grouped.setdefault((section.task, section.dataset), []).append(section)
    return [_task(run, content, by_metric) for by_metric in grouped.values()]


def _task(run: Gathered, content: Content, by_metric: Sequence[Section]) -> Task:
    main = next((section for section in by_metric if section.metric == "spearman"), by_metric[0])
    task, dataset, metric, *_ = main
    records, chosen = content.records, {row.method for row in content.answer}
    question = registry.load(task).QUESTION
    if dataset in run.sources.invented:
        question = f"{question} {queries.INVENTED}"
    figures = _figures(run, content, main)
    few = [cells for cells in main.table.rows if cells[1].text in chosen]
    text_maps = run.text_maps.get(dataset, {}) if task == queries.GEOMETRY else {}
    undivided = content.text_maps[dataset] if text_maps else {}
    examples = content.examples.get((task, dataset))
    return Task(
        name=queries.title(task, dataset),
        question=question,
        short=main.table._replace(rows=few) if few and not figures else None,
        main=main,
        others=[section for section in by_metric if section is not main],
        heat=list(heat_maps(records, task, dataset, metric)) if metric else [],
        families=list(family_maps(records, task, dataset, metric, chosen)) if metric else [],
        figures=figures,
        compared=panels(undivided) if undivided else None,
        panels=maps.text_maps(records, dataset, text_maps),
        examples=examples_table(task, examples) if examples else None,
    )


def _figures(run: Gathered, content: Content, section: Section) -> list[Figure]:
    """Meaning against language of each encoder, or the geometry by metric."""
    task, dataset, metric, *_ = section
    records, methods = content.records, run.sources.methods
    if task == queries.GEOMETRY:
        return [Figure([("", chart) for chart in plots.geometry(records, dataset, methods)], GEOMETRY)]
    if metric is None:
        return []
    label = queries.label(task, dataset, metric)
    drawable = set(where(content.corners, task=label)["encoder"])
    unit, ways = f"{queries.metric_name(metric)} × 100", NEAREST_ZERO
    if metric in queries.PERCENT:
        unit = f"{queries.metric_name(metric)} (%)"
        ways = WHERE_BETTER[queries.better(task, "meaning"), queries.better(task, "language")]
    pictures = [
        (encoder, plots.corner(content.corners, encoder, label, unit, methods))
        for encoder in records["encoder"].unique()
        if encoder in drawable
    ]
    return [_figure(pictures, ways)] if pictures else []
