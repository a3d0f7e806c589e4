"""Checkpoints: what is written is read, bit for bit, and nothing else passes for one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.errors import DataError
from orthoglot.training.checkpoint import load, save

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
nested = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(), nested))
def test_plain_values_come_back_with_their_types(state: dict[str, object]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        save(path, state)
        assert load(path) == state


def test_optimiser_and_tied_tensors_come_back_bit_equal(tmp_path: Path) -> None:
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(layer.parameters(), lr=1e-3)
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = {"a": layer.weight, "tied": layer.weight, "odd": layer.weight.T, "o": optimizer.state_dict()}
    save(tmp_path / "state", state)
    back = load(tmp_path / "state")
    assert torch.equal(back["a"], layer.weight)
    assert torch.equal(back["tied"], layer.weight)
    assert torch.equal(back["odd"], layer.weight.T)
    for number, values in optimizer.state_dict()["state"].items():
        for name, value in values.items():
            assert torch.equal(back["o"]["state"][number][name], value)
            assert back["o"]["state"][number][name].dtype == value.dtype
    assert back["o"]["param_groups"] == optimizer.state_dict()["param_groups"]


def test_damaged_absent_and_foreign_files_are_refused(tmp_path: Path) -> None:
    save(tmp_path / "cut", {"x": torch.ones(100)})
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:-50])
    (tmp_path / "foreign").write_text("a text")
    torch.save({"x": Path("a class")}, tmp_path / "pickled")
    for name in ("cut", "absent", "foreign", "pickled"):
        with pytest.raises(DataError, match=name):
            load(tmp_path / name)


def test_an_end_that_names_two_disks_is_damage(tmp_path: Path) -> None:
    save(tmp_path / "state", {"x": torch.ones(3)})
    content = bytearray((tmp_path / "state").read_bytes())
    content[content.index(b"PK\x06\x07") + 16] = 2
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(DataError, match="remove it to begin anew"):
        load(tmp_path / "state")


def test_a_flipped_bit_gives_no_other_state(tmp_path: Path) -> None:
    weights = torch.arange(2000.0)
    save(tmp_path / "sound", {"x": weights})
    content = (tmp_path / "sound").read_bytes()
    refused = []
    for place in range(0, len(content), 97):
        damaged = bytearray(content)
        damaged[place] ^= 4
        (tmp_path / "state").write_bytes(damaged)
        try:
            assert torch.equal(load(tmp_path / "state")["x"], weights)
        except DataError as error:
            refused.append(str(error))
    assert len(refused) > 80
    assert all("remove it to begin anew" in message for message in refused)
