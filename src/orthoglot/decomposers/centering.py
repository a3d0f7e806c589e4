"""Mean centering: the language of a sentence is the mean vector of its language."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.moments import Moments


def centering(moments: Moments) -> dict[str, np.ndarray]:
    """meaning = e - mean of its language, language = that mean.

    Every training sentence counts as often as it occurs, in whatever pair.

    Returns:
        means: (K, D).
    Source: methods 4.5 (SEED's baseline).
    """
    return {"means": moments.means()}
