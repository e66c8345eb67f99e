"""A command whose options stand in groups, and may stand in ``pyproject.toml`` and in the environment too."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tito_audit.errors import ConfigError, TitoError

_OTHERS = "Other"


class UncheckedError(click.ClickException):
    """What was asked for cannot be done."""

    exit_code = 2

    @classmethod
    def of(cls, error: TitoError) -> UncheckedError:
        """Take up an error of the package; names of Python's options become those of the command's."""
        return cls(str(error).replace("ignore_dropout=True", "--ignore-dropout"))


class Option(click.Option):
    """An option that stands in a group of the help text."""

    def __init__(self, *args: Any, group: str = _OTHERS, **attributes: Any) -> None:  # noqa: ANN401 - click's signature
        """Take the title of the group beside what click knows."""
        super().__init__(*args, **attributes)
        self.group = group


class Configured(click.Command):
    """A command with both."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - click's signature
    ) -> click.Context:
        """Take up the defaults that the file has for this command; errors become click's."""
        extra.setdefault("auto_envvar_prefix", "TITO_AUDIT")
        if isinstance(parent, click.Context) and not {"-h", "--help"} & set(args):
            siblings = parent.command.commands.values() if isinstance(parent.command, click.Group) else ()
            try:
                extra["default_map"] = self._defaults(siblings)
            except ConfigError as error:
                raise UncheckedError.of(error) from error
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group, in the order in which the groups begin."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                group = parameter.group if isinstance(parameter, Option) else _OTHERS
                groups.setdefault(group, []).append(record)
        for title in sorted(groups, key=lambda title: title == _OTHERS):
            with formatter.section(f"{title} options" if title == _OTHERS else title):
                formatter.write_dl(groups[title])

    def _defaults(self, siblings: Iterable[click.Command]) -> dict[str, Any]:
        from tito_audit.command.config import defaults_of, read_config  # noqa: PLC0415 - help needs none of this

        config = read_config(Path.cwd())
        if config is None:
            return {}
        # One table serves all commands, so an option of another one is no mistake.
        known = {name for each in siblings for name in _configurable(each)}
        own = _configurable(self)
        return {own[name]: value for name, value in defaults_of(config, known).items() if name in own}


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


def _configurable(command: click.Command) -> dict[str, str]:
    """Names of the options of a command, as they are written, to those of its parameters."""
    options = (each for each in command.params if isinstance(each, click.Option) and each.name)
    return {each.opts[-1].lstrip("-").replace("-", "_"): each.name or "" for each in options}
