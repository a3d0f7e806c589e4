"""Write a ready map, and its page, out of a finished run of the preset `ready`: make ready-model.

Without an encoder it is the ready model's own, and its file alone is written: src/orthoglot/apply/ready.safetensors.
With one, maps/NAME.safetensors is the map, NAME.parquet the record, and NAME.md what it gains.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from orthoglot.apply import ready
from orthoglot.apply.encoder_map import vectors_of
from orthoglot.decomposers.architectures.plda import ARCHITECTURE as PLDA
from orthoglot.decomposers.architectures.plda import Prior, Scatter
from orthoglot.decomposers.base import load_decomposer
from orthoglot.decomposers.closed_forms import gather
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.encoders.settings import FrozenSettings
from orthoglot.study import config
from orthoglot.training.decompose import collect, translations

PRESET = "ready"
MAPS = Path("maps")
# Task, data set and metric of each line of the page.
LINES = {
    "Tatoeba, 112 languages with English, P@1": ("tatoeba", "tatoeba-112", "P@1"),
    "NTREX, any two of 12 languages, P@1": ("nway", "ntrex", "P@1"),
    "FLORES, any two of 14 languages, P@1": ("nway", "flores-muse", "P@1"),
    "FLORES, any two of 16 others, P@1": ("nway", "flores-low-resource", "P@1"),
    "NTREX, one pool of 12 languages, R-precision": ("mixed-pool", "ntrex", "R-precision"),
    "FLORES, one pool of 14, R-precision": ("mixed-pool", "flores-muse", "R-precision"),
    "FLORES, one pool of the 16 others, R-precision": ("mixed-pool", "flores-low-resource", "R-precision"),
}


def main(encoder: Annotated[str, typer.Argument(help="an encoder of the catalogue")] = "") -> None:
    """Sum up the training pairs, and take over the settings that the run has chosen."""
    named = {"presets": {PRESET: {"encoders": [encoder]}}} if encoder else {}
    params = config.load(Path("params.yaml"), {"preset": PRESET, **named})
    [name] = params.selected.encoders
    entry = params.encoders[name]
    assert isinstance(entry, FrozenSettings)
    fitted = load_decomposer(Path(f"models/{PRESET}/decomposers/{name}/{ready.METHOD}/seed1"))
    store = EmbeddingStore.open(Path(f"embeddings/{PRESET}/{name}"), fitted.identity)
    folders = sorted(Path(f"data/{PRESET}/bitext").iterdir())
    data = collect(store, folders, params.selected.embedding.train_pairs)
    moments, pairs, _ = gather(PLDA, translations(data, data.train), data.languages, fitted.dim)
    settings = {"shrinkage": fitted.details["shrinkage"]}
    corpora = params.corpora_of(PRESET)
    about = {
        "encoder": name,
        "vectors": vectors_of(entry, Path(f"models/{PRESET}/encoders/{name}")),
        "text": {corpus: corpora[corpus].licence for corpus in params.selected.corpora},
        "made": date.today().isoformat(),
    }
    output = MAPS / f"{name}.safetensors" if encoder else ready.FILE
    ready.save(Prior(Scatter.of(moments, pairs), settings), about, output)
    counts = f"{len(data.train)} pairs, {len(data.languages)} languages"
    typer.echo(f"{output}: {counts}, {output.stat().st_size} bytes")
    if encoder:
        record = output.with_suffix(".parquet")
        records = pd.read_parquet("results/records.parquet")
        records[records["encoder"] == name].to_parquet(record, index=False)
        output.with_suffix(".md").write_text(table(record), encoding="utf-8")
        typer.echo(table(record))


def table(record: Path) -> str:
    """The page's table: the encoder's own vector and the meaning part, with 95 % intervals over sentences."""
    rows = pd.read_parquet(record)
    rows = rows[rows["seed"].notna()]
    fitted = {code for pair in rows.loc[rows["task"] == "heldout", "subset"] for code in pair.split("->")}
    lines = ["| | encoder's own vector | ready model |", "|---|---|---|"]
    for title, (task, dataset, metric) in LINES.items():
        scores = rows[(rows["task"] == task) & (rows["dataset"] == dataset) & (rows["metric"] == metric)]
        undivided = (scores["view"] == "sentence") & (scores["method"] == "original")
        sides = scores[undivided], scores[scores["view"] == "meaning"]
        whole = [side[side["subset"] == "all"].iloc[0] for side in sides]
        cells = [f"{row['value']:.1f} [{row['low']:.1f}, {row['high']:.1f}]" for row in whole]
        lines.append(f"| {title} | {' | '.join(cells)} |")
        if task == "tatoeba":
            means = []
            for side in sides:
                pairs = side[side["subset"] != "all"]
                known = pairs["subset"].map(lambda pair: set(pair.split("->")) <= fitted)
                means.append([pairs.loc[kept, "value"].mean() for kept in (known, ~known)])
                counts = int(known.sum()) // 2, int((~known).sum()) // 2
            names = f"of these, {counts[0]} languages that it is fitted on", f"{counts[1]} others"
            for place, name in enumerate(names):
                lines.append(f"| {name} | {means[0][place]:.1f} | {means[1][place]:.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    typer.run(main)
