"""Text into sentences and back, with known answers and on text of any kind."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from orthoglot.cli import app
from orthoglot.errors import ConfigError
from orthoglot.text.bitext import read_rows
from orthoglot.text.sentences import joined, paragraphs, split

FLORES = Path(__file__).parents[3] / "shared/data/nway/flores200.dev.tsv.gz"


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Dr. Ada Lowe left at 5 p.m. on Jan. 3.", "It cost $3.50!", '"Really?" she asked.']),
        ("deu_Latn", ["Am 3. Mai kam z. B. Dr. Ott.", "Er blieb."]),
        ("zh", ["他说：“你好吗？”", "我很好。", "今天下雨！"]),
        ("ja", ["昨日は雨でした。", "今日は？", "晴れです。"]),
        ("arb", ["ذهب إلى السوق.", "هل أنت هنا؟", "نعم!"]),
        ("hi", ["वह घर गया।", "क्या तुम ठीक हो?", "हाँ।"]),
        ("am", ["ወደ ቤት ሄደ።", "ዛሬ ጥሩ ነው፡፡", "ነገ እንገናኝ።"]),
        ("km", ["គាត់ទៅផ្ទះ។", "ថ្ងៃនេះល្អ៕", "តើអ្នកនៅទីណា?"]),
        ("my", ["သူ၏ အိမ်၊ ခြံသည်ကြီးသည်။", "နေကောင်းလား။"]),
        ("gn", ["Ko'ẽ porã.", "Mba'éichapa reiko?"]),
    ],
)
def test_sentences_of_a_paragraph(language: str, sentences: list[str]) -> None:
    text = joined(sentences)
    assert [[one for _, one in found] for found in split([text, " ", text], language)] == [sentences] * 2


def test_only_chinese_and_japanese_have_no_blank_between_sentences() -> None:
    for one, other in (("今天下雨。", "OpenAI发布了GPT。"), ("カナ", "かな")):
        assert joined([one, other]) == one + other
    # Thai has a blank there, and Korean; a Chinese name makes no English sentence Chinese.
    for one, other in (
        ("ฝนตก", "เราอยู่บ้าน"),
        ("비가 온다.", "집에 있다."),
        ("He is 王.", "She left."),
        ("1.", "2."),
    ):
        assert joined([one, other]) == f"{one} {other}"


def test_lines_are_paragraphs_or_go_on_up_to_one_without_text() -> None:
    text = ["\ufeffOne came. Two", "\u00a0came\u2028late.", "", "\t", "Three."]
    assert list(split(text, "en")) == [
        [(1, "One came."), (1, "Two")],
        [(2, "came late.")],
        [(5, "Three.")],
    ]
    assert list(split(text, "en", wrapped=True)) == [
        [(1, "One came."), (1, "Two came late.")],
        [(5, "Three.")],
    ]
    assert list(split(["今天下", "雨。", ""], "zh", wrapped=True)) == [[(1, "今天下雨。")]]
    (((_, mixed),),) = split(["使用 Linux", "kernel 很", "好。"], "zh", wrapped=True)
    assert mixed == "使用 Linux kernel 很好。"
    assert list(paragraphs(text[1:])) == [[(1, "came\u2028late.")], [(4, "Three.")]]
    with pytest.raises(ConfigError, match="unknown language"):
        list(split(text, "klingonese"))


@given(
    st.text(
        st.sampled_from(" \t\u2028\u00a0.!?。？…“”\"'()[]:;-aBcÄß1ا你です។၏။፡།؟\U0001f600é\u0301\r"),
        max_size=60,
    ),
    st.sampled_from(["en", "es", "qu", "de", "fr", "zh", "ja", "ar", "hi", "my", "km", "am", "th", "el"]),
)
@settings(max_examples=300, deadline=None)
def test_nothing_but_white_space_is_lost(text: str, language: str) -> None:
    found = [one for block in split(text.split("\n"), language) for _, one in block]
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(one == " ".join(one.split()) != "" for one in found)


def test_the_command_reads_and_writes_files_and_pipes(tmp_path: Path) -> None:
    source, output = tmp_path / "a.gz", tmp_path / "b.gz"
    source.write_bytes(gzip.compress(b"One came. Two left.\nThree.\n"))
    expected = "One came.\nTwo left.\n\nThree.\n"
    done = CliRunner().invoke(app, ["split", "eng", str(source), "-o", str(output)])
    assert (done.exit_code, gzip.decompress(output.read_bytes()).decode()) == (0, expected)
    assert done.stderr == f"3 sentences of 2 paragraphs: {output}\n"
    done = CliRunner().invoke(app, ["split", "en"], input=expected)
    assert done.stdout == "One came.\n\nTwo left.\n\nThree.\n"
    assert CliRunner().invoke(app, ["split", "en", "--wrapped"], input=expected).stdout == expected
    assert isinstance(CliRunner().invoke(app, ["split", "xx"], input=expected).exception, ConfigError)


@pytest.mark.skipif(not FLORES.exists(), reason="needs the real text of ../shared")
@pytest.mark.parametrize(
    "column",
    [
        "eng_Latn",
        "rus_Cyrl",
        "zho_Hans",
        "jpn_Jpan",
        "arb_Arab",
        "hin_Deva",
        "khm_Khmr",
        "mya_Mymr",
        "amh_Ethi",
        "swh_Latn",
    ],
)
def test_most_ends_of_real_sentences_are_found(column: str) -> None:
    head, *rows = read_rows(FLORES)
    lines = [" ".join(row[head.index(column)].split()) for row in rows]
    known = found = right = 0
    for start in range(0, len(lines), 5):
        some = lines[start : start + 5]
        (block,) = split([joined(some)], column)
        ends, ours = (
            {len("".join("".join(parts[: n + 1]).split())) for n in range(len(parts) - 1)}
            for parts in (some, [one for _, one in block])
        )
        known, found, right = known + len(ends), found + len(ours), right + len(ends & ours)
    # Lines of FLORES that hold two sentences count as wrong.
    assert right > 0.94 * known, (column, right / known)
    assert right > 0.75 * found, (column, right / found)
