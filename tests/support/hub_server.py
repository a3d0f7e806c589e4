"""A model hub on this machine: the answers of huggingface.co that a download of one revision needs."""

from __future__ import annotations

import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlparse


class HubServer:
    """Serves the files of a folder as the model `owner/name` at one commit; a context manager.

    Attributes:
        endpoint: for the variable HF_ENDPOINT.
        asked: paths of the files that were downloaded.
    """

    def __init__(self, folder: Path, model: str, commit: str) -> None:
        self.folder, self.model, self.commit = folder, model, commit
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

    def _files(self) -> dict[str, bytes]:
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}

    def _answer(self, request: BaseHTTPRequestHandler, *, with_body: bool) -> None:
        path = unquote(urlparse(request.path).path)
        files = self._files()
        resolve = f"/{self.model}/resolve/{self.commit}/"
        headers = {"X-Repo-Commit": self.commit}
        if path == f"/api/models/{self.model}/revision/{self.commit}":
            body = json.dumps(
                {"id": self.model, "sha": self.commit, "siblings": [{"rfilename": name} for name in files]}
            )
            content = body.encode()
        elif path == f"/api/models/{self.model}/tree/{self.commit}":
            rows = [
                {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for name, data in files.items()
            ]
            content = json.dumps(rows).encode()
        elif path.startswith(resolve) and path.removeprefix(resolve) in files:
            content = files[path.removeprefix(resolve)]
            headers["ETag"] = f'"{hashlib.sha1(content).hexdigest()}"'
            if with_body:
                self.asked.append(path.removeprefix(resolve))
        else:
            request.send_error(404)
            return
        request.send_response(200)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            request.send_header(name, value)
        request.end_headers()
        if with_body:
            request.wfile.write(content)
