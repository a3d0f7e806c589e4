"""The ablation of EMS from text to table, as a user would run it."""

from __future__ import annotations

import json
from pathlib import Path

from workspace import Workspace

OWN = {"pretrain_variant": 1, "embed_variant": 1, "evaluate_variant": 1, "ablation": 1}


def test_variants_are_trained_measured_and_tabulated_on_demand(fresh: Workspace, tmp_path: Path) -> None:
    workspace = fresh.copy(tmp_path / "w")
    workspace.edit(
        presets__mini__ablation={"encoder": "ems-mini", "seeds": [3]},
        variants={"ems": {}, "without-xtr": {"xtr_weight": 0.0}},
    )
    unasked = workspace.jobs_due()
    assert "ablation" not in unasked
    assert not any("variant" in rule for rule in unasked)
    done = workspace.jobs_run("snakemake", "ablation", "--cores", "2")
    homes = [f"ablation/mini/{variant}/seed3" for variant in ("ems", "without-xtr")]
    made = [f"{home}/{part}" for home in homes for part in ("embeddings", "encoder", "evaluation")]
    assert [folder for folder in done if not folder.startswith("data/")] == sorted([*made, "tables/ems"])
    told = json.loads((workspace.folder / "tables/ems/ems-table.json").read_text())
    cells = {(one["variant"], one["dataset"]): one for one in told["cells"] if one["direction"] == "all"}
    assert set(cells) == {(v, d) for v in ("ems", "without-xtr") for d in ("mini-tatoeba", "test")}
    ems, less = cells["ems", "mini-tatoeba"], cells["without-xtr", "mini-tatoeba"]
    assert set(ems["measured_by_seed"]) == {"3"}
    assert less["difference"] == round(less["measured"] - ems["measured"], 6)
    assert less["difference_low"] is None
    assert set(told["parameters"].values()) == {told["parameters"]["ems"]}
    assert workspace.jobs_due("ablation") == {}
    workspace.edit(variants__ems={"temperature": 0.2})
    assert workspace.jobs_due("ablation") == OWN
