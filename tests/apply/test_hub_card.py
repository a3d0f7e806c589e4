"""The facts at the top of an exported README.md: what the model hub accepts, each as the records have it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard, metadata_load
from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results
from small_checkpoint import DIM, write_checkpoint
from test_export import decomposer, model_folder

from orthoglot.apply.export import export
from orthoglot.apply.provenance import HUB_LICENCES, repository_of
from orthoglot.encoders.folder import identity, save_card
from orthoglot.errors import DataError
from orthoglot.languages import canonical
from orthoglot.statistics.records import Record, write_records

VALUES = {"sentence": 40.0, "meaning": 100 * 2 / 3, "language": 100 / 57}
# What the hub knows of a card; it shows other keys to nobody.
KEYS = {
    "base_model",
    "base_model_relation",
    "language",
    "library_name",
    "license",
    "license_name",
    "license_link",
}
KEYS |= {"model-index", "pipeline_tag", "tags"}


def record(subset: str, view: Any, value: float) -> Record:
    about = ("tiny", "my-residual", 0, "P@1")
    return Record("heldout", "test", subset, view, *about, value, value - 1, value + 1, 57, {})


def model(
    root: Path, readme: str = "", made: dict[str, Any] | None = None, scored: bool = False, **stated: Any
) -> Path:
    """A decomposer's folder whose encoder's card, README and fit.json state something."""
    folder = model_folder(root, write_checkpoint(root / "tiny"), "residual", pooling="mean", max_tokens=20)
    home = folder / "encoder"
    save_card(home, json.loads((home / "encoder.json").read_text()) | stated)
    if readme:
        (home / "README.md").write_text(f"---\n{readme}\n---\n# tiny\n")
    decomposer("residual", DIM, identity(home)).save(folder)
    if made is not None:
        (folder / "fit.json").write_text(json.dumps(made))
    if scored:
        rows = [
            record(subset, view, value)
            for subset in ("en->gn", "gn->en", "all")
            for view, value in VALUES.items()
        ]
        write_records(folder / "records.jsonl", rows)
    return folder


def front(folder: Path, place: Path, **options: Any) -> dict[str, Any]:
    """The facts of the model's export, which two readers of the library agree on; the hub's own rules hold."""
    export(folder, place, **options)
    found = metadata_load(place / "README.md")
    assert found is not None
    assert ModelCard.load(place / "README.md").data.to_dict() == found
    assert set(found) <= KEYS
    assert all(value not in (None, [], "") for value in found.values())
    listed = found.get("license", [])
    for licence in [listed] if isinstance(listed, str) else listed:
        assert licence in [*HUB_LICENCES.split(), "other"]
    assert (found.get("license") == "other") == ("license_name" in found)
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", found.get("license_name", "none"))
    assert all(
        re.fullmatch("[a-z]{2,3}", code) and canonical(code) == code for code in found.get("language", [])
    )
    assert found.get("base_model_relation", "finetune") in ("adapter", "finetune", "merge", "quantized")
    assert ("base_model_relation" not in found) or "base_model" in found
    assert (found["library_name"], found["pipeline_tag"]) == ("sentence-transformers", "sentence-similarity")
    assert {found["library_name"], found["pipeline_tag"]} < set(found["tags"])
    return found


@pytest.mark.parametrize("part", ["meaning", "language"])
def test_numbers_of_the_model_index_are_those_of_the_records(part: str, tmp_path: Path) -> None:
    index = front(model(tmp_path, scored=True), tmp_path / "tiny-part", part=part)["model-index"]
    name, results = model_index_to_eval_results(index)
    assert name == "tiny-part"
    assert eval_results_to_model_index(name, results) == index
    assert {one.dataset_config for one in results} == {"en->gn", "gn->en", "all"}
    for one in results:
        assert one.metric_value == pytest.approx(VALUES[part] / 100, abs=5e-7)
        assert 0 <= one.metric_value <= 1
        assert (one.task_type, one.task_name) == ("sentence-similarity", "Retrieval of translations")
        assert (one.dataset_type, one.dataset_split) == ("held-out", "test")
        assert (one.metric_type, one.metric_name) == ("cosine_accuracy@1", "P@1")
        assert one.dataset_name
        assert one.dataset_revision is None  # that of a repository, which the text is not


def test_what_is_not_on_record_is_left_out(tmp_path: Path) -> None:
    found = front(model(tmp_path), tmp_path / "out")
    assert set(found) == {"language", "library_name", "pipeline_tag", "tags"}


@pytest.mark.parametrize(
    ("readme", "licence", "stated", "expected"),
    [
        ("license: apache-2.0", "", "apache-2.0", {"license": "apache-2.0"}),
        ("license: [mit, cc-by-4.0]", "", "mit, cc-by-4.0", {"license": ["mit", "cc-by-4.0"]}),
        ("license: [mit]", "", "mit", {"license": "mit"}),
        ("license: mit", "CC-BY-NC-4.0", "CC-BY-NC-4.0", {"license": "cc-by-nc-4.0"}),
        (
            "",
            "Gemma terms of use",
            "Gemma terms of use",
            {"license": "other", "license_name": "gemma-terms-of-use"},
        ),
        (
            "license: other\nlicense_name: Our licence, v2\nlicense_link: https://example.org/v2",
            "",
            "other",
            {"license": "other", "license_name": "our-licence-v2", "license_link": "https://example.org/v2"},
        ),
        (
            "",
            "ours: https://example.org/x",
            "ours: https://example.org/x",
            {
                "license": "other",
                "license_name": "ours-https-example.org-x",
                "license_link": "https://example.org/x",
            },
        ),
        ("language: en", "", "not stated", {}),
    ],
)
def test_a_licence_is_one_of_the_hubs_list_or_another_one_with_its_name(
    readme: str, licence: str, stated: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    found = front(model(tmp_path, readme), tmp_path / "out", licence=licence)
    assert {key: value for key, value in found.items() if key.startswith("license")} == expected
    text = (tmp_path / "out/README.md").read_text()
    assert f"## Licence\n\nEncoder: {stated}. The licences of" in text


def test_the_licence_that_fit_recorded_holds_and_its_text_comes_along(tmp_path: Path) -> None:
    folder = model(tmp_path, "license: mit", {"encoder": {"licence": "Our own"}})
    (folder / "encoder/LICENSE.txt").write_text("Do as you like.")
    found = front(folder, tmp_path / "out")
    assert (found["license"], found["license_name"], found["license_link"]) == (
        "other",
        "our-own",
        "LICENSE.txt",
    )
    assert (tmp_path / "out/LICENSE.txt").read_text() == "Do as you like."
    assert "Encoder: Our own." in (tmp_path / "out/README.md").read_text()


@pytest.mark.parametrize(
    ("stated", "readme", "expected"),
    [
        ({"origin": "owner/small"}, "", "owner/small"),
        ({}, "base_model: owner/small", "owner/small"),
        ({}, "base_model: [owner/small]", "owner/small"),
        ({"origin": "owner/small"}, "base_model: owner/other", "owner/small"),
        ({}, "base_model: /home/me/small", None),
        ({}, "base_model: tests/apply", None),  # a folder
        ({}, "base_model: ./small", None),
        ({"revision": "local"}, "", None),
    ],
)
def test_the_base_model_is_the_encoder_on_the_hub(
    stated: dict[str, Any], readme: str, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    found = front(model(tmp_path, readme, **stated), tmp_path / "out")
    assert found.get("base_model") == expected
    assert found.get("base_model_relation") == (expected and "finetune")


def test_a_linked_repository_is_the_base_model_by_its_commit() -> None:
    linked = {"checkpoint": "owner/small", "revision": "1" * 40}
    assert repository_of(linked) == "owner/small"
    assert repository_of(linked | {"revision": "local"}) is None


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    folder = model(tmp_path)
    (folder / "fit.json").write_text('{"encoder": ')
    with pytest.raises(DataError, match=r"fit\.json: cannot be read"):
        export(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "facts",
    [
        {"text": {"en-gn": {}}},
        {"text": {"en-gn": {"kept": {"train": 7}}}, "bitext": {"en-ay": ["a"]}},
        {"encoder": None},
        {"start": "x"},
    ],
)
def test_a_record_of_another_form_is_refused_in_one_line(facts: dict[str, Any], tmp_path: Path) -> None:
    folder = model(tmp_path)
    (folder / "fit.json").write_text(json.dumps(facts))
    with pytest.raises(DataError, match="its records are not as orthoglot writes them"):
        export(folder, tmp_path / "out")


def test_a_licence_that_is_a_link_to_elsewhere_is_not_copied(tmp_path: Path) -> None:
    folder, secret = model(tmp_path), tmp_path / "secret"
    secret.write_text("of somebody else")
    (folder / "encoder/LICENSE").symlink_to(secret)
    with pytest.raises(DataError, match="is a link to a file outside of its folder"):
        export(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_encoder_alone_is_no_tuned_model_and_rounded_weights_are_told(tmp_path: Path) -> None:
    home = model(tmp_path, origin="owner/small") / "encoder"
    found = front(home, tmp_path / "copy")
    assert (found["base_model"], "base_model_relation" in found) == ("owner/small", False)
    save_card(home, json.loads((home / "encoder.json").read_text()) | {"bits": 4})
    assert front(home, tmp_path / "rounded")["base_model_relation"] == "quantized"


def test_languages_are_codes_that_others_know(tmp_path: Path) -> None:
    folder = model(tmp_path)
    described = json.loads((folder / "decomposer.json").read_text())
    described["languages"] = ["ay", "no", "qac", "yue"]
    (folder / "decomposer.json").write_text(json.dumps(described))
    assert front(folder, tmp_path / "out")["language"] == ["ay", "no", "yue"]
    home = folder / "encoder"
    save_card(home, json.loads((home / "encoder.json").read_text()) | {"languages": ["qaa"]})
    assert "language" not in front(home, tmp_path / "invented")


def test_text_is_named_in_the_card_and_is_no_dataset_of_the_hub(tmp_path: Path) -> None:
    counted = {"en-gn": {"kept": {"train": 7}}}
    made = {"bitext": {"en-gn": ["owner/mine", "b.tsv"]}, "text": counted}
    assert "datasets" not in front(model(tmp_path, made=made), tmp_path / "out")
    text = (tmp_path / "out/README.md").read_text()
    assert "\n- text en-gn: owner/mine; b.tsv, 7 pairs after cleaning\n" in text


def test_the_ready_models_card_names_its_text_with_its_licences(tmp_path: Path) -> None:
    folder = model(tmp_path)
    described = json.loads((folder / "decomposer.json").read_text())
    text = {"tanaka": "CC-BY-2.0-FR", "bible": "public domain"}
    described["details"] = {
        "ready": "0" * 64,
        "text": text,
        "train_pairs": 72,
        "shrinkage": 0.3,
        "made": "2026-11-26",
    }
    (folder / "decomposer.json").write_text(json.dumps(described))
    front(folder, tmp_path / "out")
    page = (tmp_path / "out/README.md").read_text()
    assert "\n- method: `my-residual`; 72 sentence pairs to train on\n- settings: shrinkage 0.3\n" in page
    assert "\n- text: tanaka (CC-BY-2.0-FR)\n- text: bible (public domain)\n" in page
