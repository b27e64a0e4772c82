"""Solvers: each advances a State by a step of time."""

from simengine.lazy import lazy_names

_NAMES = {
    "Featherstone": "simengine.solvers.featherstone",
    "Solver": "simengine.solvers.base",
    "Status": "simengine.solvers.status",
    "Advice": "simengine.solvers.advise",
}

__all__ = list(_NAMES)

__getattr__, __dir__ = lazy_names(__name__, _NAMES, later=("SemiImplicit", "XPBD", "VBD"))
