"""Properties that are computed when they are first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - it stands where `property` stands
    """A property that is computed once per object, without a lock.

    `functools.cached_property` of Python 3.11 holds one lock for all objects of a class while it computes. A process
    that forks at that moment (a data loader beside a thread that checks) leaves it held in the child for ever. Two
    threads that race compute the same value twice, which is harmless.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        # The value takes the property's place in the object: the next look-up does not come here.
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value
