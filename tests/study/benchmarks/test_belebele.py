"""Belebele: questions of each language, and passages that all of them share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from collected_sets import collected

from orthoglot.errors import DataError
from orthoglot.study.benchmarks.kinds import pool
from orthoglot.study.benchmarks.kinds.pool import PoolSettings

NAMES = {"de": "deu_Latn", "en": "eng_Latn"}


def line(language: str, link: str, number: int) -> dict[str, object]:
    return {
        "link": f"https://{link}",
        "question_number": number,
        "flores_passage": f"{language} passage\nof {link}.",
        "question": f"{language} question {number}  of {link}?",
        "mc_answer1": "a",
        "correct_answer_num": "1",
        "dialect": language,
    }


def files(folder: Path) -> PoolSettings:
    for language in NAMES.values():
        lines = [line(language, link, number) for link, number in (("x", 1), ("x", 2), ("y", 1))]
        order = lines if language == "eng_Latn" else lines[::-1]
        (folder / f"{language}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in order))
    about = {
        "kind": "pool",
        "form": "belebele",
        "questions": f"{folder}/{{language}}.jsonl",
        "licence": "none",
    }
    return PoolSettings.model_validate({**about, "languages": NAMES})


def test_a_passage_answers_its_questions_in_each_language(tmp_path: Path) -> None:
    output = collected(files(tmp_path), tmp_path / "out")
    (found,) = pool.read(output)
    assert found.candidates["en"] == ["eng_Latn passage of x.", "eng_Latn passage of y."]
    assert found.questions["en"][1] == "eng_Latn question 2 of x?"
    places = [sentence for code in found.candidates for sentence in found.candidates[code]]
    for question, relevant in zip(found.questions["de"], found.relevant("de"), strict=True):
        link = question[-2]
        assert [places[place] for place in relevant] == [
            f"{name} passage of {link}." for name in NAMES.values()
        ]


@pytest.mark.parametrize("text", ["", "[]\n", "{\n", '{"link": "x"}\n'])
def test_what_is_no_such_file_is_one_line(text: str, tmp_path: Path) -> None:
    wanted = files(tmp_path)
    (tmp_path / "eng_Latn.jsonl").write_text(text)
    with pytest.raises(DataError, match="eng_Latn"):
        collected(wanted, tmp_path / "out")
