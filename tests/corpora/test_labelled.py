"""Labelled texts: the official files of each set in, parts of each language out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from orthoglot import config
from orthoglot.corpora.benchmark_settings import ClassificationSettings
from orthoglot.corpora.benchmarks import collect, read_all, read_benchmark, read_nway, sentence_keys
from orthoglot.corpora.labelled import Item, LabelledSet, drawn, read_labelled
from orthoglot.errors import DataError

ROOT = Path(__file__).parents[2]


def made(folder: Path, **values: Any) -> tuple[LabelledSet, dict[str, dict[str, int]]]:
    settings = ClassificationSettings.model_validate(
        {"kind": "classification", "languages": ["de", "en"], "licence": "none"} | values
    )
    output = folder / "labelled"
    output.mkdir()
    collect(settings, None, output)
    (found,) = read_labelled(output)
    return found, json.loads((output / "counts.json").read_text())


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def sib(tmp_path: Path) -> Path:
    """SIB-200's own files: a folder for each language."""
    rows = {"train": [(1, "travel", "Bus"), (2, "sports", "Ball")], "dev": [(3, "travel", "Zug")]}
    rows |= {"test": [(4, "sports", "Tor")]}
    text = {
        f"{language}/{split}.tsv": "index_id\tcategory\ttext\n"
        + "".join(f"{i}\t{label}\t{language} {word}\n" for i, label, word in lines)
        for language in ("deu_Latn", "eng_Latn")
        for split, lines in rows.items()
    }
    return write(tmp_path, text)


def of_sib(folder: Path, **values: Any) -> tuple[LabelledSet, dict[str, dict[str, int]]]:
    about = {"files": f"{folder}/{{language}}/{{split}}.tsv", "label": "category", "item": "index_id"}
    names = {"de": "deu_Latn", "en": "eng_Latn"}
    return made(folder, **{**about, "languages": names, "splits": {"valid": "dev"}, **values})


def test_sib_200s_own_files(sib: Path) -> None:
    found, counts = of_sib(sib)
    assert found.items == {
        ("de", "test"): [Item("4", "sports", "deu_Latn Tor")],
        ("en", "train"): [Item("1", "travel", "eng_Latn Bus"), Item("2", "sports", "eng_Latn Ball")],
        ("en", "valid"): [Item("3", "travel", "eng_Latn Zug")],
    }
    assert [*found.directions()] == [("en", "de")]
    assert counts["en train"] == {"kept": 2, "repeated": 0, "contradictory": 0}
    output = sib / "labelled"
    assert read_all(output) == [found]
    assert read_benchmark(output) == read_nway(output) == []
    assert len(sentence_keys([output])) == 4


def test_both_ways_need_every_part_of_every_language(sib: Path) -> None:
    found, _ = of_sib(sib, both_ways=True)
    assert sorted(found.directions()) == [("de", "en"), ("en", "de")]
    assert len(found.items) == 6


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("eng_Latn/train.tsv", "2\tsports", "2\t", "line 3 has no label"),
        ("eng_Latn/train.tsv", "eng_Latn Ball", " ", "line 3 has no text"),
        ("eng_Latn/train.tsv", "2\tsports\teng_Latn Ball", "1\tsports\teng_Latn Bus", "'1' has two labels"),
        ("eng_Latn/train.tsv", "2\tsports", "1\ttravel", "'1' has two texts"),
        ("eng_Latn/train.tsv", "2\tsports", "2\ttravel", "one label only, travel"),
        ("deu_Latn/test.tsv", "4\tsports", "4\tpolitics", "no text with the label politics"),
        ("deu_Latn/test.tsv", "4\tsports", "1\tsports", "'1' is in .* and in"),
        ("deu_Latn/test.tsv", "4\tsports\tdeu_Latn Tor\n", "", "de test has no labelled text"),
        ("deu_Latn/test.tsv", "category", "topic", "no column category"),
    ],
)
def test_wrong_labels_are_refused(sib: Path, name: str, old: str, new: str, message: str) -> None:
    path = sib / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(DataError, match=message):
        of_sib(sib)


def test_an_absent_file_names_its_language_and_part(sib: Path) -> None:
    (sib / "deu_Latn/test.tsv").unlink()
    with pytest.raises(DataError, match="no file for de test"):
        of_sib(sib)


def test_labels_of_another_file_choose_texts_and_parts(tmp_path: Path) -> None:
    labels = "flores_id\tsplit\ttopic\nd1\ttrain\ta\nd2\ttrain\tb\nd3\tdev\ta\nd4\ttest\tb\n"
    texts = "id\teng\tdeu\n" + "".join(f"d{i}\te{i}\tg{i}\n" for i in range(1, 6))
    folder = write(tmp_path, {"labels.tsv": labels, "texts.tsv": texts})
    about = {"file": f"{folder}/labels.tsv", "item": "flores_id", "label": "topic", "split": "split"}
    values = {"files": [f"{folder}/texts.tsv"], "text": "{language}", "item": "id", "labels": about}
    values |= {"languages": {"de": "deu", "en": "eng"}, "splits": {"valid": "dev"}}
    found, counts = made(folder, **values)
    assert found.items["en", "train"] == [Item("d1", "a", "e1"), Item("d2", "b", "e2")]
    assert found.items["de", "test"] == [Item("d4", "b", "g4")]
    assert counts["de test"] == {"kept": 1, "repeated": 0, "contradictory": 0, "unlabelled": 1}
    for changed, message in (
        (labels + "d6\ttest\ta\n", "no text for 1 labels, e.g. 'd6'"),
        (labels + "d4\ttest\ta\n", "the item 'd4' again"),
        (labels + "d5\ttest\t\n", "line 6 has no label"),
        (labels + "d5\tlater\ta\n", "the split 'later'"),
    ):
        (folder / "labels.tsv").write_text(changed)
        (folder / "labelled").rename(folder / message)
        with pytest.raises(DataError, match=message):
            made(folder, **values)


def test_nusaxs_own_files_have_commas(tmp_path: Path) -> None:
    table = 'id,text,label\n{0}1,"{1}, well",negative\n{0}2,"a ""{1}"" b",positive\n'
    files = {
        f"{language}/{split}.csv": table.format(split, language)
        for language in ("english", "javanese")
        for split in ("train", "valid", "test")
    }
    folder = write(tmp_path, files)
    names = {"en": "english", "jv": "javanese"}
    found, _ = made(folder, files=f"{folder}/{{language}}/{{split}}.csv", item="id", languages=names)
    texts = [Item("test1", "negative", "javanese, well"), Item("test2", "positive", 'a "javanese" b')]
    assert found.items["jv", "test"] == texts


def test_mldocs_files_have_no_names_of_columns(tmp_path: Path) -> None:
    names = (
        "german.train.1000",
        "german.dev",
        "german.test",
        "english.train.1000",
        "english.dev",
        "english.test",
    )
    folder = write(tmp_path, {name: f'CCAT\t{name} firms rise\nGCAT\t"{name} vote\n' for name in names})
    entry = config.load(ROOT / "params.yaml").benchmarks["mldoc"]
    chosen = {"files": f"{folder}/{{language}}.{{split}}", "languages": {"de": "german", "en": "english"}}
    values = entry.model_dump(exclude={"kind", "licence", "source"}) | chosen
    found, _ = made(folder, **values)
    text = '"german.test vote'
    assert found.items["de", "test"][1] == Item(text, "GCAT", text)
    assert sorted(found.directions()) == [("de", "en"), ("en", "de")]


REVIEW = """<item><category>dvd</category><rating>{stars}</rating><url>u</url><text>{text} &amp; so
on</text><title>A film</title><summary>{summary}</summary></item>"""


def test_reviews_of_prettenhofer_and_stein(tmp_path: Path) -> None:
    def reviews(name: str, *further: str) -> str:
        ratings = zip((1, 2, 3, 4, 5), "vwxyz", strict=True)
        own = [
            REVIEW.format(stars=f"{stars}.0", text=f"{name} {text}", summary="S") for stars, text in ratings
        ]
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<items>{"".join(own)}{"".join(further)}</items>'

    both = [REVIEW.format(stars=stars, text="same", summary="") for stars in ("1.0", "5.0")]
    files = {"en/train": reviews("train", *both), "en/test": reviews("test"), "de/test": reviews("de")}
    folder = write(tmp_path, {f"{name}.review": text for name, text in files.items()})
    values = {
        "form": "amazon-v1",
        "files": f"{folder}/{{language}}/{{split}}.review",
        "splits": {"valid": "test"},
    }
    found, counts = made(folder, **values)
    assert [item.label for item in found.items["de", "test"]] == [
        "negative",
        "negative",
        "positive",
        "positive",
    ]
    assert found.items["de", "test"][0].text == "S de v & so on"
    assert counts["en train"] == {"kept": 4, "repeated": 1, "contradictory": 1, "three_stars": 1}
    for bad in ("<rating></rating>", "<rating>9</rating>"):
        (folder / "de/test.review").write_text(files["de/test"].replace("<rating>4.0</rating>", bad))
        (folder / "labelled").rename(folder / f"made {len(bad)}")
        with pytest.raises(DataError, match="review 4 has"):
            made(folder, **values)


def test_reviews_of_keung(tmp_path: Path) -> None:
    def reviews(name: str) -> str:
        lines = [
            {"review_title": f"{name} {i}", "review_body": "x  y", "stars": str(1 + i % 5), "language": "en"}
            for i in range(20)
        ]
        return "".join(json.dumps(line) + "\n" for line in lines)

    files = {f"{split}/dataset_{code}_{split}.json": reviews(split) for code in ("de", "en") for split in
             ("train", "dev", "test")}  # fmt: skip
    folder = write(tmp_path, files)
    name = f"{folder}/{{split}}/dataset_{{language}}_{{split}}.json"
    values = {"form": "amazon-v2", "files": name, "splits": {"valid": "dev"}, "max_train": 6}
    found, counts = made(folder, **values)
    train = found.items["en", "train"]
    assert [sum(item.label == label for item in train) for label in ("negative", "positive")] == [3, 3]
    assert counts["de test"]["kept"] == 16
    assert found.items["de", "test"][0] == Item("test 0 x y", "negative", "test 0 x y")
    (folder / "test/dataset_de_test.json").write_text('{"stars": "1"}\n')
    (folder / "labelled").rename(folder / "before")
    with pytest.raises(DataError, match="line 1 is no review"):
        made(folder, **values)


def test_a_draw_has_each_label_equally_often_and_depends_on_the_seed() -> None:
    items = [Item(str(i), "ab"[i > 19], str(i)) for i in range(100)]
    one, other = drawn(items, 50, 1), drawn(items, 50, 2)
    assert [sum(item.label == label for item in one) for label in "ab"] == [20, 30]
    assert one != other
    assert one == sorted(one, key=items.index) == drawn(items, 50, 1)
    assert drawn(items, 200, 1) == items


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"files": "{language}.tsv"}, "train and test"),
        ({"files": "{split}.tsv"}, "two languages"),
        ({"pivot": "fr"}, "the pivot fr"),
        ({"text": 1}, "names of all"),
        ({"text": 0, "label": 1}, "from 1 on"),
        ({"labels": {"file": "l", "item": "i", "label": "l", "split": "s"}}, "the column `item`"),
    ],
)
def test_wrong_settings_are_refused(changed: dict[str, Any], message: str) -> None:
    values = {"kind": "classification", "files": "{language}.{split}", "languages": ["de", "en"]}
    with pytest.raises(ValidationError, match=message):
        ClassificationSettings.model_validate({**values, "licence": "none", **changed})


@pytest.mark.parametrize(("name", "sizes"), [("sib200", (536, 76, 147)), ("nusax", (500, 100, 400))])
def test_real_files(
    name: str, sizes: tuple[int, ...], more_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (tmp_path / "shared").symlink_to(more_data.parent)
    monkeypatch.chdir(checkout)
    output = tmp_path / "labelled"
    output.mkdir()
    collect(config.load(ROOT / "params.yaml").benchmarks[name], None, output)
    (found,) = read_labelled(output)
    assert tuple(len(found.items["en", part]) for part in ("train", "valid")) == sizes[:2]
    assert {len(items) for (_, part), items in found.items.items() if part == "test"} == {sizes[2]}
    assert len([*found.directions()]) == len({language for language, _ in found.items}) - 1
