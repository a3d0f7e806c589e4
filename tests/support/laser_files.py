"""Small files in the form of those that LASER's authors publish, with random weights."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.kinds.laser import LaserSettings
from orthoglot.encoders.laser import LaserModel, LaserSizes

# Merges that some words of English, and of Greek in Latin letters, are made of.
CODES = """t h 900
th e</w> 800
c a 700
ca t</w> 600
s a 500
sa t</w> 400
o n</w> 300
m a 200
ma t</w> 100
a n 90
an d</w> 80
i s</w> 70
n a 60
na i</w> 50
来 到</w> 40
北 京</w> 30
こ と</w> 20
"""
# What they give in text that has no word "mat", nor any before "s".
VOCABULARY = """the 90
cat 80
sat 70
on 60
a 50
and 40
ma@@ 30
nai 25
, 20
t 20
' 15
" 15
. 10
s 10
c@@ 9
a@@ 8
t@@ 7
th@@ 6
e 5
; 4
& 4
来到 3
北京 3
こと 2
"""


def write_weights(path: Path, sizes: LaserSizes, ids: Mapping[str, int], seed: int, archive: bool) -> None:
    """Write random weights as the authors' code reads them; PyTorch before 1.6 wrote no archive."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LaserModel(sizes)
    content = {
        "params": {
            "num_embeddings": sizes.vocabulary,
            "padding_idx": 1,
            "embed_dim": sizes.width,
            "hidden_size": sizes.hidden,
            "num_layers": sizes.layers,
            "bidirectional": True,
            "left_pad": True,
            "padding_value": 0.0,
        },
        "model": OrderedDict(model.state_dict()),
        "dictionary": dict(ids),
    }
    torch.save(content, path, _use_new_zipfile_serialization=archive)


def subwords() -> list[str]:
    """Of `VOCABULARY`."""
    return [line.split(" ")[0] for line in VOCABULARY.splitlines()]


def write_laser1(folder: Path, sizes: LaserSizes) -> tuple[Path, Sequence[Path]]:
    """The three files of LASER1: weights, and codes and vocabulary of fastBPE."""
    folder.mkdir()
    names = ("bilstm.93langs.2018-12-26.pt", "93langs.fcodes", "93langs.fvocab")
    weights, codes, vocabulary = (folder / name for name in names)
    codes.write_text(CODES, encoding="utf-8")
    vocabulary.write_text(VOCABULARY, encoding="utf-8")
    ids = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    ids |= {subword: 4 + number for number, subword in enumerate(subwords())}
    write_weights(weights, sizes, ids, 2, archive=False)
    return weights, (codes, vocabulary)


def linked(folder: Path, checkpoint: Path, name: str = "laser", **changes: Any) -> Path:
    """An encoder folder of a converted checkpoint."""
    settings = LaserSettings(kind="laser", checkpoint=str(checkpoint), max_tokens=50, licence="none")
    folder.mkdir()
    link(settings.model_copy(update=changes), name, folder)
    return folder
