"""What the commands for people check of their arguments before the libraries that take seconds are imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orthoglot.errors import ConfigError, DataError, printable

if TYPE_CHECKING:
    from orthoglot.formats.base import Source


def texts_by_pair(
    bitext: Sequence[str],
    pairs: Sequence[str],
    columns: Sequence[str | int] = (),
    standard_input: Path | None = None,
) -> dict[str, list[Source]]:
    """{language pair: texts} of a command line.

    Args:
        bitext: The texts, each a file of `source_of`, or two joined by a comma.
        pairs: The language pair of each, with region or script where a memory has several: en-pt_BR.
        columns: See `source_of`.
        standard_input: Where the text "-", which is read more than once, is kept.
    Raises:
        ConfigError: not as many pairs as texts, see `source_of`, or see `tags_of_pair`.
        DataError: a file is missing.
    """
    # Imported here: an absent model is to be noticed without them.
    from orthoglot.formats.forms import source_of
    from orthoglot.languages import canonical, tags_of_pair
    from orthoglot.text.bitext import unpacked, write_bytes

    if list(bitext).count("-") > 1:
        raise ConfigError("only one --bitext can be standard input")
    if len(bitext) != len(pairs):
        raise ConfigError(f"{len(bitext)} --bitext but {len(pairs)} --pair: give one pair with each text")
    texts: dict[str, list[Source]] = {}
    for text, pair in zip(bitext, pairs, strict=True):
        tags = tags_of_pair(pair)
        paths = [text] if Path(text).is_file() else text.split(",")
        source = source_of(printable(",".join(Path(path).name for path in paths)), paths, columns)
        if missing := [path for path in paths if path != "-" and not Path(path).exists()]:
            raise DataError(f"{missing[0]} does not exist")
        if "-" in paths and standard_input:
            write_bytes(standard_input, unpacked(Path("-")))
            paths[paths.index("-")] = str(standard_input)
            source = source.model_copy(update={"paths": paths})
        languages = "-".join(map(canonical, tags))
        if languages != pair:
            source = source.model_copy(update={"tags": [*tags]})
        texts.setdefault(languages, []).append(source)
    return texts


def check_new(folder: Path) -> None:
    """Refuse to write where something is, by a ConfigError."""
    if folder.exists():
        raise ConfigError(f"{folder}: exists; remove it first or name another folder")


def check_model(folder: Path | None) -> None:
    """Refuse a folder that is no model, with what to do; it takes no time, so call it before texts are read.

    Raises:
        ConfigError: it holds none of encoder.json, decomposer.json and the modules.json of sentence-transformers.
    """
    if folder is None or any(
        (folder / name).is_file() for name in ("encoder.json", "decomposer.json", "modules.json")
    ):
        return
    fault = "holds neither encoder.json nor decomposer.json" if folder.is_dir() else "no such folder"
    if (folder / "config.json").is_file():
        fault += (
            f", but a checkpoint of transformers: give it to orthoglot fit --encoder {folder} --pooling mean"
        )
    raise ConfigError(f"{folder}: {fault}; a model is a folder that orthoglot fit --output wrote")


def check_best(best: int, retrieval: str, neighborhood: int) -> None:
    """Refuse numbers of neighbours and pairs that mining cannot give.

    Raises:
        ConfigError: a number that is no whole one above 0; `best` above 1 with another retrieval than "forward", or
            above `neighborhood`.
    """
    for name, value in (("best", best), ("neighborhood", neighborhood)):
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
            raise ConfigError(f"{name} {value!r}: give a whole number, 1 or more")
    if best > 1 and retrieval != "forward":
        raise ConfigError("best: several pairs of a sentence need retrieval 'forward'")
    if best > neighborhood:
        raise ConfigError(f"best {best} is above neighborhood {neighborhood}")


def check_between_0_and_1(**values: float) -> None:
    """Refuse shares that are not above 0 and below 1, by a ConfigError."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ConfigError(f"{name.replace('_', ' ')} {value}: write a number between 0 and 1")


def check_share(share: float | None, among: bool) -> None:
    """Refuse a share that is no share, and none where there is no text to estimate it from, by a ConfigError."""
    if share is not None:
        check_between_0_and_1(share=share)
    elif not among:
        raise ConfigError(
            "how many sentences have a translation decides the threshold: give --among with the texts to be mined, "
            "from which it is estimated, or --share, e.g. 0.3"
        )
