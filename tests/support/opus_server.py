"""OPUS on the loopback address: its API and files from a folder, with faults on demand.

    python tests/opus_server.py FOLDER [--port N]

prints the address to use as the OPUS API (ORTHOGLOT_OPUS_API). FOLDER holds opusapi.json, the answer to a
question without a filter, and the files by the path part of their real address.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import threading
import zipfile
from collections import defaultdict
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape, quoteattr

FILTERS = ("source", "target", "corpus", "version", "preprocessing")


class OpusServer(ThreadingHTTPServer):
    """Serves in a thread of its own while the `with` block runs.

    `faults[end of path]` lists what goes wrong with the next requests for it, one word each: an HTTP status
    ("404", "503", "429 after 7" with Retry-After), "stall", "cut" (half the body), "cut_and_stall",
    "cut_without_length", "too_long" and "too_short" (Content-Length states more or less than there is), "changed"
    (another version of the file from now on), "ignore_condition" (Range honoured although If-Range differs),
    "wrong_bytes", "ok".
    `requests` keeps (path, Range header).
    """

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.folder = folder
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.api = f"{self.address}/opusapi/"
        self.faults: dict[str, list[str]] = defaultdict(list)
        self.requests: list[tuple[str, str | None]] = []
        self.versions: dict[str, int] = defaultdict(int)
        self.released = threading.Event()

    def __enter__(self) -> OpusServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self.shutdown()
        self.server_close()

    def next_fault(self, path: str) -> str:
        """The fault planned for this request, "ok" where there is none."""
        for end, planned in self.faults.items():
            if path.endswith(end) and planned:
                return planned.pop(0)
        return "ok"

    def answer(self, query: dict[str, list[str]]) -> dict[str, object]:
        """What the API says to a question."""
        rows = json.loads((self.folder / "opusapi.json").read_text("utf-8"))["corpora"]
        asked = {key: query[key][0] for key in FILTERS if key in query}
        if asked.get("version") == "latest":
            asked["latest"] = "True"
            del asked["version"]
        kind = asked.pop("preprocessing", None)
        if kind in ("xml", "raw"):
            rows = _documents_and_alignments(rows, kind, asked)
        else:
            rows = [row for row in rows if _fits(row, asked) and kind in (None, row["preprocessing"])]
        if "corpora" in query:
            return {"corpora": sorted({row["corpus"] for row in rows})}
        if "languages" in query:
            return {"languages": sorted({row[side] for row in rows for side in ("source", "target")} - {""})}
        return {"corpora": [row | {"url": self.address + urlsplit(row["url"]).path} for row in rows]}


def _fits(row: dict[str, Any], asked: dict[str, str]) -> bool:
    """Whether a row answers a question; one that names a source alone is about either side."""
    if "source" in asked and "target" not in asked:
        alone = {**asked, "target": asked["source"]}
        del alone["source"]
        return any(all(row[key] == value for key, value in one.items()) for one in (asked, alone))
    return all(row[key] == value for key, value in asked.items())


def _documents_and_alignments(
    rows: list[dict[str, Any]], kind: str, asked: dict[str, str]
) -> list[dict[str, Any]]:
    """What the API has for preprocessing xml or raw: alignments, then the documents of each of their languages."""
    bitexts = [row for row in rows if row["preprocessing"] == "xml" and row["target"] and _fits(row, asked)]
    codes = {row[side] for row in bitexts for side in ("source", "target")}
    release = {key: asked[key] for key in ("corpus", "version", "latest") if key in asked}
    return bitexts + [
        row
        for row in rows
        if row["preprocessing"] == kind
        and not row["target"]
        and row["source"] in codes
        and all(row[key] == release[key] for key in release)
    ]


class _Handler(BaseHTTPRequestHandler):
    server: OpusServer

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.server.requests.append((path, self.headers.get("Range")))
        fault = self.server.next_fault(path)
        if fault.partition(" after ")[0].isdigit():
            status, _, pause = fault.partition(" after ")
            self.send_response(int(status))
            self.send_header("Retry-After", pause or "0")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif fault == "stall":
            self.server.released.wait(20)
        elif path.rstrip("/") == "/opusapi":
            body = json.dumps(self.server.answer(parse_qs(urlsplit(self.path).query))).encode()
            self._send(200, body, {"Content-Type": "application/json"}, fault)
        else:
            self._send_file(path, fault)

    def _send_file(self, path: str, fault: str) -> None:
        file = (self.server.folder / path.lstrip("/")).resolve()
        if self.server.folder.resolve() not in file.parents or not file.is_file():
            self.send_error(404)
            return
        if fault == "changed":
            self.server.versions[path] += 1
        body = file.read_bytes()
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}-{self.server.versions[path]}"'
        if fault == "wrong_bytes":
            body = bytes(byte ^ 1 for byte in body)
        headers = {"ETag": tag, "Content-Type": "application/zip"}
        first = self._first_byte(tag, fault)
        if first >= len(body):
            self.send_error(416)
        elif first:
            headers["Content-Range"] = f"bytes {first}-{len(body) - 1}/{len(body)}"
            self._send(206, body[first:], headers, fault)
        else:
            self._send(200, body, headers, fault)

    def _first_byte(self, tag: str, fault: str) -> int:
        asked = self.headers.get("Range", "")
        condition = self.headers.get("If-Range", tag)
        if not asked or (condition != tag and fault != "ignore_condition"):
            return 0
        return int(asked.removeprefix("bytes=").partition("-")[0])

    def _send(self, status: int, body: bytes, headers: dict[str, str], fault: str) -> None:
        self.send_response(status)
        if fault != "cut_without_length":
            stated = {"too_long": len(body) + 999, "too_short": len(body) - 999}
            headers["Content-Length"] = str(stated.get(fault, len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        with suppress(
            BrokenPipeError, ConnectionResetError
        ):  # a client that has read enough closes its connection
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if fault.startswith("cut") else body)
        if fault == "cut_and_stall":
            self.server.released.wait(20)

    def log_message(self, format: str, *args: object) -> None:
        """Tests read `requests` instead."""


def write_zip(path: Path, members: dict[str, str]) -> None:
    """A zip with these members, the same bytes each time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)


def write_opus(
    folder: Path,
    corpus: str,
    packages: dict[tuple[str, str], list[tuple[str, str]]],
    version: str = "v1",
) -> None:
    """One release of one corpus, added to the OPUS in `folder`: pairs of sentences by OPUS's two codes."""
    answer = folder / "opusapi.json"
    known = json.loads(answer.read_text("utf-8"))["corpora"] if answer.exists() else []
    rows: list[dict[str, object]] = [row for row in known if row["corpus"] != corpus]
    for (source, target), pairs in packages.items():
        place = f"OPUS-{corpus}/{version}/moses/{source}-{target}.txt.zip"
        stem = f"{corpus}.{source}-{target}"
        members = {
            f"{stem}.{source}": "".join(f"{pair[0]}\n" for pair in pairs),
            f"{stem}.{target}": "".join(f"{pair[1]}\n" for pair in pairs),
            f"{stem}.xml": "<links/>\n",
            "README": "generated\n",
        }
        write_zip(folder / place, members)
        rows.append(_row(folder, place, corpus, version, "moses", source, target, len(pairs)))
    answer.write_text(json.dumps({"corpora": rows}), "utf-8")


def _row(
    folder: Path, place: str, corpus: str, version: str, kind: str, source: str, target: str, pairs: int
) -> dict[str, object]:
    """What the API says of a file."""
    return {
        "alignment_pairs": pairs,
        "corpus": corpus,
        "documents": "",
        "id": hashlib.sha256(place.encode()).hexdigest()[:8],
        "latest": "True",
        "preprocessing": kind,
        "size": (folder / place).stat().st_size // 1024,
        "source": source,
        "source_tokens": 0,
        "target": target,
        "target_tokens": 0,
        "url": f"https://object.pouta.csc.fi/{place}",
        "version": version,
    }


class Link(NamedTuple):
    """A link of an alignment: identifiers of sentences on both sides, with a space between two, and its scores."""

    source: str
    target: str
    scores: dict[str, str] = {}


# By document, as an alignment names it without its language, links or sentences by identifier.
Links = dict[str, list[Link]]
Documents = dict[str, dict[str, str]]
DOCTYPE = '<!DOCTYPE cesAlign PUBLIC "-//CES//DTD XML cesAlign//EN" "">'


def alignment(source: str, target: str, links: Links) -> str:
    """An alignment file, as OPUS has them."""
    groups = []
    for document, held in links.items():
        rows = [
            f'  <link xtargets="{one.source};{one.target}" id="SL{number}"'
            + "".join(f" {name}={quoteattr(score)}" for name, score in one.scores.items())
            + " />\n"
            for number, one in enumerate(held)
        ]
        places = f'fromDoc="{source}/{document}.xml.gz" toDoc="{target}/{document}.xml.gz"'
        groups.append(f' <linkGrp targType="s" {places} >\n{"".join(rows)} </linkGrp>\n')
    head = f'<?xml version="1.0" encoding="utf-8"?>\n{DOCTYPE}\n<cesAlign version="1.0">\n'
    return f"{head}{''.join(groups)}</cesAlign>\n"


def document(sentences: dict[str, str], *, words: bool) -> str:
    """A document, as OPUS has them: words in elements of their own, or text with a tag within."""
    lines = []
    for identifier, text in sentences.items():
        inside = (
            "".join(
                f'  <w id="w{identifier}.{n}">{escape(word)}</w>\n' for n, word in enumerate(text.split())
            )
            if words
            else f'<time id="T{identifier}S" value="00:00:01,000" />{escape(text)}'
        )
        lines.append(f' <s id="{identifier}">\n{inside}\n </s>\n')
    return f'<?xml version="1.0" encoding="utf-8"?>\n<document>\n<p>\n{"".join(lines)}</p>\n</document>\n'


def write_opus_xml(
    folder: Path,
    corpus: str,
    bitexts: dict[tuple[str, str], Links],
    documents: dict[str, Documents],
) -> None:
    """Alignments and documents of release v1, added to the OPUS in `folder`."""
    answer = folder / "opusapi.json"
    rows = json.loads(answer.read_text("utf-8"))["corpora"] if answer.exists() else []
    root = f"OPUS-{corpus}/v1"
    for (source, target), links in bitexts.items():
        place = f"{root}/xml/{source}-{target}.xml.gz"
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(gzip.compress(alignment(source, target, links).encode(), mtime=0))
        pairs = sum(map(len, links.values()))
        rows.append(_row(folder, place, corpus, "v1", "xml", source, target, pairs))
    for language, held in documents.items():
        for kind in ("xml", "raw"):
            place = f"{root}/{kind}/{language}.zip"
            members = {
                f"{corpus}/{kind}/{language}/{name}.xml": document(sentences, words=kind == "xml")
                for name, sentences in held.items()
            }
            write_zip(folder / place, members | {"README": "generated\n"})
            pairs = sum(map(len, held.values()))
            rows.append(_row(folder, place, corpus, "v1", kind, language, "", pairs))
    answer.write_text(json.dumps({"corpora": rows}), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Replay OPUS from a folder with opusapi.json.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    server = OpusServer(arguments.folder, arguments.port)
    print(server.api, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
