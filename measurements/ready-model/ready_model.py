"""Write the ready model's file out of a finished run of the preset `ready`: make ready-model."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import typer

from orthoglot.apply import ready
from orthoglot.decomposers.architectures.plda import ARCHITECTURE as PLDA
from orthoglot.decomposers.architectures.plda import Prior, Scatter
from orthoglot.decomposers.base import load_decomposer
from orthoglot.decomposers.closed_forms import gather
from orthoglot.embeddings.store import EmbeddingStore
from orthoglot.study import config
from orthoglot.training.decompose import collect, translations

PRESET = "ready"


def main() -> None:
    """Sum up the training pairs, and take over the settings that the run has chosen."""
    params = config.load(Path("params.yaml"), {"preset": PRESET})
    [encoder] = params.selected.encoders
    fitted = load_decomposer(Path(f"models/{PRESET}/decomposers/{encoder}/{ready.METHOD}/seed1"))
    store = EmbeddingStore.open(Path(f"embeddings/{PRESET}/{encoder}"), fitted.identity)
    folders = sorted(Path(f"data/{PRESET}/bitext").iterdir())
    data = collect(store, folders, params.selected.embedding.train_pairs)
    blocks = translations(data, data.train)
    moments, pairs, _ = gather(PLDA, blocks, data.languages, fitted.dim)
    settings = {"shrinkage": fitted.details["shrinkage"]}
    corpora = params.corpora_of(PRESET)
    about = {
        "encoder": encoder,
        "text": {name: corpora[name].licence for name in params.selected.corpora},
        "made": date.today().isoformat(),
    }
    ready.save(Prior(Scatter.of(moments, pairs), settings), about, ready.FILE)
    counts = f"{len(data.train)} pairs, {len(data.languages)} languages"
    typer.echo(f"{ready.FILE}: {counts}, {ready.FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
