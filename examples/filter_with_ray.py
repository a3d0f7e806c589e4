"""Filter translations in Ray Data as `orthoglot filter` does, see docs/curation-engines.md.

    python filter_with_ray.py web texts/good my-model en nl 0.5 8

`web` is a folder of Parquet files with the columns `en` and `nl`; `texts/good` becomes one. The last number is how many
workers there may be: fewer than processors, as Ray reads and writes with one.
"""

from __future__ import annotations

import sys

import pyarrow as pa

import orthoglot


class GoodTranslations:
    """Made once in each worker, which opens the model; called with each batch."""

    def __init__(self, model: str, source: str, target: str, threshold: float) -> None:
        self.model = orthoglot.load(model)
        self.sides = source, target
        self.threshold = threshold

    def __call__(self, batch: pa.Table) -> pa.Table:
        source, target = self.sides
        rows = orthoglot.filter(
            batch[source].to_pylist(),
            batch[target].to_pylist(),
            self.model,
            threshold=self.threshold,
            source_language=source,
            target_language=target,
        )
        return batch.filter(pa.array(rows))


if __name__ == "__main__":
    import ray

    read, written, model, source, target, threshold, workers = sys.argv[1:]
    ray.data.read_parquet(read).map_batches(
        GoodTranslations,
        fn_constructor_args=(model, source, target, float(threshold)),
        batch_format="pyarrow",
        batch_size=4096,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=int(workers)),
    ).write_parquet(written)
