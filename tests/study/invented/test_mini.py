"""Invented world: a meaning can be read from its sentence in every language, and the gold labels are true."""

from __future__ import annotations

import gzip
import re
import unicodedata
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.errors import ConfigError
from orthoglot.study.corpora.kinds.mini import MiniSettings
from orthoglot.study.invented import generate
from orthoglot.study.invented.files import corrupted, dictionary, similar_frames
from orthoglot.study.invented.grammar import CONCEPTS, GRAMMARS, KEPT, Language, invent
from orthoglot.study.invented.meanings import (
    NAMES,
    OPTIONAL,
    WEIGHTS,
    YEARS,
    Frame,
    draw,
    freely,
    is_held_out,
    overlap,
    sample,
    variation,
)

PIVOT = "qaa"
FOREIGN = tuple(code for code in GRAMMARS if code != PIVOT)
ALIKE = (*NAMES, *YEARS)
LANGUAGES = {code: invent(code, 7) for code in GRAMMARS}
BLOCKS = dict.fromkeys(("qaa", "qab", "qag"), "LATIN")
BLOCKS |= {"qac": "CYRILLIC", "qad": "GREEK", "qae": "HIRAGANA", "qaf": "DEVANAGARI"}
ORDERS = {"qaa": "SVO", "qab": "SOV", "qac": "VSO", "qad": "VOS", "qae": "SOV", "qaf": "OSV", "qag": "SOV"}
frames = st.builds(lambda seed: draw(Random(seed)), st.integers(0, 2**32))
codes = st.sampled_from(sorted(GRAMMARS))


def settings(**changes: object) -> MiniSettings:
    sizes = {code: 300 - 20 * place for place, code in enumerate(GRAMMARS)}
    values = {"kind": "mini", "seed": 7, "pivot": PIVOT, "languages": sizes}
    return MiniSettings.model_validate({**values, "retrieval_pairs": 200, "graded_items": 100, **changes})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mini")
    generate(settings(), folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def bitext(folder: Path, code: str) -> tuple[list[str], list[str]]:
    with ZipFile(folder / "opus" / f"{PIVOT}-{code}.zip") as archive:
        source, target = (
            archive.read(f"Mini.{PIVOT}-{code}.{side}").decode().splitlines() for side in (PIVOT, code)
        )
    return source, target


def own_words(sentence: str) -> str:
    """The sentence without the name and the year that it may hold."""
    for word in ALIKE:
        sentence = sentence.replace(word, "")
    return sentence


def read_back(text: str, language: Language) -> list[str]:
    """The concepts and markers of a text: no form begins with another, so the first that fits is right."""
    names = {form: name for name, form in language.lexicon.items()} | {word: word for word in ALIKE}
    found, start = [], 0
    text = text.replace(" ", "")
    while start < len(text):
        end = next(end for end in range(start + 1, len(text) + 1) if text[start:end] in names)
        found.append(names[text[start:end]])
        start = end
    return found


def concepts(frame: Frame) -> set[str]:
    slots = (frame.predicate, frame.agent, frame.patient, frame.agent_quality, frame.patient_quality)
    return {concept for concept in (*slots, frame.manner) if concept}


def event(sentence: str, code: str) -> tuple[str, ...]:
    """Predicate, agent and patient of a faultless sentence."""
    names = read_back(sentence, LANGUAGES[code])
    nouns = [name for name in names if " noun " in name]
    agent, patient = nouns if ORDERS[code].index("S") < ORDERS[code].index("O") else reversed(nouns)
    return next(name for name in names if " predicate " in name), agent, patient


# Files


def test_same_settings_give_same_bytes_and_another_seed_another_text(world: Path, tmp_path: Path) -> None:
    for name in ("again", "other"):
        (tmp_path / name).mkdir()
    generate(settings(), tmp_path / "again")
    generate(settings(seed=8), tmp_path / "other")
    first, other = contents(world), contents(tmp_path / "other")
    assert contents(tmp_path / "again") == first
    assert other.keys() == first.keys()
    assert not any(other[name] == first[name] for name in first)


def test_sizes_of_one_language_do_not_change_another(world: Path, tmp_path: Path) -> None:
    sizes = settings().languages | {"qac": 77}
    generate(settings(languages=sizes), tmp_path)
    first, other = contents(world), contents(tmp_path)
    changed = {name for name in first if first[name] != other[name]}
    assert changed >= {"opus/qaa-qac.zip", "mono/qac.txt.gz"}
    assert all("qac" in name for name in changed)


def test_every_promised_file_is_there_and_no_real_language_is_named(world: Path) -> None:
    expected = {
        f"{kind}/{code}.{end}"
        for kind, end in (("mono", "txt.gz"), ("labels", "tsv.gz"))
        for code in GRAMMARS
    }
    expected.add("nway/sentences.tsv.gz")
    for code in FOREIGN:
        pair = f"{PIVOT}-{code}"
        expected |= {f"opus/{pair}.zip", f"dictionaries/{pair}.txt", f"retrieval/{code}-{PIVOT}.tsv.gz"}
        expected |= {f"similarity/{pair}.tsv.gz", f"quality/{pair}.tsv.gz"}
        expected |= {f"quality/{pair}-{part}.tsv.gz" for part in ("train", "valid")}
        expected |= {f"mining/{code}-{PIVOT}.{end}" for end in (code, PIVOT, "gold")}
    for part in ("train", "valid", "test"):
        expected |= {f"inference/{code}-{part}.tsv.gz" for code in GRAMMARS}
        expected.add(f"documents/{part}.jsonl")
        expected |= {f"choices/{code}-{part}.jsonl" for code in GRAMMARS}
        expected |= {f"answers/{what}-{part}.tsv" for what in ("questions", "candidates")}
    expected |= {f"similarity/{PIVOT}-{PIVOT}-{part}.tsv.gz" for part in ("train", "valid")}
    found = contents(world)
    assert found.keys() == expected
    named = [name for name in found if not name.startswith(("nway/", "answers/", "documents/"))]
    parts = r"(-train|-valid|-test)?"
    assert all(re.fullmatch(rf"[a-z]+/(q[a-t][a-z]-)?q[a-t][a-z]{parts}\.[a-z.]+", name) for name in named)


def test_the_wide_file_holds_the_retrieval_sentences_side_by_side(world: Path) -> None:
    header, *lines = rows(world / "nway" / "sentences.tsv.gz")
    assert sorted(header) == sorted(GRAMMARS)
    columns = dict(zip(header, zip(*lines, strict=True), strict=True))
    for code in FOREIGN:
        foreign, pivot = zip(*rows(world / "retrieval" / f"{code}-{PIVOT}.tsv.gz"), strict=True)
        assert (columns[code], columns[PIVOT]) == (foreign, pivot)


@pytest.mark.parametrize("code", FOREIGN)
def test_archive_is_laid_out_as_opus_does(world: Path, code: str) -> None:
    with ZipFile(world / "opus" / f"{PIVOT}-{code}.zip") as archive:
        assert archive.testzip() is None
        stem = f"Mini.{PIVOT}-{code}"
        assert archive.namelist() == [f"{stem}.{PIVOT}", f"{stem}.{code}", f"{stem}.xml", "README", "LICENSE"]
        links = archive.read(f"{stem}.xml").decode().count("<link ")
    source, target = bitext(world, code)
    assert len(source) == len(target) == links == settings().languages[code]
    assert len(set(source)) == len(set(target)) == len(source)


def test_counts_of_the_other_files_follow_the_settings(world: Path) -> None:
    for code, count in settings().languages.items():
        assert len(rows(world / "mono" / f"{code}.txt.gz")) == count
        assert len(rows(world / "labels" / f"{code}.tsv.gz")) == 100
    for code in FOREIGN:
        assert len(rows(world / "retrieval" / f"{code}-{PIVOT}.tsv.gz")) == 200
        for kind in ("similarity", "quality"):
            assert len(rows(world / kind / f"{PIVOT}-{code}.tsv.gz")) == 100


def test_some_pivot_sentences_occur_in_several_pairs_and_most_do_not(world: Path) -> None:
    one, other = (set(bitext(world, code)[0]) for code in ("qab", "qac"))
    assert 0.1 < len(one & other) / len(other) < 0.3


def test_no_test_event_occurs_in_training_text(world: Path) -> None:
    training = {event(row[0], code) for code in GRAMMARS for row in rows(world / "mono" / f"{code}.txt.gz")}
    tests = {event(row[0], code) for code in GRAMMARS for row in rows(world / "labels" / f"{code}.tsv.gz")}
    for code in FOREIGN:
        training |= {event(source, PIVOT) for source in bitext(world, code)[0]}
        retrieval = rows(world / "retrieval" / f"{code}-{PIVOT}.tsv.gz")
        assert len({row[0] for row in retrieval}) == len({row[1] for row in retrieval}) == len(retrieval)
        tests |= {event(row[0], code) for row in retrieval}
        tests |= {event(row[0], PIVOT) for row in rows(world / "quality" / f"{PIVOT}-{code}.tsv.gz")}
        for row in rows(world / "similarity" / f"{PIVOT}-{code}.tsv.gz"):
            tests |= {event(row[0], PIVOT), event(row[1], code)}
    # An event is read from its sentence in every language: no sentence of a test is in training text either.
    # 40 predicates x 80 agents x 16 patients: without the rule about 2000 x 1500 / 51200 events would meet.
    assert len(training) > 2000
    assert len(tests) > 1500
    assert not tests & training


def test_held_out_events_are_about_a_fifth_and_never_in_a_training_sample() -> None:
    random = Random(1)
    share = sum(is_held_out(draw(random), 7) for _ in range(2000)) / 2000
    assert share == pytest.approx(0.2, abs=0.04)
    events = [{frame[:3] for frame in sample(2000, 7, "x", held_out=out)} for out in (False, True)]
    assert not events[0] & events[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"languages": {"qaa": 5, "de": 5}}, "no invented language 'de'; known: qaa, qab"),
        ({"pivot": "qah"}, "no invented language 'qah'; known: qaa, qab"),
        ({"languages": {"qaa": 5}}, "needs a language other than the pivot"),
    ],
)
def test_wrong_languages_are_refused_before_anything_is_written(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        generate(settings(**changes), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_pivot_without_a_size_gets_the_largest_languages(world: Path, tmp_path: Path) -> None:
    sizes = {code: count for code, count in settings().languages.items() if code != PIVOT}
    generate(settings(languages=sizes), tmp_path)
    assert len(rows(tmp_path / "mono" / f"{PIVOT}.txt.gz")) == max(sizes.values())
    assert contents(tmp_path).keys() == contents(world).keys()


# Languages


@given(frames, codes)
def test_a_sentence_can_be_read_back_into_exactly_its_concepts(frame: Frame, code: str) -> None:
    language = LANGUAGES[code]
    found = read_back(language.sentence(frame), language)
    assert {name for name in found if name in CONCEPTS} == concepts(frame)
    assert ("not" in found) == frame.negated
    assert ("past" in found) == (frame.tense == "past")
    assert ("future" in found) == (frame.tense == "future")
    assert found.count("plural") == frame.agent_plural + frame.patient_plural
    assert [name for name in found if name in NAMES] == [frame.companion] * bool(frame.companion)
    assert [name for name in found if name in YEARS] == [frame.year] * bool(frame.year)


@given(frames, frames, st.sampled_from(sorted(WEIGHTS)), codes)
def test_every_slot_shows_in_every_language(frame: Frame, other: Frame, slot: str, code: str) -> None:
    value = getattr(frame, slot)
    new: Any = not value if isinstance(value, bool) else getattr(other, slot)
    changed = frame._replace(**{slot: new})
    same = LANGUAGES[code].sentence(frame) == LANGUAGES[code].sentence(changed)
    assert same == (changed == frame)


@given(frames, codes)
def test_who_did_it_to_whom_shows_in_every_language(frame: Frame, code: str) -> None:
    reversed_ = frame._replace(agent=frame.patient, patient=frame.agent)
    same = LANGUAGES[code].sentence(frame) == LANGUAGES[code].sentence(reversed_)
    assert same == (frame.agent == frame.patient)


@pytest.mark.parametrize("code", sorted(GRAMMARS))
def test_many_frames_have_as_many_sentences(code: str) -> None:
    assert len({LANGUAGES[code].sentence(frame) for frame in sample(5000, 7, "many", held_out=False)}) == 5000


@given(frames)
def test_scripts_and_spaces(frame: Frame) -> None:
    for code, language in LANGUAGES.items():
        sentence = own_words(language.sentence(frame)).strip()
        assert all(unicodedata.name(letter).startswith(BLOCKS[code]) for letter in sentence if letter != " ")
        assert unicodedata.normalize("NFKC", sentence).casefold() == sentence
        assert (" " in sentence) == (code != "qae")


@given(frames)
def test_word_order(frame: Frame) -> None:
    for code, language in LANGUAGES.items():
        verb = language.verb(
            frame.predicate, frame.negated, frame.tense, frame.agent, frame.agent_plural
        ).head
        heads = {
            "V": verb,
            "S": language.noun(frame.agent, "agent", frame.agent_plural).head,
            "O": language.noun(frame.patient, "patient", frame.patient_plural).head,
        }
        if heads["S"] != heads["O"]:
            places = {role: language.words(frame).index(head) for role, head in heads.items()}
            assert "".join(sorted(places, key=places.__getitem__)) == ORDERS[code]


def test_names_and_years_alone_find_one_translation_in_five() -> None:
    alike = [(frame.companion, frame.year) for frame in sample(1000, 1, "retrieval", held_out=True)]
    found = sum(alike.index(one) == place for place, one in enumerate(alike))
    assert 150 < found < 250


def test_verb_and_quality_of_qaf_agree() -> None:
    language = LANGUAGES["qaf"]
    verb, quality = "sea predicate 0", "quality 0"
    for noun, plural, endings in [
        ("sea noun 0", False, []),
        ("sea noun 0", True, ["plural"]),
        ("sea noun 1", False, ["class"]),
        ("sea noun 1", True, ["class", "plural"]),
    ]:
        form = language.verb(verb, False, "present", noun, plural).head
        assert read_back(form, language) == [verb, *(f"verb-{ending}" for ending in endings)]
        form = language.quality(quality, noun, plural).head
        assert read_back(form, language) == [quality, *(f"quality-{ending}" for ending in endings)]


def test_sentences_are_of_a_size_that_a_small_encoder_learns() -> None:
    lengths = [len(LANGUAGES[PIVOT].words(frame)) for frame in sample(500, 7, "lengths", held_out=False)]
    assert 8.0 < sum(lengths) / 500 < 10.0
    assert min(lengths) >= 4
    assert max(lengths) <= 12


@pytest.mark.parametrize("code", FOREIGN)
def test_dictionary_translates_every_word_but_untranslatable_particles(world: Path, code: str) -> None:
    lines = (world / "dictionaries" / f"{PIVOT}-{code}.txt").read_text(encoding="utf-8").splitlines()
    entries = [tuple(line.split(" ")) for line in lines]
    assert entries == dictionary(LANGUAGES[PIVOT], LANGUAGES[code])
    assert all(len(entry) == 2 for entry in entries)
    assert len(set(entries)) == len(entries)
    for side, column in ((PIVOT, 0), (code, 1)):
        known = {entry[column] for entry in entries} | set(LANGUAGES[side].particles().values())
        for frame in sample(300, 7, "dictionary", held_out=True):
            assert known >= set(LANGUAGES[side].words(frame))


@pytest.mark.parametrize("code", FOREIGN)
def test_dictionary_entries_mean_the_same(code: str) -> None:
    def meant(word: str, side: str) -> str:
        markers = {"article", "not", "past", "future", *ALIKE}
        names = read_back(word, LANGUAGES[side])
        return next(name for name in names if name in CONCEPTS or {name} == set(names) <= markers)

    for source, target in dictionary(LANGUAGES[PIVOT], LANGUAGES[code]):
        assert meant(source, PIVOT) == meant(target, code)


# Gold labels


@given(frames, st.integers(0, 2**32))
def test_similarity_falls_with_every_slot_that_differs(frame: Frame, seed: int) -> None:
    random = Random(seed)
    other = draw(random)
    changed = frame
    assert overlap(frame, frame) == pytest.approx(5.0)
    for slot in random.sample(sorted(WEIGHTS), len(WEIGHTS)):
        before = overlap(frame, changed)
        changed = changed._replace(**{slot: getattr(other, slot)})
        assert 0 <= overlap(frame, changed) <= before
        assert (overlap(frame, changed) < before) == (getattr(other, slot) != getattr(frame, slot))
    assert overlap(frame, other) == overlap(other, frame)


def test_similarity_by_hand() -> None:
    frame = Frame(
        *("sea predicate 0", "sea noun 0", "sea noun 1", "", "quality 1", "", "past", False, True, False),
        *("Balan", ""),
    )
    assert overlap(frame, frame._replace(agent="farm noun 1", tense="future")) == pytest.approx(5 - 1.0 - 0.2)
    assert overlap(frame, frame._replace(companion="", year="1989")) == pytest.approx(5 - 0.4 - 0.1)
    unlike = Frame(
        *("sea predicate 1", "sea noun 2", "sea noun 3", "quality 1", "", "neutral manner 0", "present"),
        *(True, False, True, "", "1981"),
    )
    assert overlap(frame, unlike) == 0


def test_similarity_file_spans_the_scale_and_its_top_is_translations(world: Path) -> None:
    graded = rows(world / "similarity" / "qaa-qab.tsv.gz")
    gold = [float(row[2]) for row in graded]
    assert max(gold) == 5.0
    assert min(gold) < 1.0
    assert 1.5 < sum(gold) / len(gold) < 3.5
    pivot, language = LANGUAGES[PIVOT], LANGUAGES["qab"]
    for (one, other), (first, second, value) in zip(similar_frames(100, 7, "qab"), graded, strict=True):
        assert (first, second) == (pivot.sentence(one), language.sentence(other))
        assert float(value) == pytest.approx(overlap(one, other))
        assert (float(value) == 5.0) == (second == language.sentence(one))


def test_variations_share_from_nothing_to_everything_and_stay_held_out() -> None:
    random = Random(5)
    (frame,) = sample(1, 7, "one", held_out=True)
    variations = [variation(frame, 7, random) for _ in range(500)]
    shared = [overlap(frame, other) for other in variations]
    assert all(is_held_out(other, 7) for other in variations)
    assert max(shared) == 5.0
    assert min(shared) < 0.5
    assert 2.2 < sum(shared) / 500 < 3.2


@given(frames, codes, st.integers(0, 2**32), st.data())
def test_corruption_makes_as_many_errors_as_the_gold_says(
    frame: Frame, code: str, seed: int, data: st.DataObject
) -> None:
    words = LANGUAGES[code].words(frame)
    errors = data.draw(st.integers(0, len(words) - 1))
    vocabulary = [LANGUAGES[code].lexicon[concept] for concept in CONCEPTS]
    wrong = corrupted(words, errors, vocabulary, Random(seed))
    kept = common_subsequence(words, wrong)
    assert kept >= len(words) - errors
    assert (wrong == words) == (errors == 0)
    assert len(words) - errors <= len(wrong) <= len(words) + errors


def common_subsequence(one: list[str], other: list[str]) -> int:
    best = [0] * (len(other) + 1)
    for word in one:
        row = [0]
        for place, candidate in enumerate(other):
            row.append(best[place] + 1 if word == candidate else max(best[place + 1], row[place]))
        best = row
    return best[-1]


def test_quality_gold_is_one_for_right_translations_and_lower_for_others(world: Path) -> None:
    pivot = LANGUAGES[PIVOT]
    for code in FOREIGN:
        meanings = {pivot.sentence(frame): frame for frame in sample(100, 7, "quality", code, held_out=True)}
        graded = rows(world / "quality" / f"{PIVOT}-{code}.tsv.gz")
        for source, translation, gold in graded:
            right = LANGUAGES[code].sentence(meanings[source])
            assert (translation == right) == (float(gold) == 1.0)
        values = [float(row[2]) for row in graded]
        assert 0 < min(values) < 0.3
        assert max(values) == 1.0


@pytest.mark.parametrize("code", sorted(GRAMMARS))
def test_topic_and_sentiment_can_be_looked_up_in_the_sentence(world: Path, code: str) -> None:
    labels: dict[str, set[str]] = {"topic": set(), "sentiment": set()}
    for sentence, topic, sentiment in rows(world / "labels" / f"{code}.tsv.gz"):
        found = read_back(sentence, LANGUAGES[code])
        assert topic == next(name.split()[0] for name in found if " predicate " in name)
        assert sentiment == next((name.split()[0] for name in found if " manner " in name), "neutral")
        labels["topic"].add(topic)
        labels["sentiment"].add(sentiment)
    assert len(labels["topic"]) == 5
    assert labels["sentiment"] == {"negative", "neutral", "positive"}


# Free translation, synonyms, a relative


@given(frames, st.integers(0, 2**32))
def test_a_free_translation_leaves_out_optional_phrases_alone(frame: Frame, seed: int) -> None:
    assert freely(frame, 0.0, Random(seed)) == frame
    bare = freely(frame, 1.0, Random(seed))
    assert all(getattr(bare, slot) == "" for slot in OPTIONAL)
    kept = {slot: getattr(frame, slot) for slot in Frame._fields if slot not in OPTIONAL}
    assert bare == frame._replace(**dict.fromkeys(OPTIONAL, ""))
    assert {slot: getattr(bare, slot) for slot in kept} == kept


def test_about_the_stated_share_is_left_out() -> None:
    random = Random(1)
    full = [draw(random) for _ in range(500)]
    filled = sum(bool(getattr(frame, slot)) for frame in full for slot in OPTIONAL)
    left = sum(bool(getattr(freely(frame, 0.4, random), slot)) for frame in full for slot in OPTIONAL)
    assert left / filled == pytest.approx(0.6, abs=0.04)


def test_synonyms_are_second_words_of_as_many_concepts_as_stated_and_sentences_take_either() -> None:
    language = invent("qab", 7, 0.4)
    assert language.lexicon == LANGUAGES["qab"].lexicon
    assert len(language.synonyms) / len(CONCEPTS) == pytest.approx(0.4, abs=0.12)
    assert set(language.synonyms) < set(CONCEPTS)
    assert not set(language.synonyms.values()) & set(language.lexicon.values())
    concept = next(name for name in language.synonyms if " manner " in name)
    (frame,) = sample(1, 7, "one", held_out=False)
    frame = frame._replace(manner=concept)
    random = Random(3)
    said = [language.sentence(frame, random).split() for _ in range(200)]
    shares = [
        sum(word in words for words in said) / 200
        for word in (language.lexicon[concept], language.synonyms[concept])
    ]
    assert sum(shares) == pytest.approx(1.0)
    assert shares[0] == pytest.approx(0.5, abs=0.12)
    assert language.sentence(frame) == LANGUAGES["qab"].sentence(frame)
    words = {target for _, target in dictionary(LANGUAGES[PIVOT], language)}
    assert {language.lexicon[concept], language.synonyms[concept]} <= words


def test_a_relative_keeps_the_share_of_words_after_its_sound_changes() -> None:
    older, younger = LANGUAGES["qab"], LANGUAGES["qag"]

    def changed(word: str) -> str:
        for old, new in [("ai", "e"), ("ua", "o"), ("q", "g"), ("x", "s"), ("z", "d"), ("c", "t")]:
            word = word.replace(old, new)
        return word

    kept = sum(younger.lexicon[name] == changed(older.lexicon[name]) for name in CONCEPTS) / len(CONCEPTS)
    assert kept == pytest.approx(KEPT, abs=0.12)
    others = [LANGUAGES[code] for code in FOREIGN if code not in ("qab", "qag")]
    assert not any(one.lexicon[name] == younger.lexicon[name] for one in others for name in CONCEPTS)


def test_harder_settings_change_translations_and_no_gold_label(tmp_path: Path) -> None:
    generate(settings(free=0.5), tmp_path)
    source, target = bitext(tmp_path, "qab")
    language = LANGUAGES["qab"]
    heads = [sum(name in CONCEPTS for name in read_back(one, language)) for one in target]
    whole = [sum(name in CONCEPTS for name in read_back(one, LANGUAGES[PIVOT])) for one in source]
    assert sum(heads) < 0.9 * sum(whole)
    graded = rows(tmp_path / "similarity" / "qaa-qab.tsv.gz")
    for (_, other), (_, second, _) in zip(similar_frames(100, 7, "qab"), graded, strict=True):
        assert second == language.sentence(other)
