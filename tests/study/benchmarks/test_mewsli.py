"""Mentions of Mewsli-X and the entities that they mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collected_sets import collected

from orthoglot.errors import DataError
from orthoglot.study.benchmarks.collected import read_all
from orthoglot.study.benchmarks.kinds.pool import PoolSet, PoolSettings
from orthoglot.study.tasks.kinds.lareqa import AnswerRetrieval

TEXT = "A title\n\nBoth live in Lima. Then  they\nleft for Rome."


def article(language: str, text: str, *mentions: tuple[str, str, str]) -> dict[str, Any]:
    spans = [{"start": 0, "end": 7}, {"start": 9, "end": 27}, {"start": 28, "end": len(TEXT)}]
    context = {"document_id": language, "language": language, "text": text, "sentence_spans": spans}
    return {
        "context": context,
        "mentions": [
            {
                "example_id": name,
                "entity_id": entity,
                "mention_span": {"start": TEXT.index(own), "end": TEXT.index(own) + len(own), "text": own},
            }
            for name, entity, own in mentions
        ],
    }


def entity(name: str, language: str, title: str) -> dict[str, Any]:
    about = {"description": f"{title}  is a city.", "description_url": "u", "sentence_spans": []}
    return {"entity_id": name, "title": title, "description_language": language, **about}


ARTICLES = [
    article("de", TEXT, ("m1", "Q1", "Lima"), ("m2", "Q2", "Rome")),
    article("en", TEXT, ("m3", "Q2", "Rome")),
]
ENTITIES = [entity("Q1", "th", "Lima"), entity("Q2", "en", "Roma"), entity("Q3", "sw", "Oslo")]


def made(
    folder: Path, articles: list[Any] = ARTICLES, entities: list[Any] = ENTITIES, **values: Any
) -> PoolSet:
    for name, lines in (("mentions", articles), ("entities", entities)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    about = {"kind": "pool", "form": "mewsli-x", "licence": "none"}
    files = {"questions": f"{folder}/mentions", "candidates": f"{folder}/entities"}
    languages = {"languages": ["en", "sw", "th"], "asked": ["de", "en"]}
    output = folder / f"pool {len(list(folder.iterdir()))}"
    settings = PoolSettings.model_validate(about | files | languages | values)
    assert settings.codes == {*settings.languages, *settings.asked}
    (found,) = read_all(collected(settings, output))
    assert isinstance(found, PoolSet)
    return found


def test_mewsli_xs_own_files(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert found.questions == {
        "de": ["Lima: Both live in Lima.", "Rome: Then they left for Rome."],
        "en": ["Rome: Then they left for Rome."],
    }
    assert found.answers == {"de": ["Q1", "Q2"], "en": ["Q2"]}
    assert found.candidates == {
        "th": ["Lima: Lima is a city."], "en": ["Roma: Roma is a city."], "sw": ["Oslo: Oslo is a city."]
    }  # fmt: skip


def test_a_mention_that_no_sentence_holds_keeps_those_that_it_crosses(tmp_path: Path) -> None:
    found = made(tmp_path, [article("de", TEXT, ("m1", "Q1", "Lima. Then")), ARTICLES[1]])
    assert found.questions["de"] == ["Lima. Then: Both live in Lima. Then they left for Rome."]


def test_the_average_precision_is_the_reciprocal_rank_of_the_entity(tmp_path: Path) -> None:
    task = AnswerRetrieval("lareqa", made(tmp_path), "de")
    vectors = {"question": [[1, 0, 0], [1, 0.5, 0]], "th": [[1, 0, 0]], "en": [[0, 1, 0]], "sw": [[0, 0, 1]]}
    found = task.score({name: np.array(rows, dtype=np.float32) for name, rows in vectors.items()})
    assert found.scores["de"].tolist() == [[1, 1], [0.5, 0.5]]
    assert task.facts("de")["candidates"] == 3


def test_mentions_of_entities_in_a_language_that_is_left_out_are_counted(tmp_path: Path) -> None:
    found = made(tmp_path, languages=["en", "sw"])
    assert found.answers == {"de": ["Q2"], "en": ["Q2"]}
    (counts,) = [json.loads(path.read_text()) for path in tmp_path.glob("pool */counts.json")]
    assert counts == {"questions": 2, "candidates": 2, "answer_left_out": 1}


@pytest.mark.parametrize(
    ("articles", "entities", "message"),
    [
        (
            [article("de", "", ("m1", "Q1", "Lima")), ARTICLES[1]],
            ENTITIES,
            "does not hold the mention 'Lima'",
        ),
        ([article("de", TEXT, ("m1", "Q9", "Lima")), ARTICLES[1]], ENTITIES, "the answer 'Q9'"),
        (ARTICLES[:1], ENTITIES, "no question in en"),
        (ARTICLES, ENTITIES[:2], "no sentence in sw"),
        ([{"context": {}}], ENTITIES, "line 1 is no article"),
        (ARTICLES, [{"entity_id": "Q1"}], "line 1 is no entity"),
    ],
)
def test_wrong_files_are_refused(
    tmp_path: Path, articles: list[Any], entities: list[Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        made(tmp_path, articles, entities)
