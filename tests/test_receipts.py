"""A folder is the result of its job byte for byte, whatever sizes and times say."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orthoglot import receipts
from orthoglot.errors import DataError

KEY = "0123456789abcdef"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A result in a workspace, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    made = Path("models/one")
    made.mkdir(parents=True)
    (made / "weights").write_bytes(bytes(range(256)))
    (made / "seed1").mkdir()
    (made / "seed1/history.jsonl").write_text("{}\n")
    receipts.write(made, KEY)
    return made


def flip(file: Path, *, keep_time: bool = False) -> None:
    """Change one bit; the size stays, and the time of modification if asked for."""
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    if keep_time:
        os.utime(file, ns=times)


def remember(folder: Path) -> None:
    """Let the record know every file of a folder; they must be older than what the record trusts."""
    time.sleep(receipts.SETTLED / 1e9 + 0.1)
    assert receipts.read_key(folder, record=True) == KEY
    assert set(receipts.load_cache(receipts.VERIFIED / f"{folder}.json")) == {
        "weights",
        "seed1/history.jsonl",
    }


def test_a_result_is_recognised_and_hidden_files_do_not_count(folder: Path) -> None:
    (folder / ".gitignore").write_text("/weights\n")
    (folder / "receipt/.directory").write_text("")
    assert receipts.read_key(folder) == KEY
    receipts.check(folder, KEY)
    assert receipts.problems(Path("models")) == {}


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda folder: flip(folder / "weights"), "models/one/weights: is damaged"),
        (lambda folder: flip(folder / "weights", keep_time=True), "models/one/weights: is damaged"),
        (lambda folder: (folder / "weights").write_bytes(b""), "models/one/weights: is damaged"),
        (lambda folder: (folder / "weights").unlink(), "models/one/weights: is absent"),
        (lambda folder: (folder / "seed2").symlink_to("seed1"), "models/one/seed2: is listed in no receipt"),
        (lambda folder: (folder / "seed1/more").touch(), "models/one/seed1/more: is listed in no receipt"),
    ],
)
def test_any_other_content_is_noticed_although_the_record_knows_the_folder(
    damage: Callable[[Path], object], line: str, folder: Path
) -> None:
    remember(folder)
    damage(folder)
    assert receipts.read_key(folder, record=True) is None
    with pytest.raises(DataError, match=f"^{line}"):
        receipts.check(folder, KEY, record=True)
    assert receipts.problems(Path("models"))[folder] == [line]


def test_a_change_that_keeps_size_and_time_is_noticed_long_afterwards(folder: Path) -> None:
    remember(folder)
    flip(folder / "weights", keep_time=True)
    assert receipts.state(folder / "weights") is None, (
        "it may change again at what the clock calls the same time"
    )
    time.sleep(receipts.SETTLED / 1e9 + 0.1)
    assert receipts.read_key(folder, record=True) is None


def test_files_that_the_record_knows_are_not_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(folder)
    read: list[Path] = []
    digest = receipts.file_digest
    monkeypatch.setattr(receipts, "file_digest", lambda file: read.append(file) or digest(file))
    assert receipts.read_key(folder, record=True) == KEY
    assert read == []
    assert receipts.read_key(folder) == KEY
    assert len(read) == 2


def test_files_of_the_future_are_read_until_the_clock_that_was_set_back_has_caught_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(folder)
    read: list[Path] = []
    digest, now = receipts.file_digest, time.time_ns
    monkeypatch.setattr(receipts, "file_digest", lambda file: read.append(file) or digest(file))
    monkeypatch.setattr(receipts.time, "time_ns", lambda: now() - 24 * 60 * 60 * 10**9)
    for times in (1, 2):
        assert receipts.read_key(folder, record=True) == KEY
        assert len(read) == 2 * times
    flip(folder / "weights", keep_time=True)
    assert receipts.read_key(folder, record=True) is None
    monkeypatch.setattr(receipts.time, "time_ns", lambda: now() + 24 * 60 * 60 * 10**9)
    assert receipts.read_key(folder, record=True) is None


def test_a_damaged_record_is_no_record(folder: Path) -> None:
    remember(folder)
    record = receipts.VERIFIED / f"{folder}.json"
    flip(folder / "weights")
    for content in (b"", b"[]", record.read_bytes().replace(b"weights", b"weighty"), b"[" * 100_000, b"\xff"):
        record.write_bytes(content)
        assert receipts.read_key(folder, record=True) is None


def test_who_knows_better_compares_sizes_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flip(folder / "weights")
    monkeypatch.setenv(receipts.TRUST, "1")
    receipts.check(folder, KEY)
    (folder / "weights").write_bytes(b"short")
    with pytest.raises(DataError, match="is damaged"):
        receipts.check(folder, KEY)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"key": 1, "files": {}}',
        '{"key": "0123456789abcdef", "files": {"weights": [1e999, "0"]}}',
        '{"key": "0123456789abcdef", "files": {"weights": [256]}}',
        '{"key": "0123456789abcdef", "files": ' + "[" * 100_000,
        '{"key": "another", "files": {}}',
        "\ud800",
        "null",
        '{"sha256": ["0"], "key": {}}',
    ],
)
def test_something_else_in_the_place_of_a_receipt_is_no_receipt(content: str, folder: Path) -> None:
    receipts.path(folder, KEY).write_text(content, errors="surrogatepass")
    assert receipts.read(folder) is None
    assert receipts.read_key(folder) is None
    assert list(receipts.problems(Path("models"))) == [folder]


@pytest.mark.parametrize("name", ["../other/file", "/etc/file", "a/../../file"])
def test_a_receipt_that_names_a_file_outside_the_folder_is_no_receipt(name: str, folder: Path) -> None:
    place = receipts.path(folder, KEY)
    content = json.loads(place.read_text())
    del content["sha256"]
    for names, whole in ((["weights"], True), (["weights", name], False)):
        content["files"] = {key: [0, ""] for key in names}
        place.write_text(json.dumps({**content, "sha256": receipts.digest_of(content)}))
        assert (receipts.read(folder) is not None) == whole


def test_no_flipped_bit_of_a_receipt_changes_what_it_states(folder: Path) -> None:
    place = receipts.path(folder, KEY)
    content, stated = place.read_bytes(), receipts.read(folder)
    for n in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[n // 8] ^= 1 << n % 8
        place.write_bytes(damaged)
        assert receipts.read(folder) in (None, stated)


def test_a_second_receipt_makes_a_folder_nobodys_result(folder: Path) -> None:
    place = receipts.path(folder, "f" * 16)
    shutil.copy(receipts.path(folder, KEY), place)
    assert receipts.read_key(folder) is None
    assert receipts.problems(Path("models"))[folder] == ["models/one/receipt: holds no readable receipt"]


def test_a_result_of_damaged_input_is_found_after_the_input_was_restored(folder: Path) -> None:
    good = receipts.contents(folder, KEY)
    result = Path("evaluations/one")
    for then, expected in ((good, []), ("0" * 64, ["models/one"]), (None, [])):
        if result.exists():
            for file in (*result.glob("*/*"), *result.glob("records")):
                file.unlink()
            (result / "receipt").rmdir()
        result.mkdir(parents=True, exist_ok=True)
        (result / "records").write_text("15.0")
        receipts.write(result, "k", {"models/one": (KEY, then)})
        assert receipts.outdated(result, lambda source, key: receipts.contents(Path(source), key)) == expected
        assert bool(receipts.problems(Path("evaluations"))) == (then != good)
    assert "ORTHOGLOT_TRUST_FILES=1" in receipts.problems(Path("evaluations"))[result][0]


def test_an_input_of_another_job_or_none_says_nothing(folder: Path) -> None:
    result = Path("evaluations/one")
    result.mkdir(parents=True)
    receipts.write(result, "k", {"models/one": ("f" * 16, "0" * 64), "models/gone": (KEY, "0" * 64)})
    assert receipts.problems(Path("evaluations")) == {}
    assert json.loads(receipts.path(result, "k").read_text())["inputs"]["models/gone"] == [KEY, "0" * 64]


def test_a_run_that_compares_sizes_alone_keeps_what_is_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(folder)
    record = receipts.VERIFIED / f"{folder}.json"
    known = record.read_text()
    assert "weights" in known
    monkeypatch.setenv(receipts.TRUST, "1")
    assert receipts.read_key(folder, record=True) == KEY
    assert record.read_text() == known
