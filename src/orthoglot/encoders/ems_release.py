"""The checkpoint that EMS's authors publish, as an encoder folder of kind `ems`.

Source: https://github.com/Mao-KU/EMS; docs/papers.md#ems-encoder.
"""

from __future__ import annotations

import logging
from pathlib import Path

from torch import Tensor

from orthoglot.encoders.ems import new_network
from orthoglot.encoders.kinds.ems import EmsSizes
from orthoglot.encoders.pretrained import save_checkpoint
from orthoglot.encoders.segmentation import Segmenter, SegmenterName, open_segmenter
from orthoglot.encoders.tokenization import MOSES_MODEL, MosesTokenizer, write_segmenters
from orthoglot.encoders.weights_files import open_pickle
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.languages import canonical
from orthoglot.receipts import file_digest

LICENCE = "MIT"
VOCABULARY = "62languages_bpe_60000.model"
COMMIT = "2d4227289127876202ba089ce6c6d513f1e097a7"
HINT = (
    "fetch both files with: curl -fL -O https://lotus.kuee.kyoto-u.ac.jp/~zhuoyuanmao/EMS_model.pt "
    f"-O https://raw.githubusercontent.com/Mao-KU/EMS/{COMMIT}/preprocessing/{VOCABULARY}"
)
RESERVED = ["<pad>", "<unk>", "<MASK>"]
# The authors cut Thai and Burmese by Moses' rules, as languages with spaces.
WORDS: dict[str, SegmenterName] = {"zh": "jieba", "ja": "jumanpp", "th": "moses", "my": "moses"}
# The two heads of the training.
HEADS = ("model.la_tag_linear.", "model.transform.", "model.decoder.", "alignproj.")
# Authors' names of embeddings and of the parts of a layer, and ours.
EMBEDDINGS = {
    "word_embedding.embedding.weight": "word_embeddings.weight",
    "position_embedding.position_embeddings.weight": "position_embeddings.weight",
    "layer_norm.weight": "LayerNorm.weight",
    "layer_norm.bias": "LayerNorm.bias",
}
logger = logging.getLogger(__name__)


def convert(weights: Path, network: EmsSizes, name: str, output: Path) -> None:
    """Write the encoder folder of a checkpoint, with the words of the authors' code.

    It covers the languages that the vocabulary beside the weights has symbols of, without Japanese where Juman++ is not
    installed. Only tensors, numbers and strings are read, and no code is run.

    Raises:
        ConfigError: jieba is not installed.
        DataError: A file is damaged, or not one of EMS in these sizes.
        OfflineError: A file is not here; the message has the command that fetches it.
    """
    pieces = weights.with_name(VOCABULARY)
    for path in (weights, pieces):
        if not path.is_file():
            raise OfflineError(f"{path} is not on this machine; {HINT}")
    (output / MOSES_MODEL).write_bytes(pieces.read_bytes())
    languages = _languages(MosesTokenizer(output / MOSES_MODEL).tokens(), pieces)
    segmenters: dict[str, Segmenter] = {}
    for language in WORDS.keys() & languages:
        try:
            segmenters[language] = open_segmenter(WORDS[language])
        except ConfigError as error:
            if language != "ja":
                raise
            logger.warning("Japanese is left out: %s", error)
            languages.remove(language)
    write_segmenters(segmenters, output)
    tokenizer = MosesTokenizer(output / MOSES_MODEL)
    model = new_network(network, tokenizer.size, tokenizer.pad)
    state = model.state_dict()
    model.load_state_dict(state | _read(weights, state, network.layers))
    save_checkpoint(
        model,
        tokenizer,
        output,
        kind="ems",
        name=name,
        dim=network.width,
        languages=languages,
        pooling="mean",
        max_tokens=network.max_tokens,
        sha256={path.name: file_digest(path) for path in (weights, pieces)},
    )


def _languages(tokens: list[str | None], path: Path) -> list[str]:
    """The languages of the symbols <2en>, <2af>, ... that follow the reserved tokens."""
    symbols = []
    for token in tokens[len(RESERVED) :]:
        if token is None or not (token.startswith("<2") and token.endswith(">")):
            break
        symbols.append(token[2:-1])
    if tokens[: len(RESERVED)] != RESERVED or not symbols:
        raise DataError(f"{path}: not a vocabulary of EMS: it does not begin with {' '.join(RESERVED)} <2en>")
    return sorted(map(canonical, symbols))


def _read(weights: Path, state: dict[str, Tensor], layers: int) -> dict[str, Tensor]:
    """The encoder's weights by the names of `state`, each of its shape; position 0 is that of padding."""
    content = open_pickle(weights, "weights of EMS")
    stored = content.get("state_dict") if isinstance(content, dict) else None
    if not isinstance(stored, dict) or not all(isinstance(value, Tensor) for value in stored.values()):
        raise DataError(f"{weights}: not weights of EMS: it has no state_dict of tensors")
    read = {str(key).removeprefix("module."): value for key, value in stored.items()}
    read = {key: value for key, value in read.items() if not key.startswith(HEADS)}
    names = {f"model.bert.embedding.{theirs}": f"embeddings.{ours}" for theirs, ours in EMBEDDINGS.items()}
    names |= {
        f"model.bert.{key.replace('.attention.self.', '.attention.self_attention.')}": key
        for key in state
        if key.startswith("encoder.layer.")
    }
    for what, keys in (
        ("lacks", names.keys() - read.keys()),
        ("has the unknown weight", read.keys() - names.keys()),
    ):
        if keys:
            raise DataError(f"{weights}: not weights of EMS with {layers} layers: {what} {min(keys)}")
    for theirs, ours in names.items():
        shape = list(state[ours].shape)
        if ours == "embeddings.position_embeddings.weight":
            shape[0] += 1
        if list(read[theirs].shape) != shape:
            raise DataError(
                f"{weights}: {theirs} is {list(read[theirs].shape)}, and the entry's sizes give {shape}"
            )
    read = {ours: read[theirs].float() for theirs, ours in names.items()}
    positions = read["embeddings.position_embeddings.weight"]
    return read | {"embeddings.position_embeddings.weight": positions[1:]}
