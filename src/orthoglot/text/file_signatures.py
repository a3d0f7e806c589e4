"""What the first bytes of a file say that it is, whatever its name is."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from orthoglot.errors import DataError

HEAD_BYTES = 1 << 12
OFFICE = "an Office file: save it as text (TSV or CSV), or export a translation memory as TMX"
# How files begin that hold no text, and what to do with them.
SIGNATURES = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": OFFICE,
    b"{\\rtf": "an RTF document: save it as plain text",
    b"%PDF-": "a PDF: save it as plain text",
    b"SQLite format 3\0": "an SQLite database, as Trados has for memories (.sdltm): export it as TMX",
    b"PK\x05\x06": "an empty zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it",
    b"Rar!\x1a\x07": "a RAR archive: unpack it",
    b"\xfd7zXZ\0": "packed with xz: unpack it, or pack it as .gz or .zst",
    b"BZh91AY&SY": "packed with bzip2: unpack it, or pack it as .gz or .zst",
    b"\x93NUMPY": "an array of NumPy, no text",
    b"PAR1\x15": "a Parquet file: save it as TSV",
    b"\x89PNG": "a picture",
}
ZIP = b"PK\x03\x04"
# Names that the first members of Office's and OpenDocument's archives have.
OFFICE_MEMBERS = re.compile(rb"\[Content_Types\]|_rels/|mimetypeapplication/vnd\.|(?:word|xl|ppt|docProps)/")
# Byte order marks and the encoding that each stands for; that of UTF-32 begins with one of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
MO = (b"\xde\x12\x04\x95", b"\x95\x04\x12\xde")  # message catalogues, little-endian and big-endian
# The root element of XML, and what comes before it.
_ROOT = re.compile(
    r"(?P<prolog>(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>|\s)*+)"
    r"<(?:[\w.-]+:)?(?P<name>\w[\w.-]*)[\s/>].*",
    re.DOTALL | re.IGNORECASE,
)
_CATALOGUE = re.compile(r"(?:[^\S\n]*+(?:#[^\n]*)?\n)*+\s*(?:msgctxt|msgid)\s+\"")


def check_text(head: bytes, name: str) -> None:
    """Refuse what is no text.

    Args:
        head: The first bytes of a file, unpacked, `HEAD_BYTES` of them or all.
        name: The file's name.
    Raises:
        DataError: it is an Office file, an archive, a database or the like; says what to do.
    """
    if head.startswith(ZIP):
        office = OFFICE_MEMBERS.search(head)
        raise DataError(
            f"{name} is {OFFICE if office else 'a zip archive: unpack it, or pack each file as .gz'}"
        )
    for start, what in SIGNATURES.items():
        if head.startswith(start):
            raise DataError(f"{name} is {what}")


def utf8(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The bytes of a text in UTF-8, which one with a byte order mark of UTF-16 or UTF-32 is converted to.

    Raises:
        DataError: it is no text, see `check_text`, or not what its byte order mark says.
    """
    rest = iter(chunks)
    head = bytearray()
    for chunk in rest:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    check_text(bytes(head[:HEAD_BYTES]), name)
    whole = chain([bytes(head)], rest)
    encoding = next((encoding for mark, encoding in MARKS.items() if head.startswith(mark)), "")
    if not encoding:
        yield from whole
        return
    try:
        for text in codecs.iterdecode(whole, encoding):
            # A lone half of a character in the middle of a file is no text of this encoding.
            yield text.encode()
    except UnicodeError as error:
        raise DataError(f"{name} begins as {encoding.upper()} and is not ({error})") from error


def form_of(head: bytes, name: str) -> str:
    """The form of sentence pairs that a file begins as: tmx, xliff, po or json; "" of any other text.

    Args:
        head: Its first bytes, unpacked.
        name: Its name.
    Raises:
        DataError: it is no text, or XML or HTML of another form.
    """
    if head.startswith(MO):
        return "po"
    check_text(head, name)
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"<\0", b"\0<"):
        head = head.replace(b"\0", b"")
    text = head.lstrip(b"\xef\xbb\xbf\xff\xfe").decode(errors="replace")
    if is_object(text.partition("\n")[0]):
        return "json"
    if _CATALOGUE.match(text):
        return "po"
    root = _ROOT.fullmatch(text)
    if root is None or root["name"] in ("tmx", "xliff"):
        return root["name"] if root else ""
    if root["name"].lower() == "html":
        raise DataError(f"{name} is a web page; if it was downloaded, download the file itself")
    if "<?xml" in root["prolog"]:
        raise DataError(f"{name} is XML of another form (<{root['name']}>): export TMX or XLIFF")
    return ""


def is_object(line: str) -> bool:
    """Whether a line is an object in JSON."""
    if not line.lstrip("\ufeff").startswith("{"):
        return False
    try:
        return isinstance(json.loads(line.lstrip("\ufeff")), dict)
    # Too many digits raise the first, too many brackets the second.
    except (ValueError, RecursionError):
        return False
