"""Logistic regression on standardised vectors, the linear classifier of the language probe and of classification."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

INVERSE_PENALTY = 1.0
MAX_ITERATIONS = 500
# What records say of the classifier.
FACTS = {"classifier": "standardised-logistic-regression", "C": INVERSE_PENALTY, "max_iter": MAX_ITERATIONS}
logger = logging.getLogger(__name__)


def regression() -> LogisticRegression:
    """Multinomial, or binary for two labels; the L2 penalty has the inverse strength C = 1."""
    return LogisticRegression(C=INVERSE_PENALTY, max_iter=MAX_ITERATIONS)


def trained(classifier: Any, vectors: np.ndarray, labels: np.ndarray, task: str) -> tuple[Pipeline, bool]:
    """A classifier fitted on standardised vectors, and whether it converged; a warning names the task if not.

    Args:
        classifier: `regression()`, or one that is made of it.
        vectors: (N, D), float64, as lbfgs stalls on float32 vectors of very small variance.
        labels: (N,), or (N, K) of several labels.
    """
    pipeline = make_pipeline(StandardScaler(), classifier)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        pipeline.fit(vectors, labels)
    converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    if not converged:
        logger.warning("%s: not converged after %d iterations", task, MAX_ITERATIONS)
    return pipeline, converged
