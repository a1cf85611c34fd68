"""Modules that share their name with the function that they are best known for."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module that can be called like the function in it that has its name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call that function."""
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)


def make_callable(name: str) -> None:
    """Make an imported module callable.

    `pywgsl.ops.linear` is then both the module, with its kernels, and the function of aten's name.
    """
    sys.modules[name].__class__ = CallableModule
