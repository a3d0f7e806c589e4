"""Words by one rule for all languages, and their subwords: SentencePiece's own ids, from stock tokenizers steps."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest
import sentencepiece
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orthoglot.encoders.pretokenization import subword_chain, words

# Of several scripts, with spaces and without; few characters, so that pieces grow long and overlap.
LINES = (
    "The cat sat on the mat. It's 3.5 % of 1,000!",
    "Mba'éichapa, che angirũ? Nde reikovépa?",
    "Ночью кошка спит — а днём нет... Правда?",
    "猫が寝ている。「はい」と言った。",
    "बिल्ली सो रही है। क्या यह सच है?",
    "القطة نائمة، أليس كذلك؟ می‌خواهم",
    "abab abba baab aabb bbaa ababab bababa aaaa aaaaa bbb",
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("It's 3.5% of 1,000, at 10:30.", "it's|3.5|%|of|1,000|,|at|10:30|."),
        ("state-of-the-art -- 'yan Mba'éichapa L’ÉTÉ", "state-of-the-art|--|'|yan|mba'éichapa|l’été"),
        ("end.Next 5.x x,5 5,", "end|.|next|5|.|x|x|,|5|5|,"),
        ("Wait... no!? $5 x_y <2en>", "wait|...|no|!|?|$|5|x|_|y|<|2en|>"),
        ("猫が寝ている。「はい」", "猫が寝ている|。|「|はい|」"),
        ("नमस्ते दुनिया।", "नमस्ते|दुनिया|।"),
        ("ﬁve ＡＢＣ ①", "five|abc|1"),
        ("soft\u00adhyphen ශ\u0dca\u200dර\u0dd3 \u202bאב\u202c", "softhyphen|ශ\u0dcaර\u0dd3|אב"),
        ("می\u200cخواهم a\u200bb a\u2581b c\u00a0d", "می|خواهم|a|b|a|b|c|d"),
        (" \t\u200b\u200d", ""),
    ],
)
def test_words(sentence: str, expected: str) -> None:
    assert "|".join(words(sentence)) == expected


def train(sentences: Iterable[str], vocabulary: int, coverage: float) -> sentencepiece.SentencePieceProcessor:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(" ".join(words(sentence)) for sentence in sentences),
        model_writer=model,
        model_type="bpe",
        vocab_size=vocabulary,
        character_coverage=coverage,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        control_symbols=["<mask>", "<2en>"],
        normalization_rule_name="identity",
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


@pytest.fixture(scope="module")
def pieces() -> sentencepiece.SentencePieceProcessor:
    draw = random.Random(0)
    return train((" ".join(draw.choices(LINES, k=2)) for _ in range(400)), 300, 0.99)


@pytest.fixture(scope="module")
def chain(pieces: sentencepiece.SentencePieceProcessor) -> tokenizers.Tokenizer:
    return subword_chain(pieces, 1)


@settings(deadline=None, max_examples=400)
@given(
    st.one_of(
        st.text(max_size=60),
        st.text(alphabet="ab '.,-1é猫", max_size=60),
        st.text(alphabet=sorted(set("".join(LINES))), max_size=60),
    )
)
@example("")
@example("<mask> <2en> <pad> <unk> <s>")
@example("▁▁cat▁ \u2581")
@example("жжж жcatж 龘龘龘 龘a龘")
@example("a" * 70)
@example("I\u0307İ ΣΑΣ ﷺ \x00\x01\x85")
def test_ids_are_sentencepieces_own(
    pieces: sentencepiece.SentencePieceProcessor, chain: tokenizers.Tokenizer, sentence: str
) -> None:
    expected = pieces.encode(" ".join(words(sentence)))
    assert chain.encode(sentence, add_special_tokens=False).ids == expected


def test_ids_of_sentences_are_sentencepieces_own(
    pieces: sentencepiece.SentencePieceProcessor, chain: tokenizers.Tokenizer
) -> None:
    draw = random.Random(1)
    letters = "".join(LINES)
    sentences = ["".join(draw.choices(letters, k=80)) for _ in range(2000)]
    sentences += [" ".join(draw.choices(" ".join(LINES).split(), k=12)) for _ in range(2000)]
    found = [one.ids for one in chain.encode_batch_fast(sentences, add_special_tokens=False)]
    expected = pieces.encode([" ".join(words(sentence)) for sentence in sentences])
    assert found == expected
    assert any(1 in row for row in expected)  # unknown characters are among them
    assert max(len(pieces.id_to_piece(number)) for row in expected for number in row) > 4


def test_a_run_of_unknown_characters_is_one_unknown(
    pieces: sentencepiece.SentencePieceProcessor, chain: tokenizers.Tokenizer
) -> None:
    tokens = chain.encode("龘龘龘 龘").tokens
    assert tokens == ["▁", "<unk>", "▁", "<unk>"]
    assert chain.decode(chain.encode("the cat").ids) == "the cat"


def test_ids_of_real_text_in_all_scripts_are_sentencepieces_own(shared_data: Path) -> None:
    with gzip.open(shared_data / "nway/flores200.dev.tsv.gz", "rt", encoding="utf-8") as file:
        sentences = [cell for line in list(file)[1::10] for cell in line.rstrip("\n").split("\t")[1:]]
    for path in sorted((shared_data / "tatoeba").glob("*.tsv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            sentences += [cell for line in islice(file, 50) for cell in line.rstrip("\n").split("\t")]
    assert len(sentences) > 20_000
    pieces = train(sentences[::3], 8000, 0.9995)
    found = subword_chain(pieces, 1).encode_batch_fast(sentences, add_special_tokens=False)
    expected = pieces.encode([" ".join(words(sentence)) for sentence in sentences])
    assert [one.ids for one in found] == expected
    assert sum(1 in row for row in expected) > 100
