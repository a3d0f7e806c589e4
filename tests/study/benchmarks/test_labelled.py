"""Labelled texts: the official files of each set in, parts of each language out."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from collected_sets import collected

from orthoglot.errors import DataError
from orthoglot.study import config
from orthoglot.study.benchmarks.collected import read_all, sentence_keys
from orthoglot.study.benchmarks.kinds import classification, local, nway
from orthoglot.study.benchmarks.kinds.classification import Item, LabelledSet, drawn
from orthoglot.study.benchmarks.labelled_settings import ClassificationSettings

ROOT = Path(__file__).parents[3]
HOME = r"texts/|https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/|https://[^\"#]+#"


def made(folder: Path, **values: Any) -> tuple[LabelledSet, dict[str, dict[str, int]]]:
    """The set and its counts, in a new folder `labelled`."""
    settings = ClassificationSettings.model_validate(
        {"kind": "classification", "languages": ["de", "en"], "licence": "none"} | values
    )
    number = len(list(folder.glob("made/*")))
    output = collected(settings, folder / f"made/{number}/labelled")
    (found,) = classification.read(output)
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
    assert found.directions == [(["en"], "de")]
    assert counts["en train"] == {"kept": 2, "repeated": 0, "contradictory": 0}
    output = sib / "made/0/labelled"
    assert read_all(output) == [found]
    assert local.read(output) == nway.read(output) == []
    assert len(sentence_keys([output])) == 4
    (sib / "deu_Latn/test.tsv").unlink()
    with pytest.raises(DataError, match="no file for de test"):
        of_sib(sib)


def test_both_ways_need_every_part_of_every_language(sib: Path) -> None:
    found, _ = of_sib(sib, both_ways=True)
    assert sorted(found.directions) == [(["de"], "en"), (["en"], "de")]
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
    for path in sorted(folder.rglob("*.csv")):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + path.read_bytes()))
    packed, _ = made(folder, files=f"{folder}/{{language}}/{{split}}.csv.gz", item="id", languages=names)
    assert packed == found
    (folder / "javanese/test.csv").write_text('id,text,label\n1,"never closed,a\n' + 70_000 * "x y\n")
    with pytest.raises(DataError, match=r"javanese/test\.csv: line 2 is no CSV \(field larger"):
        made(folder, files=f"{folder}/{{language}}/{{split}}.csv", item="id", languages=names)


def test_mldocs_files_have_no_names_of_columns(tmp_path: Path) -> None:
    parts = ("train.1000", "dev", "test")
    names = [f"{language}.{part}" for language in ("german", "english") for part in parts]
    folder = write(tmp_path, {name: f'CCAT\t{name} firms rise\nGCAT\t"{name} vote\n' for name in names})
    entry = shipped()["mldoc"]
    chosen = {"files": f"{folder}/{{language}}.{{split}}", "languages": {"de": "german", "en": "english"}}
    values = entry.model_dump(exclude={"kind", "licence", "source"}) | chosen
    found, _ = made(folder, **values)
    text = '"german.test vote'
    assert found.items["de", "test"][1] == Item(text, "GCAT", text)
    assert sorted(found.directions) == [(["de"], "en"), (["en"], "de")]


def test_mldocs_files_as_laser_calls_them(tmp_path: Path) -> None:
    parts = ("train1000", "dev", "test")
    names = [f"mldoc.{part}.{language}" for language in ("de", "en") for part in parts]
    write(tmp_path / "mldoc", {name: f"C\t{name} firms rise\nG\t{name} vote\n" for name in names})
    found, _ = of_entry(tmp_path, "mldoc-laser", languages=["de", "en"])
    assert [item.label for item in found.items["de", "test"]] == ["C", "G"]
    assert found.items["en", "train"][1].text == "mldoc.train1000.en vote"
    assert sorted(found.directions) == [(["de"], "en"), (["en"], "de")]


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
    assert [item.label for item in found.items["de", "test"]] == ["negative"] * 2 + ["positive"] * 2
    assert found.items["de", "test"][0].text == "S de v & so on"
    assert counts["en train"] == {"kept": 4, "repeated": 1, "contradictory": 1, "three_stars": 1}
    for bad in ("<rating></rating>", "<rating>9</rating>"):
        (folder / "de/test.review").write_text(files["de/test"].replace("<rating>4.0</rating>", bad))
        with pytest.raises(DataError, match="review 4 has"):
            made(folder, **values)


def test_reviews_have_their_parts_in_any_order_and_entities_in_their_text(tmp_path: Path) -> None:
    item = (
        "<item><category>Livres</category><summary>L&apos;&#233;t&#xe9;</summary><rating>5.0</rating><date>x</date>"
        "<text>a &lt;b&gt; &quot;c&quot;\n\n d</text></item>"
    )
    other = item.replace("5.0", "1.0").replace("<text>a", "<text>z")
    text = f'<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n<items>\n{item}\n{other}\n</items>\n'
    names = [
        f"cls-acl10-unprocessed/{code}/books/{part}" for code in ("fr", "en") for part in ("train", "test")
    ]
    write(tmp_path, {f"{name}.review": text for name in names})
    found, _ = of_entry(tmp_path, "amazon-v1-books", languages=["fr", "en"])
    assert found.items["fr", "test"] == [
        Item('L\'été a <b> "c" d', "positive", 'L\'été a <b> "c" d'),
        Item('L\'été z <b> "c" d', "negative", 'L\'été z <b> "c" d'),
    ]
    path = tmp_path / f"{names[1]}.review"
    path.write_text(text.replace("&quot;", "&nbsp;"))
    with pytest.raises(DataError, match=r"books/test\.review: not well-formed XML: undefined entity"):
        of_entry(tmp_path, "amazon-v1-books", languages=["fr", "en"])


def test_reviews_of_keung_in_one_table_for_all_languages(tmp_path: Path) -> None:
    head = ",review_id,product_id,reviewer_id,stars,review_body,review_title,language,product_category\n"
    rows = [
        f'{n},{code}_{n},p,r,{1 + 4 * (n % 2)},"{code} ""{n}"",\nwell",Title {n},{code},book\n'
        for code in ("de", "en", "fr")
        for n in range(6)
    ]
    parts = ("train", "validation", "test")
    write(tmp_path / "amazon-reviews-multi", {f"{part}.csv": head + "".join(rows) for part in parts})
    found, counts = of_entry(tmp_path, "amazon-v2-csv", languages=["de", "en"])
    assert counts["de test"]["kept"] == 6
    text = 'Title 1 de "1", well'
    assert found.items["de", "test"][1] == Item(text, "positive", text)
    lines = [dict(zip(head.strip().split(",")[1:], ["i", "p", "r", str(1 + 4 * (n % 2)), f"b {n}", "t", code, "book"],
             strict=True)) for code in ("de", "en") for n in range(4)]  # fmt: skip
    for part in parts:
        path = tmp_path / f"amazon-reviews-multi/{part}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = f"{tmp_path}/amazon-reviews-multi/{{split}}.jsonl"
    found, counts = of_entry(tmp_path, "amazon-v2-csv", languages=["de", "en"], files=files)
    assert [item.text for item in found.items["de", "test"]] == ["t b 0", "t b 1", "t b 2", "t b 3"]
    (tmp_path / "amazon-reviews-multi/test.csv").write_text(head.replace("stars", "rating") + rows[0])
    with pytest.raises(DataError, match=r"test\.csv.* no column stars"):
        of_entry(tmp_path, "amazon-v2-csv", languages=["de", "en"])


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
    bare = [
        {"review_title": None, "review_body": f"good {i}", "stars": str(1 + 4 * (i % 2))} for i in range(4)
    ]
    (folder / "test/dataset_de_test.json").write_text("".join(json.dumps(line) + "\n" for line in bare))
    assert made(folder, **values)[0].items["de", "test"][0].text == "good 0"
    (folder / "test/dataset_de_test.json").write_text('{"stars": "1"}\n')
    with pytest.raises(DataError, match="line 1 is no review"):
        made(folder, **values)


def test_a_draw_has_each_label_equally_often_and_depends_on_the_seed() -> None:
    items = [Item(str(i), "ab"[i > 19], str(i)) for i in range(100)]
    one, other = drawn(items, 50, 1), drawn(items, 50, 2)
    assert [sum(item.label == label for item in one) for label in "ab"] == [20, 30]
    assert one != other
    assert one == sorted(one, key=items.index) == drawn(items, 50, 1)
    assert drawn(items, 200, 1) == items


@cache
def shipped() -> dict[str, Any]:
    return config.load(ROOT / "params.yaml").benchmarks


def of_entry(folder: Path, name: str, **values: Any) -> tuple[LabelledSet, dict[str, dict[str, int]]]:
    """A set of the catalogue's entry, whose files lie in a folder instead of `texts`, a repository or an archive."""
    entry = shipped()[name].model_dump(exclude={"kind", "licence", "source"})
    moved = json.loads(re.sub(HOME, f"{folder}/", json.dumps(entry)))
    return made(folder, **{**moved, **values})


def table(*rows: str) -> str:
    return "".join("\t".join(row.split("|")) + "\n" for row in rows)


XNLI = {
    "XNLI-MT-1.0/multinli/multinli.train.en.tsv": table(
        "premise|hypo|label", "p1|h1|contradictory", 'p "2|h2|neutral', "p1|h3|entailment", "p3|h4|neutral",
        "p3|h4|entailment",
    ),
    "XNLI-MT-1.0/multinli/multinli.train.es.tsv": table(
        "premise|hypo|label", "q1|j1|contradictory", "q2|j2|neutral", "q1|j3|entailment"
    ),
    **{
        f"XNLI-1.0/xnli.{split}.tsv": table(
            "language|gold_label|sentence1_binary_parse|sentence1|sentence2|promptID|pairID|genre",
            *(f"{code}|entailment|( x )|{code} {split} {i}|h|1|{i}|-" for code in ("en", "es", "de") for i in (1, 2)),
        )
        for split in ("dev", "test")
    },
}  # fmt: skip


def test_xnlis_own_files(tmp_path: Path) -> None:
    write(tmp_path, XNLI)
    found, counts = of_entry(tmp_path, "xnli", languages=["de", "en"])
    assert found.items["en", "train"] == [
        Item("p1 h1", "contradiction", "p1", ("h1",)),
        Item('p "2 h2', "neutral", 'p "2', ("h2",)),
        Item("p1 h3", "entailment", "p1", ("h3",)),
    ]
    assert counts["en train"] == {"kept": 3, "repeated": 1, "contradictory": 1}
    assert found.items["en", "valid"][0].texts == ("en dev 1", "h")
    assert found.items["de", "test"] == [Item(str(i), "entailment", f"de test {i}", ("h",)) for i in (1, 2)]
    assert found.directions == [(["en"], "de"), (["en"], "en")]
    assert ("de", ("de test 1", "de test 2")) in found.sides()
    assert ("de", ("h", "h")) in found.sides()


def test_translate_train_all_learns_in_every_language(tmp_path: Path) -> None:
    write(tmp_path, XNLI)
    found, _ = of_entry(tmp_path, "xnli-all", languages=["en", "es"], together=["en", "es"])
    assert found.directions == [(["en", "es"], "en"), (["en", "es"], "es")]
    assert set(found.items) == {(code, part) for code in ("en", "es") for part in ("train", "valid", "test")}


def test_americasnlis_own_files_with_xnlis_for_the_training(tmp_path: Path) -> None:
    own = {
        f"data/anli_final/test/{code}.tsv": table(
            "id|language|premise|hypothesis|label", *(f"{i}|{code}|p{i}|h{i}|neutral" for i in range(2))
        )
        for code in ("aym", "quy")
    }
    write(tmp_path, XNLI | own)
    languages = {"ay": "aym", "en": "en", "es": "es", "qu": "quy"}
    found, _ = of_entry(tmp_path, "americasnli", languages=languages)
    assert found.directions == [(["en", "es"], "ay"), (["en", "es"], "qu")]
    assert found.items["qu", "test"][1] == Item("p1 h1", "neutral", "p1", ("h1",))
    assert len(found.items["es", "train"]) == 3


def test_paws_xs_own_files(tmp_path: Path) -> None:
    def rows(name: str) -> str:
        return table("id|sentence1|sentence2|label", *(f"{i}|{name} {i}|b|{i % 2}" for i in (1, 2)))

    names = ("en/train", "de/translated_train", "en/dev_2k", "de/dev_2k", "en/test_2k", "de/test_2k")
    write(tmp_path, {f"x-final/{name}.tsv": rows(name) for name in names})
    chosen = {"languages": ["de", "en"], "together": ["de", "en"]}
    found, _ = of_entry(tmp_path, "paws-x-all", **chosen)
    assert found.items["de", "train"][0].text == "de/translated_train 1"
    assert found.items["en", "train"][0].text == "en/train 1"
    assert found.items["de", "test"][0] == Item("1", "1", "de/test_2k 1", ("b",))


def test_a_file_of_one_set_is_divided_by_a_column_alike_in_all_languages(tmp_path: Path) -> None:
    rows = [
        f"{code}|{group}|{group}-{i}|{'abc'[i]}|{code} {group}|hypothesis {group} {i}"
        for code in ("en", "de")
        for group in range(100)
        for i in range(3)
    ]
    write(tmp_path, {"dev.tsv": table("language|prompt|id|label|one|two", *rows)})
    values = {"files": f"{tmp_path}/dev.tsv", "text": ["one", "two"], "item": "id", "language": "language"}
    values |= {
        "divide": {"by": "prompt", "valid": 0.2, "test": 0.3},
        "together": ["de", "en"],
        "test_taught": True,
    }
    found, _ = made(tmp_path, **values)
    homes: dict[str, set[str]] = {}
    for (language, part), items in found.items.items():
        assert [item.id for item in items] == [item.id for item in found.items["en", part]]
        assert all(item.text.startswith(language) for item in items)
        for item in items:
            homes.setdefault(item.id.partition("-")[0], set()).add(part)
    assert len(homes) == 100
    assert all(len(parts) == 1 for parts in homes.values())
    sizes = {part: len(found.items["en", part]) / 300 for part in ("train", "valid", "test")}
    assert sizes == pytest.approx({"train": 0.5, "valid": 0.2, "test": 0.3}, abs=0.12)
    other, _ = made(tmp_path, **values, seed=2)
    assert other.items["en", "test"] != found.items["en", "test"]


def choice(number: int, question: str, label: int, **values: Any) -> str:
    about = {
        "premise": f" P{number}.",
        "choice1": "A.",
        "choice2": "B.",
        "question": question,
        "label": label,
    }
    return json.dumps(about | {"idx": number, "changed": False} | values) + "\n"


def test_choices_of_copa_and_xcopa_are_pairs_of_cause_and_effect(tmp_path: Path) -> None:
    both = choice(0, "cause", 0) + choice(1, "effect", 1)
    files = {"COPA/train.jsonl": both, "COPA/val.jsonl": both, "data/et/test.et.jsonl": both}
    write(tmp_path, files)
    found, _ = of_entry(tmp_path, "xcopa", languages=["en", "et"])
    assert found.items["et", "test"] == [
        Item("0", "0", "A.", ("P0.", "B.", "P0.")),
        Item("1", "1", "P1.", ("A.", "P1.", "B.")),
    ]
    assert [len(texts) for _, texts in found.sides()] == 12 * [2]
    for bad, message in (
        (choice(2, "why", 0), "line 3 is no choice"),
        (choice(2, "cause", 2), "line 3 has the label 2"),
        (choice(2, "cause", 0, choice2=" "), "line 3 has no text"),
        ('{"premise": "P"}\n', "line 3 is no choice"),
        ("premise\n", "line 3 is no JSON"),
        (choice(1, "cause", 0), "two texts"),
    ):
        (tmp_path / "data/et/test.et.jsonl").write_text(both + bad)
        with pytest.raises(DataError, match=message):
            of_entry(tmp_path, "xcopa", languages=["en", "et"])


def test_documents_of_multieurlex_have_several_labels(tmp_path: Path) -> None:
    def documents(split: str) -> str:
        lines = [
            {
                "celex_id": f"{split}{i}",
                "text": {"en": f"Act {i}\n of {split}", "de": f"Akt {i}"}
                if i
                else {"en": "Act 0", "de": None},
                "eurovoc_concepts": {"level_1": ["7", "10"] if i % 2 else ["3"], "level_2": []},
            }
            for i in range(3)
        ]
        return "".join(json.dumps(line) + "\n" for line in lines)

    write(tmp_path, {f"multi_eurlex/{split}.jsonl": documents(split) for split in ("train", "dev", "test")})
    found, counts = of_entry(tmp_path, "multieurlex", languages=["de", "en"])
    assert found.scoring == "several"
    assert found.items["de", "test"] == [Item("test1", "10 7", "Akt 1"), Item("test2", "3", "Akt 2")]
    assert counts["de test"] == {"kept": 2, "repeated": 0, "contradictory": 0, "untranslated": 1}
    assert found.items["en", "train"][1].text == "Act 1 of train"
    with pytest.raises(DataError, match="line 1 is no document with labels of level_9"):
        of_entry(tmp_path, "multieurlex", languages=["de", "en"], label="level_9")


def test_multiarc_keeps_all_stars(tmp_path: Path) -> None:
    lines = [{"review_title": "t", "review_body": f"{i}", "stars": str(1 + i % 5)} for i in range(10)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    names = [("en", part) for part in ("train", "dev", "test")] + [("de", "test")]
    write(
        tmp_path,
        {f"amazon-reviews-multi/{part}/dataset_{code}_{part}.json": text for code, part in names},
    )
    found, counts = of_entry(tmp_path, "multiarc", languages=["de", "en"])
    assert found.scoring == "number"
    assert [item.label for item in found.items["de", "test"]] == [*"12345", *"12345"]
    assert counts["de test"] == {"kept": 10, "repeated": 0, "contradictory": 0}
