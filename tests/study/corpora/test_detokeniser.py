"""Text that a tokenizer has cut is put together again: what Moses' tokenizer cuts comes back."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from opus_server import OpusServer
from pydantic import ValidationError
from sacremoses import MosesTokenizer

from orthoglot.formats.sources import read_source
from orthoglot.languages import parse_pair
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.kinds.local import LocalSettings
from orthoglot.study.corpora.patterns import here
from orthoglot.study.fetching.files import MIRROR, fetch
from orthoglot.text.bitext import Item, LeftOut, SentencePair, bad_row
from orthoglot.text.detokeniser import detokenised

WORDS = ["Haus", "mere", "kala", "घर", "ගෙදර", "road", "Z", "12", "3.5", "10,000", "well-known"]
ENDS = ["", ",", ";", ":", "%"]


def alone(sentence: str, language: str) -> str:
    """One side of a pair."""
    (item,) = detokenised(iter([SentencePair(sentence, "")]), language, "de")
    assert isinstance(item, SentencePair)
    assert not item.target
    return item.source


@pytest.mark.parametrize(
    ("language", "cut", "text"),
    [
        ("en", "It &apos;s here , isn &apos;t it ?", "It's here, isn't it?"),
        ("en", "&quot; Well @-@ known , &quot; she said .", '"Well-known," she said.'),
        (
            "en",
            "AT &amp; T ( 5 % ) costs $ 3 &#91; net &#93; &#124; &lt; b &gt;",
            "AT & T (5%) costs $3 [net] | < b >",
        ),
        ("fr", "l&apos; homme , qu&apos; il voit .", "l'homme, qu'il voit."),
        ("ro", "Da , a spus el .", "Da, a spus el."),
        ("zh", "我们 在 这里 。", "我们在这里。"),
        ("ne", "राम ने कहा , &quot; ठीक है &quot;", 'राम ने कहा, "ठीक है"'),
        ("en", "", ""),
        ("en", "  two   blanks ", "two blanks"),
    ],
)
def test_known_answers(language: str, cut: str, text: str) -> None:
    assert alone(cut, language) == text


@pytest.mark.parametrize("language", ["en", "de", "ro", "et", "ne", "si"])
def test_what_moses_cuts_comes_back(language: str) -> None:
    random, tokenizer = Random(1), MosesTokenizer(language)
    for _ in range(200):
        words = [random.choice(WORDS) + random.choice(ENDS) for _ in range(random.randint(1, 9))]
        if random.random() < 0.5:
            place = random.randrange(len(words))
            words[place] = random.choice(['"{}"', "({})"]).format(words[place])
        text = " ".join(words).rstrip(",;:") + random.choice([".", "!", "?"])
        cut = tokenizer.tokenize(text, aggressive_dash_splits=True, return_str=True)
        assert alone(cut, language) == text
        assert cut != text


def test_each_side_has_the_rules_of_its_language_and_what_is_left_out_stays() -> None:
    bad = bad_row(2, "is not UTF-8", "x\ty")
    items: list[Item] = [SentencePair("it &apos;s", "l&apos; eau"), bad, LeftOut("copy")]
    assert list(detokenised(iter(items), "en", "fr")) == [("it's", "l'eau"), bad, LeftOut("copy")]


def settings(**values: Any) -> LocalSettings:
    about = {"kind": "local", "pairs": ["en-ro"], "licence": "own", "detokenise": "moses"}
    return LocalSettings.model_validate(about | values)


def read(corpus: LocalSettings, pair: str, folder: Path) -> list[Item]:
    source = corpus.pair_sources("")[pair]
    paths = [here(path, str(folder)) for path in source["paths"]]
    return list(read_source(parsed({"name": "x", **source, "paths": paths}), *parse_pair(pair)))


def test_texts_of_an_archive_as_seed_gets_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "mirror/host.example.org/qe"
    place.mkdir(parents=True)
    texts = {"train.roen.ro": "Da , el .\nNu ?\n", "train.roen.en": "Yes , it &apos;s him .\nNo ?\n"}
    with tarfile.open(place / "training_ro-en.tar.gz", "w:gz") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    corpus = settings(
        pairs={"en-ro": "training_ro-en.tar.gz#train.roen"},
        files=[f"https://host.example.org/qe/{{name}}.{{{side}}}" for side in ("source", "target")],
    )
    (tmp_path / "files").mkdir()
    with OpusServer(tmp_path / "mirror") as server:
        monkeypatch.setenv(MIRROR, server.address)
        found = corpus.addresses(lambda *codes: True)
        fetch(
            found,
            tmp_path / "files",
            tmp_path / "on-the-way",
            lock=tmp_path / "lock",
            cache=tmp_path / "cache",
        )
    assert read(corpus, "en-ro", tmp_path / "files") == [("Yes, it's him.", "Da, el."), ("No?", "Nu?")]


def test_a_sample_is_the_same_with_and_without(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("".join(f"dog {n} , yes .\tcâine {n} , da .\n" for n in range(50)))
    files = [str(tmp_path / "x.tsv")]
    cut = read(settings(files=files, max_pairs=7, detokenise=""), "en-ro", tmp_path)
    whole = read(settings(files=files, max_pairs=7), "en-ro", tmp_path)
    assert sum(isinstance(item, SentencePair) for item in whole) == 7
    assert whole == list(detokenised(iter(cut), "en", "ro"))
    assert whole != cut
    with pytest.raises(ValidationError, match="moses"):
        settings(files=files, detokenise="perl")
