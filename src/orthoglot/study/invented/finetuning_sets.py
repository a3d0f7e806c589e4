"""Invented sets that encoders are fine-tuned and tested on: inference, choices, answers, graded pairs, and mining."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from orthoglot.random_streams import derive
from orthoglot.study.corpora.kinds.mini import MiniSettings
from orthoglot.study.invented.grammar import Language
from orthoglot.study.invented.meanings import Frame, draw, freely, overlap, sample, variation
from orthoglot.text.bitext import write_pairs

LABELS = ("contradiction", "entailment", "neutral")
# Items of the training part for each of a test part, and whether the events of a part are withheld from training.
TIMES = {"train": 4, "valid": 1, "test": 1}
# Share of the sentences of each language that have a translation in the other list.
TRANSLATED = 0.5


def write_taught(settings: MiniSettings, output: Path, languages: Mapping[str, Language]) -> None:
    """Write `inference`, `choices`, `documents`, `answers` and `mining`, and graded pairs of the pivot to learn on."""
    asked: dict[str, list[Sequence[str]]] = {part: [] for part in TIMES}
    answers: dict[str, list[Sequence[str]]] = {part: [] for part in TIMES}
    pivot = languages[settings.pivot]
    for part in TIMES:
        for code, language in languages.items():
            write_pairs(output / "inference" / f"{code}-{part}.tsv.gz", _inference(settings, part, language))
            lines = "".join(
                f"{json.dumps(choice, ensure_ascii=False)}\n" for choice in _choices(settings, part, language)
            )
            (output / "choices" / f"{code}-{part}.jsonl").write_text(lines, encoding="utf-8")
            if part == "test" or language is pivot:
                for number, frame in enumerate(_frames(settings, "answers", part)):
                    short = frame._replace(manner="", companion="", year="")
                    asked[part].append((code, f"q{number}", f"s{number}", language.sentence(short)))
                    answers[part].append((code, f"s{number}", language.sentence(frame)))
        lines = "".join(f"{json.dumps(document)}\n" for document in _documents(settings, part, languages))
        (output / "documents" / f"{part}.jsonl").write_text(lines, encoding="utf-8")
        if part != "test":
            write_pairs(
                output / "similarity" / f"{pivot.code}-{pivot.code}-{part}.tsv.gz",
                _similar(settings, part, pivot),
            )
        _write_table(
            output / "answers" / f"questions-{part}.tsv",
            ["lang", "question_id", "answer", "question"],
            asked[part],
        )
        _write_table(output / "answers" / f"candidates-{part}.tsv", ["lang", "id", "sentence"], answers[part])
    for language in languages.values():
        if language is not pivot:
            _write_mining(settings, output / "mining", pivot, language)


def _frames(settings: MiniSettings, name: str, part: str) -> list[Frame]:
    """The meanings of a part, the same in every language."""
    count = TIMES[part] * settings.graded_items
    frames = sample(TIMES["train"] * count + count, settings.seed, name, held_out=part == "test")
    # Validation and training share a draw, so that no meaning is in both.
    return frames[-count:] if part == "valid" else frames[:count]


def _inference(settings: MiniSettings, part: str, language: Language) -> list[tuple[str, str, str, str]]:
    """What follows leaves phrases out; what contradicts turns the negation round as well; else another one did it."""
    random = Random(derive(settings.seed, "inference", part))
    rows = []
    for number, frame in enumerate(_frames(settings, "inference", part)):
        label = random.choice(LABELS)
        other = freely(frame, 0.5, random)
        agent = draw(random).agent
        if label == "contradiction":
            other = other._replace(negated=not other.negated)
        elif label == "neutral":
            while agent == frame.agent:
                agent = draw(random).agent
            other = other._replace(agent=agent)
        rows.append((language.sentence(frame), language.sentence(other), label, f"{part}-{number}"))
    return rows


def _choices(settings: MiniSettings, part: str, language: Language) -> list[dict[str, object]]:
    """The plausible alternative is an event of the topic of the premise, the other one of another topic."""
    random = Random(derive(settings.seed, "choices", part))
    choices: list[dict[str, object]] = []
    for number, frame in enumerate(_frames(settings, "choices", part)):
        alternatives: dict[bool, Frame] = {}
        while len(alternatives) < 2:
            other = draw(random)
            alternatives.setdefault(other.topic == frame.topic, other)
        label = random.randrange(2)
        texts = [language.sentence(alternatives[place == label]) for place in range(2)]
        about = {"premise": language.sentence(frame), "choice1": texts[0], "choice2": texts[1]}
        asked = random.choice(("cause", "effect"))
        choices.append({**about, "question": asked, "label": label, "idx": number})
    return choices


def _documents(
    settings: MiniSettings, part: str, languages: Mapping[str, Language]
) -> Iterator[dict[str, object]]:
    """A sentence in all languages, with its topic and its sentiment as labels."""
    for number, frame in enumerate(_frames(settings, "documents", part)):
        texts = {code: language.sentence(frame) for code, language in languages.items()}
        labels = {"level_1": [frame.topic, frame.sentiment]}
        yield {"celex_id": f"{part}-{number}", "text": texts, "eurovoc_concepts": labels}


def _similar(settings: MiniSettings, part: str, pivot: Language) -> list[tuple[str, str, str]]:
    """Two sentences of the pivot, gold in [0, 5]."""
    random = Random(derive(settings.seed, "similar", part))
    pairs = (
        (frame, variation(frame, settings.seed, random, held_out=False))
        for frame in _frames(settings, "similar", part)
    )
    return [(pivot.sentence(a), pivot.sentence(b), f"{overlap(a, b):.2f}") for a, b in pairs]


def _write_mining(settings: MiniSettings, folder: Path, pivot: Language, language: Language) -> None:
    """Two lists of sentences of which half translate each other, in an order of their own."""
    count, name = settings.retrieval_pairs, f"{language.code}-{pivot.code}"
    translated = int(TRANSLATED * count)
    frames = sample(2 * count - translated, settings.seed, "mining", name, held_out=True)
    random = Random(derive(settings.seed, "mining order", name))
    places = {}
    for side, meanings in ((language, frames[:count]), (pivot, [*frames[:translated], *frames[count:]])):
        order = random.sample(range(count), count)
        places[side.code] = {number: f"{side.code}-{place:05}" for place, number in enumerate(order)}
        rows = [(places[side.code][number], side.sentence(meanings[number])) for number in order]
        _write_table(folder / f"{name}.{side.code}", (), rows)
    gold = [(places[language.code][number], places[pivot.code][number]) for number in range(translated)]
    _write_table(folder / f"{name}.gold", (), gold)


def _write_table(path: Path, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    text = "".join("\t".join(row) + "\n" for row in ([names] if names else []) + [*rows])
    path.write_text(text, encoding="utf-8", newline="\n")
