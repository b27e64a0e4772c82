"""Mass, centre of mass and inertia of each link of a URDF: as written, else from its geometry where it needs some.

A link without ``<inertial>`` has no mass in the format. That is kept wherever the link need not have any: where it is
fixed to the world, or to a link that has mass, or carries such links on moving joints. Where a group of links joined
by fixed joints moves and would have no mass, those of its links without ``<inertial>`` get that of their collision
geometry (their visual geometry, where they have no collision) at the builder's default density.
"""

from __future__ import annotations

import numpy as np

from simengine.builder.frames import rotation_matrix
from simengine.builder.importers.report import Notes
from simengine.builder.importers.urdf.document import Inertial, Link, MujocoSettings, Robot
from simengine.builder.importers.urdf.geometry import LinkShapes, LoadedShape, scaled_pose
from simengine.builder.inertia import (
    NOTHING,
    MassProperties,
    breaks_triangle_inequality,
    combine,
    shape_mass_properties,
)
from simengine.builder.mesh_data import convex_hull
from simengine.errors import ModelError


def link_masses(
    robot: Robot,
    shapes: dict[str, LinkShapes],
    notes: Notes,
    *,
    scale: float,
    density: float,
    floating: bool,
    ignore_inertial: bool,
    balance_inertia: bool,
) -> dict[str, MassProperties]:
    """Mass properties of each link in its own frame, by name.

    What ``<mujoco>`` asks of masses is done as MuJoCo does: least mass and least principal moments of each link, then
    a factor for all masses and inertias.

    Args:
        scale: metres per unit of the file; written inertias grow with its square.
        density: kg/m3 of links whose mass comes from their geometry.
        floating: the root link moves.
        ignore_inertial: no ``<inertial>`` is used, each link gets the mass of its geometry.
        balance_inertia: inertias that break the triangle inequality are mended; else they are kept as written.

    Raises:
        AssetError: a group of links moves, has no mass, and carries none.
    """
    if ignore_inertial:
        for link in robot.links.values():
            if link.inertial is not None:
                notes.note("ignored", "<inertial>", link.inertial.element, "ignore_inertial=True")
        masses = {
            name: _from_geometry(link, shapes[name], density, notes) if _has_geometry(shapes[name]) else NOTHING
            for name, link in robot.links.items()
        }
    else:
        masses = {
            name: _written(link, shapes[name], notes, scale, balance_inertia, robot.mujoco.least_inertia)
            for name, link in robot.links.items()
        }
        _fill_moving_groups(robot, shapes, masses, notes, density, floating)
    masses = {name: _at_least(mass, robot.mujoco) for name, mass in masses.items()}
    _refuse_massless(robot, masses, floating)
    return _with_total(masses, robot, floating)


def _at_least(own: MassProperties, mujoco: MujocoSettings) -> MassProperties:
    mass = max(own.mass, mujoco.least_mass)
    # MuJoCo also gives inertia to what has no mass; no body can have that
    inertia = _bounded(own.inertia, mujoco.least_inertia) if mass > 0.0 else own.inertia
    return MassProperties(mass, own.com, inertia)


def _bounded(inertia: np.ndarray, least: float) -> np.ndarray:
    """The inertia with its principal moments raised to ``least``."""
    if least == 0.0:
        return inertia
    moments, axes = np.linalg.eigh(inertia)
    return inertia if moments[0] >= least else axes * np.maximum(moments, least) @ axes.T


def _with_total(masses: dict[str, MassProperties], robot: Robot, floating: bool) -> dict[str, MassProperties]:
    """All masses and inertias times one factor, so that those that count have the sum that ``<mujoco>`` asks for."""
    mujoco = robot.mujoco
    if mujoco.total_mass is None:
        return masses
    counted = masses
    if mujoco.fused and not floating:  # MuJoCo has made what is fixed to the world part of it, without mass
        counted = {name for members in _moving_groups(robot, floating).values() for name in members}
    total = sum(masses[name].mass for name in counted)
    if total <= 0.0:
        raise mujoco.element.error("settotalmass is given, but nothing that moves has mass: remove it")
    return {name: own.scaled(mujoco.total_mass / total) for name, own in masses.items()}


def _written(
    link: Link, shapes: LinkShapes, notes: Notes, scale: float, balance: bool, least_inertia: float
) -> MassProperties:
    inertial = link.inertial
    if inertial is None:
        return NOTHING
    pose = scaled_pose(inertial.frame, scale)
    if inertial.inertia is None:
        return _without_inertia(link, inertial, shapes, pose, notes)
    inertia = _bounded(inertial.inertia * scale**2, least_inertia)
    if inertia.any() and breaks_triangle_inequality(inertia):
        moments = np.linalg.eigvalsh(inertia)
        listed = ", ".join(f"{moment:.4g}" for moment in moments)
        what = f"inertia of '{link.name}'"
        if balance:
            # three equal moments with the same sum: the mean square distance of the mass stays as written
            inertia = np.eye(3) * moments.mean()
            notes.note("repaired", what, inertial.element, f"moments {listed} no body can have made equal")
        else:
            reason = f"moments {listed} no body can have, kept as written (balance_inertia=True mends them)"
            notes.note("warned", what, inertial.element, reason)
    rotation = rotation_matrix(pose[3:])
    return MassProperties(inertial.mass, np.array(pose[:3]), rotation @ inertia @ rotation.T)


def _without_inertia(link: Link, inertial: Inertial, shapes: LinkShapes, pose, notes: Notes) -> MassProperties:
    """A mass without ``<inertia>``: that of the geometry with this mass, about the written centre of mass."""
    center = np.array(pose[:3])
    if inertial.mass == 0.0 or not _has_geometry(shapes):
        notes.note("defaulted", f"inertia of '{link.name}'", inertial.element, "0: it has no geometry to tell it")
        return MassProperties(inertial.mass, center, np.zeros((3, 3)))
    geometry = _from_geometry(link, shapes, 1.0, notes, quiet=True)
    notes.note("defaulted", f"inertia of '{link.name}'", inertial.element, "that of its geometry with the written mass")
    return MassProperties(inertial.mass, center, geometry.scaled(inertial.mass / geometry.mass).inertia)


def _has_geometry(shapes: LinkShapes) -> bool:
    return bool(shapes.collisions or shapes.visuals)


def _from_geometry(link: Link, shapes: LinkShapes, density: float, notes: Notes, quiet: bool = False) -> MassProperties:
    kind, used = ("collision", shapes.collisions) if shapes.collisions else ("visual", shapes.visuals)
    if not quiet:
        reason = f"that of its {kind} geometry at {density:g} kg/m3"
        notes.note("defaulted", f"mass of '{link.name}'", link.element, reason)
    return combine(_shape_mass(shape, density, notes) for shape in used)


def _shape_mass(shape: LoadedShape, density: float, notes: Notes) -> MassProperties:
    element = shape.source.geometry.element
    mesh = shape.mesh
    try:
        if mesh is not None and mesh.solid_problem:
            reason = f"its mass is that of the convex hull, since {mesh.solid_problem}"
            notes.note("repaired", f"mesh '{mesh.label}'", element, reason)
            mesh = convex_hull(mesh.vertices, mesh.label)
        return shape_mass_properties(shape.type, shape.size, density, mesh).moved(shape.frame)
    except ModelError as error:
        raise element.error(f"its link needs mass from this geometry, but {error}") from None


def _fill_moving_groups(robot, shapes, masses, notes, density, floating) -> None:
    for members in _moving_groups(robot, floating).values():
        if sum(masses[name].mass for name in members) > 0.0:
            continue
        for name in members:
            link = robot.links[name]
            if link.inertial is None and _has_geometry(shapes[name]):
                masses[name] = _from_geometry(link, shapes[name], density, notes)


def _moving_groups(robot: Robot, floating: bool) -> dict[str, list[str]]:
    """The links of each group joined by fixed joints, by its uppermost link; without the group fixed to the world."""
    groups: dict[str, list[str]] = {}
    for name, top in robot.rigid_groups().items():
        if floating or top != robot.root:
            groups.setdefault(top, []).append(name)
    return groups


def _refuse_massless(robot: Robot, masses: dict[str, MassProperties], floating: bool) -> None:
    """A moving group without mass must carry mass on the joints below it."""
    groups = _moving_groups(robot, floating)
    group_of = {name: top for top, members in groups.items() for name in members}
    above = robot.parent_joint()
    carries: set[str] = set()
    for top, members in groups.items():
        if sum(masses[name].mass for name in members) > 0.0:
            while top in group_of and top not in carries:
                carries.add(top)
                top = group_of.get(above[top].parent, "") if top in above else ""
    for top in groups:
        if top not in carries:
            raise robot.links[top].element.error(
                f"link '{top}' moves, but neither it nor a link that it carries has mass: give it an <inertial> with "
                "a positive mass, or a <collision> to compute it from"
            )
