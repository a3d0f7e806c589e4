"""Filter translations in Spark as `orthoglot filter` does, see docs/curation-engines.md.

    python filter_with_spark.py web texts/good my-model en nl 0.5

`web` is a folder of Parquet files with the columns `en` and `nl`; `texts/good` becomes one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

import pyarrow as pa

import orthoglot


def good_translations(
    batches: Iterator[pa.RecordBatch], model: str, source: str, target: str, threshold: float
) -> Iterator[pa.RecordBatch]:
    """Called once for each partition, for which it opens the model."""
    opened = orthoglot.load(model)
    for batch in batches:
        rows = orthoglot.filter(
            batch[source].to_pylist(),
            batch[target].to_pylist(),
            opened,
            threshold=threshold,
            source_language=source,
            target_language=target,
        )
        yield batch.filter(pa.array(rows))


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    read, written, model, source, target, threshold = sys.argv[1:]
    pairs = SparkSession.builder.getOrCreate().read.parquet(read)
    function = partial(
        good_translations, model=model, source=source, target=target, threshold=float(threshold)
    )
    pairs.mapInArrow(function, pairs.schema).write.parquet(written)
