"""Numbers of a model that are none: what was written into its arrays after ``finalize``, which checks what it is given.

Kernels compare such a number and find nothing: a box without a friction slides, one without a margin falls through.
"""

from __future__ import annotations

import numpy as np

from simengine import schema
from simengine.containers import to_numpy

OVER = ("worlds", *schema.PER_WORLD)
NUMBERS = tuple(row for row in schema.rows("model") if row.dtype == "real" and row.over in OVER)
OF_JOINTS = {"dofs": "joint_qd_start", "coords": "joint_q_start"}


def first_nan(model) -> str:
    """The first NaN in the model's arrays over things of the worlds, in words; empty where there is none.

    Infinities mean something in many of them. Waits for the device.
    """
    module = model.device.array_module
    with model.device.context():
        found = to_numpy(module.stack([module.isnan(getattr(model, row.name)).any() for row in NUMBERS]))
    if not found.any():
        return ""
    row = NUMBERS[int(np.argmax(found))]
    values = to_numpy(getattr(model, row.name))
    index = tuple(np.argwhere(np.isnan(values))[0].tolist())
    return f"model.{row.name}{list(index)} is NaN, {_place(model, row.over, index[0])}"


def _place(model, over: str, index: int) -> str:
    """Label and world of a thing, in words."""
    if over == "worlds":
        return f"of world {index}"
    world = int(np.searchsorted(to_numpy(getattr(model, schema.world_start(over))), index, side="right")) - 1
    where = f"in world {world}" if world < model.world_count else "which all worlds share"
    if over in OF_JOINTS:
        index = int(np.searchsorted(to_numpy(getattr(model, OF_JOINTS[over])), index, side="right")) - 1
        over = "joints"
    kind = schema.ELEMENTS.get(over)
    return where if kind is None else f"of {kind} {model.labels()[kind][index]!r} {where}"
