"""Settings of a corpus of OPUS."""

from __future__ import annotations

from typing import Any

from orthoglot.study.corpora.kinds.opus import OpusSettings


def opus_settings(*pairs: str, corpus: str = "Voices", version: str = "v1", **others: Any) -> OpusSettings:
    """These pairs of a corpus, by default of the one that tests serve."""
    return OpusSettings(
        kind="opus", corpus=corpus, version=version, pairs=list(pairs), licence="CC0-1.0", **others
    )
