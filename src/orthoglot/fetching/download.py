"""Downloads that resume, retry, compare checksums and never leave half a file under the final name."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import requests
import urllib3

from orthoglot.errors import DataError, OfflineError
from orthoglot.progress import Done

CHUNK_BYTES = 1 << 16
# Files that a job fetches at the same time.
AT_ONCE = 4
# The environment variable that, if it has a value, forbids every connection.
OFFLINE = "ORTHOGLOT_OFFLINE"
FIRST_PAUSE_SECONDS = 0.5
# The longest pause that a server may ask for, by Retry-After.
LONGEST_PAUSE_SECONDS = 120.0
# The longest answer to a question: some 100,000 rows of OPUS.
ANSWER_BYTES = 1 << 25
logger = logging.getLogger(__name__)
T = TypeVar("T")


class WrongSizeError(DataError):
    """A file is not as long as the one that is wanted."""


class _Transient(Exception):  # noqa: N818 - a signal to try again, not an error that anybody sees
    """What another attempt may cure, after the seconds that the server asks for."""

    def __init__(self, cause: str, pause: float = 0.0) -> None:
        super().__init__(cause)
        self.pause = pause


def download(
    url: str,
    path: Path,
    *,
    sha256: str | None = None,
    size: int | None = None,
    exact: int | None = None,
    timeout: float = 30.0,
    attempts: int = 5,
    done: Done | None = None,
) -> str:
    """Fetch `url` into `path` and return the file's SHA-256.

    The body goes to NAME.part first; a later attempt, or a later process, asks for the missing bytes only,
    on condition that the server still names the same version of the file (its ETag or date, kept in
    NAME.part.version).

    Args:
        url: http or https address.
        path: where the file will be.
        sha256: the digest it must have, in hexadecimal.
        size: the fewest bytes it may have; reveals a truncated body where the server states no length.
        exact: how many bytes it must have; what the server states is compared before they are fetched.
        timeout: seconds to wait for the connection and for each next bytes.
        attempts: how often to try; the pause doubles each time.
        done: called with changes of the number of bytes that are here: negative where they are fetched again.
    Raises:
        DataError: refused by the server (404 and its like), or another checksum.
        WrongSizeError: a DataError; not as many bytes as wanted.
        OfflineError: the server cannot be reached, did not deliver in any attempt, or ORTHOGLOT_OFFLINE is set.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    here = 0

    def at(position: int) -> None:
        nonlocal here
        if done:
            done(position - here)
        here = position

    persistently(url, attempts, lambda: _fill(url, part, size, exact, timeout, at))
    digest = sha256_of(part)
    _version_of(part).unlink(missing_ok=True)
    if sha256 and digest != sha256.lower():
        part.unlink()
        raise DataError(f"{url}: SHA-256 is {digest}, expected {sha256.lower()}")
    part.replace(path)
    return digest


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file that is safely on the disk, in hexadecimal."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


def ask(url: str, parameters: Mapping[str, str], *, timeout: float = 30.0, attempts: int = 5) -> Any:
    """The JSON answer of a server to a question; errors as in `download`, and for an answer of more than 32 MiB."""

    def once() -> Any:
        answer = bytearray()
        with _response(url, timeout, params=parameters, stream=True) as response:
            for chunk in response.iter_content(CHUNK_BYTES):
                answer += chunk
                if len(answer) > ANSWER_BYTES:
                    raise DataError(f"{response.url}: the answer is longer than {ANSWER_BYTES >> 20} MiB")
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{response.url}: the answer is not JSON: {error}") from error

    return persistently(url, attempts, once)


def persistently(url: str, attempts: int, action: Callable[[], T]) -> T:
    """Try `action` until it works, at most `attempts` times, with growing pauses."""
    cause: _Transient | None = None
    for attempt in range(attempts):
        if attempt:
            logger.warning("%s: %s; attempt %d of %d", url, cause, attempt + 1, attempts)
            time.sleep(max(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1), cause.pause if cause else 0))
        try:
            return action()
        except _Transient as error:
            cause = error
    raise OfflineError(f"{url}: gave up after {attempts} attempts: {cause}")


def _fill(url: str, part: Path, size: int | None, exact: int | None, timeout: float, at: Done) -> None:
    """Add to `part` what it lacks; a complete file ends the call, a truncated one raises `_Transient`."""
    known = _version_of(part)
    version = known.read_text() if known.exists() and part.exists() else ""
    have = part.stat().st_size if version else 0
    headers = {"Range": f"bytes={have}-", "If-Range": version} if have else {}
    with _response(url, timeout, headers=headers, stream=True) as response:
        if response.status_code == 416:
            part.unlink(missing_ok=True)
            if not have:
                raise DataError(f"{url}: HTTP 416, although the whole file was asked for")
            raise _Transient("the server has no bytes after those already here")
        start = have if response.status_code == 206 else 0
        bytes_sent = response.headers.get("Content-Range", "bytes 0-")
        if start and not (bytes_sent.startswith(f"bytes {start}-") and _version(response) in ("", version)):
            part.unlink()
            raise _Transient(f"asked for bytes from {have} on, the server sent other ones: {bytes_sent}")
        stated = response.headers.get("Content-Length", "")
        if exact is not None and stated.isdigit() and start + int(stated) != exact:
            part.unlink(missing_ok=True)
            known.unlink(missing_ok=True)
            raise WrongSizeError(f"{url} has {start + int(stated)} bytes, expected {exact}")
        if not start:  # else a kill between the next two lines would join the old bytes to the new version
            part.unlink(missing_ok=True)
        known.write_text(_version(response))
        at(start)
        with part.open("ab") as file:
            for chunk in response.iter_content(CHUNK_BYTES):
                file.write(chunk)
                start += len(chunk)
                at(start)
    length = part.stat().st_size
    if size is not None and length < size and not stated:
        raise _Transient(f"truncated after {length} of at least {size} bytes")


def _version_of(part: Path) -> Path:
    return part.with_name(part.name + ".version")


def _version(response: requests.Response) -> str:
    """What If-Range may hold: a strong ETag, else the date of the last change, else nothing."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified", "")


@contextmanager
def _response(url: str, timeout: float, **options: Any) -> Iterator[requests.Response]:
    """An answer worth reading; everything else becomes an error, transient or final."""
    if os.environ.get(OFFLINE):
        raise OfflineError(f"{url}: not asked for: {OFFLINE} is set")
    headers = {"Accept-Encoding": "identity", **options.pop("headers", {})}
    try:
        with requests.get(url, headers=headers, timeout=timeout, **options) as response:
            status = response.status_code
            if status >= 500 or status in (408, 429):
                raise _Transient(f"HTTP {status}", _pause(response))
            if status >= 400 and status != 416:
                raise DataError(f"{response.url}: HTTP {status} {response.reason}")
            yield response
    except (requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
        raise _Transient(_cause(error)) from error
    except requests.ConnectionError as error:
        if _unreachable(error):
            raise OfflineError(f"{url}: cannot be reached: {_cause(error)}") from error
        raise _Transient(_cause(error)) from error
    except requests.RequestException as error:
        raise DataError(f"{url}: {error}") from error


def _pause(response: requests.Response) -> float:
    """The seconds that a server asks to wait, by a number or a date, at most two minutes."""
    try:
        asked = urllib3.Retry().parse_retry_after(response.headers.get("Retry-After", "0"))
    except (urllib3.exceptions.InvalidHeader, ValueError, OverflowError):
        return 0.0
    return min(asked, LONGEST_PAUSE_SECONDS)


def _unreachable(error: requests.ConnectionError) -> bool:
    """Whether no connection came about: refused, no such name, no network, a broken proxy or certificate."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return isinstance(
        reason,
        urllib3.exceptions.NewConnectionError | urllib3.exceptions.ProxyError | urllib3.exceptions.SSLError,
    )


def _cause(error: requests.RequestException) -> str:
    """The innermost reason in a few words: the libraries wrap it up to four times, with memory addresses."""
    if isinstance(error, requests.Timeout):
        return "timed out"
    cause: BaseException = error
    while cause.__context__ is not None:
        cause = cause.__context__
    return str(cause).splitlines()[0] if str(cause) else type(cause).__name__
