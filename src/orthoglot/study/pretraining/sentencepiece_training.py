"""Train a SentencePiece BPE model, after an estimate of the memory that it takes."""

from __future__ import annotations

import hashlib
import io
import logging
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
import sentencepiece

from orthoglot.errors import ConfigError
from orthoglot.study.pretraining.settings import TokenizerSettings

PAD, UNKNOWN = range(2)
# Bytes that SentencePiece 0.2.3 took: a sentence besides its text while it reads, then a character of each distinct
# word, and a token. Measured on real text of 4 to 86 languages (measurements/speed-of-tokenising/README.md).
SENTENCE, CHARACTER, TOKEN = 220, 70, 2048
BLOCK = 10_000  # sentences whose words are counted at once
CELLS = 1 << 24
logger = logging.getLogger(__name__)


def train_sentencepiece(settings: TokenizerSettings, words: Iterable[str], reserved: Sequence[str]) -> bytes:
    """A BPE model whose first ids are `reserved`: padding, unknown, then control symbols. No BOS, no EOS.

    Sentences are words between blanks; they are kept in a temporary file.

    Raises:
        ConfigError: More tokens are asked for than the text has; or more memory than there is, by the estimate.
    """
    with TemporaryFile() as file:
        needed = _written(words, file, settings.vocabulary)
        _check(settings, needed, available_memory())
        file.seek(0)
        return _trained(settings, (line[:-1].decode() for line in file), reserved)


def _trained(settings: TokenizerSettings, words: Iterator[str], reserved: Sequence[str]) -> bytes:
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=words,
            model_writer=model,
            model_type="bpe",
            vocab_size=settings.vocabulary,
            character_coverage=settings.character_coverage,
            num_threads=settings.threads,
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=-1,
            eos_id=-1,
            control_symbols=list(reserved[UNKNOWN + 1 :]),
            normalization_rule_name="nmt_nfkc",
            minloglevel=2,
        )
    except RuntimeError as error:
        cause = " ".join(str(error).split())
        raise ConfigError(f"tokenizer with vocabulary {settings.vocabulary}: {cause}") from error
    return model.getvalue()


def _written(words: Iterable[str], file: io.BufferedRandom, vocabulary: int) -> int:
    """Write a sentence a line, and estimate the bytes that training takes.

    It reads all text, and then holds its distinct words. These are counted by the cells that their hashes fall into
    (linear counting, Whang et al. 1990): of m cells, n words leave m exp(-n / m) empty.
    """
    sentences, characters = 0, 0
    filled = np.zeros(CELLS, dtype=bool)
    rest = iter(words)
    while block := list(islice(rest, BLOCK)):
        file.writelines(f"{sentence}\n".encode() for sentence in block)
        sentences += len(block)
        block_words = list({word for sentence in block for word in sentence.split()})
        digests = b"".join(hashlib.blake2b(word.encode(), digest_size=4).digest() for word in block_words)
        cells, places = np.unique(np.frombuffer(digests, "<u4") % CELLS, return_index=True)
        lengths = np.array([len(word) for word in block_words])[places]
        characters += int(lengths[~filled[cells]].sum())
        filled[cells] = True
    counted = int(filled.sum())
    distinct = -CELLS * math.log1p(-min(counted, CELLS - 1) / CELLS)
    reading = file.tell() + SENTENCE * sentences
    learning = CHARACTER * characters * distinct / max(counted, 1) + TOKEN * vocabulary
    return int(max(reading, learning))


def _check(settings: TokenizerSettings, needed: int, available: int) -> None:
    """Log the estimate; a ConfigError says that less is available."""
    estimate = f"SentencePiece will take about {needed / 2**30:.2f} GiB of {available / 2**30:.1f} GiB available memory"
    if needed > available:
        raise ConfigError(
            f"tokenizer with vocabulary {settings.vocabulary}: {estimate}; draw fewer `sentences` than "
            f"{settings.sentences}"
        )
    logger.info(estimate)


def available_memory() -> int:
    """Bytes that a process can still take: of the machine and of its control group, whichever has less."""
    pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in os.sysconf_names else "SC_PHYS_PAGES"
    available = os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
    lines = Path("/proc/meminfo").read_text().splitlines() if Path("/proc/meminfo").is_file() else []
    for line in lines:
        if line.startswith("MemAvailable:"):  # with what caches would give back
            available = int(line.split()[1]) * 1024
    group = Path("/sys/fs/cgroup")
    limit, used = group / "memory.max", group / "memory.current"
    if limit.is_file() and used.is_file() and (most := limit.read_text().strip()) != "max":
        available = min(available, int(most) - int(used.read_text()))
    return available
