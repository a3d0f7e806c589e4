"""The estimate of SentencePiece's memory: what it counts, that it is near what is taken, and that it is obeyed."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from lines import in_memory

from orthoglot.errors import ConfigError
from orthoglot.study.pretraining import sentencepiece_training as module
from orthoglot.study.pretraining.sentencepiece_training import CHARACTER, SENTENCE, TOKEN, available_memory
from orthoglot.study.pretraining.settings import TokenizerSettings
from orthoglot.study.pretraining.tokenizer_training import train_tokenizer

TEXT = in_memory({"en": [f"The cat, number {n}, sat on the mat." for n in range(50)]})
# Trains on 120,000 distinct words in 40,000 sentences, and prints the estimate and the bytes that were taken.
MEASURED = """
import json, pathlib, random, tempfile
from orthoglot.study.pretraining import sentencepiece_training as module
from orthoglot.study.pretraining.settings import TokenizerSettings

def memory(kind):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(kind))

draw = random.Random(1)
words = [" ".join("".join(draw.choices("abcdefghijklm", k=8)) for _ in range(3)) for _ in range(40_000)]
settings = TokenizerSettings(vocabulary=200, character_coverage=1.0)
with tempfile.TemporaryFile() as file:
    estimate = module._written(words, file, settings.vocabulary)
pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak is what is held now
before = memory("VmRSS")
module._trained(settings, iter(words), ["<pad>", "<unk>"])
print(json.dumps([estimate, memory("VmHWM") - before]))
"""


def settings(**changed: Any) -> TokenizerSettings:
    return TokenizerSettings(vocabulary=60, sentences=80, character_coverage=1.0, **changed)


def test_text_that_is_read_and_distinct_words_are_counted() -> None:
    # 25,000 sentences in three blocks; 2,000 distinct words of 6 characters, and one of 1
    words = [f"w{n % 2000:05d} x" for n in range(25_000)]
    file = BytesIO()
    reading = 25_000 * (len("w00000 x\n") + SENTENCE)
    assert module._written(words, file, 1) == reading  # type: ignore[arg-type]
    assert file.getvalue().decode().splitlines() == words
    learning = CHARACTER * (2000 * 6 + 1) + TOKEN * 60_000
    assert module._written(words[:2000], BytesIO(), 60_000) == pytest.approx(learning, rel=0.001)  # type: ignore[arg-type]


def test_words_that_share_a_cell_are_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELLS", 4096)
    words = [f"{n:06d}" for n in range(8000)]
    assert module._written(words, BytesIO(), 1) == pytest.approx(CHARACTER * 6 * 8000, rel=0.05)  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_estimate_is_near_what_is_taken() -> None:
    done = subprocess.run([sys.executable, "-c", MEASURED], check=True, capture_output=True, text=True)
    estimate, taken = json.loads(done.stdout)
    assert 0.6 < taken / estimate < 1.5


def test_more_memory_than_there_is_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "available_memory", lambda: 2**16)
    cause = r"vocabulary 60: SentencePiece will take about 0\.00 GiB of 0\.0 GiB .*than 80$"
    with pytest.raises(ConfigError, match=cause):
        train_tokenizer(settings(), TEXT, 100, tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    with caplog.at_level("INFO"):
        train_tokenizer(settings(), TEXT, 100, tmp_path)
    assert "SentencePiece will take about" in caplog.text
    assert list(tmp_path.iterdir())


def test_available_memory_is_that_of_this_machine() -> None:
    assert 2**24 < available_memory() < 2**50
