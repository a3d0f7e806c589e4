"""A page with the nearest sentences: what a plain search finds, any text as text, and its script in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_checkpoint import make_pairs
from typer.testing import CliRunner

from orthoglot import load
from orthoglot.apply import pool as pools
from orthoglot.apply.explore import Neighbours, neighbour_counts, neighbours, vectors, widest
from orthoglot.cli import app
from orthoglot.errors import ConfigError, DataError

HOSTILE = "</script><img src=x onerror=alert(1)>"
K = 4
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
in_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
# Works the page as a reader does and writes what it finds into the document.
READER = """
const found = {};
const pressed = (key) => new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
const key = (name) => document.activeElement.dispatchEvent(pressed(name));
const input = document.getElementById("search"), listbox = document.getElementById("options");
const type = (text) => { input.value = text; input.dispatchEvent(new Event("input")); };
const texts = () => [...listbox.children].map((item) => item.textContent);
const hash = () => Number(location.hash.slice(1));
input.focus();
type("  CAFE D");
found.accents = texts();
type("nothing like it");
found.nothing = texts();
type("a");
found.first = input.getAttribute("aria-activedescendant");
key("ArrowDown");
found.second = input.getAttribute("aria-activedescendant");
found.expanded = input.ariaExpanded;
key("Enter");
found.chosen = hash();
found.closed = listbox.hidden;
document.querySelector(".columns a").focus();
key("ArrowDown");
key("ArrowRight");
found.place = [...document.querySelectorAll(".columns a")].indexOf(document.activeElement);
document.getElementById("language").value = "1";
type("");
found.of = new Set([...listbox.querySelectorAll(".language")].map((badge) => badge.textContent)).size;
found.wide = document.documentElement.scrollWidth > innerWidth;
const shown = () => [...document.querySelectorAll(".columns section")].map((section) => section.checkVisibility());
const buttons = [...document.querySelectorAll("[role=tab]")];
found.byKey = shown();
buttons[0].click();
found.left = shown();
buttons[0].focus();
key("ArrowRight");
found.right = shown();
found.selected = buttons.map((button) => button.ariaSelected);
const column = (button) => document.getElementById(button.getAttribute("aria-controls"));
found.tabs = buttons.map((button) => column(button).querySelector("h2").textContent);
document.body.append(`FOUND ${JSON.stringify(found)} END`);
"""


class Tags(HTMLParser):
    """Collects tags, and the addresses that they lead to or load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data")]


def tags_of(page: str) -> Tags:
    found = Tags()
    found.feed(page)
    return found


def explored(model: Path, output: Path, *given: object) -> tuple[str, str]:
    """The page, and what the command says."""
    words = ["explore", *map(str, given), "--model", str(model), "-o", str(output), "--device", "cpu"]
    done = CliRunner().invoke(app, [*words, "--threads", "1"])
    if done.exception:
        raise done.exception
    return output.read_text(encoding="utf-8"), done.stderr.splitlines()[-1]


def content(page: str) -> dict[str, Any]:
    """What the page's script reads."""
    found: dict[str, Any] = json.loads(re.findall('id="content">(.*?)</script>', page, re.DOTALL)[0])
    return found


def cells(page: str) -> list[list[str]]:
    """The numbers of the table over the whole pool."""
    rows = re.findall("<tr><td>(.*?)</tr>", page, re.DOTALL)
    return [re.findall(r"[\d.]+(?= %)", row) for row in rows]


def texts_in(folder: Path) -> list[Path]:
    """Thirty lines of two languages, and one that is no sentence."""
    pairs = [*make_pairs(30, seed=3), (f"a01 {HOSTILE}", f"b01 {HOSTILE} & \u2028 café déjà")]
    files = []
    for side, name in enumerate(("en.txt", "news.gn")):
        files.append(folder / name)
        files[-1].write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def made(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    folder = tmp_path_factory.mktemp("explore")
    output = folder / "page.html"
    return output, *explored(models["plda"], output, *texts_in(folder), "-k", K)


def plain(vectors: np.ndarray) -> np.ndarray:
    """All cosines, those of a sentence with itself below all others."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -2)
    return cosines


def test_neighbours_and_shares_are_those_of_a_plain_search(
    models: dict[str, Path], made: tuple[Path, str, str]
) -> None:
    _, page, _ = made
    found, model = content(page), load(models["plda"], device="cpu")
    assert model.decomposer is not None
    sentences, languages = found["sentences"], found["languages"]
    assert (found["codes"], len(sentences), languages) == (["en", "gn"], 62, [0] * 31 + [1] * 31)
    assert found["lines"] == [[number] for number in (*range(1, 32), *range(1, 32))]
    own, translations = [], []
    for part, near in zip(("sentence", "meaning"), found["parts"], strict=True):
        vectors = model.encode(sentences, part=part)
        if part == "meaning":
            # Each language has the mean of its 31 sentences.
            offset = model.decomposer.weights["offset"]
            for side in (slice(0, 31), slice(31, 62)):
                vectors[side] -= 31 / 61 * (vectors[side].mean(axis=0) - offset)
        cosines, rows = plain(vectors), np.array(near["rows"])
        assert all(len({*some}) == K for some in rows.tolist())
        # Of neighbours whose cosines are equal up to rounding, either may be first.
        highest = -np.sort(-cosines, axis=1)[:, :K]
        np.testing.assert_allclose(np.take_along_axis(cosines, rows, axis=1), highest, atol=1e-5)
        np.testing.assert_allclose(np.array(near["cosines"]) / 1000, highest, atol=6e-4)
        own.append(np.mean([[languages[one] == languages[row] for one in rows[row]] for row in range(62)]))
        translations.append(np.mean([[abs(one - row) == 31 for one in rows[row]] for row in range(62)]))
    assert found["parts"][0]["rows"] != found["parts"][1]["rows"]
    # Of 61 others 30 are of the own language, and one is a translation.
    expected = [[30 / 61, *own], [1 / K, *translations]]
    assert cells(page) == [[f"{100 * share:.1f}" for share in row] for row in expected]


def test_the_command_says_what_the_page_holds_and_its_size(made: tuple[Path, str, str]) -> None:
    output, page, said = made
    size = len(page.encode()) / 1e6
    assert said == f"62 sentences in 2 languages (en, gn), translations by line: {output}, {size:.2f} MB"
    assert size < 0.05
    assert [path.name for path in output.parent.iterdir() if "partial" in path.name] == []


def test_text_stays_text_and_the_page_loads_nothing(made: tuple[Path, str, str]) -> None:
    _, page, _ = made
    assert HOSTILE not in page
    assert f"a01 {HOSTILE}" in content(page)["sentences"]
    tags = tags_of(page)
    assert tags.tags.count("script") == 2
    assert "img" not in tags.tags
    assert tags.addresses == []
    assert "http" not in page.replace("http-equiv", "")
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert (
        "content=\"default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\"" in page
    )


def test_texts_that_are_not_parallel_have_no_translations(models: dict[str, Path], tmp_path: Path) -> None:
    english, guarani = texts_in(tmp_path)
    page, said = explored(models["plda"], tmp_path / "p.html", english, guarani, "--no-parallel")
    assert said.startswith("62 sentences in 2 languages (en, gn): ")
    # The same sentence, and one line more.
    with guarani.open("a") as file:
        file.write(f"{guarani.read_text().splitlines()[0]}\n\nb02 b03\n")
    page, said = explored(models["plda"], tmp_path / "p.html", english, guarani)
    assert said.startswith("63 sentences in 2 languages (en, gn): ")
    assert content(page)["lines"] is None
    assert len(cells(page)) == 1
    assert 'id="gloss"' not in page
    with pytest.raises(DataError, match=r"en\.txt has 31 lines but .*news\.gn has 34"):
        pools.read([english, guarani], parallel=True)
    with pytest.raises(ConfigError, match="by the codes of different languages"):
        pools.read([english], parallel=True)


def test_lines_that_do_not_translate_each_other_are_doubted(models: dict[str, Path], tmp_path: Path) -> None:
    pairs = make_pairs(60, seed=5)
    for name, side, turned in (("en.txt", 0, 0), ("gn.txt", 1, 20)):
        (tmp_path / name).write_text(
            "".join(f"{pair[side]}\n" for pair in [*pairs[turned:], *pairs[:turned]])
        )
    command = [
        "explore",
        tmp_path / "en.txt",
        tmp_path / "gn.txt",
        "--model",
        models["plda"],
        "--threads",
        "1",
    ]
    command += ["-o", tmp_path / "p.html"]
    doubt = "if the lines do not translate each other, give --no-parallel"
    assert doubt in CliRunner().invoke(app, [*map(str, command)]).stderr
    assert doubt not in CliRunner().invoke(app, [*map(str, command), "--parallel"]).stderr
    (tmp_path / "gn.txt").write_text("".join(f"{pair[1]}\n" for pair in pairs))
    assert doubt not in CliRunner().invoke(app, [*map(str, command)]).stderr


def test_a_sentence_of_several_lines_is_one_and_translates_them_all(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("Yes.\nNo.\nYes.\n\n")
    (tmp_path / "de.txt").write_text("Ja.\nNein.\nDoch.\nDanke.\n")
    pool = pools.read([tmp_path / "en.txt", tmp_path / "de.txt"])
    assert pool.sentences == ["Yes.", "No.", "Ja.", "Nein.", "Doch.", "Danke."]
    assert pool.lines == [[1, 3], [2], [1], [2], [3], [4]]


def test_a_language_is_that_of_the_name_or_the_one_that_is_identified(tmp_path: Path) -> None:
    names = {"en.txt": "en", "eng_Latn.txt": "en", "pt_BR": "pt", "news.sw.txt.gz": "sw", "talks.txt": None}
    assert {name: pools.language_of(Path("sw") / name) for name in names} == names
    (tmp_path / "talks.txt").write_text("Where is the station, please?\nСколько стоит билет до Москвы?\n")
    pool = pools.read([tmp_path / "talks.txt"])
    assert (pool.languages, pool.lines, pool.guessed) == (["en", "ru"], None, True)


def test_marks_and_signs_of_files_are_no_words(tmp_path: Path) -> None:
    (tmp_path / "some").write_text("\ufeffHello there\nHello there\n!!!\n😀\n", encoding="utf-8")
    (tmp_path / "De.TXT").write_text("Guten Tag\n")
    found = pools.read([tmp_path / "some"])
    assert found.sentences == ["Hello there", "!!!", "😀"]
    assert found.languages[1:] == ["und", "und"]
    assert pools.language_of(tmp_path / "De.TXT") == "de"


def test_without_a_text_there_are_forty_sentences_in_nine_languages(
    models: dict[str, Path], tmp_path: Path
) -> None:
    page, said = explored(models["plda"], tmp_path / "page.html")
    codes = ["ar", "de", "en", "es", "fr", "ja", "ru", "tr", "zh"]
    assert said.startswith(f"360 sentences in 9 languages ({', '.join(codes)}), translations by line: ")
    assert content(page)["codes"] == codes
    assert len({*content(page)["colours"]}) == 9
    assert content(page)["lines"] == [[number] for number in range(1, 41)] * 9
    # As many translations as neighbours, so a column could be full.
    assert cells(page)[1][0] == "100.0"


@pytest.mark.parametrize("parallel", [True, False])
def test_the_page_opens_on_the_sentence_whose_neighbours_differ_most(parallel: bool) -> None:
    """Of six sentences in two languages; the nearest two of each by vector, and by meaning."""
    languages, lines = ["en", "en", "en", "sw", "sw", "sw"], [[1], [2], [3], [1], [2], [3]]
    pool = pools.Pool(languages, [*"abcdef"], lines if parallel else None, False)
    before = [[1, 2], [0, 3], [1, 0], [0, 4], [3, 1], [3, 4]]
    # Row 5 gains a translation and loses one of its language; row 1 gains one and loses none; row 0 loses two.
    after = [[4, 5], [0, 4], [1, 0], [0, 4], [3, 1], [2, 3]]
    cosines = np.zeros((6, 2))
    found = {
        part: Neighbours(np.array(rows), cosines) for part, rows in (("sentence", before), ("meaning", after))
    }
    languages_of, translations = zip(*(neighbour_counts(pool, near) for near in found.values()), strict=True)
    assert [counts.tolist() for counts in languages_of] == [[2, 1, 2, 1, 1, 2], [0, 1, 2, 1, 1, 1]]
    right = [[0, 0, 0, 1, 1, 0], [0, 1, 0, 1, 1, 1]] if parallel else [[0] * 6] * 2
    assert [counts.tolist() for counts in translations] == right
    assert widest(pool, found) == (5 if parallel else 0)


def test_no_sentence_is_its_own_neighbour_though_others_are_equal_to_it() -> None:
    rows, cosines = neighbours(np.ones((6, 4), dtype=np.float32), 2)
    assert all(row not in near and len({*near}) == 2 for row, near in enumerate(rows.tolist()))
    np.testing.assert_allclose(cosines, 1, atol=1e-6)
    assert neighbours(np.eye(3, dtype=np.float32), 8).rows.shape == (3, 2)


def test_languages_reach_a_method_that_has_weights_for_each(models: dict[str, Path], tmp_path: Path) -> None:
    files = texts_in(tmp_path)
    explored(models["centering"], tmp_path / "page.html", *files)
    swahili = files[1].rename(tmp_path / "sw.txt")
    with pytest.raises(DataError, match="no weights of language 'sw'"):
        explored(models["centering"], tmp_path / "page.html", files[0], swahili)
    page, _ = explored(models["plda"], tmp_path / "page.html", files[0], swahili)
    assert content(page)["codes"] == ["en", "sw"]


def test_an_encoder_takes_languages_that_it_does_not_state(models: dict[str, Path]) -> None:
    model = load(models["plda"], device="cpu")
    model.encoder = replace(model.encoder, languages=("en",))  # type: ignore[type-var]
    sentences = ["a01 a02", "b01 b02", "b03"]
    found = vectors(model, pools.Pool(["en", "gn", "gn"], sentences, None, False))
    np.testing.assert_allclose(found["sentence"], model.encode(sentences, part="sentence"), atol=1e-5)


def test_what_no_page_can_be_made_of_is_refused_in_a_line(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = texts_in(tmp_path)
    with pytest.raises(ConfigError, match="is an encoder alone, without a meaning part"):
        explored(models["encoder"], tmp_path / "page.html", *files)
    for name, text, cause in (
        ("en.one", "one\n\none\n", "one sentence has no neighbours"),
        ("blank.en", "\n \n", r"blank\.en: no line has text"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match=cause):
            pools.read([tmp_path / name])
    monkeypatch.setattr(pools, "MOST", 61)
    with pytest.raises(DataError, match="a page has at most 61 lines of text"):
        pools.read(files)
    monkeypatch.setattr(pools, "MOST", 30)
    with pytest.raises(DataError, match="a page has at most 30 lines of text"):
        pools.read(files[:1])
    assert not (tmp_path / "page.html").exists()


def in_browser(page: Path, profile: Path, number: int | None) -> str:
    """The document after its script; the browser must have nothing to say of it."""
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    command += ["--window-size=390,844", f"--user-data-dir={profile}", "--dump-dom"]
    address = page.as_uri() if number is None else f"{page.as_uri()}#{number}"
    done = subprocess.run([*command, address], capture_output=True, text=True, timeout=120, check=True)
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    return done.stdout


@in_chromium
def test_a_number_in_the_address_shows_that_sentence_and_its_neighbours(
    made: tuple[Path, str, str], tmp_path: Path
) -> None:
    output, page, _ = made
    found = content(page)
    for place in (3, 31, None):
        document = in_browser(output, tmp_path / "profile", place)
        number = found["first"] + 1 if place is None else place
        shown = re.findall(r'<section id="query".*?</section>', document, re.DOTALL)[0]
        text = escape(found["sentences"][number - 1], quote=False)
        assert f'<span class="sentence" lang="en" dir="auto">{text}</span>' in shown
        for place, part in enumerate(found["parts"], 1):
            column = document.split(f'id="part{place}"')[1].split("</section>")[0]
            near = part["rows"][number - 1]
            assert re.findall(r'href="#(\d+)"', column) == [str(row + 1) for row in near]
            cosines = [f"{value / 1000:.3f}" for value in part["cosines"][number - 1]]
            assert re.findall(r'class="cosine">([-.\d]+)<', column) == cosines
            codes = [found["codes"][found["languages"][row]] for row in near]
            assert re.findall(r'class="language"[^>]*>(\w+)<', column) == codes
            right = [row == number - 1 + 31 for row in near]
            assert [bool(mark) for mark in re.findall('class="tick">(✓?)', column)] == right
        assert "img" not in tags_of(document).tags


@in_chromium
def test_one_finds_sentences_by_letters_and_moves_by_keys(
    made: tuple[Path, str, str], tmp_path: Path
) -> None:
    # The reader is no part of the page, whose policy allows its own script alone.
    page = re.sub("<meta http-equiv.*?>", "", made[1]).replace("</body>", f"<script>{READER}</script></body>")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    document = in_browser(tmp_path / "page.html", tmp_path / "profile", 9)
    found = json.loads(unescape(re.findall("FOUND (.*?) END", document)[-1]))
    assert found == {
        "accents": [f"gnb01 {HOSTILE} & \u2028 café déjà"],
        "nothing": ["no sentence of this page has these letters"],
        "first": "option1",
        "second": "option2",
        "expanded": "true",
        "chosen": 2,
        "closed": True,
        "place": K + 1,
        "of": 1,
        "wide": False,
        # On a phone one part at a time: that of the link with the focus, or of the tab that was chosen.
        "byKey": [False, True],
        "left": [True, False],
        "right": [False, True],
        "selected": ["false", "true"],
        "tabs": ["The encoder's vector", "The meaning part"],
    }
