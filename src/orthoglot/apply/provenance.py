"""What the records of a model folder say of its origin, for model cards and for mteb: licence, base model, text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from orthoglot import receipts
from orthoglot.apply.encoder_copy import licence_of, stated_of
from orthoglot.apply.fit import MADE
from orthoglot.decomposers.base import Decomposer
from orthoglot.encoders.folder import COMMIT, card, checkpoint_folder
from orthoglot.errors import DataError

NOT_STATED = "not stated"
# The licences that the hub takes in a model card: its answer to any other one, of May 2026.
HUB_LICENCES = """
    apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m bigscience-bloom-rail-1.0 bigcode-openrail-m
    afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5
    cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0
    cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cdla-sharing-1.0 cdla-permissive-1.0
    cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 agpl-3.0 gfdl gpl gpl-2.0 gpl-3.0
    lgpl lgpl-2.1 lgpl-3.0 isc h-research intel-research lppl-1.3c ms-pl apple-ascl apple-amlr mpl-2.0 odc-by odbl
    openmdw-1.0 openrail++ osl-3.0 postgresql ofl-1.1 ncsa unlicense zlib pddl lgpl-lr deepfloyd-if-license
    fair-noncommercial-research-license llama2 llama3 llama3.1 llama3.2 llama3.3 llama4 grok2-community gemma unknown
"""
# ISO 639 reserves these codes, and no site knows the languages that are invented here.
PRIVATE_USE = re.compile(r"q[a-t][a-z]")


class Licence(NamedTuple):
    """A licence as the hub names it."""

    ids: list[str]  # of the hub's list, or "other" alone; none where no licence is on record
    name: str | None = None  # of another one, in the letters that the hub takes
    link: str | None = None  # to its text: an address, or a file of the encoder's checkpoint


class Provenance(NamedTuple):
    """Where a model comes from; what is not on record is None or empty."""

    stated: str  # the licence in the words of the record
    licence: Licence  # the same for the hub
    licence_file: Path | None  # of the encoder's checkpoint
    repository: str | None  # of the encoder on the hub, with the same weights, rounded or not
    # the same, or the one that the encoder's README names: others may have tuned it since
    base_model: str | None
    languages: list[str]  # of the decomposer, or of the encoder if there is none; without invented ones
    # names of the texts that the decomposer was fitted on, and pairs of the training part, by language pair
    text: dict[str, tuple[list[str], int]]
    # the text of the ready model that the decomposer is, or started from, with its licences
    ready_text: dict[str, str]
    encoder_text: dict[str, Any]  # the same of an encoder that was trained here
    date: str | None  # on which a model that comes with orthoglot was made

    @property
    def corpora(self) -> set[str]:
        """Names of all texts on record."""
        fitted = {name for names, _ in self.text.values() for name in names}
        trained = {name for entry in self.encoder_text.values() for name in entry["corpora"]}
        return fitted | {*self.ready_text} | trained


def provenance(
    model_folder: Path, home: Path, decomposer: Decomposer | None, licence: str = ""
) -> Provenance:
    """What is on record of a model: of the decomposer in `model_folder`, if there is one, and its encoder in `home`.

    Raises:
        DataError: a damaged record, or a licence that is a link to elsewhere.
    """
    made = model_folder / MADE
    facts = _read(made) if decomposer and made.is_file() else {}
    try:
        return _provenance(model_folder, home, decomposer, licence, facts)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{model_folder}: its records are not as orthoglot writes them ({error!r:.80})"
        ) from error


def _provenance(
    model_folder: Path, home: Path, decomposer: Decomposer | None, licence: str, facts: dict[str, Any]
) -> Provenance:
    described = card(home)
    # A decomposer that was fitted here has a digest as its `text`.
    ready = decomposer.details if decomposer and "ready" in decomposer.details else {}
    start = facts.get("start") or (decomposer.details.get("start", {}) if decomposer else {})
    counted = facts.get("text") or (_prepared(model_folder) if decomposer else {})
    texts = facts.get("bitext") or {pair: sorted(counts["in"]) for pair, counts in counted.items()}
    stated = licence or facts.get("encoder", {}).get("licence") or licence_of(home)
    repository = repository_of(described)
    readme = stated_of(home)
    named = readme.get("base_model")
    place = checkpoint_folder(home, described)
    file = next((path for path in sorted(place.glob("LICEN[CS]E*")) if path.is_file()), None)
    # A link of the hub's cache leads into the repository's folder; any other one could lead to any file.
    whole = place.parents[1] if place.parent.name == "snapshots" else place
    if file and not file.resolve().is_relative_to(whole.resolve()):
        raise DataError(f"{file}: is a link to a file outside of its folder")
    return Provenance(
        stated=stated,
        licence=hub_licence(stated, readme, file),
        licence_file=file,
        repository=repository,
        base_model=repository or _hub_id(named[0] if isinstance(named, list) and named else named),
        languages=known_languages(decomposer.languages if decomposer else described.get("languages", [])),
        text={pair: (texts[pair], counts["kept"]["train"]) for pair, counts in counted.items()},
        ready_text=ready.get("text") or start.get("text", {}),
        encoder_text=described.get("training", {}).get("text", {}),
        date=ready.get("made"),
    )


def hub_licence(stated: str, readme: Mapping[str, Any], file: Path | None) -> Licence:
    """A licence as the hub names it.

    Args:
        stated: What a person or the encoder's README calls it; several have a comma between them.
        readme: Facts at the top of the encoder's README, which may have name and link of a licence.
        file: The file of the licence among the encoder's.
    """
    if stated == NOT_STATED:
        return Licence([])
    ids = [licence.strip().lower() for licence in stated.split(",")]
    if all(licence in HUB_LICENCES.split() for licence in ids):
        return Licence(ids)
    url = re.search(r"https?://\S+", stated)
    name = str(readme.get("license_name") or stated) if ids == ["other"] else stated
    link = url[0] if url else readme.get("license_link")
    if not re.match("https?://", str(link)):
        link = file.name if file else None
    return Licence(["other"], re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or None, link)


def known_languages(codes: list[str] | tuple[str, ...]) -> list[str]:
    """The languages that have a code of ISO 639 of their own, in their order."""
    return [code for code in codes if not PRIVATE_USE.fullmatch(code)]


def repository_of(described: Mapping[str, Any]) -> str | None:
    """The repository of the hub that an encoder's card says its weights are of."""
    linked = described.get("checkpoint") if COMMIT.fullmatch(described.get("revision", "")) else None
    return _hub_id(described.get("origin")) or _hub_id(linked)


def _hub_id(name: Any) -> str | None:
    """A name of the hub; None for a folder, and for anything else."""
    if not isinstance(name, str) or "/" not in name or Path(name).exists():
        return None
    try:
        validate_repo_id(name)
    except HFValidationError:
        return None
    return name


def _prepared(model_folder: Path) -> dict[str, Any]:
    """counts.json of each language pair that a decomposer of the workflow was fitted on, by its receipt."""
    receipt = receipts.read(model_folder.parent)
    # the workspace of models/PRESET/decomposers/ENCODER/METHOD/SEED
    workspace = model_folder.resolve().joinpath("../../../../../..")
    paths = [workspace / folder / "counts.json" for folder in receipt.inputs] if receipt else []
    return {path.parent.name: _read(path) for path in paths if path.is_file()}


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
