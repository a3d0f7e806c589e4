"""LAReQA's own files: questions, and sentences of articles that answer them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collected_sets import collected
from pydantic import ValidationError

from orthoglot.errors import DataError
from orthoglot.study.benchmarks.kinds.pool import PoolSet, PoolSettings, read
from orthoglot.study.tasks.kinds.lareqa import AnswerRetrieval


def paragraph(*sentences: str, questions: dict[str, str]) -> dict[str, Any]:
    """A paragraph of sentences with a blank between them, and questions with their answers."""
    context = " ".join(sentences)
    starts = [context.index(sentence) for sentence in sentences]
    return {
        "context": context,
        "sentences": list(sentences),
        "sentence_breaks": [[start, start + len(one)] for start, one in zip(starts, sentences, strict=True)],
        "qas": [
            {
                "id": name,
                "question": f"{name}?",
                "answers": [{"text": answer, "answer_start": context.index(answer)}],
            }
            for name, answer in questions.items()
        ],
    }


def files(folder: Path) -> dict[str, dict[str, Any]]:
    """Two articles in two languages; German has a sentence more, so that ids differ by language."""
    english = [paragraph("One day.", "Two nights.", questions={"q1": "nights", "q2": "One"})]
    german = [paragraph("\ufeffEin Tag.", "Ja.", "Zwei Nächte.", questions={"q1": "Nächte", "q2": "Ein"})]
    more = (
        [paragraph("Three  men.", questions={"q3": "men"})],
        [paragraph("Drei Männer.", questions={"q3": "Männer"})],
    )
    made = {
        "en": {"data": [{"title": "a", "paragraphs": english}, {"title": "b", "paragraphs": more[0]}]},
        "de": {"data": [{"title": "a", "paragraphs": german}, {"title": "b", "paragraphs": more[1]}]},
    }
    for code, content in made.items():
        (folder / f"{code}.json").write_text(json.dumps(content))
    return made


def settings(folder: Path, **values: Any) -> PoolSettings:
    about = {"kind": "pool", "form": "xquad-r", "questions": f"{folder}/{{language}}.json", "licence": "none"}
    return PoolSettings.model_validate(about | {"languages": ["en", "de"]} | values)


def test_the_answer_of_a_question_is_the_sentence_in_which_it_begins(tmp_path: Path) -> None:
    files(tmp_path)
    (found,) = read(collected(settings(tmp_path), tmp_path / "pool"))
    assert found == PoolSet(
        "pool",
        questions={"de": ["q1?", "q2?", "q3?"], "en": ["q1?", "q2?", "q3?"]},
        numbers={"de": ["q1", "q2", "q3"], "en": ["q1", "q2", "q3"]},
        answers={"de": ["0-0-2", "0-0-0", "1-0-0"], "en": ["0-0-1", "0-0-0", "1-0-0"]},
        candidates={
            "de": ["Ein Tag.", "Ja.", "Zwei Nächte.", "Drei Männer."],
            "en": ["One day.", "Two nights.", "Three men."],
        },
        ids={"de": ["0-0-0", "0-0-1", "0-0-2", "1-0-0"], "en": ["0-0-0", "0-0-1", "1-0-0"]},
    )


def test_an_answer_counts_in_each_language_however_its_text_is_cut(tmp_path: Path) -> None:
    files(tmp_path)
    (found,) = read(collected(settings(tmp_path), tmp_path / "pool"))
    answers = [["Zwei Nächte.", "Two nights."], ["Ein Tag.", "One day."], ["Drei Männer.", "Three men."]]
    candidates = [text for texts in found.candidates.values() for text in texts]
    for language in ("de", "en"):
        assert [sorted(candidates[place] for place in row) for row in found.relevant(language)] == [
            sorted(row) for row in answers
        ]
    meaning = {text: row for row, texts in enumerate([*answers, ["Ja."]]) for text in texts}
    vectors = {code: np.eye(4)[[meaning[text] for text in texts]] for code, texts in found.candidates.items()}
    task = AnswerRetrieval("lareqa", found, "de")
    scores = task.score({**vectors, "question": np.eye(4)[:3]}).scores["de"]
    assert scores.tolist() == [[1, 1], [1, 1], [1, 1]]


@pytest.mark.parametrize("key", ["sentences", "sentence_breaks", "qas"])
def test_a_file_that_lacks_something_is_one_line(key: str, tmp_path: Path) -> None:
    content = files(tmp_path)["de"]
    del content["data"][0]["paragraphs"][0][key]
    (tmp_path / "de.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"de\.json is no file of XQuAD-R"):
        collected(settings(tmp_path), tmp_path / "pool")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"data": 7}', '{"data": [{"paragraphs": [7]}]}'])
def test_what_is_no_such_file_is_one_line(text: str, tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "en.json").write_text(text)
    with pytest.raises(DataError, match=r"en\.json is no file of XQuAD-R"):
        collected(settings(tmp_path), tmp_path / "pool")


def test_all_languages_are_asked(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="xquad-r asks in all its languages"):
        settings(tmp_path, asked=["en"])


@pytest.mark.parametrize("values", [{"candidates": "x.tsv"}, {"questions": "x.json"}, {"form": "table"}])
def test_each_form_has_its_own_files(values: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="questions and candidates, other forms only questions"):
        settings(tmp_path, **values)
