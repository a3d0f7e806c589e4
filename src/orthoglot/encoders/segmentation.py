"""Words of text without spaces, by a program whose name and version a tokenizer keeps.

Two programs, or two versions of one, cut the same text differently, so a tokenizer is used with the one that it was
learned with, and with no other. The packages are those of the extra `segmenters`; Juman++ itself is a program that its
users build.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module, metadata
from tempfile import TemporaryDirectory
from typing import Any, Literal

from orthoglot.errors import ConfigError, DataError

SegmenterName = Literal["jieba", "rjieba", "jumanpp", "sudachi", "mecab", "characters", "moses"]
Cut = Callable[[str], list[str]]
# Seconds that Juman++ may take to say its version, and to cut a sentence.
TIMEOUT = 60


@dataclass
class Segmenter:
    """A program that cuts text into words; it is started when it is first used."""

    name: SegmenterName  # of the program
    version: str  # of the program and its dictionary
    start: Callable[[], Cut] = field(repr=False)  # gives text without white space -> its words

    @cached_property
    def _cut(self) -> Cut:
        return self.start()

    def words(self, sentence: str) -> str:
        """The words, separated by blanks. Each piece between white space is cut on its own.

        Raises:
            DataError: The program changed the text.
        """
        all_words = []
        for piece in sentence.split():
            words = self._cut(piece)
            if "".join(words) != piece:
                raise DataError(f"segmenter {self.name}: cut {piece!r} into {words}, which is other text")
            all_words += words
        return " ".join(all_words)


class _SentenceSegmenter(Segmenter):
    """One for which the next word matters: Moses' general rules, which remove control characters, and MeCab."""

    def words(self, sentence: str) -> str:
        return " ".join(self._cut(sentence))


def open_segmenter(name: SegmenterName) -> Segmenter:
    """The segmenter of this name; a ConfigError says that it is not installed."""
    return _OPEN[name]()


def _jieba() -> Segmenter:
    def start() -> Cut:
        jieba: Any = import_module("jieba")
        jieba.setLogLevel("WARNING")
        tokenizer = jieba.Tokenizer()
        # Its cache is otherwise one file for all users of the machine, whoever wrote it.
        with TemporaryDirectory() as tokenizer.tmp_dir:
            tokenizer.initialize()
        return tokenizer.lcut

    return Segmenter("jieba", _installed("jieba", "jieba"), start)


def _sudachi() -> Segmenter:
    def start() -> Cut:
        sudachi: Any = import_module("sudachipy")
        tokenizer = sudachi.Dictionary(dict="core").create(mode=sudachi.SplitMode.A)
        return lambda text: [word.surface() for word in tokenizer.tokenize(text)]

    version = f"{_installed('sudachi', 'sudachipy')}, dictionary {_installed('sudachi', 'sudachidict-core')}"
    return Segmenter("sudachi", version, start)


def _mecab() -> Segmenter:
    version = f"{_installed('mecab', 'mecab-python3')}, dictionary {_installed('mecab', 'ipadic')}"

    def start() -> Cut:
        mecab: Any = import_module("MeCab")
        tagger = mecab.Tagger(f"{import_module('ipadic').MECAB_ARGS} -Owakati")

        def cut(text: str) -> list[str]:
            words: list[str] = (tagger.parse(text) or "").split()
            if "".join(words) != "".join(text.split()):
                raise DataError(f"segmenter mecab: cut {text!r} into {words}, which is other text")
            return words

        return cut

    return _SentenceSegmenter("mecab", version, start)


def _jumanpp() -> Segmenter:
    _installed("jumanpp", "rhoknp")
    executable = shutil.which("jumanpp")
    if not executable:
        raise ConfigError(
            "segmenter jumanpp: there is no program jumanpp on the PATH. Build it (https://github.com/ku-nlp/jumanpp), "
            "or choose another segmenter, whose words differ: segmenters: {ja: sudachi} or {ja: characters}"
        )
    try:
        answer = subprocess.run(
            [executable, "--version"],
            check=True,
            capture_output=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ConfigError(f"segmenter jumanpp: {executable} does not say its version ({error})") from error

    def start() -> Cut:
        from rhoknp import Jumanpp

        program = Jumanpp(executable)

        def cut(text: str) -> list[str]:
            try:
                return [word.text for word in program.apply_to_sentence(text, timeout=TIMEOUT).morphemes]
            except Exception as error:  # the program ended, or wrote what rhoknp cannot read
                raise DataError(f"segmenter jumanpp: {executable} failed at {text!r} ({error})") from error

        return cut

    return Segmenter("jumanpp", " ".join(answer.stdout.split()), start)


def _moses() -> Segmenter:
    def start() -> Cut:
        from orthoglot.encoders.moses import moses_rules

        return lambda text: moses_rules("").words(text).split()

    return _SentenceSegmenter("moses", "", start)


_OPEN: dict[SegmenterName, Callable[[], Segmenter]] = {
    "jieba": _jieba,
    "rjieba": lambda: Segmenter(
        "rjieba", _installed("rjieba", "rjieba"), lambda: import_module("rjieba").cut
    ),
    "jumanpp": _jumanpp,
    "sudachi": _sudachi,
    "mecab": _mecab,
    "characters": lambda: Segmenter("characters", "", lambda: list),
    "moses": _moses,
}


def _installed(name: str, package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise ConfigError(
            f"segmenter {name}: the package {package} is not installed; pip install 'orthoglot[segmenters]'"
        ) from None
