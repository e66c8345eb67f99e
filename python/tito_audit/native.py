"""The native record of a rollout: what a recorder writes, so that an audit needs no guessing.

One JSON object per line. The names of its columns are well-known ones, so any reader of this package reads it, and it
says which tokenizer the ids belong to.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, NotRequired, TypedDict

from msgspec import Meta

from tito_audit.errors import RecordError
from tito_audit.printable import inert
from tito_audit.records import check_length

FORMAT: Final = "tito_audit/rollout"
FORMAT_VERSION: Final = 1


class RolloutRecord(TypedDict):
    """One rollout. Every list with an entry per token is as long as ``token_ids``."""

    format: Literal["tito_audit/rollout"]
    format_version: Literal[1]
    tokenizer_fingerprint: Annotated[
        dict[str, str],
        Meta(description="part of the tokenizer to the hash of what it means (tito_audit.loading.fingerprint)"),
    ]
    token_ids: Annotated[list[int], Meta(description="the whole sequence, as sampled and appended")]
    mask: Annotated[list[Annotated[int, Meta(ge=0, le=1)]], Meta(description="1: sampled by the model, and trained")]
    id: NotRequired[str | int]
    logprobs: NotRequired[Annotated[list[float], Meta(description="of the sampler, in nats; 0.0 where mask is 0")]]
    owners: NotRequired[Annotated[list[Annotated[int, Meta(ge=0, le=255)]], Meta(description="owner of each token")]]
    owner_names: NotRequired[Annotated[list[str], Meta(description="name of each owner number")]]
    turns: NotRequired[Annotated[list[Annotated[int, Meta(ge=-1)]], Meta(description="turn of each token, -1 outside")]]
    gen_steps: NotRequired[
        Annotated[list[Annotated[int, Meta(ge=-1)]], Meta(description="sampler call of each token, -1 outside")]
    ]
    weight_version: NotRequired[str | int]
    weight_versions: NotRequired[
        Annotated[
            list[str | int | None],
            Meta(description="in place of weight_version where they differ: of each sampler call"),
        ]
    ]
    train_ids: NotRequired[Annotated[list[int], Meta(description="the ids that the trainer scored")]]
    train_mask: NotRequired[Annotated[list[Annotated[int, Meta(ge=0, le=1)]], Meta(description="per id of train_ids")]]
    train_logprobs: NotRequired[
        Annotated[
            list[float],
            Meta(description="of the trainer before the first update, per id of train_ids, or else token_ids"),
        ]
    ]
    finish_reason: NotRequired[str]
    end_ids: NotRequired[list[int]]


def rollout_record(
    *,
    tokenizer_fingerprint: dict[str, str],
    token_ids: list[int],
    mask: list[int],
    id: str | int | None = None,  # noqa: A002 - the name of the column
    logprobs: list[float] | None = None,
    owners: list[int] | None = None,
    owner_names: list[str] | None = None,
    turns: list[int] | None = None,
    gen_steps: list[int] | None = None,
    weight_version: str | int | None = None,
    weight_versions: list[str | int | None] | None = None,
    train_ids: list[int] | None = None,
    train_mask: list[int] | None = None,
    train_logprobs: list[float] | None = None,
    finish_reason: str | None = None,
    end_ids: list[int] | None = None,
) -> RolloutRecord:
    """Make a record of the current version; the arguments are the fields of `RolloutRecord`, None leaves one out.

    Raises:
        RecordError: A value is none that the schema allows, or a list has another length than its ids.
    """
    import msgspec  # noqa: PLC0415 - beside its use

    fields = {name: value for name, value in locals().items() if value is not None and name != "msgspec"}
    try:
        record = msgspec.convert({"format": FORMAT, "format_version": FORMAT_VERSION} | fields, RolloutRecord)
    except msgspec.ValidationError as error:
        raise RecordError(f"no rollout record: {inert(str(error))}") from error
    per_token = {"mask": mask, "logprobs": logprobs, "owners": owners, "turns": turns, "gen_steps": gen_steps}
    for name, values in per_token.items():
        if values is not None:
            check_length(len(values), len(token_ids), name)
    if train_mask is not None:
        check_length(len(train_mask), len(train_ids or ()), "train_mask")
    if train_logprobs is not None:
        check_length(len(train_logprobs), len(token_ids if train_ids is None else train_ids), "train_logprobs")
    return record
