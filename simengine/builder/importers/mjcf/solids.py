"""Geoms ready to be built: meshes loaded, shapes fitted to meshes, mass and inertia of each as MuJoCo finds them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simengine.builder.frames import NO_TURN, Pose, compose, inverse, rotation_matrix
from simengine.builder.importers.mesh_shelf import MeshShelf, UnreadableMesh
from simengine.builder.importers.mjcf.assets import asset_path, load_hfield
from simengine.builder.importers.mjcf.document import Document, Geom, MeshAsset
from simengine.builder.importers.mjcf.principal import PrincipalMass, mujoco_principal_axes
from simengine.builder.inertia import shell, solid
from simengine.builder.mechanisms import HeightField
from simengine.builder.mesh_data import WOUND_INWARDS, Mesh, convex_hull
from simengine.builder.meshes.files import size_problem
from simengine.builder.meshes.mass import mesh_inertia
from simengine.enums import ShapeType
from simengine.errors import ModelError, with_article

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
"""How many of its sizes a shape uses."""
TYPES = {kind: ShapeType[kind.upper()] for kind in SIZES}
TINY = 1e-14  # volumes and masses below it count as none
FLATNESS = 1e-14  # of a mesh's extent: thinner is flat, also for MuJoCo, whose hulls are made by Qhull
SHELL_STEP = 1e-6  # m: MuJoCo finds the inertia of a hollow ellipsoid as that between it and one larger by this


@dataclass
class MeshSolid:
    """A mesh in the frame of its geom. ``volume`` (of a shell the area), ``frame``: principal; ``moments`` per density.

    ``box``: half sizes of the box of the same inertia; ``lower``, ``upper``: bounds of the vertices in ``frame``.
    """

    mesh: Mesh
    volume: float
    frame: Pose
    moments: tuple[float, ...]
    box: tuple[float, ...]
    lower: np.ndarray
    upper: np.ndarray


@dataclass
class Solid:
    """A geom: ``frame`` on its body, ``size`` half sizes, and its matter where it has any (``mass`` in body axes)."""

    geom: Geom
    kind: str
    frame: Pose
    size: tuple[float, ...]
    mass: PrincipalMass
    mesh: Mesh | None = None
    heights: HeightField | None = None


class SolidMaker:
    """Makes Solids of geoms; each mesh is read once, and weighed only where its weight or fit is needed."""

    def __init__(self, document: Document, shelf: MeshShelf):
        self.meshes = {asset.name: asset for asset in document.meshes}
        self.hfields = {asset.name: asset for asset in document.hfields}
        self.paired = document.paired()
        self.shelf = shelf
        self.loaded: dict[str, Mesh] = {}
        self.solids: dict[str, MeshSolid] = {}
        self.heights: dict[str, HeightField] = {}
        self.height_files: dict[Path, np.ndarray] = {}

    def make(self, geom: Geom, weighed: bool) -> Solid:
        """A geom with its matter where it is ``weighed``.

        Raises:
            AssetError: a mesh or height field that cannot be read, a size that is not positive, a mesh without volume,
                a flat one that collides.
                What MeshShelf.file raises does not say where in the file.
        """
        kind = "mesh" if geom.kind == "sdf" else geom.kind
        if kind == "mesh" and geom.mesh is None:
            raise geom.element.error("has type mesh but no mesh: name one")
        if (kind == "hfield") != (geom.hfield is not None):
            raise geom.element.error("type hfield and the attribute hfield belong together: give both or none")
        if kind == "mesh":
            return self._mesh(geom, weighed)
        if kind == "hfield":
            return self._hfield(geom, weighed)
        if geom.mesh is not None:
            return self._fitted(geom, weighed)
        _check_size(geom, kind, geom.size)
        mass = _primitive_mass(geom, geom.frame, geom.size) if weighed else PrincipalMass()
        return Solid(geom, kind, geom.frame, geom.size, mass)

    def mesh(self, name: str) -> Mesh:
        """A mesh of the file as it stands in the frame of its geom.

        Raises as MeshShelf.file does, without the place.
        """
        if name not in self.loaded:
            asset = self.meshes[name]
            if asset.vertices is None and not asset.file:
                raise UnreadableMesh(
                    f"mesh '{name}' is made by a formula or a plugin, which is not read: write it to a file"
                )
            if asset.vertices is None:
                file = self.shelf.file(asset_path(asset.compiler, asset.file), asset.element)
                vertices, triangles = file.vertices, file.triangles
            else:
                vertices, triangles = asset.vertices, asset.triangles
            try:
                if triangles is None:
                    hull = convex_hull(vertices, name)
                    vertices, triangles = hull.vertices, hull.triangles
                mesh = transformed(vertices, triangles, asset)
            except ModelError as error:
                raise asset.element.error(str(error)) from None
            if reason := size_problem(mesh.vertices):
                self.shelf.notes.note("warned", f"mesh '{name}'", asset.element, reason)
            if mesh.is_wound_inwards:
                self.shelf.notes.note("repaired", f"mesh '{name}'", asset.element, WOUND_INWARDS)
            self.loaded[name] = mesh.outward
        return self.loaded[name]

    def solid(self, name: str) -> MeshSolid:
        """A mesh with its mass properties; AssetError where it has none."""
        if name not in self.solids:
            asset, mesh = self.meshes[name], self.mesh(name)
            try:
                volume, com, inertia = mesh_inertia(mesh, asset.inertia)
            except ModelError as error:
                raise asset.element.error(str(error)) from None
            moments, turn = mujoco_principal_axes(inertia)
            frame = (*map(float, com), *turn)
            a, b, c = moments
            box = tuple(0.5 * math.sqrt(max(6.0 * part / volume, 0.0)) for part in (b + c - a, a + c - b, a + b - c))
            local = (mesh.vertices - com) @ rotation_matrix(turn)
            self.solids[name] = MeshSolid(mesh, volume, frame, moments, box, local.min(axis=0), local.max(axis=0))
        return self.solids[name]

    def _mesh(self, geom: Geom, weighed: bool) -> Solid:
        if geom.shell:
            raise geom.element.error("shellinertia of a mesh stands with the mesh: give <mesh> inertia='shell'")
        mesh = self.mesh(geom.mesh.name)
        hulled = geom.kind == "mesh" and (geom.collides or geom.name in self.paired)
        if hulled and (problem := flat_problem(mesh.vertices)):
            raise geom.element.error(
                f"collides as the convex hull of mesh '{mesh.label}', but {problem}: give it a box or a capsule, "
                "or let it touch nothing (contype='0' conaffinity='0')"
            )
        mass = _mesh_mass(geom, self.solid(geom.mesh.name)) if weighed and weighs(geom) else PrincipalMass()
        return Solid(geom, "mesh", geom.frame, (1.0, 1.0, 1.0), mass, mesh)

    def _fitted(self, geom: Geom, weighed: bool) -> Solid:
        """A shape in the place of a mesh: of the same inertia, or about its bounds (fitaabb)."""
        if geom.kind not in SIZES:
            what = f"{with_article(geom.kind)} cannot be fitted to a mesh"
            raise geom.element.error(f"{what}: it is one of {', '.join(SIZES)}")
        fit = self.solid(geom.mesh.name)
        size, center = _fit(geom, fit)
        size = tuple(part * geom.fit_scale for part in size)
        frame = compose(geom.frame, compose(fit.frame, (*center, *NO_TURN)))
        _check_size(geom, geom.kind, size)
        mass = _primitive_mass(geom, frame, size) if weighed else PrincipalMass()
        return Solid(geom, geom.kind, frame, size, mass)

    def _hfield(self, geom: Geom, weighed: bool) -> Solid:
        asset = self.hfields[geom.hfield.name]
        if asset.name not in self.heights:
            self.heights[asset.name] = load_hfield(asset, self.shelf.rules, self.height_files)
        x, y, height, base = asset.size
        box = (x, y, 0.25 * height + 0.5 * base)
        mass = _primitive_mass(geom, geom.frame, box) if weighed else PrincipalMass()
        return Solid(geom, "hfield", geom.frame, (x, y, base), mass, heights=self.heights[asset.name])


def flat_problem(vertices: np.ndarray) -> str:
    """Why vertices have no solid convex hull: they lie in a plane or on a line, to rounding; empty where they have one.

    From the singular values of the vertices about their mean.
    """
    centred = vertices - vertices.mean(axis=0)
    spread = np.linalg.svd(centred, compute_uv=False) if len(vertices) > 1 else np.zeros(1)
    solid = spread > FLATNESS * spread[0]
    if solid[1:].sum() < 1:
        return "its vertices lie on one line"
    return "" if solid.sum() > 2 else "its vertices lie in one plane"


def weighs(geom: Geom) -> bool:
    """Whether a geom has any mass."""
    return geom.kind != "plane" and (geom.density > 0.0 if geom.mass is None else geom.mass > 0.0)


def transformed(vertices: np.ndarray, triangles: np.ndarray, asset: MeshAsset) -> Mesh:
    """MuJoCo's order: the reference pose is taken off, then the scale; mirrored ones are turned outwards again."""
    back = inverse(asset.reference)
    points = vertices @ rotation_matrix(back[3:]).T + np.array(back[:3])
    scale = np.array(asset.scale)
    if np.prod(scale) < 0.0:
        triangles = triangles[:, ::-1]
    return Mesh(points * scale, triangles, label=asset.name)


def _check_size(geom: Geom, kind: str, size: tuple[float, ...]) -> None:
    if kind == "plane":
        if size[2] <= 0.0 or min(size[:2]) < 0.0:
            raise geom.element.error("a plane takes three sizes: half sizes (0: endless) and the spacing of a grid")
        return
    for part in size[: SIZES[kind]]:
        if part <= 0.0:
            written = " ".join(f"{number:g}" for number in size[: SIZES[kind]])
            raise geom.element.error(f"{with_article(kind)} takes {SIZES[kind]} positive sizes, not {written}")


def _fit(geom: Geom, fit: MeshSolid) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Sizes of the shape and its centre in the principal frame of the mesh."""
    if geom.compiler.fit_box:
        center, half = 0.5 * (fit.lower + fit.upper), 0.5 * (fit.upper - fit.lower)
        x, y, z = map(float, half)
        radius = max(x, y)
        sizes = {"sphere": (max(radius, z),), "cylinder": (radius, z), "capsule": (radius, z - radius)}
        return sizes.get(geom.kind, (x, y, z)), tuple(map(float, center))
    x, y, z = fit.box
    radius = 0.5 * (x + y)
    sizes = {"sphere": ((x + y + z) / 3.0,), "cylinder": (radius, z), "capsule": (radius, max(0.0, z - 0.5 * radius))}
    return sizes.get(geom.kind, (x, y, z)), (0.0, 0.0, 0.0)


def _mesh_mass(geom: Geom, unit: MeshSolid) -> PrincipalMass:
    mass = geom.density * unit.volume if geom.mass is None else geom.mass
    factor = mass / unit.volume
    return PrincipalMass(mass, compose(geom.frame, unit.frame), tuple(part * factor for part in unit.moments))


def _primitive_mass(geom: Geom, frame: Pose, size: tuple[float, ...]) -> PrincipalMass:
    """Mass and moments of a shape in its own axes."""
    if not weighs(geom):
        return PrincipalMass()
    volume, moments = _volume(geom, size)
    if volume <= TINY:
        return PrincipalMass()
    mass = geom.density * volume if geom.mass is None else geom.mass
    return PrincipalMass(mass, frame, tuple(float(moment) * mass / volume for moment in moments))


def _volume(geom: Geom, size: tuple[float, ...]) -> tuple[float, tuple[float, ...]]:
    """Volume (of a shell: area) of a shape, and its moments per density; AssetError where they are no numbers."""
    kind, sizes = TYPES.get(geom.kind, ShapeType.BOX), (*size, 0.0, 0.0)[:3]
    try:
        if geom.kind == "ellipsoid" and geom.shell:
            volume, moments = _ellipsoid_shell(size)
        else:
            unit = shell(kind, sizes) if geom.shell else solid(kind, sizes)
            volume, moments = unit.mass, tuple(map(float, np.diagonal(unit.inertia)))
        finite = all(map(math.isfinite, (volume, *moments)))
    except (ModelError, OverflowError):
        finite = False
    if not finite:
        raise geom.element.error("it is too large for its inertia to be a number: give it a smaller size")
    return volume, moments


def _ellipsoid_shell(size: tuple[float, ...]) -> tuple[float, tuple[float, ...]]:
    """Area by Thomsen's formula, 4 pi (((ab)^p + (bc)^p + (ca)^p) / 3)^(1/p), p = 1.6075; moments per unit of area."""
    a, b, c = size
    p = 1.6075
    area = 4.0 * math.pi * (((a * b) ** p + (b * c) ** p + (c * a) ** p) / 3.0) ** (1.0 / p)
    inner = solid(ShapeType.ELLIPSOID, size)
    outer = solid(ShapeType.ELLIPSOID, tuple(part + SHELL_STEP for part in size))
    moments = (np.diagonal(outer.inertia) - np.diagonal(inner.inertia)) * area / (outer.mass - inner.mass)
    return area, tuple(map(float, moments))
