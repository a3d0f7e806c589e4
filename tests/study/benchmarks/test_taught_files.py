"""Files that encoders are fine-tuned on: SQuAD, Mewsli-X's pairs, Social IQa, SNLI, and the invented ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orthoglot.errors import DataError
from orthoglot.study.benchmarks.collect import collect
from orthoglot.study.benchmarks.kinds import classification, pool
from orthoglot.study.benchmarks.kinds.classification import LabelledSet
from orthoglot.study.benchmarks.kinds.pool import PoolSet
from orthoglot.study.benchmarks.labelled_settings import ClassificationSettings
from orthoglot.study.corpora.kinds.mini import MiniSettings
from orthoglot.study.invented import generate
from orthoglot.text.bitext import read_rows

CONTEXT = "Rome was  not built in a day. It has 7 hills.\nIts river is the Tiber."


def collected_pool(path: Path, form: str, output: Path) -> PoolSet:
    output.mkdir()
    about = {"kind": "pool", "form": form, "languages": ["en"], "licence": "own", "questions": str(path)}
    collect(pool.PoolSettings.model_validate(about), None, output)
    (found,) = pool.read(output)
    return found


def test_the_answer_of_squad_is_the_sentence_in_which_it_begins(tmp_path: Path) -> None:
    qas = [
        {"id": text, "question": f"What  {text}?", "answers": [{"answer_start": CONTEXT.index(text)}]}
        for text in ("Rome", "a day", "7 hills", "Its", "Tiber")
    ]
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": CONTEXT, "qas": qas}]}]}))
    found = collected_pool(path, "squad", tmp_path / "out")
    text = dict(zip(found.ids["en"], found.candidates["en"], strict=True))
    answers = dict(zip(found.numbers["en"], (text[name] for name in found.answers["en"]), strict=True))
    first, second, third = "Rome was not built in a day.", "It has 7 hills.", "Its river is the Tiber."
    assert answers == {"Rome": first, "a day": first, "7 hills": second, "Its": third, "Tiber": third}
    assert found.questions["en"][1] == "What a day?"
    path.write_text(json.dumps({"data": [{}]}))
    with pytest.raises(DataError, match="no file of SQuAD"):
        collected_pool(path, "squad", tmp_path / "broken")


def test_a_mention_is_taught_with_its_entity(tmp_path: Path) -> None:
    text = "He came. Smith won. She left."
    context = {
        "language": "en",
        "text": text,
        "sentence_spans": [{"start": 0, "end": 8}, {"start": 9, "end": 19}],
    }
    mention = {
        "example_id": "m1",
        "entity_id": "Q1",
        "mention_span": {"start": 9, "end": 14, "text": "Smith"},
    }
    entity = {"entity_id": "Q1", "title": "John Smith", "description": "A man.", "description_language": "en"}
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        json.dumps({"contextual_mention": {"mention": mention, "context": context}, "entity": entity})
    )
    found = collected_pool(path, "mewsli-x-pairs", tmp_path / "out")
    assert found.questions["en"] == ["Smith: Smith won."]
    assert found.candidates["en"] == ["John Smith: A man."]
    assert found.answers["en"] == found.ids["en"] == ["Q1"]


def collected_labels(output: Path, raw: Path | None = None, **about: object) -> LabelledSet:
    output.mkdir()
    settings = {"kind": "classification", "licence": "own", "languages": ["en"], "test_taught": True, **about}
    collect(ClassificationSettings.model_validate(settings), raw, output)
    (found,) = classification.read(output)
    return found


def test_social_iqa_has_three_answers_behind_one_question(tmp_path: Path) -> None:
    for part in ("train", "valid", "test"):
        lines = [
            {
                "context": f"{part} {n}.",
                "question": "Why?",
                "answerA": "a",
                "answerB": "b",
                "answerC": "c",
                "correct": one,
            }
            for n, one in enumerate("ABC")
        ]
        (tmp_path / f"{part}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = collected_labels(tmp_path / "out", form="social-iqa", files=str(tmp_path / "{split}.jsonl"))
    item = found.items["en", "train"][1]
    assert (item.label, item.texts) == (
        "B",
        ("train 1. Why?", "a", "train 1. Why?", "b", "train 1. Why?", "c"),
    )


def test_labels_that_are_left_out_leave_no_item(tmp_path: Path) -> None:
    for part in ("train", "valid", "test"):
        rows = ["label\tone\ttwo", *(f"{label}\t{part} {label}\tx" for label in ("yes", "no", "-"))]
        (tmp_path / f"{part}.txt").write_text("".join(f"{row}\n" for row in rows))
    about = {"files": str(tmp_path / "{split}.txt"), "text": ["one", "two"], "label": "label"}
    found = collected_labels(tmp_path / "out", left_out=["-"], **about)
    assert [item.label for item in found.items["en", "train"]] == ["yes", "no"]
    assert len(collected_labels(tmp_path / "all", **about).items["en", "train"]) == 3


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mini")
    about = {"kind": "mini", "pivot": "qaa", "languages": {"qab": 60, "qaf": 60}}
    generate(MiniSettings.model_validate({**about, "retrieval_pairs": 30, "graded_items": 30}), folder)
    return folder


def test_invented_parts_share_no_item_and_labels_are_balanced(world: Path) -> None:
    parts = {
        part: list(read_rows(world / f"inference/qaa-{part}.tsv.gz")) for part in ("train", "valid", "test")
    }
    assert [len(rows) for rows in parts.values()] == [120, 30, 30]
    premises = [{row[0] for row in rows} for rows in parts.values()]
    assert not premises[0] & premises[1]
    assert not premises[2] & (premises[0] | premises[1])
    counts = [
        sum(row[2] == label for row in parts["train"]) for label in ("contradiction", "entailment", "neutral")
    ]
    assert min(counts) > 20
    # Translations share their ids and labels.
    other = list(read_rows(world / "inference/qaf-train.tsv.gz"))
    assert [row[2:] for row in other] == [row[2:] for row in parts["train"]]


def test_half_of_an_invented_mining_set_translates(world: Path) -> None:
    gold = (world / "mining/qab-qaa.gold").read_text().splitlines()
    sides = [
        dict(line.split("\t") for line in (world / f"mining/qab-qaa.{code}").read_text().splitlines())
        for code in ("qab", "qaa")
    ]
    assert [len(side) for side in sides] == [30, 30]
    assert len(gold) == 15
    assert all(one in sides[0] and other in sides[1] for one, other in (line.split("\t") for line in gold))
