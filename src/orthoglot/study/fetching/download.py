"""Downloads that resume, retry, compare checksums and never leave half a file under the final name.

A file is taken if it is known to be whole: by its digest or its exact size, by a check of its format, or because the
server states where it ends (RFC 9112, section 6.3: Content-Length, or a last chunk). What the connection's end alone
says to be whole is refused.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter

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
REDIRECTS = 10
# The longest file, three times the largest archive of OPUS; and the longest whose length nobody states.
LARGEST_BYTES = 1 << 37
LARGEST_UNSTATED_BYTES = 1 << 32
# The first characters of a web page, for servers that call it by another type.
PAGE = re.compile(rb"(?i)(\xef\xbb\xbf)?\s*(<!doctype html|<html)[\s>]")
PAGE_TYPES = ("text/html", "application/xhtml+xml")
PAGE_NAMES = (".html", ".htm", ".xhtml")
WEB_PAGE = "the server sent a web page in place of the file; open the address in a browser"
# RFC 9110, sections 8.6, 8.8.3 without "W/", 5.6.7 and 14.4.
LENGTH = re.compile("[0-9]{1,18}", re.ASCII)
STRONG_TAG = re.compile('"[!#-~]*"')
DATE = re.compile("[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT")
RANGE = re.compile("bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")
logger = logging.getLogger(__name__)
T = TypeVar("T")


class WrongSizeError(DataError):
    """A file is not as long as the one that is wanted."""


class WrongDigestError(DataError):
    """A file has not the SHA-256 of the one that is wanted."""


class _Transient(Exception):  # noqa: N818 - a signal to try again, not an error that anybody sees
    """What another attempt may cure, after the seconds that the server asks for."""

    def __init__(self, cause: str, pause: float = 0.0) -> None:
        super().__init__(cause)
        self.pause = pause


class _Wanted(NamedTuple):
    """What is known of a file before it is fetched; see `download`."""

    url: str
    sha256: str | None
    size: int | None
    exact: int | None
    check: Callable[[Path], object] | None


def download(
    url: str,
    path: Path,
    *,
    sha256: str | None = None,
    size: int | None = None,
    exact: int | None = None,
    check: Callable[[Path], object] | None = None,
    timeout: float = 30.0,
    attempts: int = 5,
    done: Done | None = None,
) -> str:
    """Fetch `url` into `path` and return the file's SHA-256.

    The body goes to NAME.part first; a later attempt, or a later process, asks for the missing bytes only,
    on condition that the server still names the same version of the file (its strong ETag or its date, kept in
    NAME.part.version).

    Args:
        url: http or https address.
        path: where the file will be.
        sha256: the digest it must have, in hexadecimal.
        size: the fewest bytes it may have; reveals a truncated body where the server states no length.
        exact: how many bytes it must have; what the server states is compared before they are fetched.
        check: raises a DataError if a file is not whole, by the end that its format states, as that of a zip.
        timeout: seconds to wait for the connection and for each next bytes.
        attempts: how often to try; the pause doubles each time.
        done: called with changes of the number of bytes that are here: negative where they are fetched again.
    Raises:
        DataError: refused by the server (404 and its like); empty, a web page, encoded, longer than stated or than
            128 GiB; not known to be whole.
        WrongSizeError, WrongDigestError: a DataError; not as many bytes as wanted, or another checksum.
        OfflineError: the server cannot be reached, did not deliver in any attempt, or ORTHOGLOT_OFFLINE is set.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    wanted = _Wanted(url, sha256.lower() if sha256 else None, size, exact, check)
    here = 0

    def at(position: int) -> None:
        nonlocal here
        if done:
            done(position - here)
        here = position

    persistently(url, attempts, lambda: _fill(wanted, part, timeout, at))
    try:
        digest = sha256_of(part)
        _judge(wanted, part, digest)
    except DataError:
        _discard(part)
        raise
    _version_of(part).unlink(missing_ok=True)
    part.replace(path)
    return digest


def _judge(wanted: _Wanted, part: Path, digest: str) -> None:
    """Refuse another file than the wanted one, once all its bytes are here."""
    with part.open("rb") as file:
        page = PAGE.match(file.read(1024)) and not _page_wanted(wanted.url)
    if wanted.sha256:
        if digest != wanted.sha256:
            raise WrongDigestError(f"{wanted.url}: SHA-256 is {digest}, expected {wanted.sha256}")
    elif page:
        raise DataError(f"{wanted.url}: {WEB_PAGE}")
    elif wanted.exact != 0 and not part.stat().st_size:
        raise DataError(f"{wanted.url}: the server sent an empty file")
    if wanted.check:
        try:
            wanted.check(part)
        except DataError as error:
            path = part.with_name(part.name.removesuffix(".part"))
            raise DataError(f"{wanted.url}: {str(error).replace(str(part), str(path))}") from error


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file that is safely on the disk, in hexadecimal."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


def ask(url: str, parameters: Mapping[str, str], *, timeout: float = 30.0, attempts: int = 5) -> Any:
    """The JSON answer of a server to a question; errors as in `download`, and for an answer of more than 32 MiB."""

    def once() -> Any:
        answer = bytearray()
        with _response(url, timeout, params=parameters) as response:
            for chunk in _chunks(response):
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


def _fill(wanted: _Wanted, part: Path, timeout: float, at: Done) -> None:
    """Add to `part` what it lacks; a complete file ends the call, a truncated one raises `_Transient`."""
    url = wanted.url
    version, stated_before = _version_here(part)
    have = part.stat().st_size if version else 0
    headers = {"Range": f"bytes={have}-", "If-Range": version} if have else {}
    with _response(url, timeout, statuses=(200, 206, 416), headers=headers) as response:
        status = response.status_code
        if status != 200 and not have:
            part.unlink(missing_ok=True)
            raise DataError(f"{url}: HTTP {status}, although the whole file was asked for")
        if status == 416:
            _discard(part)
            raise _Transient("the server has no bytes after those already here")
        start, total = _bytes_sent(response) if status == 206 else (0, _length(response))
        other = stated_before not in (None, total) or _version(response) != version
        if status == 206 and (start != have or other):
            _discard(part)
            raise _Transient(
                f"asked for bytes from {have} on, the server sent other ones: "
                f"{response.headers.get('Content-Range', 'without Content-Range')}"
            )
        try:
            most = _most(wanted, response, total)
        except DataError:
            _discard(part)
            raise
        if not start:  # else a kill between the next two lines would join the old bytes to the new version
            part.unlink(missing_ok=True)
        _version_of(part).write_text(f"{_version(response)}\n{'' if total is None else total}")
        at(start)
        length = start
        with part.open("ab") as file:
            for chunk in _chunks(response):
                length += len(chunk)
                if length > most:
                    break
                file.write(chunk)
                at(length)
    if length > most:
        _discard(part)
        if total is None and wanted.exact is not None:
            raise WrongSizeError(f"{url} has more than {most} bytes, expected {wanted.exact}")
        states = "the length that it states" if total is not None else "and states no length"
        raise DataError(f"{url}: the server sent more than {most} bytes, {states}")
    expected = total if total is not None else wanted.exact
    least = expected if expected is not None else wanted.size or 0
    if length < least:
        raise _Transient(f"truncated after {length} of {'' if expected else 'at least '}{least} bytes")


def _bytes_sent(response: requests.Response) -> tuple[int, int | None]:
    """The first byte of a part of a file, and how many the file has; -1 for a part that does not go to its end."""
    match = RANGE.fullmatch(response.headers.get("Content-Range", ""))
    first, last, total = map(int, match.groups()) if match else (-1, -1, 0)
    length = _length(response)
    fits = 0 <= first <= last == total - 1 and length in (None, last - first + 1)
    return (first, total) if fits else (-1, None)


def _most(wanted: _Wanted, response: requests.Response, total: int | None) -> int:
    """How many bytes the file may have; a DataError for another file, or one that nobody could know to be whole."""
    url, exact = wanted.url, wanted.exact
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    page = kind in PAGE_TYPES and not _page_wanted(url)
    known = wanted.sha256 or wanted.check
    wrong = None not in (exact, total) and total != exact
    if page and (wrong or not known):
        raise DataError(f"{url}: {WEB_PAGE}")
    if wrong:
        raise WrongSizeError(f"{url} has {total} bytes, expected {exact}")
    if total is not None:
        if total > LARGEST_BYTES and exact is None:
            raise DataError(f"{url} has {total} bytes; at most {LARGEST_BYTES} are fetched")
        return total
    chunked = response.headers.get("Transfer-Encoding", "").strip().lower() == "chunked"
    if not (known or chunked or exact is not None):
        raise DataError(
            f"{url}: the server does not state how long the file is, so nobody can know whether it came whole; "
            "fetch it by other means"
        )
    return exact if exact is not None else max(LARGEST_UNSTATED_BYTES, 2 * (wanted.size or 0))


def _page_wanted(url: str) -> bool:
    return urlsplit(url).path.lower().endswith(PAGE_NAMES)


def _discard(part: Path) -> None:
    """Remove what is here of a file; the next attempt asks for all of it."""
    _version_of(part).unlink(missing_ok=True)
    part.unlink(missing_ok=True)


def _version_of(part: Path) -> Path:
    return part.with_name(part.name + ".version")


def _version_here(part: Path) -> tuple[str, int | None]:
    """The version of a partly downloaded file, empty if it is not known, and the size of the whole file."""
    known = _version_of(part)
    text = known.read_bytes().decode("ascii", "replace") if known.exists() and part.exists() else ""
    version, _, total = text.partition("\n")
    sound = STRONG_TAG.fullmatch(version) or DATE.fullmatch(version)
    return version if sound else "", int(total) if LENGTH.fullmatch(total) else None


def _version(response: requests.Response) -> str:
    """What If-Range may hold: a strong ETag, else the date of the last change, else nothing."""
    tag, date = (response.headers.get(name, "").strip() for name in ("ETag", "Last-Modified"))
    if STRONG_TAG.fullmatch(tag):
        return tag
    return date if DATE.fullmatch(date) else ""


def _length(response: requests.Response) -> int | None:
    """The bytes of the body by Content-Length; None without one."""
    stated = response.headers.get("Content-Length")
    if stated is None:
        return None
    lengths = {length.strip() for length in stated.split(",")}
    if len(lengths) != 1 or not LENGTH.fullmatch(length := lengths.pop()):
        raise DataError(f"{response.url}: Content-Length is {stated[:100]!r}, no number of bytes")
    return int(length)


def _chunks(response: requests.Response) -> Iterator[bytes]:
    """The body, as it is sent."""
    try:
        yield from response.raw.stream(CHUNK_BYTES, decode_content=False)
    except ValueError as error:  # of a chunk of -1 bytes
        raise _Transient(_cause(error)) from error


class _Adapter(HTTPAdapter):
    """Closes an answer that leads elsewhere: requests would read its body, which may have no end."""

    def send(self, *given: Any, **options: Any) -> requests.Response:
        response = super().send(*given, **options)
        if response.is_redirect:
            response.close()
        return response


@contextmanager
def _response(
    url: str, timeout: float, *, statuses: tuple[int, ...] = (200,), **options: Any
) -> Iterator[requests.Response]:
    """An answer worth reading, its body unread; everything else becomes an error, transient or final."""
    if os.environ.get(OFFLINE):
        raise OfflineError(f"{url}: not asked for: {OFFLINE} is set")
    headers = {"Accept-Encoding": "identity", **options.pop("headers", {})}
    try:
        with requests.Session() as session:
            session.max_redirects = REDIRECTS
            for scheme in ("http://", "https://"):
                session.mount(scheme, _Adapter())
            with _get(session, url, headers=headers, timeout=timeout, **options) as response:
                _check_head(url, response, statuses)
                yield response
    except (
        requests.Timeout,
        requests.exceptions.ChunkedEncodingError,
        urllib3.exceptions.HTTPError,
    ) as error:
        raise _Transient(_cause(error)) from error
    except requests.ConnectionError as error:
        if _unreachable(error):
            raise OfflineError(f"{url}: cannot be reached: {_cause(error)}") from error
        raise _Transient(_cause(error)) from error
    except requests.RequestException as error:
        raise DataError(f"{url}: {error}") from error


def _get(session: requests.Session, url: str, **options: Any) -> requests.Response:
    try:
        return session.get(url, stream=True, **options)
    except requests.RequestException:
        raise
    except ValueError as error:  # of the address of a redirect, at which requests does not look
        raise DataError(f"{url}: {error}") from error


def _check_head(url: str, response: requests.Response, statuses: tuple[int, ...]) -> None:
    """Refuse an answer with another status than one of these, or whose bytes are not those of the file."""
    status = response.status_code
    if status >= 500 or status in (408, 429):
        raise _Transient(f"HTTP {status}", _pause(response))
    if status not in statuses:
        raise DataError(f"{response.url}: HTTP {status} {response.reason}")
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    # Some servers so describe a file that is itself packed, and whose bytes are wanted as they are.
    packed = encoding in ("gzip", "x-gzip") and urlsplit(url).path.endswith((".gz", ".tgz"))
    transfer = response.headers.get("Transfer-Encoding", "").strip().lower()
    if not packed and encoding not in ("", "identity"):
        raise DataError(f"{url}: the server sent it encoded as {encoding[:100]!r}, which was not asked for")
    if transfer not in ("", "identity", "chunked"):
        raise DataError(f"{url}: the server sent it encoded as {transfer[:100]!r}, which was not asked for")


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


def _cause(error: BaseException) -> str:
    """The innermost reason in a few words: the libraries wrap it up to four times, with memory addresses."""
    if isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError):
        return "timed out"
    cause: BaseException = error
    while cause.__context__ is not None:
        cause = cause.__context__
    return str(cause).splitlines()[0] if str(cause) else type(cause).__name__
