"""Tokenizers of the Hugging Face hub, by id: the ``tokenizer.json`` and the configs beside it, in its own cache."""

from __future__ import annotations

import logging
import re
import time
from pathlib import Path
from typing import Any

from tito_audit.errors import TokenizerError
from tito_audit.loading.control import CONFIG_FILES, TOKENIZER_FILE
from tito_audit.printable import inert

_PART = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_ID = re.compile(rf"{_PART}(/{_PART})?")
_FILE = re.compile(r".*\.(json|jsonl|model|tiktoken|txt|bin|gz|zst)", re.IGNORECASE)

_PAUSES = (0.0, 0.5)
"""Seconds before each question whether the hub can be reached: a name server may stumble once."""


class HubId(str):
    """What is an id of the hub also where a file here has that name."""

    __slots__ = ()


def is_id(source: str, folder: Path | None = None) -> bool:
    """Say whether a string reads like a hub id: ``name`` or ``organisation/name``, and no file name or folder.

    Args:
        source: The string.
        folder: Where a path would be taken from; None for the folder that the process works in.
    """
    reads_so = _ID.fullmatch(source) is not None and not _FILE.fullmatch(source) and len(source) <= 96
    return reads_so and ("/" not in source or not Path(folder or "", source).parent.is_dir())


def download(id_: str, revision: str | None) -> Path:
    """Bring the files of a tokenizer into the hub's cache, or find them there, and give the ``tokenizer.json``.

    Args:
        id_: Such as ``"Qwen/Qwen3-8B"``.
        revision: Branch, tag or commit; None for the default branch.

    Raises:
        TokenizerError: No such repository or file, no access, no network and not in the cache; or the package that asks
            the hub is missing.
    """
    asked = f"{inert(id_)}{f' at revision {inert(revision)}' if revision else ''}"
    try:
        from huggingface_hub import errors as hub  # noqa: PLC0415 - as above
        from huggingface_hub import hf_hub_download  # noqa: PLC0415 - only a hub id needs it
    except ImportError as error:
        raise TokenizerError(
            f"{asked}: no such file or folder, and to ask the hub for it: pip install huggingface_hub"
        ) from error
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # its retries are no news to anybody
    cached = not _is_reachable(id_, revision)
    try:
        path = Path(hf_hub_download(id_, TOKENIZER_FILE, revision=revision, local_files_only=cached))
    except Exception as error:
        raise TokenizerError(f"{asked}: no such file or folder, and {_said(error, hub)}") from error
    for name in CONFIG_FILES:
        try:
            hf_hub_download(id_, name, revision=path.parent.name, local_files_only=cached)
        except Exception:  # noqa: BLE001, S112 - a repository need not have them, and the tokenizer is here
            continue
    return path


def _is_reachable(id_: str, revision: str | None) -> bool:
    """Ask the hub twice: its library waits half a minute for a network that is not there.

    A slow one is none of this: only what takes no connection (in ten seconds), or has no address, counts.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url  # noqa: PLC0415 - only a hub id needs it

    for pause in _PAUSES:
        time.sleep(pause)
        try:
            get_hf_file_metadata(hf_hub_url(id_, TOKENIZER_FILE, revision=revision))
        except Exception as error:  # noqa: BLE001 - types differ between versions of the library; it will say the rest
            if not _is_refused(error):
                return True
        else:
            return True
    return False


def _is_refused(error: Exception) -> bool:
    """Say whether no connection came about; the type is that of requests or httpx, as the library's version has it."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return not names.isdisjoint({"ConnectError", "ConnectionError", "ConnectTimeout"})


def _said(error: Exception, hub: Any) -> str:  # noqa: ANN401 - a module
    # Order matters: what is not in the cache while offline counts as "not found" too.
    if isinstance(error, hub.LocalEntryNotFoundError | hub.OfflineModeIsEnabled):
        return (
            "as an id of the hub its tokenizer.json is not in the local cache and the hub cannot be reached (no "
            "network, or HF_HUB_OFFLINE is set): download it once where there is network, or pass the path of a "
            "tokenizer.json"
        )
    if isinstance(error, hub.GatedRepoError):
        return "as an id of the hub it is gated: ask for access on its page and log in (hf auth login)"
    if isinstance(error, hub.RepositoryNotFoundError | hub.RevisionNotFoundError | hub.HFValidationError):
        return (
            "as an id of the hub no such repository or revision is found (a private one needs a login: hf auth login); "
            "check the spelling of path or id"
        )
    if isinstance(error, hub.EntryNotFoundError):
        return (
            "the hub's repository of that name has no tokenizer.json: load it with transformers and pass the object "
            "(AutoTokenizer.from_pretrained), or pass its tokenizer.model"
        )
    return (
        f"asking the hub for it failed ({type(error).__name__}: {inert(str(error))[:300]}); check path, id and network"
    )
