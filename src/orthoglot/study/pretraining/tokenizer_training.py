"""Train the subword tokenizer of a new encoder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from orthoglot.encoders.pretokenization import NORMALIZER, WORDS, moses_words
from orthoglot.encoders.segmentation import open_segmenter
from orthoglot.encoders.tokenization import MOSES_MODEL, write_segmenters
from orthoglot.errors import ConfigError, DataError
from orthoglot.random_streams import derive
from orthoglot.study.pretraining.sentencepiece_training import train_sentencepiece
from orthoglot.study.pretraining.settings import TokenizerSettings

RESERVED = ("<pad>", "<unk>", "<mask>")
# Characters of the longest token, as in SentencePiece.
LONGEST_TOKEN = 16


class Text(Protocol):
    """Sentences that are counted and read at given numbers; they may be on disk."""

    def __len__(self) -> int: ...

    def at(self, rows: np.ndarray) -> Iterator[str]:
        """The sentences of these numbers (N,), all different, in their order."""
        ...


def train_tokenizer(
    settings: TokenizerSettings, sentences: Mapping[str, Text], max_tokens: int, output: Path
) -> None:
    """Train a BPE model on the words of every language's text and write it into a folder.

    Ids: 0 padding, 1 unknown, 2 mask, then one symbol per language, then tokens; no BOS, no EOS. Text never
    encodes to a reserved id other than unknown. The same settings and sentences give the same bytes.

    With `words: unicode` the `tokenizers` library trains, and the folder opens with transformers' AutoTokenizer; with
    `words: moses` SentencePiece does, whose thread count changes the model.

    Raises:
        ConfigError: More tokens are asked for than the text has; a segmenter is not installed; or SentencePiece
            would take more memory than there is.
        DataError: There is no text.
    Source: docs/papers.md#ems-text.
    """
    if not any(map(len, sentences.values())):
        raise DataError(f"tokenizer {output}: no sentence to train on")
    reserved = [*RESERVED, *(f"<2{language}>" for language in sentences)]
    if settings.words == "moses":
        segmenters = {language: open_segmenter(name) for language, name in settings.segmenters.items()}
        sample = _sample(settings, sentences)
        words = (
            words for language, sentence in sample for words in moses_words([sentence], language, segmenters)
        )
        (output / MOSES_MODEL).write_bytes(train_sentencepiece(settings, words, reserved))
        write_segmenters(segmenters, output)
        return

    def lines() -> Iterator[str]:
        return (sentence for _, sentence in _sample(settings, sentences))

    learnt = lines()
    if settings.character_coverage < 1:
        rare = _rare(map(NORMALIZER.normalize_str, lines()), settings.character_coverage)
        learnt = (NORMALIZER.normalize_str(line).translate(rare) for line in learnt)
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = NORMALIZER
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [WORDS, pre_tokenizers.Metaspace(prepend_scheme="always", split=False)]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    train_bpe(tokenizer, learnt, settings.vocabulary, reserved)
    if (size := tokenizer.get_vocab_size()) < settings.vocabulary:
        raise ConfigError(
            f"tokenizer with vocabulary {settings.vocabulary}: the text gives only {size} tokens"
        )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=RESERVED[0],
        unk_token=RESERVED[1],
        mask_token=RESERVED[2],
        model_max_length=max_tokens,
        model_input_names=["input_ids", "attention_mask"],
        split_special_tokens=True,  # "<pad>" in a text is text
    ).save_pretrained(output)


def train_bpe(
    tokenizer: tokenizers.Tokenizer, sentences: Iterable[str], vocabulary: int, reserved: Sequence[str]
) -> None:
    """Train a BPE tokenizer whose first ids are `reserved`; threads do not change the tokens."""
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(reserved),
        max_token_length=LONGEST_TOKEN,
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences, trainer)


def _sample(settings: TokenizerSettings, sentences: Mapping[str, Text]) -> Iterator[tuple[str, str]]:
    """At most `settings.sentences` pairs (language, sentence), as many of each language as far as it has them."""
    left = settings.sentences
    # Smallest first: what a small language leaves over, the larger ones share.
    names = sorted(sentences, key=lambda name: (len(sentences[name]), name))
    for done, name in enumerate(names):
        text = sentences[name]
        share = min(left // (len(names) - done), len(text))
        left -= share
        generator = np.random.default_rng(derive(settings.seed, "tokenizer", name))
        rows = generator.choice(len(text), size=share, replace=False)
        yield from ((name, sentence) for sentence in text.at(rows))


def _rare(lines: Iterator[str], coverage: float) -> dict[int, str]:
    """A blank for each of the rarest characters; the others make up this share of all but white space."""
    counts = Counter(chain.from_iterable(lines))
    ordered = sorted(
        (character for character in counts if not character.isspace()),
        key=lambda character: (-counts[character], character),
    )
    before = np.cumsum([0, *(counts[character] for character in ordered)])
    return {
        ord(character): " "
        for character, n in zip(ordered, before[:-1], strict=True)
        if n >= coverage * before[-1]
    }
