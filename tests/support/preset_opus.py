"""An OPUS that has every archive of a preset, under OPUS's own names and releases, with other text in them.

    python tests/support/preset_opus.py PRESET FOLDER [--params params.yaml] [--shared ../shared]

fills them with the real sentence pairs below ../shared and prints how many each language has;
`python tests/support/opus_server.py FOLDER` then serves them.
"""

from __future__ import annotations

import argparse
import gzip
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from opus_server import write_opus

from orthoglot.languages import locales, parse_pair
from orthoglot.study import config
from orthoglot.study.corpora.base import Corpus
from orthoglot.study.fetching.catalogue import archives
from orthoglot.study.fetching.opus import Entry

ROOT = Path(__file__).resolve().parents[2]
# Sets with a file for each language, in which line n is the translation of line n of the others: folder, what the names
# begin with, and English.
SIDE_BY_SIDE = (
    ("bible_nt", "bible", "eng"),
    ("l10n_mozilla", "l10n", "en"),
    ("l10n_scratch", "l10n", "en"),
    ("l10n_wikipedia_android", "l10n", "en"),
)
# Spellings that are of text of their own, and what files of it are called.
VARIETIES = {"zh_tw": "zh-tw", "zht": "zh-tw", "pt_br": "pt-br"}
Pairs = list[tuple[str, str]]


def write_preset(corpora: Mapping[str, Corpus], folder: Path, text: Callable[[str], Pairs]) -> Counter[str]:
    """Write every archive of the corpora of OPUS, spelled as OPUS spells it.

    Args:
        corpora: of a preset, by entry; English is first in their pairs.
        folder: gets the archives and the answer of the API.
        text: pairs of English and a language or one of `VARIETIES`; the archives of it share them out.
    Returns:
        Pairs by language.
    """
    places: dict[str, list[tuple[Entry, str]]] = defaultdict(list)
    for pairs in archives(corpora).values():
        for pair, found in pairs.items():
            for entry in found.values():
                spelled = entry.target if entry.source == "en" else entry.source
                language = parse_pair(pair)[1]
                places[VARIETIES.get(spelled.lower(), language)].append((entry, language))
    packages: dict[tuple[str, str], dict[tuple[str, str], Pairs]] = defaultdict(dict)
    sizes: Counter[str] = Counter()
    for variety, sharing in places.items():
        every = text(variety)
        for number, (entry, language) in enumerate(sharing):
            mine = every[number :: len(sharing)]
            sizes[language] += len(mine)
            turned = mine if entry.source == "en" else [(other, english) for english, other in mine]
            packages[entry.corpus, entry.version][entry.source, entry.target] = turned
    for (corpus, version), held in packages.items():
        write_opus(folder, corpus, held, version)
    return sizes


def real_pairs(shared: Path, variety: str) -> Pairs:
    """All pairs of English and a language, or one of `VARIETIES`, in the files below ../shared."""
    found: Pairs = []
    for name, stem, english in SIDE_BY_SIDE:
        files = {
            path.name.split(".")[1]: path for path in (shared / "data_more" / name).glob(f"{stem}.*.tsv.gz")
        }
        if variety in VARIETIES.values():
            chosen = [one for one in files if one.lower() == variety]
        else:
            chosen = locales(variety, files)[:1]
        for one in chosen:
            sides = zip(_lines(files[english]), _lines(files[one]), strict=True)
            found += [(source, target) for source, target in sides if source and target]
    for path in sorted((shared / "data/parallel").glob(f"*.en-{variety}.tsv.gz")):
        found += [(source, target) for source, target in (line.split("\t") for line in _lines(path))]
    return found


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Fill the archives of a preset with the real text below ../shared."
    )
    parser.add_argument("preset")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--params", type=Path, default=ROOT / "params.yaml")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    arguments = parser.parse_args()
    corpora = config.load(arguments.params).corpora_of(arguments.preset)
    sizes = write_preset(corpora, arguments.folder, lambda variety: real_pairs(arguments.shared, variety))
    for language, size in sorted(sizes.items(), key=lambda one: -one[1]):
        print(language, size)


if __name__ == "__main__":
    main()
