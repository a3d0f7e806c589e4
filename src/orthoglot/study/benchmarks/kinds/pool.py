"""Questions, and one pool of sentences of many languages that answer them, as in LAReQA; or mentions and entities.

A folder has `pool.tsv.gz`. Each line has what it is ("question" or "candidate"), its language, its id, the id of the
answer, and the text. `PoolSet.relevant` says what answers a question in each language.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from orthoglot.errors import DataError
from orthoglot.languages import canonical
from orthoglot.settings import Language
from orthoglot.study.benchmarks.base import Benchmark, Paths, Takes, taken, well_formed
from orthoglot.study.corpora.patterns import MINI, by_name, filled
from orthoglot.text.bitext import read_json, read_rows, unpacked, write_pairs
from orthoglot.text.sentences import split
from orthoglot.text.tables import places_of

POOL = "pool.tsv.gz"
BY_LANGUAGE = ("xquad-r", "belebele")  # forms with a file for each language


class PoolSettings(Benchmark):
    """Questions, and sentences of many languages in one pool that answer them: LAReQA; or mentions and the entities
    that they mean: Mewsli-X.

    Source: docs/papers.md#protocol-lareqa, docs/papers.md#protocol-language-bias, docs/papers.md#protocol-mewsli-x.
    """

    kind: Literal["pool"]
    form: Literal["table", "xquad-r", "belebele", "squad", "mewsli-x", "mewsli-x-pairs"] = "table"
    """`table`: TSV. `xquad-r`: LAReQA's JSON, articles of a language with questions and the sentences that answer them.
    `belebele`: its lines of JSON, a question of a language and the passage that answers it.
    `squad`: SQuAD's JSON, whose paragraphs are cut into sentences. `mewsli-x`: lines of JSON, of articles with their
    mentions and of entities; `mewsli-x-pairs`: those of its training, a mention and its entity a line."""
    questions: str
    """A TSV file whose first line names the columns lang, question_id, answer (the id of a sentence) and question; or
    XQuAD-R's or Belebele's file of each language, with `{language}` for its name; or Mewsli-X's wikinews_mentions
    file, after its scripts have filled in the text."""
    candidates: str = ""
    """A TSV file whose first line names the columns lang, id and sentence; or Mewsli-X's candidate_set_entities file,
    in which an entity has one language. XQuAD-R and Belebele have none. See `PoolSet.relevant` for what answers a
    question."""
    languages: (
        Annotated[list[Language], Field(min_length=1)] | Annotated[dict[Language, str], Field(min_length=1)]
    )
    """The languages of the pool, whose codes are the names of their files, or each with its name; others of the files
    are left out."""
    asked: list[Language] = []
    """The languages of the questions, where they are not those of the pool."""

    @model_validator(mode="after")
    def _every_language_has_its_files(self) -> Self:
        by_language = self.form in BY_LANGUAGE
        if by_language and self.asked:
            raise ValueError(f"asked: {self.form} asks in all its languages")
        if by_language != ("{language}" in self.questions) or self._has_candidates != bool(self.candidates):
            raise ValueError(
                "table and mewsli-x have questions and candidates, other forms only questions; xquad-r and belebele "
                "with {language}"
            )
        self.paths()
        return self

    @property
    def codes(self) -> set[str]:
        return {*self.languages, *self.asked}

    def within(self, takes: Takes) -> Self | None:
        """See `Benchmark.within`; at least two of several languages of the pool."""
        languages, asked = taken(self.languages, takes), taken(self.asked, takes)
        enough = len(languages) >= min(2, len(self.languages))
        return self._narrowed(languages=languages, asked=asked) if enough else None

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        if self.form in BY_LANGUAGE:
            names = by_name(self.languages)
            return {
                code: [filled(self.questions, "questions", language=name)] for code, name in names.items()
            }
        named = {"questions": self.questions, "candidates": self.candidates}
        return {
            "any language": [
                filled(pattern, field, mini=world) for field, pattern in named.items() if pattern
            ]
        }

    @property
    def _has_candidates(self) -> bool:
        return self.form in ("table", "mewsli-x")


SETTINGS = PoolSettings


@dataclass(frozen=True)
class PoolSet:
    """Questions and candidates by language."""

    name: str  # of the benchmark
    questions: Mapping[str, Sequence[str]]  # {language: questions}
    numbers: Mapping[str, Sequence[str]]  # {language: id of each question}
    answers: Mapping[str, Sequence[str]]  # {language: id of the answer of each question}
    candidates: Mapping[str, Sequence[str]]  # {language: sentences}
    ids: Mapping[str, Sequence[str]]  # {language: id of each sentence}

    def sides(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """(language, sentences) whose vectors the benchmark needs."""
        return (*self.questions.items(), *self.candidates.items())

    def relevant(self, language: str) -> list[list[int]]:
        """The places, among the candidates of all languages, of what answers each question of a language.

        In a language that has the same question, that is its own answer there: texts may be cut into sentences in
        another way. In any other language, it is what has the id of the answer.
        """
        places: dict[tuple[str, str], list[int]] = {}
        named = ((code, name) for code in self.candidates for name in self.ids[code])
        for place, candidate in enumerate(named):
            places.setdefault(candidate, []).append(place)
        others = {
            code: dict(zip(numbers, self.answers[code], strict=True))
            for code, numbers in self.numbers.items()
            if code != language
        }
        return [
            [
                place
                for code in self.candidates
                for place in places.get((code, others.get(code, {}).get(number, answer)), [])
            ]
            for number, answer in zip(self.numbers[language], self.answers[language], strict=True)
        ]


def collect(settings: PoolSettings, paths: Paths, output: Path) -> dict[str, int]:
    """Write the questions that have an answer and all candidates, of the languages of the settings.

    A mention of an entity whose language is left out is left out, and counted.

    Raises:
        DataError: a column or field is absent, a language has no question or no candidate, a question's answer is no
            candidate of its own language, or an entity is no candidate.
    """
    questions, candidates = next(iter(paths.values()))[0], list(paths.values())[-1][-1]
    asked_in = settings.asked or [*settings.languages]
    asked: list[tuple[str, ...]]
    pool: list[tuple[str, ...]]
    if settings.form in BY_LANGUAGE:
        read_file = _articles if settings.form == "xquad-r" else _passages
        read = [read_file(path, language) for language, (path,) in sorted(paths.items())]
        asked, pool = ([row for rows in each for row in rows] for each in zip(*read, strict=True))
    elif settings.form in ("squad", "mewsli-x-pairs"):
        read_pairs = _questions if settings.form == "squad" else _mention_pairs
        both = list(read_pairs(questions))
        asked, pool = [question for question, _ in both], [sentence for _, sentence in both]
    elif settings.form == "mewsli-x":
        asked, pool = list(_mentions(questions)), list(_entities(candidates))
    else:
        asked = _columns(questions, ["lang", "question_id", "answer", "question"])
        pool = _columns(candidates, ["lang", "id", "sentence"])
    known = {(language, name) for language, name, _ in pool}
    if settings.form == "mewsli-x":  # an entity has one language, and mentions in all
        known = {(language, name) for _, name in known for language in asked_in}
    for what, path, texts, wanted in (
        ("question", questions, asked, asked_in),
        ("sentence", candidates, pool, settings.languages),
    ):
        if missing := [code for code in wanted if code not in {row[0] for row in texts}]:
            raise DataError(f"{paths.get(missing[0], [path])[0]}: no {what} in {', '.join(missing)}")
    for language, _, answer, text in asked:
        if language in asked_in and (language, answer) not in known:
            raise DataError(f"{questions}: the answer {answer!r} of {text!r} is not in {candidates}")
    chosen = [row for row in dict.fromkeys(pool) if row[0] in settings.languages]
    answers = {name for _, name, _ in chosen}
    questions_asked = [row for row in dict.fromkeys(asked) if row[0] in asked_in]
    rows = [("question", *row) for row in questions_asked if row[2] in answers]
    left_out = len(questions_asked) - len(rows)
    rows += [("candidate", language, name, name, text) for language, name, text in chosen]
    write_pairs(output / POOL, rows)
    counts = {"questions": len(rows) - len(chosen), "candidates": len(chosen)}
    return counts | ({"answer_left_out": left_out} if left_out else {})


def read(folder: Path) -> list[PoolSet]:
    """The set in a folder that `collect` wrote; none in one of another kind."""
    if not (folder / POOL).is_file():
        return []
    lines: dict[str, dict[str, list[list[str]]]] = {"question": {}, "candidate": {}}
    for what, language, *rest in read_rows(folder / POOL, 5):
        lines[what].setdefault(language, []).append(rest)
    (numbers, answers, questions), (ids, _, candidates) = (
        [{code: [row[place] for row in rows] for code, rows in by_language.items()} for place in range(3)]
        for by_language in lines.values()
    )
    return [PoolSet(folder.name, questions, numbers, answers, candidates, ids)]


def _columns(path: Path, names: Sequence[str]) -> list[tuple[str, ...]]:
    header, *rows = read_rows(path)
    places = places_of(path, header, names)
    return [tuple(row[place] for place in places) for row in rows]


def _articles(
    path: Path, language: str
) -> tuple[list[tuple[str, str, str, str]], list[tuple[str, str, str]]]:
    """Questions, each with the sentence in which its answer begins, and sentences of a file of XQuAD-R."""
    asked, pool = [], []
    with well_formed(str(path), "file of XQuAD-R"):
        for place, paragraph in _paragraphs(path):
            names = [f"{place}-{number}" for number in range(len(paragraph["sentences"]))]
            starts = [start for start, _ in paragraph["sentence_breaks"]]
            texts = [" ".join(text.removeprefix("\ufeff").split()) for text in paragraph["sentences"]]
            pool += [(language, name, text) for name, text in zip(names, texts, strict=True)]
            for question in paragraph["qas"]:
                at = bisect_right(starts, question["answers"][0]["answer_start"]) - 1
                asked.append((language, question["id"], names[at], " ".join(question["question"].split())))
    return asked, pool


def _passages(
    path: Path, language: str
) -> tuple[list[tuple[str, str, str, str]], list[tuple[str, str, str]]]:
    """Questions, and the passage of each, of a file of Belebele; article and part of FLORES name a passage."""
    asked, pool = [], []
    for number, line in read_json(path):
        with well_formed(f"{path}: line {number}", "question of Belebele"):
            name = f"{line['link']} {line.get('split', '')}".rstrip()
            question = " ".join(line["question"].split())
            asked.append((language, f"{name} {line['question_number']}", name, question))
            pool.append((language, name, " ".join(line["flores_passage"].split())))
    return asked, pool


Asked = tuple[str, str, str, str]


def _paragraphs(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each paragraph of a file of SQuAD or XQuAD-R with its name, article-paragraph."""
    for number, article in enumerate(json.loads(b"".join(unpacked(path)).decode())["data"]):
        for place, paragraph in enumerate(article["paragraphs"]):
            yield f"{number}-{place}", paragraph


def _questions(path: Path) -> Iterator[tuple[Asked, tuple[str, str, str]]]:
    """Questions of SQuAD, English, each with the sentence in which its first answer begins."""
    with well_formed(str(path), "file of SQuAD"):
        for place, paragraph in _paragraphs(path):
            text = paragraph["context"]
            spaced = " ".join(text.split())
            sentences = [sentence for line in split([spaced], "en") for _, sentence in line]
            starts, end = [], 0
            for sentence in sentences:
                starts.append(spaced.index(sentence, end))
                end = starts[-1] + len(sentence)
            for question in paragraph["qas"]:
                before = " ".join(f"{text[: question['answers'][0]['answer_start']]}x".split())
                at = bisect_right(starts, len(before) - 1) - 1
                name = f"{place}-{at}"
                asked = " ".join(question["question"].split())
                yield ("en", question["id"], name, asked), ("en", name, sentences[at])


def _mention_pairs(path: Path) -> Iterator[tuple[Asked, tuple[str, str, str]]]:
    """A mention and its entity of each line of Mewsli-X's training; both have the mention's language."""
    for number, line in read_json(path):
        with well_formed(f"{path}: line {number}", "mention with its entity"):
            mention, entity = line["contextual_mention"], line["entity"]
            language, name = canonical(mention["context"]["language"]), entity["entity_id"]
            asked = language, mention["mention"]["example_id"], name, _mention(path, number, **mention)
            yield asked, (language, name, _described(entity["title"], entity["description"]))


def _mentions(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """(language, id, entity, "mention: the sentences that hold it") of each mention of Mewsli-X's articles."""
    for number, line in read_json(path):
        with well_formed(f"{path}: line {number}", "article with mentions"):
            context = line["context"]
            language = canonical(context["language"])
            for mention in line["mentions"]:
                text = _mention(path, number, context, mention)
                yield language, mention["example_id"], mention["entity_id"], text


def _mention(path: Path, number: int, context: Mapping[str, Any], mention: Mapping[str, Any]) -> str:
    """ "mention: the sentences that hold it" of a mention in its article."""
    text = context["text"]
    spans = [(span["start"], span["end"]) for span in context["sentence_spans"]]
    start, end, words = (mention["mention_span"][name] for name in ("start", "end", "text"))
    if not words.strip() or text[start:end] != words:
        raise DataError(f"{path}: line {number}: its text does not hold the mention {words!r} at {start}")
    first = max([begin for begin, _ in spans if begin <= start], default=start)
    last = min([stop for _, stop in spans if stop >= end], default=end)
    return _described(words, text[first:last])


def _entities(path: Path) -> Iterator[tuple[str, str, str]]:
    """(language, id, "title: description") of each entity of Mewsli-X."""
    for number, line in read_json(path):
        with well_formed(f"{path}: line {number}", "entity"):
            text = _described(line["title"], line["description"])
            yield canonical(line["description_language"]), line["entity_id"], text


def _described(name: str, text: str) -> str:
    return " ".join(f"{name}: {text}".split())
