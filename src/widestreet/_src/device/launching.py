"""Launches of Triton programs with little work on the host.

Triton examines every argument at every launch to find the compiled program, which takes 20 to 40
microseconds. A block of pair steps is seven launches and a few hundred microseconds on the device.
A `Program` remembers what Triton compiled for arguments of a kind, and launches it in a third of
this time. A `Launch` also remembers its arguments, all but some numbers: then nothing is examined.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from typing import Any

import torch
import triton
from triton.compiler import CompiledKernel
from triton.runtime import driver

_MOST_SHORT = 2**31 - 1  # larger whole numbers are arguments of another type
_OPTIONS = {"enable_fp_fusion": True}  # contraction to fused multiply-add, as in the core
_ALIGNED = 16  # Triton compiles pointers to multiples of it, and such numbers, in another way
_FIRST = Lock()  # Triton loads, or interprets, programs in one thread at a time


class Program:
    """A Triton program, which is launched like one: ``program[grid](*arguments, **options)``.

    Arguments in small letters are numbers: it is compiled once for all of their values. Those in
    capitals are pointers, widths of lines, and constants (`tl.constexpr`).
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = inspect.signature(function).parameters.values()
        constant = [p.name for p in parameters if "constexpr" in str(p.annotation)]
        self._names = [p.name for p in parameters]
        self._constant = [name in constant for name in self._names]
        plain = [n for n in self._names if n not in constant and not n[0].isupper()]
        self._function = triton.jit(function, do_not_specialize=plain)
        self._compiled: dict[tuple[Any, ...], CompiledKernel] = {}
        self.__doc__ = function.__doc__

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        return partial(self._launch, grid)

    def _launch(self, grid: tuple[int, ...], *given: Any, **named: Any) -> CompiledKernel | None:
        """Launch the program; compile it where nothing is remembered.

        Return what was compiled; None if programs are interpreted. Sets: what is compiled.
        """
        values = (*given, *(named.pop(name) for name in self._names[len(given) :]))
        key = (*_kinds(values, self._constant), *named.items(), values[0].get_device())
        kernel = self._compiled.get(key)
        if kernel is not None:
            kernel[_three(grid)](*values)
            return kernel
        with _FIRST:
            kernel = self._function[grid](*values, **_OPTIONS, **named)
        if not isinstance(kernel, CompiledKernel):
            return None
        self._compiled[key] = kernel
        return kernel

    def launch(
        self, grid: tuple[int, ...], changing: tuple[str, ...], /, *given: Any, **named: Any
    ) -> Launch:
        """Return a launch with these arguments.

        `changing` names the numbers that each call of the launch gets, in this order.
        """
        values = [*given, *(named.pop(name) for name in self._names[len(given) :] if name in named)]
        places = [self._names.index(name) for name in changing]
        return Launch(self._launch, grid, values, named, places)


class Launch:
    """A launch of a program, which is called with the values of some of its numbers.

    The kinds of its arguments are those of the first call: numbers stay whole, of 32 bits, or
    stay fractions, and tensors stay where they are.
    """

    def __init__(
        self,
        first: Callable[..., CompiledKernel | None],
        grid: tuple[int, ...],
        values: list[Any],
        options: dict[str, Any],
        places: list[int],
    ) -> None:
        self._first, self._grid, self._options = first, grid, options
        self._given, self._places = values, places
        self._run: Callable[..., None] | None = None
        self._values: list[Any] = []  # as in a call of the driver: addresses instead of tensors
        self._index = 0  # of the device

    def __call__(self, *numbers: float) -> None:
        """Launch the program. Sets: what is remembered, in the first call."""
        if self._run is None:
            self._examine(numbers)
            return
        values = self._values
        for place, number in zip(self._places, numbers, strict=True):
            values[place] = number
        self._run(*values, stream=driver.active.get_current_stream(self._index))

    def _examine(self, numbers: tuple[float, ...]) -> None:
        """Launch the program for the first time. Sets: everything."""
        values = self._given.copy()
        for place, number in zip(self._places, numbers, strict=True):
            values[place] = number
        kernel = self._first(self._grid, *values, **self._options)
        if kernel is None:  # interpreted
            return
        self._index = values[0].get_device()
        self._values = [v.data_ptr() if isinstance(v, torch.Tensor) else v for v in values]
        self._run = kernel[_three(self._grid)]


def _three(grid: tuple[int, ...]) -> tuple[int, ...]:
    return (*grid, 1, 1)[:3]


def _kinds(values: tuple[Any, ...], constant: list[bool]) -> Iterator[Any]:
    """Yield what arguments contribute to the choice of the compiled program."""
    for value, fixed in zip(values, constant, strict=True):
        if fixed:
            yield value
        elif isinstance(value, torch.Tensor):
            yield value.dtype
            yield value.data_ptr() % _ALIGNED == 0
        elif isinstance(value, int):
            yield -_MOST_SHORT - 1 <= value <= _MOST_SHORT, value % _ALIGNED == 0, value == 1
        else:
            yield type(value)
