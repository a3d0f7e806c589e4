"""The ablations of EMS and Emma-X from text to table, as a user would run them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from workspace import Workspace

VARIANTS = {
    "ems": {"ems": {}, "without-xtr": {"xtr_weight": 0.0}},
    "emma-x": {"full": {}, "phase-1-only": {"text": {"steps": 0}}},
}
OWN = {"pretrain_variant": 1, "embed_variant": 1, "evaluate_variant": 1, "tabulate_variants": 1}


def table(workspace: Workspace, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((workspace.folder / f"tables/{kind}/{kind}-table.json").read_text())
    return found


def test_variants_are_trained_measured_and_tabulated_on_demand(fresh: Workspace, tmp_path: Path) -> None:
    workspace = fresh.copy(tmp_path / "w")
    workspace.edit(
        presets__mini__ablations=[
            {"encoder": "ems-mini", "seeds": [3]},
            {"encoder": "emma-x-mini", "seeds": [3]},
        ],
        presets__mini__evaluation__long_tail=["qac"],
        variants=VARIANTS,
    )
    unasked = workspace.jobs_due()
    assert not any("variant" in rule or "ablation" in rule for rule in unasked)
    done = workspace.jobs_run("snakemake", "ablation", "--cores", "2")
    homes = [f"ablation/mini/{kind}/{variant}/seed3" for kind, some in VARIANTS.items() for variant in some]
    made = [f"{home}/{part}" for home in homes for part in ("embeddings", "encoder", "evaluation")]
    tables = [f"tables/{kind}" for kind in VARIANTS]
    tokens = [folder for folder in done if folder.startswith("ablation/mini/tokens/")]
    assert len(tokens) == 1  # all cut alike
    assert [folder for folder in done if not folder.startswith("data/")] == sorted([*made, *tables, *tokens])
    datasets = {one["dataset"] for one in table(workspace, "ems")["cells"] if one["direction"] == "all"}
    assert datasets >= {"mini-tatoeba", "test"}
    for kind, (base, variant) in {kind: tuple(some) for kind, some in VARIANTS.items()}.items():
        told = table(workspace, kind)
        cells = {
            (one["variant"], one["dataset"], one["subset"]): one
            for one in told["cells"]
            if one["direction"] == "all"
        }
        assert set(cells) == {
            (v, d, s) for v in (base, variant) for d in datasets for s in ("all", "head", "long-tail")
        }
        own, other = (cells[v, "mini-tatoeba", "long-tail"] for v in (base, variant))
        assert set(own["over"]) == {"qaa->qac", "qac->qaa"}
        assert set(own["measured_by_seed"]) == {"3"}
        assert other["difference"] == round(other["measured"] - own["measured"], 6)
        assert other["difference_low"] is None
        assert set(told["parameters"].values()) == {told["parameters"][base]}
    assert workspace.jobs_due("ablation") == {}
    workspace.edit(**{"variants__emma-x__full": {"ranks": 3}})
    assert workspace.jobs_due("ablation_ems") == {}
    for target in ("ablation_emma_x", "ablation"):
        assert workspace.jobs_due(target) == OWN | {target: 1}
    workspace.edit(presets__mini__ablations=[])
    refused = workspace.run("snakemake", "ablation", "--cores", "2", check=False)
    assert refused.returncode
    assert "presets.mini has no `ablations`" in refused.stdout
