"""Rigid bodies below rigid bodies, which the schema's documentation and UsdPhysics' own parser see differently.

The documentation ignores the inner one unless it resets its transform stack; the parser, and files of real robots,
have bodies of their own. So it is here, but for outer bodies that would then move without any mass.
"""

from __future__ import annotations

from simengine.builder.importers.usd.reading import Reader


def merged_bodies(bodies: list, joints: list, owners: set[str], stage, reader: Reader) -> dict[str, str]:
    """The nested bodies that are part of the one above: path of that by their own path. All nested ones are noted.

    Those are merged that reset no transform, are on no joint, are not kinematic and say no mass apart from their
    collider's, if the body above has neither mass nor collider.

    Args:
        bodies, joints: prims in the order of the stage. owners: paths of the bodies that have colliders.
    """
    enabled = [prim for prim in bodies if reader.flag(prim, "physics:rigidBodyEnabled", True)]
    known = {str(prim.GetPath()): prim for prim in enabled}
    held = set()
    for joint in joints:
        for number in (0, 1):
            for target in reader.targets(joint, f"physics:body{number}"):
                held.add(_nearest(stage.GetPrimAtPath(target), known)[0])
    merged: dict[str, str] = {}
    for path, prim in known.items():
        outer, resets = _nearest(prim.GetParent(), known, _resets(prim))
        if not outer or resets:
            continue
        place = reader.place(prim)
        if path in held:
            reason = f"it lies below {outer}, and moves by its joints"
            reader.notes.note("defaulted", "nested body", place, reason)
        elif _is_massless(known[outer], owners, reader) and _can_be_part(prim, reader):
            merged[path] = merged.get(outer, outer)
            reason = f"part of {merged[path]}, which lies above it and has no mass or collider of its own"
            reader.notes.note("warned", "nested body", place, reason)
        else:
            reason = f"it lies below {outer} without resetting its transform stack: it moves by itself"
            reader.notes.note("warned", "nested body", place, reason)
    return merged


def _nearest(prim, known: dict, resets: bool = False) -> tuple[str, bool]:
    """The path of the nearest body at or above a prim, and whether a transform is reset on the way; "" for none."""
    while prim and not prim.IsPseudoRoot():
        path = str(prim.GetPath())
        if path in known:
            return path, resets
        resets = resets or _resets(prim)
        prim = prim.GetParent()
    return "", resets


def _resets(prim) -> bool:
    from pxr import UsdGeom

    xformable = UsdGeom.Xformable(prim)
    return bool(xformable) and xformable.GetResetXformStack()


def _is_massless(prim, owners: set[str], reader: Reader) -> bool:
    kinematic = reader.flag(prim, "physics:kinematicEnabled", False)
    return str(prim.GetPath()) not in owners and not kinematic and reader.positive(prim, "physics:mass") is None


def _can_be_part(prim, reader: Reader) -> bool:
    """Whether nothing is lost: a mass of a body that is no collider would be."""
    if reader.flag(prim, "physics:kinematicEnabled", False):
        return False
    is_collider = "PhysicsCollisionAPI" in map(str, prim.GetAppliedSchemas())
    return is_collider or reader.positive(prim, "physics:mass") is None
