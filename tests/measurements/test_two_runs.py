"""Two runs: what is equal to the bit is counted, and the largest differences of the rest are shown."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import two_runs


def write(run: Path, *, value: float, last: float, text: str) -> None:
    vectors, evaluation = run / "embeddings/mini/small", run / "evaluations/mini/small/plda"
    for folder in (vectors, evaluation, vectors / "receipt"):
        folder.mkdir(parents=True)
    np.save(vectors / "vectors.npy", np.array([[8.0, -1.0], [0.5, last]], dtype=np.float32))
    (vectors / "meta.json").write_text('{"dim": 2}')
    (vectors / "receipt/0.json").write_text(text)  # not compared
    rows = [
        {"metric": "P@1", "value": 50.0, "low": None},
        {"metric": "P@1", "value": value, "identity": text},
    ]
    (evaluation / "records.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_equal_files_and_largest_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", value=80.0, last=0.5, text="a")
    write(tmp_path / "b", value=60.0, last=0.75, text="b")
    monkeypatch.setattr(sys, "argv", ["two_runs.py", str(tmp_path / "a"), str(tmp_path / "b")])
    with pytest.raises(SystemExit) as ended:
        two_runs.main()
    assert not ended.value.code
    printed = [re.sub(" +", " ", line) for line in capsys.readouterr().out.splitlines()]
    for line in (
        "embeddings small .json 1 1 0 0 0",
        "embeddings small .npy 1 0 0.25 0.031 0",
        "evaluations small .jsonl 1 0 20 0.25 1",
        "P@1 2 1 20 0.25 0",
    ):
        assert line in printed
    (tmp_path / "b/embeddings/mini/small/receipt/0.json").rename(
        tmp_path / "b/embeddings/mini/small/receipt/1.json"
    )
    with pytest.raises(SystemExit) as ended:
        two_runs.main()
    assert ended.value.code
    assert "in one run alone: embeddings/mini/small/receipt/1.json" in capsys.readouterr().out
