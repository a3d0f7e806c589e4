"""A folder of one's own for any encoder: its files copied, its card open to more languages."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import metadata_load

from orthoglot import receipts
from orthoglot.apply.model_folders import READY
from orthoglot.atomic import copy_folder
from orthoglot.encoders.folder import begins_static, card, checkpoint_folder, locate, modules, save_card
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.kinds.pretrained import PretrainedSettings
from orthoglot.encoders.kinds.sentence_transformers import SentenceTransformersSettings
from orthoglot.encoders.sentence_transformer import link_sentence_transformers
from orthoglot.encoders.settings import Pooling
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical_if_known

DEFAULT_TOKENS = 128
POOLED = ("Transformer", "Pooling", "Normalize")
ENDLESS = 10**6  # transformers writes 10^30 for a tokenizer without a limit
# Not copied: weights in other formats, and files of the job that made the encoder.
NOT_COPIED = shutil.ignore_patterns(
    ".*", "*.bin", "*.pt", "*.pth", "*.h5", "*.msgpack", "*.ot", "*.onnx", "onnx", "openvino", "coreml",
    receipts.NAME, "history.jsonl", READY,
)  # fmt: skip
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """The encoder to use."""

    # a folder with encoder.json, a sentence-transformers or transformers folder, or a hub id of either
    place: str
    name: str = ""  # for the record; "" takes the folder's or the id's last part
    revision: str = ""  # commit of a hub id
    # how the transformer's last states are pooled; None runs the steps of a sentence-transformers model, but for a
    # closing Normalize
    pooling: Pooling | None = None
    max_tokens: int | None = None  # None takes what a sentence-transformers model says, else 128
    prefix: str = ""  # put before every sentence
    licence: str = ""  # of the checkpoint; "" takes what its README says


def copy_encoder(encoder: Checkpoint, languages: Sequence[str], output: Path) -> list[str]:
    """Copy an encoder into the existing folder `output` and add `languages` to its card.

    A decomposer may be fitted for a language that the encoder never saw. Returns the languages that the encoder states
    not to cover.

    Raises:
        ConfigError: an option is missing, or one is given that encoder.json says already.
        DataError, OfflineError: see `link` and `link_sentence_transformers`.
    """
    folder = Path(encoder.place)
    if (folder / "encoder.json").is_file():
        receipts.check_whole(folder)
        options = ("name", "revision", "pooling", "max_tokens", "prefix")
        if given := [option for option in options if getattr(encoder, option)]:
            raise ConfigError(f"{folder}: its encoder.json says {', '.join(given)}; leave the options out")
        described = card(folder)
        linked = Path(described.get("checkpoint", "."))
        copy_folder(linked if linked != Path() and linked.is_dir() else folder, output, NOT_COPIED)
    else:
        link_folder(encoder, output)
        if folder.is_dir():
            copy_folder(folder, output, NOT_COPIED)
        described = card(output)
    if "checkpoint" in described and Path(described["checkpoint"]).is_dir():
        described |= {"checkpoint": ".", "revision": "local"}
    unseen = sorted(set(languages) - set(described["languages"])) if described["languages"] else []
    if unseen:
        known = ", ".join(described["languages"])
        logger.warning("%s never saw %s (it covers %s)", described["name"], ", ".join(unseen), known)
        described["languages"] = sorted({*described["languages"], *unseen})
    elif not described["languages"]:
        logger.warning(
            "%s does not say which languages it covers: whether it knows %s is not checked",
            *(described["name"], ", ".join(languages)),
        )
    save_card(output, described)
    return unseen


def link_folder(encoder: Checkpoint, output: Path) -> None:
    """Write the card of a checkpoint that has none: its own modules run unless `pooling` is given.

    Raises:
        ConfigError: it does not say how it pools.
        DataError, OfflineError: as `link` and `link_sentence_transformers`.
    """
    place = locate(encoder.place, encoder.revision)
    receipts.check_whole(place)
    steps = modules(place) if (place / "modules.json").is_file() else []
    limit = stated_limit(steps[0].folder) if steps else None
    if begins_static(place):
        # Imported here, as few encoders are static.
        from orthoglot.encoders.static import open_tokenizer

        limit = open_tokenizer(place, place.name).most or ENDLESS
    name = encoder.name or Path(encoder.place).resolve().name
    fields: dict[str, Any] = {
        "checkpoint": encoder.place,
        "revision": encoder.revision,
        "languages": _stated_languages(place),
        "max_tokens": encoder.max_tokens or limit or DEFAULT_TOKENS,
        "prefix": encoder.prefix,
        "licence": encoder.licence,
    }
    if encoder.pooling is not None:
        if strange := [step.kind for step in steps if step.kind.rpartition(".")[2] not in POOLED]:
            logger.warning("%s: --pooling leaves out %s", encoder.place, ", ".join(strange))
        settings = PretrainedSettings(kind="pretrained", pooling=encoder.pooling, **fields)
        link(settings, name, output)
    elif steps:
        own_settings = SentenceTransformersSettings(kind="sentence-transformers", **fields)
        link_sentence_transformers(own_settings, name, output)
    else:
        raise ConfigError(
            f"encoder {encoder.place}: does not say how it pools; give --pooling cls, pooler or mean"
        )


def stated_limit(transformer: Path) -> int | None:
    """The most tokens that the first step of a sentence-transformers model says it reads, or None.

    Raises:
        DataError: damaged files.
    """
    # Older versions of the library write the one file, newer ones the other.
    for name, field in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        path = transformer / name
        try:
            limit = json.loads(path.read_text(encoding="utf-8")).get(field) if path.is_file() else None
        except ValueError as error:
            raise DataError(f"{path}: cannot be read ({error})") from error
        if isinstance(limit, int) and 0 < limit < ENDLESS:
            return limit
    return None


def licence_of(home: Path) -> str:
    """The licence that the README of an encoder's checkpoint states; "not stated" where it states none."""
    licence = stated_of(home).get("license") or "not stated"
    return ", ".join(map(str, licence)) if isinstance(licence, list) else str(licence)


def stated_of(home: Path) -> dict[str, Any]:
    """The facts at the top of the README of an encoder's checkpoint; none where there are none."""
    return _stated(checkpoint_folder(home, card(home)))


def _stated_languages(place: Path) -> list[str]:
    """The languages that the README of a checkpoint lists, sorted; none where it lists none that is known."""
    stated = _stated(place).get("language") or []
    names = [stated] if isinstance(stated, str) else stated  # some are none: "multilingual", "code"
    return sorted({code for name in names if (code := canonical_if_known(str(name)))})


def _stated(place: Path) -> dict[str, Any]:
    """The facts at the top of a checkpoint's README; none where there is no README, or a damaged one."""
    readme = place / "README.md"
    try:
        return (metadata_load(readme) if readme.is_file() else None) or {}
    except (ValueError, yaml.YAMLError):
        return {}
