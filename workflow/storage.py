"""Results in an object store, for schedulers whose machines share no files (docs/clusters.md).

Snakemake's storage plug-ins carry the files that a rule declares. Ours declares a receipt, which lists the other files
of its folder: with the receipt they go to the store and come from it. A folder is at the same place in both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orthoglot import atomic, receipts


def carry_folders(workflow: Any) -> None:
    """Let the default storage provider, if there is one, carry whole folders.

    Args:
        workflow: Snakemake's, before its rules are read.
    """
    provider = workflow.storage_registry.default_storage_provider
    if provider is None:
        return
    prefix = workflow.storage_settings.default_storage_prefix.rstrip("/") + "/"
    plain = provider.get_storage_object_cls()

    def stored(path: Path, local: Path) -> Any:
        """The object of one path, as the plug-in has it, with the place where it is here."""
        remote = plain(query=f"{prefix}{path}", keep_local=True, retrieve=True, provider=provider)
        remote.set_local_path(local)
        return remote

    class StoredResult(plain):  # type: ignore[misc, valid-type]
        """A receipt with its folder, or another file; in the workspace as in the store."""

        def local_path(self) -> Path:
            # It is absolute: Snakemake takes a path that stays as it was for one that is in no store.
            return self._overwrite_local_path or Path(self.query.removeprefix(prefix)).absolute()

        def store_object(self) -> None:
            receipt = Path(self.query.removeprefix(prefix))
            if receipt.parent.name != receipts.NAME:
                super().store_object()
                return
            folder = receipt.parents[1]
            # The receipt of an earlier result goes first.
            for place in (receipt.parent, folder):
                if (earlier := stored(place, place)).exists():
                    earlier.remove()
            # The receipt comes last: where it is, the folder is complete.
            for path in [*(folder / name for name in _files(folder)), receipt]:
                stored(path, path).store_object()

        def retrieve_object(self) -> None:
            receipt = Path(self.query.removeprefix(prefix))
            if receipt.parent.name != receipts.NAME:
                super().retrieve_object()
                return
            folder = receipt.parents[1]
            with atomic.building(folder) as made:
                _fetch(receipt, made / receipt.relative_to(folder))
                for name in _files(made):
                    _fetch(folder / name, made / name)

    def _fetch(path: Path, local: Path) -> None:
        local.parent.mkdir(parents=True, exist_ok=True)
        stored(path, local).retrieve_object()

    # What is in the workspace is not removed after use, as it may be the only copy of a result.
    provider.keep_local = True
    provider.get_storage_object_cls = lambda: StoredResult
    # Messages name a result by its path in the workspace.
    provider.safe_print = lambda query: query.removeprefix(prefix)


def _files(folder: Path) -> list[str]:
    """The files of a result, by its receipt."""
    receipt = receipts.read(folder)
    if receipt is None:
        raise OSError(f"{folder / receipts.NAME}: holds no readable receipt")
    return list(receipt.files)
