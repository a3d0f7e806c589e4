"""A model hub on this machine: the answers of huggingface.co that a download of one revision needs."""

from __future__ import annotations

import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlparse


class Repository(NamedTuple):
    """The files of a folder as the repository `owner/name` at one commit."""

    folder: Path
    name: str
    commit: str
    kind: Literal["models", "datasets"] = "models"

    def files(self) -> dict[str, bytes]:
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}

    def answer(self, path: str) -> bytes | None:
        """What the hub answers; None if this is no path of the repository."""
        files = self.files()
        about = f"/api/{self.kind}/{self.name}"
        home = "" if self.kind == "models" else "/datasets"
        resolve = f"{home}/{self.name}/resolve/{self.commit}/"
        rows = [
            {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
            for name, data in files.items()
        ]
        listed = {"id": self.name, "sha": self.commit, "siblings": [{"rfilename": name} for name in files]}
        if path == f"{about}/revision/{self.commit}":
            return json.dumps(listed).encode()
        if path == f"{about}/tree/{self.commit}":
            return json.dumps(rows).encode()
        return files.get(path.removeprefix(resolve)) if path.startswith(resolve) else None


class HubServer:
    """Serves repositories; a context manager.

    Attributes:
        endpoint: for the variable HF_ENDPOINT.
        asked: paths of the files that were downloaded.
    """

    def __init__(self, *repositories: Repository) -> None:
        self.repositories = repositories
        self.asked: list[str] = []
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                served._answer(self, with_body=True)

            def do_HEAD(self) -> None:
                served._answer(self, with_body=False)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> HubServer:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler, *, with_body: bool) -> None:
        path = unquote(urlparse(request.path).path)
        for repository in self.repositories:
            content = repository.answer(path)
            if content is not None:
                break
        else:
            request.send_response(404)
            request.send_header("X-Error-Code", "EntryNotFound")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        request.send_response(200)
        request.send_header("X-Repo-Commit", repository.commit)
        request.send_header("Content-Length", str(len(content)))
        if "/resolve/" in path:
            request.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            if with_body:
                self.asked.append(path.partition(f"/resolve/{repository.commit}/")[2])
        request.end_headers()
        if with_body:
            request.wfile.write(content)
