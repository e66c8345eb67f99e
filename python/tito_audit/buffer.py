"""The token-in-token-out buffer: what a rollout loop holds in place of text.

Ids go in as the sampler, the prompt and the tools give them, and are never decoded and encoded again. Mask, owners,
turns and sampler calls follow from who added what, so they are built while the buffer grows and fit by construction.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from tito_audit.errors import MissingExtraError, RecordError
from tito_audit.printable import counted
from tito_audit.reading.logprobs import read_logprobs
from tito_audit.reading.sequence import Joined
from tito_audit.records import to_held_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from tito_audit.continuation import Continuation
    from tito_audit.reading.padding import Padding
    from tito_audit.tokenizer import Tokenizer

WeightVersion: TypeAlias = str | int
"""Which weights sampled: a step number, or the name of a checkpoint."""
Owner: TypeAlias = Literal["prompt", "assistant", "tool"]

OWNER_NAMES: tuple[Owner, ...] = ("prompt", "assistant", "tool")
"""Names of the owner numbers: who wrote a token."""
SAMPLED = OWNER_NAMES.index("assistant")


class Segment(NamedTuple):
    """What one call added.

    Attributes:
        owner: Who wrote it; ``"assistant"`` is the model.
        start: First token.
        stop: One past the last token.
        turn: Number of the turn it belongs to, -1 outside; calls of the sampler that follow each other are one turn.
        gen_step: Number of the call of the sampler, -1 outside.
        finish_reason: Why the sampler stopped, None where nobody said.
        weight_version: Which weights sampled, None where nobody said.
    """

    owner: Owner
    start: int
    stop: int
    turn: int = -1
    gen_step: int = -1
    finish_reason: str | None = None
    weight_version: WeightVersion | None = None


class _Part(NamedTuple):
    """A segment as it was handed over; never empty, never changed."""

    owner: int
    ids: NDArray[np.int64]
    logprobs: NDArray[np.float64]
    finish_reason: str | None
    weight_version: WeightVersion | None


class _Held(NamedTuple):
    """What a number of parts come to."""

    parts: int
    segments: tuple[Segment, ...]
    columns: dict[str, NDArray[Any]]


class RolloutBuffer:
    """The ids of one rollout while it is sampled, with everything a trainer needs beside them.

    No method takes text. Ids, mask and logprobs have the same length at any moment, also for other threads: a call
    adds all of what it was given, or raises and adds nothing. There is no lock, so a fork may come at any time; where
    threads add to one buffer, each call stays in one piece, and their order is that of the calls.

    Args:
        weight_version: Which weights sample, for calls of `add_sampled` that do not say.

    Example:
        >>> import tito_audit as tito
        >>> buffer = tito.RolloutBuffer(weight_version=7)
        >>> buffer.add_prompt([1, 2, 3])
        >>> buffer.add_sampled([10, 11, 9], [-0.1, -0.2, -0.1])
        >>> buffer.add_tool([4, 5, 6])
        >>> buffer.add_sampled([12, 9], [-0.3, -0.1])
        >>> buffer.mask.tolist()
        [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1]
        >>> bool(buffer.extends([1, 2, 3, 10, 11, 9, 4, 5, 6, 12, 9, 7]))
        True
    """

    def __init__(self, *, weight_version: WeightVersion | None = None) -> None:
        """Begin empty."""
        # Appending to a list is atomic, and nothing else is ever done to it.
        self._parts: list[_Part] = []
        self._held: _Held | None = None
        self.weight_version = weight_version

    def add_prompt(self, ids: object) -> None:
        """Append ids of the prompt, or of a later message of the user: mask 0.

        Args:
            ids: Integers, as in `tito_audit.check`; none at all adds nothing.

        Raises:
            RecordError: An entry is no integer of 64 bits. Nothing was added.
        """
        self._add("prompt", ids)

    def add_tool(self, ids: object) -> None:
        """Append ids of a tool's result, with what the template writes around it: mask 0.

        Args:
            ids: The ids that the next request has beyond those held (`Continuation.delta`), never a text that was
                encoded by itself.

        Raises:
            RecordError: As in `add_prompt`.
        """
        self._add("tool", ids)

    def add_sampled(
        self,
        ids: object,
        logprobs: object,
        *,
        finish_reason: str | None = None,
        weight_version: WeightVersion | None = None,
    ) -> None:
        """Append what one call of the sampler emitted, the end id included if it was sampled: mask 1.

        Args:
            ids: Integers, as in `tito_audit.check`; none at all adds nothing, and is no step.
            logprobs: Log-probability of each id in nats, as the sampler gave it: numbers, or mappings with ``logprob``
                and the ``token_id`` it is about.
            finish_reason: Why the sampler stopped, such as ``"stop"`` or ``"length"``.
            weight_version: Which weights sampled; default: those of the buffer.

        Raises:
            RecordError: An id is no integer of 64 bits; there are more or fewer logprobs than ids (``TITO002``); one is
                null, NaN, infinite or above 0.001 (``TITO017``), or is about another id (``TITO009``). Nothing was
                added.
        """
        added = to_held_ids(ids, column="ids")
        read = read_logprobs(logprobs, Joined(added, {}), alignment="full", mask=np.ones(len(added), np.uint8))
        if read.disagreeing:
            raise RecordError(
                f"logprobs: the entry at position {read.disagreeing[0]} is about another id than was sampled there",
                code="TITO009",
                column="logprobs",
                position=read.disagreeing[0],
                positions=read.disagreeing,
            )
        version = self.weight_version if weight_version is None else weight_version
        self._append(_Part(SAMPLED, added, read.values, finish_reason, version))

    @property
    def ids(self) -> NDArray[np.int64]:
        """Token ids, ``int64``, shape ``(tokens,)``; like all columns not writeable."""
        return self._hold().columns["token_ids"]

    @property
    def mask(self) -> NDArray[np.uint8]:
        """1 where the model sampled the token, else 0; ``uint8``."""
        return self._hold().columns["mask"]

    @property
    def logprobs(self) -> NDArray[np.float64]:
        """Log-probability in nats as the sampler gave it, 0.0 where the mask is 0; ``float64``."""
        return self._hold().columns["logprobs"]

    @property
    def owners(self) -> NDArray[np.uint8]:
        """Who wrote each token, an index into `OWNER_NAMES`; ``uint8``."""
        return self._hold().columns["owners"]

    @property
    def turns(self) -> NDArray[np.int32]:
        """Turn of each token, -1 outside: maximal runs of sampled tokens, counted from 0; ``int32``."""
        return self._hold().columns["turns"]

    @property
    def gen_steps(self) -> NDArray[np.int32]:
        """Call of the sampler that emitted each token, -1 outside, counted from 0; ``int32``."""
        return self._hold().columns["gen_steps"]

    @property
    def segments(self) -> tuple[Segment, ...]:
        """What each call added, in order; calls that added nothing left none."""
        return self._hold().segments

    @property
    def weight_versions(self) -> tuple[WeightVersion | None, ...]:
        """Which weights each call of the sampler used, by number of the call."""
        return tuple(segment.weight_version for segment in self.segments if segment.gen_step >= 0)

    def extends(
        self, prompt_ids: object, *, tok: Tokenizer | None = None, end_ids: Iterable[int] = (), tail: int = 0
    ) -> Continuation:
        """Say whether the ids of the next request go on where this buffer ends.

        Args:
            prompt_ids: Ids of the whole next request.
            tok: What `load_tokenizer` returns; with it the cause of a break is told.
            end_ids: Ids that end a turn; default: the control ids of ``tok``.
            tail: How many ids at the end of what is held may be missing from the request, end ids only: some servers
                trim them.

        Returns:
            Where and why it breaks; true if it does not. `Continuation.delta` is what comes after the ids held.

        Raises:
            RecordError: An id of the request is no integer of 64 bits.
            TokenizerError: ``tok`` is no loaded tokenizer.
            ValueError: ``tail`` is below 0, or above it and neither ``tok`` nor ``end_ids`` say what ends a turn.
        """
        from tito_audit.continuation import continuation  # noqa: PLC0415 - it makes what this module only names

        return continuation(self, prompt_ids, tok=tok, end_ids=end_ids, tail=tail)

    def as_dict(self) -> dict[str, Any]:
        """Return lists of Python numbers under the names of the native record (`tito_audit.native`)."""
        held = self._hold()
        fields: dict[str, Any] = {name: column.tolist() for name, column in held.columns.items()}
        sampled = [segment for segment in held.segments if segment.gen_step >= 0]
        versions = [segment.weight_version for segment in sampled]
        same = len(set(versions)) <= 1
        last = sampled[-1].finish_reason if sampled else None
        about = {
            "owner_names": list(OWNER_NAMES),
            "weight_version": (versions or [self.weight_version])[0] if same else None,
            "weight_versions": None if same else versions,
            "finish_reason": last,
        }
        return fields | {name: value for name, value in about.items() if value is not None}

    def as_numpy(self) -> dict[str, NDArray[Any]]:
        """Return the columns as arrays that may be written to, under the names of the native record."""
        return {name: column.copy() for name, column in self._hold().columns.items()}

    def as_torch(self) -> dict[str, Any]:
        """Return the columns as tensors on the CPU, of the same types and names as `as_numpy`.

        Raises:
            MissingExtraError: There is no torch.
        """
        try:
            import torch  # noqa: PLC0415 - whoever trains with it has it
        except ImportError as error:
            raise MissingExtraError("an export to torch", "torch") from error
        return {name: torch.from_numpy(column) for name, column in self.as_numpy().items()}

    def as_replay(
        self, *, pad_id: int, padding: Padding = "right", length: int | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the token-level columns that trainers replay, padded to a length; see `tito_audit.replay`.

        Args:
            pad_id: Id that stands at padding.
            padding: Side of the padding.
            length: Tokens with padding; default: none.

        Raises:
            ValueError: ``length`` is below the number of tokens, or there is no such side.
        """
        from tito_audit.replay import replay_columns  # noqa: PLC0415 - as above

        return {name: rows[0] for name, rows in replay_columns([self], pad_id, padding, length).items()}

    @classmethod
    def from_replay(
        cls, columns: Mapping[str, object], *, weight_version: WeightVersion | None = None
    ) -> RolloutBuffer:
        """Make a buffer of what `as_replay` returned; ids, mask, logprobs, owners and steps are equal bit for bit.

        Calls of `add_prompt` or `add_tool` in a row come back as one; finish reasons and weights are in no column.

        Args:
            columns: One row; ``owners`` may be missing, then all that comes after a sampled token and was not sampled
                is a tool's.
            weight_version: Which weights sampled.

        Raises:
            RecordError: A column is missing, lengths differ, or two columns contradict each other.
        """
        from tito_audit.replay import parts_of  # noqa: PLC0415 - as above

        buffer = cls(weight_version=weight_version)
        for owner, ids, logprobs in parts_of(columns):
            if owner == "assistant":
                buffer.add_sampled(ids, logprobs)
            else:
                buffer._add(owner, ids)
        return buffer

    def __len__(self) -> int:
        """Count the tokens."""
        return len(self.ids)

    def __bool__(self) -> bool:
        """Be true, also while it is empty: ``buffer or other`` asks whether there is one."""
        return True

    def __repr__(self) -> str:
        """Count tokens and turns."""
        turns = len({segment.turn for segment in self.segments} - {-1})
        sampled = int(self.mask.sum())
        return f"<RolloutBuffer {counted(len(self), 'token')}, {sampled:,} sampled, {counted(turns, 'turn')}>"

    def _add(self, owner: Owner, ids: object) -> None:
        added = to_held_ids(ids, column="ids")
        self._append(_Part(OWNER_NAMES.index(owner), added, np.zeros(len(added)), None, None))

    def _append(self, part: _Part) -> None:
        if len(part.ids):
            self._parts.append(part)

    def _hold(self) -> _Held:
        """What is held now; put together once for as long as nothing is added."""
        parts = tuple(self._parts)
        held = self._held
        if held is None or held.parts != len(parts):
            held = self._held = _Held(len(parts), tuple(_segments(parts)), _columns(parts))
        return held


def _segments(parts: tuple[_Part, ...]) -> Iterable[Segment]:
    stops = itertools.accumulate((len(part.ids) for part in parts), initial=0)
    turn = step = -1
    before: int | None = None
    for part, (start, stop) in zip(parts, itertools.pairwise(stops), strict=True):
        sampled = part.owner == SAMPLED
        step += sampled
        turn += sampled and before != SAMPLED
        before = part.owner
        where = (turn, step) if sampled else (-1, -1)
        yield Segment(OWNER_NAMES[part.owner], start, stop, *where, part.finish_reason, part.weight_version)


def _columns(parts: tuple[_Part, ...]) -> dict[str, NDArray[Any]]:
    segments = list(_segments(parts))
    lengths = [segment.stop - segment.start for segment in segments]
    owners = np.repeat(np.array([part.owner for part in parts], dtype=np.uint8), lengths)
    columns: dict[str, NDArray[Any]] = {
        "token_ids": np.concatenate([part.ids for part in parts]) if parts else np.zeros(0, dtype=np.int64),
        "mask": (owners == SAMPLED).astype(np.uint8),
        "logprobs": np.concatenate([part.logprobs for part in parts]) if parts else np.zeros(0),
        "owners": owners,
        "turns": np.repeat(np.array([segment.turn for segment in segments], dtype=np.int32), lengths),
        "gen_steps": np.repeat(np.array([segment.gen_step for segment in segments], dtype=np.int32), lengths),
    }
    for column in columns.values():
        column.flags.writeable = False
    return columns
