"""Options that commands share, and what they are made into."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from tito_audit.command.configured import Option, TokenizerOption
from tito_audit.command.numbers import Count, Finite

if TYPE_CHECKING:
    from tito_audit.bar import Bar
    from tito_audit.reading.rows import ReadOptions
    from tito_audit.rendering.style import Choice

_Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

_COLUMNS = {
    "ids": "whole sequences [found: token_ids, input_ids, tokens]",
    "prompt_ids": "prompts [found: prompt_ids]",
    "response_ids": "responses [found: response_ids, completion_ids]",
    "mask": "the loss mask [found: mask, loss_mask, response_mask, completion_mask]",
    "owners": "the owner number of each token [found: owners]",
    "roles": "the role of each token [found: roles]",
    "turns": "the turn of each token, or spans of turns [found: turns]",
    "logprobs": "log-probabilities [found: logprobs]",
    "train_ids": "the ids that the trainer scored [found: train_ids, trained_ids]",
    "train_mask": "the trainer's loss mask [found: train_mask]",
    "train_logprobs": "log-probabilities of the trainer before the first update [found: train_logprobs]",
    "attention_mask": "1 at real tokens, 0 at padding [found: attention_mask]",
    "finish_reason": "why the sampler stopped [found: finish_reason, stop_reason]",
    "end_ids": "the ids that end a response [found: eos_ids, eos_token_ids, stop_token_ids, end_ids]",
    "pad_id": "the id that pads [found: pad_id, pad_token_id]",
    "sampled_length": "the number of sampled tokens [found: sampled_len, sampled_length]",
    "fingerprint": "the fingerprint of the sampler's tokenizer [found: tokenizer_fingerprint]",
    "id": "the name of the row [found: id]",
}

TOKENIZER_HELP = "a tokenizer.json, the folder that holds one, a .tiktoken or SentencePiece .model file, or a hub id."
"""What may name a tokenizer."""
_FAIL_ON = click.Choice(["realised", "drift", "never"])


def _together(options: Iterable[_Decorator]) -> _Decorator:
    decorators = list(options)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(decorators):
            command = option(command)
        return command

    return decorate


tokenizer_options = _together(
    [
        click.option(
            "-t",
            "--tokenizer",
            required=True,
            metavar="PATH|HUB_ID",
            help=TOKENIZER_HELP[:1].upper() + TOKENIZER_HELP[1:],
            cls=TokenizerOption,
            group="Tokenizer",
        ),
        click.option("--revision", metavar="REV", help="Revision of the hub id.", cls=Option, group="Tokenizer"),
        click.option(
            "--ignore-dropout",
            is_flag=True,
            help="Audit a tokenizer that has dropout as if it had none.",
            cls=Option,
            group="Tokenizer",
        ),
        click.option(
            "--engine",
            type=click.Choice(["auto", "fast", "reference"]),
            default="auto",
            show_default=True,
            help="auto: the fast engine where it is proven to answer as the reference, else the reference; fast: the "
            "same, and an error where it is not proven; reference: the reference alone.",
            cls=Option,
            group="Tokenizer",
        ),
    ]
)

column_options = _together(
    click.option(
        f"--{role.replace('_', '-')}",
        f"column_{role}",
        metavar="COLUMN",
        help=f"Column of {what}.",
        cls=Option,
        group="Columns, each found by well-known names",
    )
    for role, what in _COLUMNS.items()
)

reading_options = _together(
    [
        click.option(
            "--mask-ignore",
            type=Finite(),
            metavar="VALUE",
            help="Mask value of tokens outside training, such as -100.",
            cls=Option,
            group="Records",
        ),
        click.option(
            "--null-mask",
            type=click.Choice(["all-trained", "all-context"]),
            help="What a null or absent mask means; otherwise it is an error of the row.",
            cls=Option,
            group="Records",
        ),
        click.option(
            "--mask-scope",
            type=click.Choice(["auto", "full", "response"]),
            default="auto",
            show_default=True,
            help="What the mask is about: all ids, or the last ones.",
            cls=Option,
            group="Records",
        ),
        click.option(
            "--mask-convention",
            type=click.Choice(["target", "predictor"]),
            default="target",
            show_default=True,
            help="Whether an entry of the mask is about its own token or about the one after it.",
            cls=Option,
            group="Records",
        ),
        click.option(
            "--logprobs-align",
            type=click.Choice(["auto", "full", "response", "masked", "shifted"]),
            default="auto",
            show_default=True,
            help="What the logprobs are about: all tokens, the response, tokens with mask 1, or each the next token.",
            cls=Option,
            group="Records",
        ),
        click.option(
            "--padding",
            type=click.Choice(["left", "right"]),
            help="Side of the padding, where no column attention_mask says which tokens are real.",
            cls=Option,
            group="Records",
        ),
    ]
)

bar_options = _together(
    [
        click.option(
            "--fail-on",
            type=_FAIL_ON,
            default="realised",
            show_default=True,
            help="The bar. realised: realised drift, and every finding of severity error; drift: these, and rows that "
            "drift; never: nothing.",
            cls=Option,
            group="Bar",
        ),
        click.option(
            "--max-rate",
            multiple=True,
            metavar="CODE=RATE",
            help="Share of rows that may have a code, such as TITO110=0.001.",
            cls=Option,
            group="Bar",
        ),
        click.option(
            "--exit-zero",
            is_flag=True,
            help="Exit with 0 also where something is over the bar.",
            cls=Option,
            group="Bar",
        ),
    ]
)

color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour in text; NO_COLOR and FORCE_COLOR are obeyed.",
    cls=Option,
    group="Report",
)

model_vocab_option = click.option(
    "--model-vocab-size",
    type=Count(least=1),
    metavar="N",
    help="Rows of the model's embedding; tells padded ids from impossible ones.",
    cls=Option,
    group="Audit",
)

redact_option = click.option(
    "--redact",
    is_flag=True,
    help="Ids and lengths only: no text of a rollout in any output.",
    cls=Option,
    group="Report",
)


def read_options(values: Mapping[str, Any], *, keep_origin: bool = False) -> ReadOptions:
    """Make the options of a command into how records are read.

    Raises:
        click.UsageError: They do not fit together.
    """
    from tito_audit.reading.columns import Columns  # noqa: PLC0415 - the command's help needs none of this
    from tito_audit.reading.rows import ReadOptions  # noqa: PLC0415

    try:
        return ReadOptions(
            columns=Columns(**{role: values[f"column_{role}"] for role in _COLUMNS}),
            mask_ignore=values["mask_ignore"],
            null_mask=values["null_mask"],
            mask_scope=values["mask_scope"],
            mask_convention=values["mask_convention"],
            logprob_alignment=values["logprobs_align"],
            padding=values["padding"],
            keep_origin=keep_origin,
            redact=values["redact"],
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def read_bar(values: Mapping[str, Any]) -> Bar:
    """Make the options of a command into a bar.

    Raises:
        click.UsageError: They have no meaning.
    """
    from tito_audit.bar import Bar  # noqa: PLC0415 - the command's help needs none of this
    from tito_audit.rules.lookup import code_of  # noqa: PLC0415

    rates = {}
    for each in values["max_rate"]:
        code, _, rate = each.partition("=")
        try:
            rates[code_of(code)] = float(rate)
        except ValueError as error:
            raise click.UsageError(
                f"--max-rate {each}: CODE=RATE is needed, such as TITO110=0.001 ({error})"
            ) from error
    try:
        return Bar(fail_on=values["fail_on"], max_rate=rates)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def split_codes(values: Iterable[str]) -> list[str]:
    """Take lists of codes apart: an option may be given several times, and each time hold several."""
    return [code for value in values for code in value.split(",") if code.strip()]


def wants_color(choice: Choice, *, to_stdout: bool) -> bool:
    """Say whether text on stdout is coloured."""
    from tito_audit.rendering.style import wants_colour  # noqa: PLC0415 - the command's help needs none of this

    return to_stdout and wants_colour(sys.stdout, choice, os.environ)
