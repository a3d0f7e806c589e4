"""A real SSH server for files alone (SFTP) on the loopback address, which breaks off or is full on demand."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Coroutine
from pathlib import Path
from threading import Thread
from typing import Any

import asyncssh


class SftpServer:
    """Serves a folder to whoever has the key; a context manager.

    Attributes:
        store: the folder of the remote.
        url: for `dvc remote add`.
        key: the file of the client's private key.
        read: paths of the files that were opened to be read.
        written: the same of files that were opened to be written.
        before_break: bytes, of files in both directions, after which all connections end; None for never.
        room: bytes that may still be written; None for any number.
    """

    def __init__(self, folder: Path) -> None:
        self.key = folder.with_name(f"{folder.name}.key")
        client = asyncssh.generate_private_key("ssh-ed25519")
        client.write_private_key(self.key)
        self.key.chmod(0o600)
        self.read: list[str] = []
        self.written: list[str] = []
        self.before_break: int | None = None
        self.room: int | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self.store = folder / "store"
        self.store.mkdir(parents=True)
        served = self

        class Files(asyncssh.SFTPServer):
            def __init__(self, channel: asyncssh.SSHServerChannel[bytes]) -> None:
                super().__init__(channel, chroot=os.fsencode(folder))

            def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> object:
                writes = pflags & asyncssh.FXF_WRITE
                (served.written if writes else served.read).append(os.fsdecode(path))
                return super().open(path, pflags, attrs)

            def read(self, file_obj: object, offset: int, size: int) -> Any:
                found = super().read(file_obj, offset, size)
                served._count(len(found))
                return found

            def write(self, file_obj: object, offset: int, data: bytes) -> Any:
                if served.room is not None:
                    if len(data) > served.room:
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    served.room -= len(data)
                written = super().write(file_obj, offset, data)
                served._count(len(data))
                return written

        class Connections(asyncssh.SSHServer):
            def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
                self._connection = conn
                served._connections.add(conn)

            def connection_lost(self, exc: Exception | None) -> None:
                served._connections.discard(self._connection)

        async def listen() -> asyncssh.SSHAcceptor:
            return await asyncssh.listen(
                "127.0.0.1",
                0,
                server_factory=Connections,
                sftp_factory=Files,
                server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
                authorized_client_keys=asyncssh.import_authorized_keys(client.export_public_key().decode()),
            )

        self._thread.start()
        self._server = self._do(listen())
        self.url = f"ssh://anybody@127.0.0.1:{self._server.get_port()}/store"

    def __enter__(self) -> SftpServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        self._break()
        self._do(self._server.wait_closed())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def _count(self, size: int) -> None:
        if self.before_break is not None:
            self.before_break -= size
            if self.before_break < 0:
                self.before_break = None
                self._break()

    def _break(self) -> None:
        for connection in [*self._connections]:
            self._loop.call_soon_threadsafe(connection.abort)
