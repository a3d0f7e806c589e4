"""A model and its encoder's own vector: mteb's tasks on text at hand, language bias of rankings, hard negatives.

python measurements/mteb-tasks/scores.py READY --shared ../shared --work FOLDER [--tasks NAME ...] [--output FOLDER]

Writes scores.csv, and results/ as mteb writes it, whose dataset says which text was read. Prints the page's tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import mteb
import numpy as np
from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTask

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from hard_negatives import negatives
from mteb_page import ALL, table
from remembered import Remembered
from tables import interval, rows, write

from orthoglot.apply import mteb_tasks
from orthoglot.apply.mteb_model import MtebModel
from orthoglot.decomposers.base import unit
from orthoglot.search.neighbours import nearest
from orthoglot.statistics.resampling import Column, Scores, resample
from orthoglot.statistics.weighted import column
from orthoglot.study.benchmarks.kinds.hard_negatives import HardNegativeSet
from orthoglot.study.benchmarks.kinds.pool import PoolSet
from orthoglot.study.tasks.kinds import hard_negatives as hard
from orthoglot.study.tasks.kinds import language_bias as bias
from orthoglot.text.bitext import read_rows
from orthoglot.text.keys import keys_of

PARTS = ("sentence", "meaning")
FLORES = ("eng_Latn", "deu_Latn", "spa_Latn", "rus_Cyrl", "zho_Hans", "hin_Deva", "swh_Latn", "grn_Latn")
CODES = {
    "eng_Latn": "en", "deu_Latn": "de", "spa_Latn": "es", "rus_Cyrl": "ru", "zho_Hans": "zh", "hin_Deva": "hi",
    "swh_Latn": "sw", "grn_Latn": "gn",
}  # fmt: skip
NTREX = {"eng_Latn": "eng", "deu_Latn": "deu", "zho_Hans": "zho-CN", "hin_Deva": "hin"}
NUSAX = {
    "eng": "english", "ace": "acehnese", "ban": "balinese", "bbc": "toba_batak", "bjn": "banjarese", "bug": "buginese",
    "ind": "indonesian", "jav": "javanese", "mad": "madurese", "min": "minangkabau", "nij": "ngaju", "sun": "sundanese",
}  # fmt: skip
POOL = ("en", "zh")
TATOEBA = 835  # pairs of a language, at most
RESAMPLES, SEED = 2000, 1


class Text(NamedTuple):
    """What a task of mteb is given in place of its own file."""

    source: str
    # {subset: {column: sentences}}; one subset "parallel" of a text with a column for each language
    subsets: Mapping[str, Mapping[str, Sequence[str]]]


def flores(shared: Path) -> Text:
    """Half of the devtest lines in eight languages."""
    lines = list(rows(shared / "data/nway/flores200.devtest.tsv.gz"))
    return Text(
        f"{len(lines)} of 1,012 lines of FLORES-200 devtest",
        {"parallel": columns(lines, dict(zip(FLORES, FLORES, strict=True)))},
    )


def ntrex(shared: Path) -> Text:
    """Half of the documents in four languages."""
    lines = list(rows(shared / "data/nway/ntrex128.tsv.gz"))
    return Text(f"{len(lines)} of 1,997 lines of NTREX-128", {"parallel": columns(lines, NTREX)})


def nusax(shared: Path) -> Text:
    """The training part, as mteb has it."""
    lines = list(rows(shared / "data_more/nusax/nusax.train.tsv.gz"))
    sides = columns(lines, NUSAX)
    pairs = {
        f"eng-{code}": {"sentence1": sides["eng"], "sentence2": sides[code]}
        for code in NUSAX
        if code != "eng"
    }
    return Text(f"the {len(lines)} lines of NusaX's training part", pairs)


def bucc(shared: Path) -> Text:
    """The gold pairs of the sample set, where mteb has those of the training set."""
    folder = shared / "data_more/bucc2018"
    text = {
        code: {row["id"]: row["text"] for row in rows(folder / f"zh-en.dev.{code}.tsv.gz")}
        for code in ("zh", "en")
    }
    gold = list(rows(folder / "zh-en.dev.gold.tsv.gz"))
    sides = {
        name: [text[code][row[code]] for row in gold]
        for name, code in (("sentence1", "zh"), ("sentence2", "en"))
    }
    return Text(f"the {len(gold)} gold pairs of BUCC 2018's sample set, zh-en", {"zh-en": sides})


def tatoeba(shared: Path) -> Text:
    """LASER's files of the languages with fewest pairs."""
    pairs = {}
    for path in sorted((shared / "data/tatoeba").glob("tatoeba.*.tsv.gz")):
        sides = list(zip(*read_rows(path, 2), strict=True))
        if len(sides[0]) <= TATOEBA:
            pairs[path.name.split(".")[1]] = dict(
                zip(("sentence1", "sentence2"), map(list, sides), strict=True)
            )
    return Text(f"LASER's Tatoeba files of {len(pairs)} languages with at most {TATOEBA} pairs", pairs)


TEXTS = {
    "FloresBitextMining": flores, "NTREXBitextMining": ntrex, "BUCC.v2": bucc, "Tatoeba": tatoeba,
    "NusaXBitextMining": nusax,
}  # fmt: skip


def columns(lines: Sequence[Mapping[str, str]], names: Mapping[str, str]) -> dict[str, list[str]]:
    """Columns of a table by other names."""
    return {name: [line[column] for line in lines] for name, column in names.items()}


def given(name: str, text: Text) -> AbsTask:
    """A task of mteb whose text is `text`, which its metadata say."""
    task = mteb.get_task(name)
    task.metadata = task.metadata.model_copy(
        update={"dataset": {"path": text.source, "revision": text.source}}
    )
    (split,) = task.metadata.eval_splits
    sets = {
        subset: DatasetDict({split: Dataset.from_dict(dict(sides))}) for subset, sides in text.subsets.items()
    }
    if "parallel" in sets:
        task.dataset = sets["parallel"]
        known = text.subsets["parallel"]
        task.hf_subsets = [subset for subset in task.hf_subsets if set(subset.split("-")) <= set(known)]
    else:
        task.dataset, task.hf_subsets = sets, [subset for subset in task.hf_subsets if subset in sets]
    task.data_loaded = True
    return task


def sides_of(task: AbsTask, text: Text) -> Iterator[tuple[str, Sequence[str], Sequence[str]]]:
    """The two sides of each subset."""
    for subset in task.hf_subsets:
        if "parallel" in text.subsets:
            first, second = (text.subsets["parallel"][name] for name in subset.split("-"))
        else:
            first, second = (text.subsets[subset][name] for name in ("sentence1", "sentence2"))
        yield subset, first, second


def f1_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What each query adds to mteb's F1: 2 / (1 + c) if it finds its translation, which c queries find."""
    best = nearest(unit(x), unit(y)).forward[:, 0]
    return (best == np.arange(len(x))) * 2 / (1 + np.bincount(best, minlength=len(y))[: len(x)])


def bitext(model: Model, name: str, text: Text, output: Path) -> Iterator[dict]:
    """A task of mteb by both vectors; our F1 must be mteb's."""
    scored: dict[tuple[str, str], Scores] = {}
    for part in PARTS:
        task = given(name, text)
        mteb_scores = {score.subset: score.value for score in mteb_tasks.run(model.of(part), [task], output)}
        for subset, first, second in sides_of(task, text):
            values = f1_of(model.encode(first, part), model.encode(second, part))
            if abs(values.mean() - mteb_scores[subset]) > 0.002:  # a tie may go another way
                sys.exit(f"{name} {subset} {part}: ours {values.mean()}, mteb's {mteb_scores[subset]}")
            english = "eng" in subset.split("-")[-1]
            scored[subset, part] = Scores(values[:, None], keys_of(second if english else first))
    yield from records(name, text.source, "F1", scored, 0)


def rankings(model: Model, shared: Path) -> Iterator[dict]:
    """XQuAD-R: the questions of a language query one pool of sentences."""
    folder = shared / "data_more/lareqa"
    asked, pool = (
        list(rows(folder / "xquad_r.questions.tsv.gz")),
        list(rows(folder / "xquad_r.candidates.tsv.gz")),
    )

    def of(table: list[dict[str, str]], name: str) -> dict[str, list[str]]:
        return {code: [row[name] for row in table if row["lang"] == code] for code in POOL}

    answers = PoolSet(
        "xquad-r",
        of(asked, "question"),
        of(asked, "question_id"),
        of(asked, "answer"),
        of(pool, "sentence"),
        of(pool, "id"),
    )
    scored: dict[tuple[str, str], Scores] = {}
    for part in PARTS:
        for language in POOL:
            task = bias.LanguageBias("language-bias", answers, language)
            vectors = {side: model.encode(texts, part) for side, (texts, _) in task.sides().items()}
            scored[language, part] = Scores(task.score(vectors).scores[language], task.keys())
    size = sum(map(len, answers.candidates.values()))
    source = f"XQuAD-R, {' and '.join(POOL)}, {size} candidates"
    for place, metric in enumerate(bias.MEASURES["language-bias"]):
        yield from records("language-bias", source, metric.name, scored, place)


def changed(model: Model, shared: Path) -> Iterator[dict]:
    """FLORES, with hard negatives by our rules."""
    text = flores(shared).subsets["parallel"]
    english = text["eng_Latn"]
    changed_ones = negatives(english)
    rows_of = {sentence: row for row, sentence in enumerate(english)}
    changes = [about["errtype"] for about in changed_ones.values()]
    of = [rows_of[about["src"]] for about in changed_ones.values()]
    scored: dict[tuple[str, str], Scores] = {}
    errors: dict[str, dict[str, int]] = {part: {} for part in PARTS}
    for part in PARTS:
        for name in FLORES[1:]:
            texts = HardNegativeSet(
                "flores", CODES[name], "en", text[name], english, [*changed_ones], changes, of
            )
            task = hard.HardNegatives("hard-negatives", texts)
            vectors = {side: model.encode(sentences, part) for side, (sentences, _) in task.sides().items()}
            result = task.score(vectors)
            scored[CODES[name], part] = Scores(result.scores[f"{CODES[name]}->en"], task.keys())
            for change, count in result.facts["errors"].items():
                errors[part][change] = errors[part].get(change, 0) + count
    source = f"{len(english)} lines of FLORES-200 devtest, {len(changed_ones)} negatives by our rules"
    for place, metric in enumerate(hard.MEASURES["hard-negatives"]):
        yield from records("hard-negatives", source, metric.name, scored, place)
    for part, counted in errors.items():
        for change, count in sorted(counted.items()):
            yield {
                "task": "hard-negatives",
                "text": source,
                "subset": ALL,
                "measure": f"errors: {change}",
                "vectors": part,
                "value": count,
            }


def records(
    task: str, text: str, measure: str, scored: Mapping[tuple[str, str], Scores], place: int
) -> Iterator[dict]:
    """Each subset and the mean of all, times 100, by both vectors, with 95 % intervals over sentences."""
    drawn = resample(
        [Column(f"{subset} {part}", scores, column(place)) for (subset, part), scores in scored.items()],
        resamples=RESAMPLES,
        generator=np.random.default_rng(SEED),
    )
    values = dict(zip(scored, drawn.values, strict=True))
    draws = dict(zip(scored, drawn.draws, strict=True))
    subsets = list(dict.fromkeys(subset for subset, _ in scored))
    for part in PARTS:
        values[ALL, part] = np.mean([values[subset, part] for subset in subsets])
        draws[ALL, part] = np.mean([draws[subset, part] for subset in subsets], axis=0)
    for subset in [*subsets, ALL]:
        names = subsets if subset == ALL else [subset]
        counted = sum(len(scored[name, "sentence"].keys) for name in names)
        for part in PARTS:
            low, high = interval(draws[subset, part])
            record = {
                "task": task, "text": text, "subset": subset, "subsets": len(names), "measure": measure,
                "vectors": part, "n": counted,
                "value": 100 * values[subset, part], "low": 100 * low, "high": 100 * high,
            }  # fmt: skip
            if part == "meaning":
                low, high = interval(draws[subset, "meaning"] - draws[subset, "sentence"])
                gain = values[subset, "meaning"] - values[subset, "sentence"]
                record |= {"gain": 100 * gain, "gain_low": 100 * low, "gain_high": 100 * high}
            yield record


class Model:
    """A model whose encoder remembers what it has encoded."""

    def __init__(self, folder: Path, work: Path) -> None:
        self.encoder = Remembered(folder / "encoder", work / "vectors.sqlite", "float32")
        self.parts = {}
        for part in PARTS:
            model = self.parts[part] = MtebModel(folder, part, "cpu")
            model.model.encoder = self.encoder

    def of(self, part: str) -> MtebModel:
        """For mteb."""
        return self.parts[part]

    def encode(self, sentences: Sequence[str], part: str) -> np.ndarray:
        """Vectors (n, D)."""
        return self.parts[part].model.encode(sentences, part=part)


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    parser.add_argument("--tasks", nargs="+", default=[*TEXTS, "language-bias", "hard-negatives"])
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    model = Model(options.model, options.work)
    measured: list[dict] = []
    parts = {name: partial(bitext, model, name, output=options.output) for name in TEXTS}
    for name in options.tasks:
        if name in TEXTS:
            measured += parts[name](text=TEXTS[name](options.shared))
        else:
            measured += {"language-bias": rankings, "hard-negatives": changed}[name](model, options.shared)
        write(options.output / "scores.csv", measured)
    sys.stdout.write(table(options.output / "scores.csv") + "\n")


if __name__ == "__main__":
    main()
