"""What a function holds: models and things in its closure, its partial arguments, its object.

A custom tool is often a function made around a model. What such a function keeps can be found and
replaced; what its code reaches in any other way cannot (docs/architecture.md, "What this layer
does not see").
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

from google.adk.models.base_llm import BaseLlm

Replace = Callable[[Any], None]


@dataclass(frozen=True)
class Place:
    """Where something is kept, under which name, and how it is replaced there."""

    name: str
    value: Any
    replace: Replace


def is_function(value: object) -> bool:
    """Tell whether a value is code with something around it."""
    return isinstance(value, FunctionType | MethodType | functools.partial)


def places(function: object) -> Iterator[Place]:
    """Yield what a function keeps: closure, defaults, partial arguments, and global models."""
    if isinstance(function, functools.partial):
        yield from _of_partial(function)
    elif isinstance(function, MethodType):
        yield Place("self", function.__self__, _nowhere)
        yield Place("function", function.__func__, _nowhere)
    elif isinstance(function, FunctionType):
        yield from _of_function(function)


def _of_partial(function: functools.partial[Any]) -> Iterator[Place]:
    yield Place("function", function.func, _nowhere)

    def state(args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        function.__setstate__((function.func, args, keywords, vars(function)))  # type: ignore[attr-defined]  # as pickle does

    for at, value in enumerate(function.args):

        def at_place(new: Any, at: int = at) -> None:
            args = (*function.args[:at], new, *function.args[at + 1 :])
            state(args, function.keywords)

        yield Place(f"argument {at}", value, at_place)
    for key, value in function.keywords.items():

        def at_key(new: Any, key: str = key) -> None:
            state(function.args, {**function.keywords, key: new})

        yield Place(key, value, at_key)


def _of_function(function: FunctionType) -> Iterator[Place]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        yield Place(name, value, functools.partial(setattr, cell, "cell_contents"))
    for at, value in enumerate(function.__defaults__ or ()):

        def at_default(new: Any, at: int = at) -> None:
            given = function.__defaults__ or ()
            function.__defaults__ = (*given[:at], new, *given[at + 1 :])

        yield Place(f"default {at}", value, at_default)
    defaults = function.__kwdefaults__ or {}
    for key, value in defaults.items():
        yield Place(key, value, functools.partial(defaults.__setitem__, key))
    # Of a module only models: all else that stands there is the module's own affair.
    module = function.__globals__
    for name in _names(function.__code__):
        if isinstance(module.get(name), BaseLlm):
            yield Place(name, module[name], functools.partial(module.__setitem__, name))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _nowhere(new: Any) -> None:
    raise TypeError("An object or a function that is bound cannot be replaced.")
