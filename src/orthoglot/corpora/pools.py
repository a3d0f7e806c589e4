"""Questions, and one pool of sentences of many languages that answer them, as in LAReQA.

A folder has `pool.tsv.gz`. Each line has what it is ("question" or "candidate"), its language, its id, the id of the
answer, and the text. Translations share their ids, so that each question has an answer in every language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orthoglot.corpora.benchmark_settings import PoolSettings
from orthoglot.corpora.bitext import read_rows, write_pairs
from orthoglot.errors import DataError

POOL = "pool.tsv.gz"


@dataclass(frozen=True)
class PoolSet:
    """Questions and candidates by language.

    Attributes:
        name: of the benchmark.
        questions: {language: questions}.
        numbers: {language: id of each question}.
        answers: {language: id of the answer of each question}.
        candidates: {language: sentences}, of the same languages.
        ids: {language: id of each sentence}.
    """

    name: str
    questions: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Sequence[str]]
    answers: Mapping[str, Sequence[str]]
    candidates: Mapping[str, Sequence[str]]
    ids: Mapping[str, Sequence[str]]

    def sides(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """(language, sentences) whose vectors the benchmark needs."""
        return (*self.questions.items(), *self.candidates.items())


def collect(settings: PoolSettings, paths: Mapping[str, Sequence[Path]], output: Path) -> dict[str, int]:
    """Write the questions that have an answer and all candidates, of the languages of the settings.

    Raises:
        DataError: a column is absent, a language has no question or no candidate, or a question's answer is no
            candidate of its own language.
    """
    ((questions, candidates),) = paths.values()
    asked = _columns(questions, ["lang", "question_id", "answer", "question"])
    pool = _columns(candidates, ["lang", "id", "sentence"])
    known = {(language, name) for language, name, _ in pool}
    for what, path, rows in (("question", questions, asked), ("sentence", candidates, pool)):
        if missing := [code for code in settings.languages if code not in {row[0] for row in rows}]:
            raise DataError(f"{path}: no {what} in {', '.join(missing)}")
    for language, _, answer, text in asked:
        if language in settings.languages and (language, answer) not in known:
            raise DataError(f"{questions}: the answer {answer!r} of {text!r} is not in {candidates}")
    rows = [("question", *row) for row in dict.fromkeys(asked) if row[0] in settings.languages]
    kept = [row for row in dict.fromkeys(pool) if row[0] in settings.languages]
    rows += [("candidate", language, name, name, text) for language, name, text in kept]
    write_pairs(output / POOL, rows)
    own = sum(row[0] == "question" for row in rows)
    return {"questions": own, "candidates": len(rows) - own}


def read_pool(folder: Path) -> list[PoolSet]:
    """The set in a folder that `collect` wrote; none in one of another kind."""
    if not (folder / POOL).is_file():
        return []
    found: dict[str, dict[str, list[list[str]]]] = {"question": {}, "candidate": {}}
    for what, language, *rest in read_rows(folder / POOL, 5):
        found[what].setdefault(language, []).append(rest)
    (numbers, answers, questions), (ids, _, candidates) = (
        [{code: [row[place] for row in rows] for code, rows in one.items()} for place in range(3)]
        for one in found.values()
    )
    return [PoolSet(folder.name, questions, numbers, answers, candidates, ids)]


def _columns(path: Path, names: Sequence[str]) -> list[tuple[str, ...]]:
    header, *rows = read_rows(path)
    if missing := [name for name in names if name not in header]:
        raise DataError(f"{path}: no column {', '.join(missing)}; its columns are {', '.join(header)}")
    places = [header.index(name) for name in names]
    return [tuple(row[place] for place in places) for row in rows]
