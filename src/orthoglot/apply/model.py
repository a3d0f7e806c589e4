"""A trained model as its users load it: text in, meaning or language out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np
from tqdm import tqdm

from orthoglot.apply.early_checks import check_model
from orthoglot.apply.smaller_vectors import check_dim, check_form, compact
from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import META, WEIGHTS, Decomposer, Parts, load_decomposer
from orthoglot.decomposers.own_mean import shift_of, with_shift
from orthoglot.encoders.base import Encoder, check_language, usual_batch
from orthoglot.encoders.folder import ENCODER, identity, load_encoder
from orthoglot.encoders.settings import Precision
from orthoglot.errors import ConfigError, DataError
from orthoglot.progress import Done
from orthoglot.receipts import check_whole
from orthoglot.text.string_lists import strings
from orthoglot.usable_vectors import blank, not_finite

PARTS = ("sentence", "meaning", "language")


def opened(folder: Path) -> tuple[Decomposer, Path]:
    """A decomposer, and the folder of the very encoder that it was trained on.

    The encoder lies within the decomposer's folder (`orthoglot fit`), around it (`orthoglot get`), or at its place in
    the same models folder.

    Raises:
        ConfigError: the folder holds no decomposer, or one that was fitted on vectors alone.
        DataError: the encoder is absent, or another one.
    """
    check_model(folder)
    decomposer = load_decomposer(folder)
    if not decomposer.identity:
        raise ConfigError(
            f"{folder}: fitted on vectors alone; open it with orthoglot.Decomposer.load, whose export joins it with "
            "its encoder"
        )
    home = folder / ENCODER
    if not home.is_dir() and (folder.parent / "encoder.json").is_file():
        home = folder.parent
    elif not home.is_dir():
        home = folder.resolve().joinpath("../../../..", "encoders", decomposer.encoder).resolve()
    if not home.is_dir():
        raise DataError(f"{folder}: its encoder is not at {home}; copy the whole folder models/PRESET")
    actual = identity(home)
    if actual != decomposer.identity:
        raise DataError(f"{folder}: trained on encoder {decomposer.identity}, but {home} is {actual}")
    return decomposer, home


class Model:
    """A frozen encoder and, where the folder holds one, its decomposer.

    `orthoglot.load` opens one. `Model(loaded.encoder, split.decomposer_)` joins its encoder with an
    `orthoglot.Decomposer` that was fitted to its vectors.

    Attributes:
        identity: The SHA-256 of what decides the vectors: the encoder's files, the decomposer's if there is one, and
            the precision if it is not float32.
        own_mean: What `adapted` has added to the meaning part, (D,); None for another model. Store it with vectors.
    """

    def __init__(
        self,
        encoder: Encoder,
        decomposer: Decomposer | None,
        identity: str = "",
        own_mean: np.ndarray | None = None,
    ) -> None:
        self.encoder = encoder
        self.decomposer = decomposer
        self.identity = identity
        self.own_mean = own_mean
        self._unadapted: Model | None = None

    @property
    def usual_part(self) -> str:
        """The part of the vectors if nothing else is asked for: meaning, or sentence without a decomposer."""
        return "meaning" if self.decomposer else "sentence"

    @classmethod
    def load(
        cls, folder: str | Path | None = None, device: str = "auto", precision: Precision = "float32"
    ) -> Self:
        """Open an encoder's folder (models/PRESET/encoders/NAME), a decomposer's, or one of sentence-transformers.

        `orthoglot fit` and `orthoglot get` write a decomposer's folder, the workflow .../decomposers/NAME/METHOD/SEED.
        A sentence-transformers model runs by the library's modules, with its default prompt before each sentence.

        Args:
            folder: Any of these folders, or a name of `orthoglot get`, e.g. "labse", whose folder is weights/labse;
                None or "small" for the ready model (`orthoglot.apply.ready_model.default`).
            device: "auto", "cpu", "cuda", "cuda:1".
            precision: "float32"; "bfloat16" or "int8" for the network, see `EmbeddingSettings`; vectors are float32.
        Raises:
            ConfigError: the folder is none of these.
            DataError: see `opened`; or a result of the workflow is not as its job wrote it.
        """
        # Imported here: it opens models, too.
        from orthoglot.apply.ready_model import folder_of

        with located(folder_of(folder)) as (home, decomposer, digest):
            if precision != "float32":
                digest = hashlib.sha256(f"{digest}{precision}".encode()).hexdigest()
            return cls(load_encoder(home, device, precision), decomposer, digest)

    def encode(
        self,
        sentences: str | Sequence[str],
        *,
        part: str | None = None,
        language: str | None = None,
        partner: str | None = None,
        dim: int | None = None,
        dtype: str = "float32",
        binary: bool = False,
        batch_tokens: int | None = None,
        progress: bool | Done = False,
    ) -> np.ndarray:
        """Vectors of sentences, in their order.

        A blank sentence keeps its row, which is NaN, or 0 in int8 and in bits.

        Args:
            sentences: A list, tuple, generator, pandas Series or NumPy array of strings, or one string.
            part: "meaning" or "language" of a decomposer, or "sentence", the encoder's own vector. If not given,
                meaning, or sentence for an encoder alone.
            language: The sentences' language code, for encoders and methods that need it (EMS with words by
                Moses: for its tokeniser; centering: for its mean).
            partner: The language that they are compared with, which centering per pair asks for.
            dim: The dimensions that are kept of PLDA's meaning part, those of most worth; scaled to length 1.
            dtype: "float32", "float16", or "int8", see `compact`.
            binary: Whether each dimension becomes a bit, see `compact`.
            batch_tokens: Tokens encoded at once, padding included. If not given, 2,048 on a CPU and 16,384 on a GPU,
                which fewer do not keep busy.
            progress: Whether a bar is drawn; or a function that is called after each batch, see `Encoder.encode`.
        Returns:
            (n, D) of that type, or (n, ceil(D / 8)) uint8 of bits; without n for one string.
        Raises:
            ConfigError: no such part; see `check_dim` and `check_form`.
            TypeError: `sentences` are no strings, see `orthoglot.text.string_lists.strings`.
            DataError: half a surrogate pair; a part is not finite, or float16 does not hold it.
        """
        check_form(dtype, binary)
        part = part or self.usual_part
        if part not in PARTS:
            raise ConfigError(f"unknown part {part!r}; known: {', '.join(PARTS)}")
        if part != "sentence" and self.decomposer is None:
            raise ConfigError(f"{self.encoder.name} has no decomposer: only part='sentence' can be had")
        if dim is not None:
            check_dim(self.decomposer, part, dim)
        single = isinstance(sentences, str)
        texts = strings([sentences] if isinstance(sentences, str) else sentences, "sentences")
        rows, vectors = self._vectors(texts, language, batch_tokens, progress)
        if part != "sentence":
            vectors = getattr(self.split(vectors, language, partner), part)
        vectors = in_rows(compact(vectors, dim=dim, dtype=dtype, binary=binary), rows, len(texts))
        return vectors[0] if single else vectors

    def parts(
        self,
        sentences: Sequence[str],
        *,
        language: str | None = None,
        partner: str | None = None,
        batch_tokens: int | None = None,
        progress: bool | Done = False,
    ) -> Parts:
        """The vectors of sentences and both their parts, encoded once; arguments and blank sentences as for `encode`.

        Raises:
            ConfigError: the model has no decomposer.
            TypeError, DataError: as for `encode`.
        """
        self._required_decomposer()
        texts = strings(sentences, "sentences")
        rows, vectors = self._vectors(texts, language, batch_tokens, progress)
        parts = self.split(vectors, language, partner)
        return Parts(*(in_rows(part, rows, len(texts)) for part in parts))

    def split(self, vectors: np.ndarray, language: str | None = None, partner: str | None = None) -> Parts:
        """Both parts of vectors of the encoder (N, D).

        Without a decomposer, the vector is the meaning, and the language is zeros. A row of NaN alone, which is a blank
        sentence's, stays one.

        Raises:
            DataError: a part of another row is not finite.
        """
        if self.decomposer is None:
            return Parts(vectors, vectors, np.zeros_like(vectors))
        parts = self.decomposer.transform(vectors, language or "", partner)
        empty = blank(parts.sentence)
        for part in (parts.meaning, parts.language):
            if len(wrong := np.setdiff1d(not_finite(part), empty)):
                raise DataError(
                    f"{self.decomposer.method}: the parts of sentence {wrong[0]} (from 0) are not finite"
                )
        return parts

    def adapted(self, vectors: np.ndarray) -> Model:
        """The model for texts of the kind of these vectors: PLDA's meaning part has their mean, and no earlier one.

        When to use it: docs/methods.md#own-mean.

        Args:
            vectors: `encode(sentences, part="sentence")` of a text or collection in one language (N, D). Keep the
                model, or its `own_mean`, for the vectors that are compared with these later.
        Raises:
            ConfigError: the model has no decomposer, or one of another method.
        """
        return self.with_own_mean(shift_of(vectors, (self._unadapted or self)._required_decomposer()))

    def with_own_mean(self, own_mean: np.ndarray | Sequence[float]) -> Model:
        """The model that `adapted` gave, from its `own_mean`.

        Args:
            own_mean: (D,), of this very model: stored from `adapted(...).own_mean`, or `own_mean` in the JSON of
                `orthoglot encode --own-mean`.
        Raises:
            ConfigError: as for `adapted`.
            DataError: another dimension, or numbers that are not finite.
        """
        model, own_mean = self._unadapted or self, np.asarray(own_mean, dtype=np.float64)
        decomposer = with_shift(model._required_decomposer(), own_mean)
        changed = hashlib.sha256(model.identity.encode() + decomposer.weights["offset"].tobytes())
        adapted = type(self)(model.encoder, decomposer, changed.hexdigest(), own_mean)
        adapted._unadapted = model
        return adapted

    def languages_used(
        self, part: str, language: str | None, partner: str | None
    ) -> tuple[str | None, str | None]:
        """The codes of a language and its partner that decide a vector: None in place of one that changes nothing.

        Most models only check the codes. Encoders with a symbol or with rules for each language, and methods with
        weights for each language, make vectors by them.

        Raises:
            ConfigError: the encoder does not cover the language.
        """
        check_language(self.encoder.name, self.encoder.languages, language or "")
        if part != "sentence" and self.decomposer is not None and _by_language(self.decomposer):
            return language, partner
        reads_language = getattr(self.encoder, "reads_language", True)
        return (language if reads_language else None), None

    def _required_decomposer(self) -> Decomposer:
        if self.decomposer is None:
            raise ConfigError(f"{self.encoder.name} has no decomposer")
        return self.decomposer

    def _vectors(
        self, texts: Sequence[str], language: str | None, batch_tokens: int | None, progress: bool | Done
    ) -> tuple[list[int], np.ndarray]:
        """The rows of texts that are not blank, and the encoder's own vectors of these."""
        rows = [row for row, text in enumerate(texts) if text.strip()]
        written = [texts[row] for row in rows]
        with tqdm(total=len(written), desc="encode", unit=" sentences", disable=progress is not True) as bar:
            done = bar.update if isinstance(progress, bool) else progress
            return rows, self.encoder.encode(
                written, language or "", batch_tokens or usual_batch(self.encoder), done
            )


def in_rows(vectors: np.ndarray, rows: Sequence[int] | np.ndarray, n: int) -> np.ndarray:
    """Vectors (n, D) whose given rows are these; the others are NaN, or 0 of whole numbers."""
    if len(vectors) == n:
        return vectors
    filled = np.full((n, vectors.shape[1]), np.nan if vectors.dtype.kind == "f" else 0, dtype=vectors.dtype)
    filled[rows] = vectors
    return filled


@contextmanager
def located(folder: Path) -> Iterator[tuple[Path, Decomposer | None, str]]:
    """The encoder's folder, the decomposer, and the SHA-256 of both."""
    if (folder / "encoder.json").is_file():
        check_whole(folder)
        yield folder, None, identity(folder)
    elif not (folder / META).is_file() and (folder / "modules.json").is_file():
        # Imported here: the folders of orthoglot need none of it.
        from orthoglot.apply.encoder_copy import Checkpoint, link_folder

        check_whole(folder)
        with TemporaryDirectory() as place:
            link_folder(Checkpoint(str(folder.resolve()), prefix=default_prompt(folder)), Path(place))
            yield Path(place), None, identity(Path(place))
    else:
        decomposer, home = opened(folder)
        parts = (decomposer.identity.encode(), *((folder / name).read_bytes() for name in (META, WEIGHTS)))
        yield home, decomposer, hashlib.sha256(b"".join(parts)).hexdigest()


def _by_language(decomposer: Decomposer) -> bool:
    """Whether a decomposer has weights, or a centre, for each language."""
    form, centre = architecture(decomposer.architecture), decomposer.weights.get("centre")
    return getattr(form, "by_language", False) or (centre is not None and centre.ndim == 2)


def default_prompt(folder: Path) -> str:
    """What a model of sentence-transformers puts before every sentence; "" if it states nothing.

    Raises:
        DataError: a damaged file.
    """
    path = folder / "config_sentence_transformers.json"
    try:
        stated = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return str(stated.get("prompts", {}).get(stated.get("default_prompt_name"), ""))
    except (ValueError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
