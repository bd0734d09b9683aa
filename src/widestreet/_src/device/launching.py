"""Launches of Triton programs with little work on the host.

Triton examines every argument at every launch to find the compiled program, which takes 20 to 40
microseconds. A block of pair steps is seven launches and a few hundred microseconds on the device.
A `Program` remembers what Triton compiled for arguments of a kind, and launches it in a third of
this time.
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

    def _launch(self, grid: tuple[int, ...], *given: Any, **named: Any) -> None:
        """Launch the program; compile it where nothing is remembered. Sets: what is compiled."""
        values = (*given, *(named.pop(name) for name in self._names[len(given) :]))
        key = (*_kinds(values, self._constant), *named.items(), values[0].get_device())
        kernel = self._compiled.get(key)
        if kernel is not None:
            kernel[(*grid, 1, 1)[:3]](*values)
            return
        with _FIRST:
            kernel = self._function[grid](*values, **_OPTIONS, **named)
        if isinstance(kernel, CompiledKernel):  # not one that is interpreted
            self._compiled[key] = kernel


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
