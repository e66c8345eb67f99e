"""A command whose options stand in groups, and may stand in ``pyproject.toml`` and in the environment too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tito_audit.errors import ConfigError, TitoError
from tito_audit.printable import inert

_OTHERS = "Other"
_WRITTEN = {"ignore_dropout=True": "--ignore-dropout", "engine='auto'": "--engine auto"}
"""What errors tell a reader to pass, as the command line has it."""


class UncheckedError(click.ClickException):
    """What was asked for cannot be done."""

    exit_code = 2

    @classmethod
    def of(cls, error: TitoError, *, about: str | None = None) -> UncheckedError:
        """Take up an error of the package; names of Python's options become those of the command's.

        Args:
            error: The error.
            about: Name of the option whose value is refused; it is said where that stands.
        """
        message = str(error)
        for python, written in _WRITTEN.items():
            message = message.replace(python, written)
        return cls(message if about is None else said_where(message, about))


class Argument(click.Argument):
    """A positional argument that the help text explains."""

    group = "Arguments"

    def __init__(self, *args: Any, help: str, **attributes: Any) -> None:  # noqa: A002, ANN401 - click's names
        """Take the explanation beside what click knows."""
        super().__init__(*args, **attributes)
        self.explanation = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Write a line of the help text."""
        return self.make_metavar(ctx), self.explanation


class Option(click.Option):
    """An option that stands in a group of the help text."""

    def __init__(self, *args: Any, group: str = _OTHERS, **attributes: Any) -> None:  # noqa: ANN401 - click's signature
        """Take the title of the group beside what click knows."""
        super().__init__(*args, **attributes)
        self.group = group
        self.envvar = f"TITO_AUDIT_{_written(self).upper()}"


class FileOption(Option):
    """An option that names a file: where ``pyproject.toml`` does, from its own folder."""


class TokenizerOption(Option):
    """An option that names a tokenizer: by a path, as a file is named, or by a hub id."""

    def __init__(self, *args: Any, **attributes: Any) -> None:  # noqa: ANN401 - click's signature
        """Keep the value as it is: a hub id is told by its type."""
        super().__init__(*args, type=click.UNPROCESSED, **attributes)


class OwnOption(Option):
    """An option that the command line alone sets: another command has one of that name, which means something else."""

    def __init__(self, *args: Any, **attributes: Any) -> None:  # noqa: ANN401 - click's signature
        """Take no name in the environment."""
        super().__init__(*args, **attributes)
        self.envvar = None


class Grouped(click.Command):
    """A command whose arguments and options stand in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write them group by group, in the order in which the groups begin."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                group = parameter.group if isinstance(parameter, Argument | Option) else _OTHERS
                groups.setdefault(group, []).append(record)
        for title in sorted(groups, key=lambda title: title == _OTHERS):
            with formatter.section(f"{title} options" if title == _OTHERS else title):
                formatter.write_dl(groups[title])


class Configured(Grouped):
    """A command whose options may stand in the file and in the environment."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - click's signature
    ) -> click.Context:
        """Take up the defaults that the file has for this command; errors become click's."""
        if isinstance(parent, click.Context) and not {"-h", "--help"} & set(args):
            try:
                extra["default_map"] = self._defaults(parent)
            except ConfigError as error:
                raise UncheckedError.of(error) from error
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.BadParameter as error:
            origin = None if error.ctx is None or error.param is None else _origin(error.ctx, error.param)
            if origin is None:
                raise
            raise click.BadParameter(f"{error.message}  (from {origin})", error.ctx, error.param) from error

    def _defaults(self, parent: click.Context) -> dict[str, Any]:
        from tito_audit.command.config import defaults_of, read_config  # noqa: PLC0415 - help needs none of this

        try:
            config = read_config(Path.cwd())
        except FileNotFoundError:  # the working directory was deleted
            return {}
        if config is None:
            return {}
        parent.meta[__name__] = os.path.relpath(config[0])
        # One table serves all commands, so an option of another one is no mistake.
        known = {name for each in _below(parent.find_root().command) for name in _configurable(each)}
        own = {_written(each): each for each in _options(self)}
        defaults = {}
        for name, value in defaults_of(config, known).items():
            if name in own:
                defaults[own[name].name or ""] = _as_written(own[name], value, config[0])
        return defaults


def said_where(message: str, name: str) -> str:
    """Add to the refusal of an option's value where that stands, unless it is the command line.

    Args:
        message: The refusal, which need not speak of the option.
        name: Name of the option's parameter.
    """
    context = click.get_current_context()
    for each in context.command.params:
        origin = _origin(context, each) if each.name == name else None
        if origin is not None:
            return f"{message}  ({each.opts[-1]} is from {origin})"
    return message


def _origin(context: click.Context, parameter: click.Parameter) -> str | None:
    """Where the value of a parameter stands; None on the command line."""
    source = context.get_parameter_source(parameter.name or "")
    if source is ParameterSource.DEFAULT_MAP:
        return f"[tool.tito_audit] in {inert(context.meta[__name__])}"
    return f"the variable {parameter.envvar}" if source is ParameterSource.ENVIRONMENT else None


def _as_written(option: click.Option, value: object, path: Path) -> object:
    """Turn a value of the file into what the command line would hold.

    Raises:
        ConfigError: It is of a type that no command line can mean.
    """
    if option.is_flag and isinstance(value, bool):
        return value
    if option.multiple and isinstance(value, str):
        return [value]
    if option.multiple and isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    if not option.is_flag and not option.multiple and type(value) in {str, int, float}:
        return _beside(option, str(value), path)
    from tito_audit.records import shown  # noqa: PLC0415 - numpy, which no help needs

    wanted = "true or false" if option.is_flag else "a list of texts" if option.multiple else "a text or a number"
    name = option.opts[-1].lstrip("-")
    raise ConfigError(f"{inert(str(path))}: [tool.tito_audit] {name} = {shown(value)}: {wanted} is needed")


def _beside(option: click.Option, value: str, path: Path) -> str:
    """Take a value that is a path from the folder of the file that it stands in; others are what they are."""
    from tito_audit.command.config import path_beside, tokenizer_beside  # noqa: PLC0415 - help needs none of this

    if isinstance(option, TokenizerOption):
        return tokenizer_beside(path, value)
    return path_beside(path, value) if isinstance(option, FileOption) else value


def said_again(context: click.Context, command: click.Command) -> list[str]:
    """Return those words of a command line that another command understands too, but for its tokenizer and colour."""
    words: list[str] = []
    other = {parameter.name for parameter in command.params} - {"tokenizer", "color"}
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name in other and isinstance(parameter, click.Option):
            words += [parameter.opts[-1], *([] if parameter.is_flag else [str(context.params[name])])]
    return words


def _below(command: click.Command) -> Iterator[click.Command]:
    """All commands of a group, those of groups in it included."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from _below(each)
    else:
        yield command


def _options(command: click.Command) -> Iterator[click.Option]:
    """Options of a command that the file may set."""
    for each in command.params:
        if isinstance(each, click.Option) and not isinstance(each, OwnOption):
            yield each


def _configurable(command: click.Command) -> dict[str, str]:
    """Names of the options of a command, as they are written, to those of its parameters."""
    return {_written(each): each.name or "" for each in _options(command)}


def _written(option: click.Option) -> str:
    """The name of an option as it is written, with underscores."""
    return option.opts[-1].lstrip("-").replace("-", "_")
