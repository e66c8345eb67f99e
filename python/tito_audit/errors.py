"""What can go wrong, as exceptions: one base class, and a message that says where, what, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from tito_audit.results import Check


class TitoError(Exception):
    """Base of every exception that this package raises on purpose."""


class TokenizerError(TitoError, ValueError):
    """A tokenizer that cannot be loaded, or that cannot encode a text of its own."""


class RecordError(TitoError, ValueError):
    """A record that cannot be audited: an id that is no integer, lengths that differ, a value with no meaning.

    Attributes:
        code: Code of the rule, such as ``"TITO002"``.
        column: Name of the offending argument or column, if one is known.
        row: Index of the row inside the batch, if the call had several.
        position: Index of the first offending entry inside the row.
        value: The first offending value as it was handed over.
        positions: Every offending position, where more than the first is known.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "TITO001",
        column: str | None = None,
        row: int | None = None,
        position: int | None = None,
        value: object = None,
        positions: tuple[int, ...] = (),
    ) -> None:
        """Keep the message and the place it speaks of."""
        super().__init__(message)
        self.code = code
        self.column = column
        self.row = row
        self.position = position
        self.value = value
        self.positions = positions


class DriftError(TitoError, AssertionError):
    """A row that had to survive decode and encode, and did not.

    Attributes:
        result: The whole verdict; None where there is none.
    """

    def __init__(self, message: str | Callable[[], str], result: Check | None = None) -> None:
        """Keep the readable finding, or what draws it when somebody reads it, and the verdict it was made from."""
        super().__init__(*([message] if isinstance(message, str) else []))
        self._draw = None if isinstance(message, str) else message
        self.result = result

    def _drawn(self) -> Self:
        # A loop that catches the error and looks at the result pays for no picture.
        if self._draw is not None:
            self.args, self._draw = (self._draw(),), None
        return self

    def __str__(self) -> str:
        """Draw the readable finding."""
        return super(DriftError, self._drawn()).__str__()

    def __repr__(self) -> str:
        """Draw the readable finding."""
        return super(DriftError, self._drawn()).__repr__()

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Take the readable finding along to another process."""
        return super(DriftError, self._drawn()).__reduce__()


class DriftWarning(UserWarning):
    """What the guard of a training loop found in a step."""


class SourceError(TitoError):
    """A file that cannot be read, or that holds no token ids."""


class TokenizerWarning(UserWarning):
    """A setting beside the tokenizer that changes what a decode prints."""


class EngineWarning(UserWarning):
    """A row on which the fast engine and the reference disagree (TITO010): a bug of this package, to be reported."""


class ReportError(TitoError, ValueError):
    """A report or baseline that cannot be read, or that does not fit what it is to be added to."""


class MissingExtraError(TitoError, ImportError):
    """Something that needs a package which is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        """Say which extra of this package brings it."""
        super().__init__(f'{what} needs a package that is not installed: pip install "tito_audit[{extra}]"')


class ConfigError(TitoError, ValueError):
    """Options in a ``pyproject.toml`` that cannot be read, or that there are not."""


class UnknownCodeError(TitoError, ValueError):
    """A code, or the name of a rule, that there is not."""
