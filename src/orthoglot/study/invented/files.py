"""The invented world as files: what OPUS, MUSE and benchmarks offer, and gold labels that they lack."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from random import Random
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from orthoglot.errors import ConfigError
from orthoglot.random_streams import derive
from orthoglot.study.corpora.kinds.mini import MiniSettings
from orthoglot.study.invented.finetuning_sets import TIMES, write_taught
from orthoglot.study.invented.grammar import CONCEPTS, GRAMMARS, Language, invent
from orthoglot.study.invented.meanings import NAMES, YEARS, Frame, freely, overlap, sample, variation

FOLDERS = (
    "opus",
    "mono",
    "dictionaries",
    "retrieval",
    "nway",
    "similarity",
    "quality",
    "labels",
    "inference",
    "choices",
    "documents",
    "answers",
    "mining",
)
SHARED = 0.2  # share of a pair's sentences that other pairs have too, as in real pivot-centric corpora
README = """Corpus Name: Mini
     Package: Mini.{pair} in Moses format
     Release: seed {seed}
     License: CC0-1.0

Invented languages with private-use codes; generated, not collected.
"""
LICENSE = "CC0 1.0 Universal: https://creativecommons.org/publicdomain/zero/1.0/\n"

logger = logging.getLogger(__name__)


def generate(settings: MiniSettings, output: Path) -> None:
    """Write the invented world into `output`; the same settings give the same bytes.

    - `opus/<pivot>-<language>.zip`: training pairs as an OPUS Moses archive;
    - `mono/<language>.txt.gz`: training sentences of one language;
    - `dictionaries/<pivot>-<language>.txt`: word forms, in MUSE's format;
    - `retrieval/<language>-<pivot>.tsv.gz`: translations, the same meanings for every language;
    - `nway/sentences.tsv.gz`: all these sentences side by side, a column for each language, codes in the first line;
    - `similarity/<pivot>-<language>.tsv.gz`: two sentences, gold in [0, 5], 5 for the same meaning;
    - `quality/<pivot>-<language>.tsv.gz`: source, translation, gold in [0, 1], 1 for a faultless one;
    - `labels/<language>.tsv.gz`: sentence, topic, sentiment;
    - `inference/<language>-<part>.tsv.gz`: premise, hypothesis, label and id of an item, the same items in every
      language but in the part "train";
    - `choices/<language>-<part>.jsonl`: a premise and two alternatives, in the form of COPA;
    - `documents/<part>.jsonl`: sentences in all languages with their topic and sentiment, in the form of MultiEURLEX;
    - `answers/questions-<part>.tsv`, `answers/candidates-<part>.tsv`: questions, and sentences that answer them;
    - `mining/<language>-<pivot>.<language of the text>`, and `.gold`: sentences with their ids, some of them
      translations, and the ids of these, in the form of BUCC.

    The part "train" and its validation part "valid" have training events; of graded pairs they are
    `similarity/<pivot>-<pivot>-<part>.tsv.gz` and `quality/<pivot>-<language>-<part>.tsv.gz`.

    An event (predicate, agent, patient) of the last five occurs in none of the first two.

    Raises:
        ConfigError: a language without a grammar, or no language other than the pivot.
    """
    sizes = _sizes(settings)
    for folder in FOLDERS:
        (output / folder).mkdir()
    languages = {code: invent(code, settings.seed, settings.synonyms) for code in sizes}
    pivot = languages[settings.pivot]
    for code, count in sizes.items():
        language = languages[code]
        _write_monolingual(settings, output, language, count)
        if language is not pivot:
            _write_bilingual(settings, output, pivot, language, count)
        logger.info("%s: %d sentences of an invented language", code, count)
    write_taught(settings, output, languages)
    columns = [_retrieval_sentences(settings, language) for language in languages.values()]
    _write_rows(output / "nway" / "sentences.tsv.gz", [list(languages), *zip(*columns, strict=True)])


def _sizes(settings: MiniSettings) -> dict[str, int]:
    """Sentences by language, pivot included: without a number of its own it has as many as the largest."""
    for code in (settings.pivot, *settings.languages):
        if code not in GRAMMARS:
            raise ConfigError(f"mini has no invented language {code!r}; known: {', '.join(GRAMMARS)}")
    sizes = {settings.pivot: max(settings.languages.values(), default=0), **settings.languages}
    if len(sizes) < 2:
        raise ConfigError(
            f"mini needs a language other than the pivot {settings.pivot!r}: {', '.join(GRAMMARS)}"
        )
    return sizes


def _write_monolingual(settings: MiniSettings, output: Path, language: Language, count: int) -> None:
    seed, code = settings.seed, language.code
    text = sample(count, seed, "mono", code, held_out=False)
    random = Random(derive(seed, "mono words", code))
    _write_rows(output / "mono" / f"{code}.txt.gz", ([language.sentence(frame, random)] for frame in text))
    labelled = sample(settings.graded_items, seed, "labels", code, held_out=True)
    rows = ([language.sentence(frame), frame.topic, frame.sentiment] for frame in labelled)
    _write_rows(output / "labels" / f"{code}.tsv.gz", rows)


def _write_bilingual(
    settings: MiniSettings, output: Path, pivot: Language, language: Language, count: int
) -> None:
    seed, code, pair = settings.seed, language.code, f"{pivot.code}-{language.code}"
    training = _training_frames(count, seed, code)
    random = Random(derive(seed, "words", code))
    sources = [pivot.sentence(frame, random) for frame in training]
    targets = [language.sentence(freely(frame, settings.free, random), random) for frame in training]
    _write_archive(output / "opus" / f"{pair}.zip", pair, {pivot.code: sources, code: targets}, seed)

    words = "".join(f"{source} {target}\n" for source, target in dictionary(pivot, language))
    (output / "dictionaries" / f"{pair}.txt").write_text(words, encoding="utf-8", newline="\n")

    translated = [_retrieval_sentences(settings, side) for side in (language, pivot)]
    _write_rows(output / "retrieval" / f"{code}-{pivot.code}.tsv.gz", zip(*translated, strict=True))

    graded = similar_frames(settings.graded_items, seed, code)
    rows = (
        [pivot.sentence(source), language.sentence(target), f"{overlap(source, target):.2f}"]
        for source, target in graded
    )
    _write_rows(output / "similarity" / f"{pair}.tsv.gz", rows)

    for part, times in TIMES.items():
        count, ending = times * settings.graded_items, "" if part == "test" else f"-{part}"
        translations = _translations(count, seed, pivot, language, set(targets), part)
        _write_rows(output / "quality" / f"{pair}{ending}.tsv.gz", translations)


def _retrieval_sentences(settings: MiniSettings, language: Language) -> list[str]:
    """The same meanings in every language; all but the pivot may leave something out."""
    random = Random(derive(settings.seed, "retrieval words", language.code))
    share = 0.0 if language.code == settings.pivot else settings.free
    frames = sample(settings.retrieval_pairs, settings.seed, "retrieval", held_out=True)
    return [language.sentence(freely(frame, share, random), random) for frame in frames]


def _training_frames(count: int, seed: int, code: str) -> list[Frame]:
    common = sample(int(SHARED * count), seed, "shared", held_out=False)
    further = sample(count, seed, "bitext", code, held_out=False)
    frames = list(dict.fromkeys([*common, *further]))[:count]
    Random(derive(seed, "order", code)).shuffle(frames)
    return frames


def dictionary(pivot: Language, language: Language) -> list[tuple[str, str]]:
    """Every word form of the pivot with its translations, sorted; marker words where both have one."""
    ours, theirs = pivot.particles(), language.particles()
    particles = [(ours[marker], theirs[marker]) for marker in ours if marker in theirs]
    alike = [(word, word) for word in (*NAMES, *YEARS)]
    heads = [
        pair
        for of_pivot, of_language in product((pivot, pivot.second), (language, language.second))
        for pair in zip(of_pivot.heads(), of_language.heads(), strict=True)
    ]
    return sorted({*heads, *particles, *alike})


def similar_frames(count: int, seed: int, code: str) -> list[tuple[Frame, Frame]]:
    """Pairs of test meanings that share anything from nothing to everything."""
    random = Random(derive(seed, "variation", code))
    chosen = sample(count, seed, "similarity", code, held_out=True)
    return [(frame, variation(frame, seed, random)) for frame in chosen]


def _translations(
    count: int, seed: int, pivot: Language, language: Language, known: set[str], part: str
) -> list[list[str]]:
    names = [] if part == "test" else [part]
    random = Random(derive(seed, "corruption", language.code, *names))
    vocabulary = [language.lexicon[concept] for concept in CONCEPTS]
    joined = language.grammar.separator.join
    rows = []
    for frame in sample(count, seed, "quality", language.code, *names, held_out=not names):
        words = language.words(frame)
        errors = random.randrange(len(words))
        translation = corrupted(words, errors, vocabulary, random)
        while joined(translation) in known:  # wrong words can make a training sentence
            translation = corrupted(words, errors, vocabulary, random)
        gold = f"{1 - errors / len(words):.3f}"
        rows.append([pivot.sentence(frame), joined(translation), gold])
    return rows


def corrupted(words: Sequence[str], errors: int, vocabulary: Sequence[str], random: Random) -> list[str]:
    """The words with `errors` of them, at different places, left out, doubled, or replaced by another."""
    wrong = set(random.sample(range(len(words)), errors))
    result: list[str] = []
    for place, word in enumerate(words):
        if place in wrong:
            other = random.choice([candidate for candidate in vocabulary if candidate != word])
            result += random.choice(([], [word, word], [other]))
        else:
            result.append(word)
    return result


def _write_archive(path: Path, pair: str, sides: dict[str, list[str]], seed: int) -> None:
    source, target = sides
    links = "".join(f'  <link xtargets="{i};{i}" />\n' for i in range(1, len(sides[source]) + 1))
    alignment = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE cesAlign PUBLIC "-//CES//DTD XML cesAlign//EN" "http://www.xces.org/dtd/xcesAlign.dtd">\n'
        '<cesAlign version="1.0">\n'
        f' <linkGrp targType="s" fromDoc="{source}/1.xml.gz" toDoc="{target}/1.xml.gz">\n'
        f"{links} </linkGrp>\n</cesAlign>\n"
    )
    texts = {f"Mini.{pair}.{code}": "".join(f"{line}\n" for line in lines) for code, lines in sides.items()}
    texts |= {
        f"Mini.{pair}.xml": alignment,
        "README": README.format(pair=pair, seed=seed),
        "LICENSE": LICENSE,
    }
    with ZipFile(path, "w") as archive:
        for name, text in texts.items():
            member = ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            member.compress_type = ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, text.encode())


def _write_rows(path: Path, rows: Iterable[Sequence[str]]) -> None:
    text = "".join("\t".join(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
