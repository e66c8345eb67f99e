"""What to say about a source without token ids: what it looks like, and where in it ids may be after all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tito_audit.printable import clipped, inert
from tito_audit.reading.columns import WELL_KNOWN


class _Dump(NamedTuple):
    """A file that a framework writes, with text only."""

    columns: frozenset[str]
    advice: str


_DUMPS = (
    _Dump(
        frozenset({"input", "output", "score", "step"}),
        "verl's dumps (rollout_data_dir, validation_data_dir) store text only: log prompt_ids, response_ids and "
        "response_mask of each AgentLoopOutput beside it",
    ),
    _Dump(
        frozenset({"prompt", "completion", "advantage", "step"}),
        "TRL's completions tables store text only: log prompt_ids, completion_ids and completion_mask, which a reward "
        "function and rollout_func are given",
    ),
    _Dump(
        frozenset({"prompt", "completion", "advantages", "step"}),
        "ms-swift's completions.jsonl stores text only, a table per line: log the ids of each sample and its loss "
        "mask, one record per line",
    ),
    _Dump(
        frozenset({"input_prompt", "output_response", "score"}),
        "SkyRL's evaluation dumps store text only: log prompt_token_ids, response_ids and loss_masks of the generator "
        "output, one record per sequence",
    ),
    _Dump(
        frozenset({"seqlen", "prompt_len", "head_version"}),
        "AReaL's dumps store text only: log input_ids and loss_mask of each sample beside it",
    ),
    _Dump(
        frozenset({"trajectory_data", "messages", "global_step"}),
        "ROLL's dumps store text only: log input_ids and response_mask of each sample beside it",
    ),
    _Dump(
        frozenset({"rollout_id", "reward", "prompt", "response"}),
        "agent-lightning's trajectories store text only: log prompt_token_ids and response_token_ids of each call",
    ),
)
_GENERAL = (
    "log the sampled ids (token_ids, or prompt_ids and response_ids) and the mask beside the text, "
    "or name the columns that hold them"
)
_ID_NAMES = {name for role in ("ids", "prompt_ids", "response_ids") for name in WELL_KNOWN[role]}
_ENDINGS = ("token_ids", "output_ids", "input_ids", "response_ids", "completion_ids", "prompt_ids", "tokens", "ids")
_DEEPEST = 6
_MOST_VISITED = 2000
_SHOWN = 3
_PATH_CELLS = 60


def what_to_do(names: Collection[str], paths: Collection[str]) -> str:
    """Say what would make a source with these columns one that can be audited.

    Args:
        names: Columns that its records have.
        paths: What `id_paths` found in one of them.
    """
    if paths:
        shown = [clipped(inert(path), _PATH_CELLS) for path in list(paths)[:_SHOWN]]
        more = ", ..." if len(paths) > _SHOWN else ""
        verb = "hold" if len(paths) > 1 else "holds"
        return (
            f"{', '.join(shown)}{more} {verb} integers: if these are the sampled ids, name them (--ids {shown[0]}, "
            f'in Python columns={{"ids": "{shown[0]}"}}; or --prompt-ids and --response-ids)'
        )
    dump = next((dump.advice for dump in _DUMPS if dump.columns <= set(names)), None)
    return dump or _GENERAL


def id_paths(record: Mapping[str, object]) -> list[str]:
    """List the paths in a record that lead to lists of integers and are named like ids, likeliest first."""
    found = [(path, name) for path, name in _walk(record)]
    found.sort(key=lambda each: (each[1] not in _ID_NAMES, each[0].count(".")))
    return [path for path, _ in found]


def _walk(record: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Path and last name of each list of integers, breadth first, within bounds."""
    level: list[tuple[str, object]] = [(str(name), record[name]) for name in record]
    visited = 0
    for _ in range(_DEEPEST):
        deeper: list[tuple[str, object]] = []
        for path, value in level:
            visited += 1
            if visited > _MOST_VISITED:
                return
            name = next((part for part in reversed(path.split(".")) if not part.isdecimal()), path)
            if isinstance(value, Mapping):
                deeper += [(f"{path}.{key}", value[key]) for key in value]
            elif _are_integers(value):
                if name.lower().endswith(_ENDINGS):
                    yield path, name
            elif isinstance(value, list | tuple) and value:
                deeper.append((f"{path}.0", value[0]))
        level = deeper


def _are_integers(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iu" and len(value) > 0
    return isinstance(value, list | tuple) and bool(value) and all(type(each) is int for each in value[:8])
