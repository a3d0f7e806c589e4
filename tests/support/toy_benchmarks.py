"""Benchmarks whose labels the words of a random XLM-R decide, and stages that learn them in seconds."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from small_checkpoint import WORDS

from orthoglot.study.finetuning.settings import RECIPES, Form, Recipe, Stage
from orthoglot.text.bitext import write_pairs


def sentence(random: Random, side: str, *, high: bool) -> str:
    """Four words of the upper or the lower half of the vocabulary."""
    half = WORDS // 2
    return " ".join(f"{side}{random.randrange(half) + half * high:02}" for _ in range(4))


def write_labelled(
    folder: Path, texts: int, *, shuffled: bool = False, scoring: str = "label", train: int = 240
) -> Path:
    """A set of texts (1), pairs (2) or choices (4) of two languages; the label says which half the words come from."""
    folder.mkdir(parents=True)
    random, rows = Random(1), []
    for language, part, count in (
        ("en", "train", train),
        ("en", "valid", 60),
        ("en", "test", 80),
        ("de", "test", 80),
    ):
        for number in range(count):
            high = random.random() < 0.5
            side = "a" if language == "en" else "b"
            about = [sentence(random, side, high=random.random() < 0.5) for _ in range(4)]
            if texts < 4:
                own = [*about[: texts - 1], sentence(random, side, high=high)]
            else:
                own = [
                    about[0],
                    sentence(random, side, high=not high),
                    about[0],
                    sentence(random, side, high=high),
                ]
            label = {"several": "x high" if high else "x", "number": "5" if high else "2"}.get(
                scoring, str(int(high))
            )
            if shuffled:
                label = str(random.randrange(2))
            rows.append((language, part, f"{language} {part} {number}", label, *own))
    write_pairs(folder / "labelled.tsv.gz", rows)
    about_set = {"directions": [[["en"], "en"], [["en"], "de"]], "scoring": scoring}
    (folder / "labelled.json").write_text(json.dumps(about_set))
    return folder


def write_graded(folder: Path, kind: str = "sts", count: int = 200, seed: int = 1) -> Path:
    """Pairs of sentences whose gold score, 0 to 5, is the number of words that are alike."""
    folder.mkdir(parents=True)
    random, rows = Random(seed), []
    for _ in range(count):
        words = [random.randrange(WORDS) for _ in range(5)]
        kept = random.randrange(6)
        others = words[:kept] + [random.randrange(WORDS) for _ in range(5 - kept)]
        one, other = (" ".join(f"a{word:02}" for word in some) for some in (words, others))
        rows.append((one, other, str(kept), one))
    write_pairs(folder / f"en-en.{kind}.tsv.gz", rows)
    return folder


def write_answers(
    folder: Path, count: int = 120, seed: int = 1, languages: tuple[str, ...] = ("en",)
) -> Path:
    """Questions that answers repeat in other words: bN for aN in English, the reverse in other languages."""
    folder.mkdir(parents=True)
    random, rows = Random(seed), []
    for number in range(count):
        words = [random.randrange(WORDS) for _ in range(3)]
        for code in languages:
            sides = "ab" if code == "en" else "ba"
            asked, answer = (" ".join(f"{side}{word:02}" for word in words) for side in sides)
            rows.append(("question", code, f"q{number}", f"s{number}", asked))
            rows.append(("candidate", code, f"s{number}", f"s{number}", answer))
    write_pairs(folder / "pool.tsv.gz", rows)
    return folder


def stage(train: str, form: Form, valid: str | None = None, **changes: float) -> Stage:
    """A stage with a rate that a random network learns with."""
    quick = {"learning_rate": 3e-3, "epochs": 8, "batch_size": 16, "max_tokens": 22}
    recipe = Recipe.model_validate({**RECIPES[form].model_dump(), **quick, **changes})
    return Stage(train=train, valid=valid, form=form, recipe=recipe)
