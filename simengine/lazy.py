"""Names of a package that are imported when they are first used (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable


def lazy_names(
    package: str, names: dict[str, str], submodules: tuple[str, ...] = (), later: tuple[str, ...] = ()
) -> tuple[Callable, Callable]:
    """``__getattr__`` and ``__dir__`` of a package: ``names`` maps a name to the module that holds it.

    ``later``: names that are planned; the error for one of them says that it is not there yet.
    """

    def get(name: str):
        if name in names:
            value = getattr(importlib.import_module(names[name]), name)
        elif name in submodules:
            value = importlib.import_module(f"{package}.{name}")
        else:
            from simengine.errors import did_you_mean

            hint = "; it is not there yet" if name in later else did_you_mean(name, [*names, *submodules])
            raise AttributeError(f"module {package!r} has no {name!r}{hint}")
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names, *submodules})

    return get, listed
