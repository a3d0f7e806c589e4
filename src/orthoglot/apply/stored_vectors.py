"""Files of stored vectors that are edited block by block: .npy, .parquet, .pt and .safetensors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from orthoglot import atomic
from orthoglot.errors import ConfigError, DataError

# Vectors of all rows, the first row of a block, and the block (n, D) float32 -> its new vectors (n, M).
Change = Callable[[int, int, np.ndarray], np.ndarray]
NUMPY = b"\x93NUMPY"
FLOATS = "float16, float32 or float64"


def suffix_of(path: Path) -> str:
    """The ending that says how the vectors are stored; .npy for a file that begins as one.

    Raises:
        ConfigError: another ending.
        DataError: a folder.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file of vectors")
    if (suffix := path.suffix.lower()) in FORMATS:
        return suffix
    with path.open("rb") as file:
        if file.read(len(NUMPY)) == NUMPY:
            return ".npy"
    raise ConfigError(
        f"{path}: its ending is none of {', '.join(FORMATS)}; store the vectors as one of these"
    )


def edit(path: Path, output: Path, column: str, dim: int, rows: int, change: Change) -> int:
    """Write a file with other vectors; all else that it holds stays, as do order and type.

    Memory holds one block of an .npy file or a table.

    Args:
        path: A file with an array (N, D) of floats: an .npy file; a column of lists, or a column for each dimension, of
            a .parquet file; a tensor, or one of a dict, of a .pt or .safetensors file.
        output: A file with the same ending; may be the same one.
        column: The column, the start of the columns' names, or the name of the tensor; "" takes the only one.
        dim: D.
        rows: The rows of a block.
        change: Makes the new vectors.
    Returns:
        N.
    Raises:
        ConfigError: there are several such columns or tensors, and `column` names none.
        DataError: a damaged file; no such vectors in it.
    """
    with atomic.replacing(output) as partial:
        return FORMATS[suffix_of(path)](path, partial, column, dim, rows, change)


def _npy(path: Path, partial: Path, column: str, dim: int, rows: int, change: Change) -> int:
    if column:
        raise ConfigError(f"{path}: an .npy file has one array; leave --column out")
    try:
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: not an .npy file of numbers, or damaged") from error
    shape: tuple[int, ...] = getattr(stored, "shape", ())
    if len(shape) != 2 or shape[1] != dim or stored.dtype not in (np.float16, np.float32, np.float64):
        raise DataError(
            f"{path}: {getattr(stored, 'dtype', 'an archive')} {shape}, expected {FLOATS} (N, {dim})"
        )
    n, width = len(stored), change(len(stored), 0, np.empty((0, dim), dtype=np.float32)).shape[1]
    edited = np.lib.format.open_memmap(partial, mode="w+", dtype=stored.dtype, shape=(n, width))
    atomic.reserve(partial)
    for start in range(0, n, rows):
        block = np.asarray(stored[start : start + rows], dtype=np.float32)
        edited[start : start + rows] = _cast(path, start, change(n, start, block), stored.dtype)
    edited.flush()
    return n


def _parquet(path: Path, partial: Path, column: str, dim: int, rows: int, change: Change) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path}: not a .parquet file, or damaged") from error
    schema, n = table.schema_arrow, table.metadata.num_rows
    places = _columns(path, schema, column, dim)
    width = change(n, 0, np.empty((0, dim), dtype=np.float32)).shape[1]
    field = schema.field(places[0])
    listed = not pa.types.is_floating(field.type)
    inner = field.type.value_type if listed else field.type
    # The columns of dimensions that a cut part no longer has are left out.
    dropped = [] if listed else places[width:]
    for place in reversed(dropped):
        schema = schema.remove(place)
    if listed and pa.types.is_fixed_size_list(field.type):
        schema = schema.set(places[0], field.with_type(pa.list_(inner, width)))
    start = 0
    with pq.ParquetWriter(partial, schema) as writer:
        for batch in table.iter_batches(rows):
            arrays = dict(enumerate(batch.columns))
            if listed:
                block, valid = _lists(path, start, batch.column(places[0]), dim)
            else:
                block = np.stack([_numbers(batch.column(place)) for place in places], axis=1)
                valid = np.ones(len(block), dtype=bool)
            whole = np.full((len(valid), dim), np.nan, dtype=np.float32)
            whole[valid] = block  # an absent vector is a blank line's
            made = _cast(path, start, change(n, start, whole), inner.to_pandas_dtype())
            if listed:
                arrays[places[0]] = _as_lists(pa, made[valid], valid, schema.field(field.name).type)
            else:
                for numbers, place in zip(made.T, places[: made.shape[1]], strict=True):
                    arrays[place] = pa.array(np.ascontiguousarray(numbers), type=inner)
            for place in dropped:
                del arrays[place]
            writer.write_batch(pa.record_batch([*arrays.values()], schema=schema))
            start += len(batch)
    return n


def _columns(path: Path, schema: Any, column: str, dim: int) -> list[int]:
    """The positions of the column of lists, or of the D columns of numbers, in the order of the dimensions."""
    import pyarrow as pa

    types = pa.types
    floats = [n for n, field in enumerate(schema) if types.is_floating(field.type)]
    is_list = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    lists = [
        n
        for n, field in enumerate(schema)
        if any(is_kind(field.type) for is_kind in is_list) and types.is_floating(field.type.value_type)
    ]
    if column in schema.names:
        lists = [n for n in lists if schema.names[n] == column]
    elif column:
        lists = []
    if len(lists) == 1:
        return lists
    if lists:
        names = ", ".join(schema.names[n] for n in lists)
        raise ConfigError(f"{path}: several columns hold lists of numbers ({names}); choose one by --column")
    numbered: dict[str, dict[int, int]] = {}
    for n in floats:
        if match := re.fullmatch(r"(.*?)(\d+)", schema.names[n]):
            numbered.setdefault(match[1], {})[int(match[2])] = n
    series = [
        [of_name[number] for number in sorted(of_name)]
        for name, of_name in numbered.items()
        if len(of_name) == dim and (not column or name == column)
    ]
    if len(series) == 1:
        return series[0]
    if not column and not series and len(floats) == dim:
        return floats
    if series:
        raise ConfigError(
            f"{path}: several series of {dim} columns; choose one by --column, the start of their names"
        )
    if column:
        raise ConfigError(f"{path}: no column or columns {column!r} with vectors of {dim} numbers")
    raise DataError(
        f"{path}: no column has lists of numbers, and {len(floats)} have a number; expected {dim}, one a dimension"
    )


def _numbers(array: Any) -> np.ndarray:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float32)


def _lists(path: Path, start: int, array: Any, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The lists that are there (n, D), and which are (N,)."""
    import pyarrow.compute as pc

    valid = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    lists = array.drop_null()
    lengths = np.asarray(pc.list_value_length(lists).to_numpy(zero_copy_only=False))
    if len(wrong := np.flatnonzero(lengths != dim)):
        row = start + int(np.flatnonzero(valid)[wrong[0]])
        raise DataError(f"{path}: vector {row} (from 0) has {lengths[wrong[0]]} numbers, expected {dim}")
    return _numbers(lists.flatten()).reshape(-1, dim), valid


def _as_lists(pa: Any, vectors: np.ndarray, valid: np.ndarray, kind: Any) -> Any:
    """Vectors (n, M) as lists of a type, with null where a row has none."""
    values = pa.array(vectors.reshape(-1), type=kind.value_type)
    lists = pa.FixedSizeListArray.from_arrays(values, vectors.shape[1]).cast(kind)
    return lists.take(pa.array(np.cumsum(valid) - 1, mask=~valid))


def _torch(path: Path, partial: Path, column: str, dim: int, rows: int, change: Change) -> int:
    # Imported here: few vectors are pickled.
    from orthoglot.encoders.weights_files import open_pickle

    held = open_pickle(path, "a .pt file of tensors")
    if isinstance(held, Tensor):
        if column:
            raise ConfigError(f"{path}: holds one tensor; leave --column out")
        held = _edited(path, _checked(path, held, dim), rows, change)
        torch.save(held, partial)
        return len(held)
    if not isinstance(held, dict):
        raise DataError(f"{path}: holds a {type(held).__name__}, expected a tensor or a dict of tensors")
    name = _named(path, held, column, dim)
    torch.save({**held, name: (edited := _edited(path, held[name], rows, change))}, partial)
    return len(edited)


def _safetensors(path: Path, partial: Path, column: str, dim: int, rows: int, change: Change) -> int:
    try:
        with safe_open(path, "pt") as file:
            held = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            about = file.metadata()
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path}: not a .safetensors file, or damaged") from error
    name = _named(path, held, column, dim)
    edited = _edited(path, held[name], rows, change)
    save_file({**held, name: edited}, partial, about)
    return len(edited)


def _named(path: Path, held: dict[Any, Any], column: str, dim: int) -> Any:
    """The name of the tensor of vectors."""
    if column:
        if column not in held or not isinstance(held[column], Tensor):
            raise ConfigError(f"{path}: no tensor {column!r}; it has {', '.join(map(str, held))}")
        _checked(path, held[column], dim)
        return column
    fits = [name for name, tensor in held.items() if _fits(tensor, dim)]
    if not fits:
        raise DataError(f"{path}: no tensor of floats (N, {dim}) in it")
    if len(fits) > 1:
        raise ConfigError(
            f"{path}: several tensors are (N, {dim}): {', '.join(map(str, fits))}; choose one by --column"
        )
    return fits[0]


def _fits(held: Any, dim: int) -> bool:
    whole = isinstance(held, Tensor) and held.is_floating_point() and held.ndim == 2
    return whole and held.shape[1] == dim


def _checked(path: Path, tensor: Tensor, dim: int) -> Tensor:
    if not _fits(tensor, dim):
        kind = str(tensor.dtype).removeprefix("torch.")
        raise DataError(f"{path}: {kind} {tuple(tensor.shape)}, expected floats (N, {dim})")
    return tensor


def _edited(path: Path, tensor: Tensor, rows: int, change: Change) -> Tensor:
    """A tensor with other vectors, of the same type."""
    n, tensor = len(tensor), tensor.detach()
    made = [change(n, 0, np.empty((0, tensor.shape[1]), dtype=np.float32))]
    made += [change(n, start, tensor[start : start + rows].float().numpy()) for start in range(0, n, rows)]
    whole = torch.from_numpy(np.concatenate(made))
    cast = whole.to(tensor.dtype)
    if len(wrong := torch.nonzero((cast.isinf() & whole.isfinite()).any(dim=1))):
        raise _beyond(path, int(wrong[0]), str(tensor.dtype).removeprefix("torch."))
    return cast


def _cast(path: Path, start: int, vectors: np.ndarray, dtype: Any) -> np.ndarray:
    with np.errstate(over="ignore"):
        cast = vectors.astype(dtype)
    if len(wrong := np.flatnonzero((np.isinf(cast) & np.isfinite(vectors)).any(axis=1))):
        raise _beyond(path, start + int(wrong[0]), str(cast.dtype))
    return cast


def _beyond(path: Path, row: int, dtype: str) -> DataError:
    return DataError(
        f"{path}: {dtype} does not hold the part of vector {row} (from 0); store the vectors as float32"
    )


FORMATS: dict[str, Callable[[Path, Path, str, int, int, Change], int]] = {
    ".npy": _npy,
    ".parquet": _parquet,
    ".pt": _torch,
    ".safetensors": _safetensors,
}
