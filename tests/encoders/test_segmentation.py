"""Words of languages without spaces: known cuts, Juman++'s protocol, and a tokenizer that keeps its segmenters."""

from __future__ import annotations

import gzip
import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from lines import in_memory
from pydantic import ValidationError
from sacremoses import MosesTokenizer

from orthoglot.encoders import segmentation
from orthoglot.encoders.pretokenization import moses_words
from orthoglot.encoders.segmentation import Segmenter, SegmenterName, open_segmenter
from orthoglot.encoders.tokenization import MOSES_MODEL, SEGMENTERS, open_tokenizer
from orthoglot.errors import ConfigError, DataError
from orthoglot.study.pretraining.settings import TokenizerSettings
from orthoglot.study.pretraining.tokenizer_training import train_tokenizer

VERSION = "JUMAN++ Version: 2.0.0-rc4 / Dictionary: 20220625-generic"
# It answers as Juman++ does: a line of 12 fields for each word, then EOS. Words are two characters long; "!" ends it.
JUMANPP = f"""#!{sys.executable}
import sys
sys.stdin.reconfigure(encoding="utf-8")
sys.stdout.reconfigure(encoding="utf-8")
if sys.argv[1:] == ["--version"]:
    print("{VERSION}")
    sys.exit()
for line in sys.stdin:
    text = line.rstrip("\\n")
    if text == "!":
        sys.exit(1)
    text = text.replace("ー", "-")
    for n in range(0, len(text), 2):
        word = text[n : n + 2]
        print(word, word, word, "名詞 6 普通名詞 1 * 0 * 0", '"代表表記:' + word + '"')
    print("EOS", flush=True)
"""
ENGLISH = ["The cat sat on the mat, and the dog did not."] * 20


@pytest.fixture
def jumanpp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name on the PATH."""
    pytest.importorskip("rhoknp")
    program = tmp_path / "bin" / "jumanpp"
    program.parent.mkdir()
    program.write_text(JUMANPP, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program


@pytest.mark.parametrize(
    ("name", "package", "sentence", "words"),
    [
        ("jieba", "jieba", "我来到 北京清华大学。", "我 来到 北京 清华大学 。"),
        ("jieba", "jieba", "速度为802.11n", "速度 为 802.11 n"),
        ("rjieba", "rjieba", "速度为802.11n", "速度 为 802.11n"),
        ("sudachi", "sudachipy", "今日は良い天気です。", "今日 は 良い 天気 です 。"),
        ("mecab", "MeCab", "今日は 良い天気です。", "今日 は 良い 天気 です 。"),
        ("characters", "regex", "今日 は。", "今 日 は 。"),
    ],
)
def test_known_cuts(name: SegmenterName, package: str, sentence: str, words: str) -> None:
    pytest.importorskip(package)
    assert open_segmenter(name).words(sentence) == words


@pytest.mark.parametrize("language", ["th", "my"])
def test_moses_words_are_those_of_the_whole_sentence(language: str) -> None:
    own = MosesTokenizer(language)
    for sentence in ("ที่นี่ 3.5 บาท. ok (มา) ...", "နေကောင်းလား။ 5.5 kg.", "'ไทย' 10,000. foo"):
        expected = own.tokenize(sentence, escape=False, return_str=True)
        assert open_segmenter("moses").words(sentence) == expected


def test_mecab_reads_on_over_a_blank() -> None:
    """Why it gets a whole sentence."""
    pytest.importorskip("MeCab")
    segmenter = open_segmenter("mecab")
    piecewise = Segmenter("mecab", "", segmenter.start)
    sentence = "すもも も もも もの うち"
    assert segmenter.words(sentence) == "すもも も もも も の うち"
    assert piecewise.words(sentence) == sentence
    assert segmenter.words(" ") == ""


def test_rjieba_cuts_otherwise_than_jieba_on_real_text(shared_data: Path) -> None:
    """Why one does not stand for the other."""
    for package in ("jieba", "rjieba"):
        pytest.importorskip(package)
    jieba, rjieba = (open_segmenter(name) for name in ("jieba", "rjieba"))
    with gzip.open(shared_data / "parallel/tico19.en-zh.tsv.gz", "rt", encoding="utf-8") as file:
        sentences = [line.rstrip("\n").split("\t")[1].lower() for line in file][:1000]
    other = sum(jieba.words(sentence) != rjieba.words(sentence) for sentence in sentences)
    assert 0.1 * len(sentences) < other < len(sentences)  # "covid-19", for one


def test_jumanpp_is_asked_through_rhoknp(jumanpp: Path) -> None:
    program = open_segmenter("jumanpp")
    assert program.version == VERSION
    assert moses_words(["今日は 良いABCです"], "ja", {"ja": program}) == ["今日 は 良い ab cで す"]
    assert program.words("# 0") == "# 0"  # a line that begins with # and a blank is a comment to Juman++
    with pytest.raises(DataError, match=r"cut 'データ' into \['デ-', 'タ'\], which is other text"):
        program.words("データ")
    with pytest.raises(DataError, match="jumanpp failed at '!'"):
        program.words("!")


def test_absent_programs_and_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, jumanpp: Path, tmp_path: Path
) -> None:
    jumanpp.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(ConfigError, match="jumanpp does not say its version"):
        open_segmenter("jumanpp")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"no program jumanpp on the PATH.*\{ja: sudachi\}"):
        open_segmenter("jumanpp")

    def absent(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(segmentation.metadata, "version", absent)
    for name, package in (
        ("jieba", "jieba"),
        ("rjieba", "rjieba"),
        ("sudachi", "sudachipy"),
        ("mecab", "mecab-python3"),
        ("jumanpp", "rhoknp"),
    ):
        with pytest.raises(ConfigError, match=f"{name}: the package {package} is not installed; pip install"):
            open_segmenter(name)  # type: ignore[arg-type]


def _settings(**changed: Any) -> TokenizerSettings:
    return TokenizerSettings(words="moses", vocabulary=40, sentences=100, character_coverage=1.0, **changed)


def test_a_tokenizer_keeps_its_segmenters_and_is_refused_with_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, jumanpp: Path
) -> None:
    text = in_memory({"en": ENGLISH, "ja": ["今日は良い天気", "良い今日"] * 20})
    plain, cut, saved = (tmp_path / name for name in ("plain", "cut", "saved"))
    for folder in (plain, cut, saved):
        folder.mkdir()
    train_tokenizer(_settings(), text, 100, plain)
    train_tokenizer(_settings(segmenters={"ja": "jumanpp"}), text, 100, cut)
    assert {path.name for path in plain.iterdir()} == {MOSES_MODEL}
    assert json.loads((cut / SEGMENTERS).read_text()) == {"ja": {"name": "jumanpp", "version": VERSION}}

    before, after = (open_tokenizer(folder, "tiny") for folder in (plain, cut))
    after.save(saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == {
        path.name: path.read_bytes() for path in cut.iterdir()
    }
    # "はは" stands apart from what is around it, as the program cuts it.
    ids = after.encode(["今日はは良い"], "ja", 100).ids.tolist()
    assert ids == after.encode(["今日 はは 良い"], "zh", 100).ids.tolist()
    assert after.tokens()[ids[0]] == "▁今日"
    assert before.encode(["今日は良い"], "ja", 100).ids.tolist() == (
        before.encode(["今日は良い"], "zh", 100).ids.tolist()
    )

    jumanpp.write_text(JUMANPP.replace("rc4", "rc5"), encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"ja was cut by jumanpp JUMAN\+\+ Version: 2.0.0-rc4.* 2.0.0-rc5 .* is installed"
    ):
        open_tokenizer(cut, "tiny")
    jumanpp.unlink()
    with pytest.raises(ConfigError, match="no program jumanpp"):
        open_tokenizer(cut, "tiny")
    open_tokenizer(plain, "tiny")


def test_a_segmenter_is_started_when_it_is_first_used() -> None:
    started = []
    segmenter = Segmenter("characters", "", lambda: started.append(1) or list)  # type: ignore[func-returns-value]
    assert not started
    assert [segmenter.words("ab c") for _ in range(2)] == ["a b c"] * 2
    assert started == [1]


def test_settings_refuse_a_segmenter_of_another_language() -> None:
    assert (
        _settings(segmenters={"zh": "jieba", "ja": "jumanpp", "yue": "characters"}).segmenters["ja"]
        == "jumanpp"
    )
    for language, name in (
        ("en", "characters"),
        ("ja", "jieba"),
        ("zh", "jumanpp"),
        ("th", "sudachi"),
        ("en", "moses"),
    ):
        with pytest.raises(ValidationError, match=f"segmenters: {name} does not cut {language}"):
            _settings(segmenters={language: name})
    with pytest.raises(ValidationError, match="are for words: moses, not unicode"):
        TokenizerSettings(words="unicode", segmenters={"zh": "jieba"})
