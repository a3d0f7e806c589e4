"""Held-out pairs as a test set."""

from __future__ import annotations

from orthoglot.languages import parse_pair
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.text.held_out import UnseenPairs, distinct


def pair_set(name: str, unseen: UnseenPairs, limit: int) -> tuple[PairSet, int]:
    """The first `limit` distinct pairs of a language pair, and how many were dropped on the way."""
    sources, targets, dropped = distinct(unseen, limit)
    return PairSet("test", *parse_pair(name), sources, targets), dropped
