"""The part of ModelBuilder for shapes and for which of them may touch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from simengine.builder.elements import WORLD, Shape
from simengine.builder.frames import quat_between
from simengine.builder.inertia import MESH_TYPES
from simengine.builder.masses import shape_masses
from simengine.builder.material import Material
from simengine.builder.mechanisms import HeightField
from simengine.builder.mesh_data import Mesh, as_mesh, convex_hull, surface_mesh
from simengine.builder.validate import MASSLESS, check_shape
from simengine.builder.values import AXES, pose, rgba
from simengine.enums import ShapeType
from simengine.errors import ModelError, did_you_mean, with_article
from simengine.values import each, flag, mask, number, numbers, whole


class ShapeMethods:
    """Methods of ModelBuilder, which gives ``_elements``, ``up_axis``, the defaults, ``_label``, ``_append`` and what
    they require. Keywords of shapes: see ModelBuilder."""

    def add_shape_plane(self, body: int = WORLD, hx: float = 0.0, hy: float = 0.0, **options) -> int:
        """Add a plane with normal +Z of its frame. It collides without end and has no mass.

        Half sizes (m; 0: endless) are of the part that is drawn and that rays meet, as in MuJoCo.
        """
        return self._add_shape(ShapeType.PLANE, body, (hx, hy, 0.0), **options)

    def add_ground_plane(self, height: float = 0.0, **options) -> int:
        """Add an endless plane of the world across the up axis, at ``height`` (m)."""
        up = AXES[self.up_axis]
        height = number(height, "ground plane, height")
        options.setdefault("label", None if "ground" in self._labels.get("shape", ()) else "ground")
        xform = (*(height * x for x in up), *quat_between(AXES["Z"], up))
        return self.add_shape_plane(WORLD, xform=xform, **options)

    def add_shape_sphere(self, body: int, radius: float, **options) -> int:
        """Add a sphere; ``radius`` in m."""
        return self._add_shape(ShapeType.SPHERE, body, (radius, 0.0, 0.0), **options)

    def add_shape_box(self, body: int, hx: float, hy: float, hz: float, **options) -> int:
        """Add a box; half extents in m."""
        return self._add_shape(ShapeType.BOX, body, (hx, hy, hz), **options)

    def add_shape_capsule(self, body: int, radius: float, half_height: float, **options) -> int:
        """Add a capsule along Z; ``half_height`` (m) is that of the cylinder, without the caps."""
        return self._add_shape(ShapeType.CAPSULE, body, (radius, half_height, 0.0), **options)

    def add_shape_cylinder(self, body: int, radius: float, half_height: float, **options) -> int:
        """Add a cylinder along Z; radius and half height in m."""
        return self._add_shape(ShapeType.CYLINDER, body, (radius, half_height, 0.0), **options)

    def add_shape_cone(self, body: int, radius: float, half_height: float, **options) -> int:
        """Add a cone along Z: base at -half_height, apex at +half_height (m)."""
        return self._add_shape(ShapeType.CONE, body, (radius, half_height, 0.0), **options)

    def add_shape_ellipsoid(self, body: int, a: float, b: float, c: float, **options) -> int:
        """Add an ellipsoid; semi-axes along x, y, z in m."""
        return self._add_shape(ShapeType.ELLIPSOID, body, (a, b, c), **options)

    def add_shape_mesh(self, body: int, mesh, scale=(1.0, 1.0, 1.0), **options) -> int:
        """Add a triangle mesh: a Mesh, or (vertices, triangles). ``scale``: a factor for each axis, or one for all.

        For a mass it must be closed, or have a ``thickness``, or the body must be given its mass and inertia. One that
        is closed and wound inwards is turned round, with a warning.
        """
        self._require_known_options(ShapeType.MESH, options, ("scale",))
        mesh = as_mesh(mesh, options.get("label") or "mesh")
        return self._add_shape(ShapeType.MESH, body, each(scale, 3, "mesh, scale"), mesh, **options)

    def add_shape_convex_hull(self, body: int, points, scale=(1.0, 1.0, 1.0), **options) -> int:
        """Add the convex hull of points (n, 3), which needs SciPy (extra ``meshes``), or of a Mesh.

        Of a Mesh the triangles are kept for viewers; what collides and weighs is the hull of its vertices.
        """
        self._require_known_options(ShapeType.CONVEX_HULL, options, ("scale",))
        mesh = points if isinstance(points, Mesh) else convex_hull(points, options.get("label") or "convex hull")
        return self._add_shape(ShapeType.CONVEX_HULL, body, each(scale, 3, "convex hull, scale"), mesh, **options)

    def add_shape_heightfield(self, body: int, heights, hx: float, hy: float, base: float = 0.0, **options) -> int:
        """Add a height field: ``heights`` (rows along y, columns along x; m), a table of numbers or a HeightField.

        It spans -hx to hx and -hy to hy (m) about the shape's origin; below the surface it is solid down to ``base``
        (m, 0 or more) under height 0, and at each place deeper than any body that is in it: heights may be below the
        base. It has no mass.
        """
        self._require_known_options(ShapeType.HEIGHTFIELD, options, ("base",))
        field = heights if isinstance(heights, HeightField) else HeightField(heights, options.get("label") or "heights")
        size = (hx, hy, number(base, "height field, base", lowest=0.0))
        return self._add_shape(
            ShapeType.HEIGHTFIELD, body, size, surface_mesh(field, hx, hy), heightfield=field, **options
        )

    def add_shape_sdf(self, body: int, sdf, voxel: float | None = None, **options) -> int:
        """Add a solid given by a distance field, negative inside: a ``sim.collision.SDF``, in the shape's frame.

        With ``voxel`` (m) a field of that resolution is made of a primitive (``SDF.box(...)`` and its like), a closed
        Mesh, or (vertices, triangles). It collides as the field says, linear between nodes; viewers, rays and files see
        the triangles of its surface (marching cubes), from which the mass follows. The surface must not leave the grid.
        """
        from simengine.builder.distance_field import FieldMesh, field_mesh

        self._require_known_options(ShapeType.SDF, options, ("voxel",))
        mesh = sdf if isinstance(sdf, FieldMesh) else field_mesh(sdf, voxel, options.get("label") or "sdf")
        return self._add_shape(ShapeType.SDF, body, (1.0, 1.0, 1.0), mesh, **options)

    def _add_shape(
        self,
        kind: ShapeType,
        body: int,
        size,
        mesh: Mesh | None = None,
        heightfield: HeightField | None = None,
        **options,
    ) -> int:
        self._require_known_options(kind, options)
        return self._add_known_shape(kind, body, size, mesh, heightfield, **options)

    def _require_known_options(self, kind: ShapeType, options: dict, own: Sequence[str] = ()) -> None:
        """ModelError for a keyword that no shape has; ``own``: parameters of this kind, which may be meant."""
        known = self._add_known_shape.__kwdefaults__
        for name in options:
            if name not in known:
                what = f"{with_article(kind.name.lower())} has no {name!r}{did_you_mean(name, (*own, *known))}"
                raise ModelError(f"{what}; shapes take {', '.join(known)}", element="shape")

    def _add_known_shape(
        self,
        kind: ShapeType,
        body: int,
        size,
        mesh: Mesh | None,
        heightfield: HeightField | None,
        *,
        xform=None,
        density: float | None = None,
        mass: float | None = None,
        thickness: float | None = None,
        material: Material | None = None,
        collides: bool = True,
        visible: bool = True,
        margin: float = 0.0,
        gap: float = 0.0,
        collision_group: int = -1,
        contype: int = 1,
        conaffinity: int = 1,
        mix: float = 1.0,
        color=(0.7, 0.7, 0.7, 1.0),
        label: str | None = None,
    ) -> int:
        label, auto = self._label("shape", label)
        what = f"shape {label!r}"
        self._require_shape_options(what, body, density, mass, material)
        default = 0.0 if kind in MASSLESS else self.default_density
        shape = Shape(
            label,
            auto,
            kind,
            int(body),
            pose(xform, f"{what}, xform"),
            numbers(size, 3, f"{what}, size"),
            mesh,
            heightfield,
            density=number(default if density is None else density, f"{what}, density", lowest=0.0),
            mass=None if mass is None else number(mass, f"{what}, mass", lowest=0.0),
            thickness=None if thickness is None else number(thickness, f"{what}, thickness", positive=True),
            material=material or self.default_material,
            collides=flag(collides, f"{what}, collides"),
            visible=flag(visible, f"{what}, visible"),
            margin=number(margin, f"{what}, margin"),
            gap=number(gap, f"{what}, gap"),
            group=whole(collision_group, f"{what}, collision_group"),
            contype=mask(contype, f"{what}, contype"),
            conaffinity=mask(conaffinity, f"{what}, conaffinity"),
            mix=number(mix, f"{what}, mix", lowest=0.0),
            color=rgba(color, f"{what}, color"),
        )
        check_shape(shape)
        if kind in MESH_TYPES and body != WORLD and self._elements.bodies[body].inertia is None:
            shape_masses(shape)
        return self._append("shape", self._elements.shapes, shape)

    def _require_shape_options(self, what: str, body: int, density, mass, material) -> None:
        if self._runs and body != WORLD:
            raise ModelError("is on a body, but bodies are in worlds only; add it to the template", element=what)
        self._require_body(body, f"{what}, body")
        if density is not None and mass is not None:
            raise ModelError("has both density and mass; give one of them", element=what)
        if material is not None and not isinstance(material, Material):
            raise ModelError(f"is {material!r}; it must be a Material", element=f"{what}, material")

    def add_shape_collision_filter_pair(self, shape0: int, shape1: int) -> None:
        """Let two shapes of this builder never touch."""
        pair = (min(shape0, shape1), max(shape0, shape1))
        count = len(self._elements.shapes)
        if shape0 == shape1 or pair[0] < 0 or pair[1] >= count:
            raise ModelError(
                f"names shapes {shape0} and {shape1}; give two different ones below {count}",
                element="shape collision filter",
            )
        self._elements.filters.add(pair)

    def filter_shapes(self, shapes: Sequence[int]) -> None:
        """Let none of these shapes touch another of them (a robot without self-collision)."""
        shapes = np.array(list(shapes), int)
        for shape0, shape1 in itertools.pairwise(np.sort(shapes)):
            self.add_shape_collision_filter_pair(int(shape0), int(shape1))
        first, second = (shapes[i] for i in np.triu_indices(len(shapes), 1))
        low, high = np.minimum(first, second), np.maximum(first, second)
        self._elements.filters.update(zip(low.tolist(), high.tolist(), strict=True))
