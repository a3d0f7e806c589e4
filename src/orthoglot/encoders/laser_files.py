"""The files of LASER1 and LASER2: where the official ones are, and what a converted folder holds."""

from __future__ import annotations

from pathlib import Path

from orthoglot.encoders.folder import locate_converted

# Where the official files are, and their names, the weights first.
SOURCES = {
    "LASER1": ("laser/models", ("bilstm.93langs.2018-12-26.pt", "93langs.fcodes", "93langs.fvocab")),
    "LASER2": ("nllb/laser", ("laser2.pt", "laser2.spm")),
}
# What a converted folder holds: both have the first three, LASER2 the pieces, LASER1 the files of fastBPE.
FILES = ("config.json", "model.safetensors", "vocab.json")
PIECES, CODES, VOCABULARY = "sentencepiece.model", "merges.txt", "vocab.txt"


def place(checkpoint: str, _: str) -> Path:
    """The folder that `orthoglot get` wrote; one without codes of fastBPE is LASER2's, unless it is called laser1."""
    folder = Path(checkpoint)
    name = "LASER1" if (folder / CODES).is_file() or folder.name == "laser1" else "LASER2"
    further = (PIECES,) if name == "LASER2" else (CODES, VOCABULARY)
    return locate_converted(checkpoint, (*FILES, *further), hint(name, checkpoint))


def hint(name: str, output: str) -> str:
    """The one command that fetches the official files of LASER1 or LASER2 and converts them."""
    at, files = SOURCES[name]
    fetched = " ".join(f"-O https://dl.fbaipublicfiles.com/{at}/{file}" for file in files)
    command = f"orthoglot get {name.lower()} {' '.join(files)} --output {output}"
    return f"fetch and convert {name} with: curl -fL {fetched} && {command}"
