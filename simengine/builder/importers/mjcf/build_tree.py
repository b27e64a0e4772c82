"""The tree of an MJCF document as bodies, joints, shapes and sites of a builder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from simengine.builder.elements import WORLD
from simengine.builder.frames import IDENTITY, Pose, compose
from simengine.builder.importers.mjcf.build_joints import JointBuilder
from simengine.builder.importers.mjcf.document import Body, Document, Geom, Node, Site
from simengine.builder.importers.mjcf.masses import Weighed
from simengine.builder.importers.mjcf.softness import Softness
from simengine.builder.importers.mjcf.solids import Solid
from simengine.builder.importers.report import Notes
from simengine.builder.importers.xml_reader import Element
from simengine.builder.material import Material

SHOWN_GROUPS = (0, 1, 2)
"""Groups of geoms that MuJoCo's viewer shows at first."""
MESH_COLOR = (0.5, 0.5, 0.5, 1.0)


@dataclass
class Placed:
    """Where elements of the document are in the builder: body, shape, site by ``id`` of the node; joint and its dof."""

    bodies: dict[int, int] = field(default_factory=dict)
    shapes: dict[int, int] = field(default_factory=dict)
    sites: dict[int, int] = field(default_factory=dict)
    joints: dict[int, tuple[int, int]] = field(default_factory=dict)
    places: dict[str, Element] = field(default_factory=dict)  # by label


class Labels:
    """Labels for elements without a name: they never take one that the file uses."""

    def __init__(self, document: Document, places: dict[str, Element]):
        self.places = places
        self.taken: dict[str, set[str]] = {kind: set() for kind in ("body", "joint", "shape", "site")}
        self.next: dict[tuple[str, str], int] = {}  # the number to try next, by kind and label without one
        for body in document.world.tree():
            for kind, nodes in (("body", [body]), ("joint", body.joints), ("shape", body.geoms), ("site", body.sites)):
                self.taken[kind] |= {node.name for node in nodes if node.name}

    def new(self, kind: str, wanted: str) -> str:
        """A label like ``wanted``, with a number where it is taken."""
        label, number = wanted, self.next.get((kind, wanted), 1)
        while label in self.taken[kind]:
            label, number = f"{wanted}_{number}", number + 1
        self.next[kind, wanted] = number
        self.taken[kind].add(label)
        return label

    def add(self, elements: list, kind: str, node: Node, make: Callable[..., int], wanted: str = "") -> int:
        """Make an element with the node's name as its label, or one made up; returns its index."""
        label = node.name or self.new(kind, wanted or f"{kind}_{len(elements)}")
        self.places.setdefault(label, node.element)
        index = make(label=label)
        elements[index].auto_label = not node.name
        return index


class TreeBuilder:
    """Adds a weighed document to a scratch builder. ``base``: where the file's origin is put."""

    def __init__(
        self,
        scratch,
        document: Document,
        weighed: Weighed,
        softness: Softness,
        notes: Notes,
        base: Pose,
        placed: Placed,
    ):
        self.scratch, self.document, self.weighed = scratch, document, weighed
        self.softness, self.notes, self.base = softness, notes, base
        self.placed = placed
        self.labels = Labels(document, self.placed.places)
        self.colors = {material.name: material.color for material in document.materials}
        self.paired = document.paired()
        self.joints = JointBuilder(scratch, document, self.labels, self.placed, softness, notes)

    def build(self) -> None:
        """Bodies in MuJoCo's order, each with its shapes, sites and joints."""
        world = self.document.world
        self.placed.bodies[id(world)] = WORLD
        self._furnish(world, WORLD, self.base, "world")
        stack = [(child, world) for child in reversed(world.bodies)]
        while stack:
            body, parent = stack.pop()
            self._body(body, parent)
            stack.extend((child, body) for child in reversed(body.bodies))
        self.joints.filter_split(self.weighed)

    def _body(self, body: Body, parent: Body) -> None:
        frame = compose(self.base, body.frame) if parent is self.document.world else body.frame
        if body.mocap and (body.joints or parent is not self.document.world):
            raise body.element.error("a mocap body is a child of the world without joints")
        own = self.weighed.masses[id(body)]
        matter = own.properties()

        def make(label: str) -> int:
            return self.scratch.add_body(
                frame if body.mocap else None,
                mass=own.mass,
                com=tuple(map(float, matter.com)) if own.mass > 0.0 else None,
                inertia=matter.inertia,
                kinematic=body.mocap,
                label=label,
            )

        carriers = self.joints.add_carriers(body)
        index = self.labels.add(self.scratch.bodies, "body", body, make)
        self.scratch.bodies[index].gravity_compensation = body.gravity_compensation
        self.placed.bodies[id(body)] = index
        self._furnish(body, index, IDENTITY, self.scratch.bodies[index].label)
        if not body.mocap:
            self.joints.add(body, frame, self.placed.bodies[id(parent)], [*carriers, index])

    def _furnish(self, body: Body, index: int, base: Pose, label: str) -> None:
        """The shapes and sites of a body."""
        for solid in self.weighed.solids[id(body)]:
            self._shape(solid, index, compose(base, solid.frame), label)
        for site in body.sites:
            self._site(site, index, compose(base, site.frame), label)

    def _site(self, site: Site, body: int, frame: Pose, label: str) -> None:
        def make(label: str) -> int:
            return self.scratch.add_site(body, frame, label=label)

        self.placed.sites[id(site)] = self.labels.add(self.scratch.sites, "site", site, make, f"{label}/site")

    def _shape(self, solid: Solid, body: int, frame: Pose, label: str) -> None:
        geom, scratch = solid.geom, self.scratch
        contact = geom.contact
        collides = geom.collides or geom.name in self.paired  # a pair touches whatever its masks say
        options = {
            "xform": frame,
            "density": 0.0,
            "material": self._material(geom),
            "collides": collides,
            "visible": geom.group in SHOWN_GROUPS,
            "contype": contact.contype,
            "conaffinity": contact.conaffinity,
            "mix": contact.mix,
            "margin": max(contact.margin, 0.0),
            "gap": contact.gap,
            "color": self._color(geom),
        }
        if contact.margin < 0.0:
            self.notes.note("warned", "margin", geom.element, f"{contact.margin:g} is negative: taken as 0")
        size = solid.size

        def make(label: str) -> int:
            if solid.kind == "mesh":
                hull = collides and geom.kind == "mesh"
                add = scratch.add_shape_convex_hull if hull else scratch.add_shape_mesh
                return add(body, solid.mesh, label=label, **options)
            if solid.kind == "hfield":
                return scratch.add_shape_heightfield(body, solid.heights, *size, label=label, **options)
            add, count = {
                "plane": (scratch.add_shape_plane, 2),
                "sphere": (scratch.add_shape_sphere, 1),
                "capsule": (scratch.add_shape_capsule, 2),
                "cylinder": (scratch.add_shape_cylinder, 2),
                "ellipsoid": (scratch.add_shape_ellipsoid, 3),
                "box": (scratch.add_shape_box, 3),
            }[solid.kind]
            return add(body, *size[:count], label=label, **options)

        self.placed.shapes[id(geom)] = self.labels.add(scratch.shapes, "shape", geom, make, f"{label}/{geom.kind}")

    def _color(self, geom: Geom) -> tuple[float, ...]:
        color = geom.color
        if color is None and geom.material is not None:
            color = self.colors[geom.material.name]
        return tuple(min(part, 1.0) for part in color or MESH_COLOR)

    def _material(self, geom: Geom) -> Material:
        contact = geom.contact
        reference, impedance = self.softness.both(contact.compliance, geom.element)
        sliding, torsional, rolling = contact.friction
        return Material(
            friction=sliding,
            torsional=torsional,
            rolling=rolling,
            time_constant=reference[0],
            damping_ratio=reference[1],
            impedance=impedance,
            combine="mjcf",
            priority=contact.priority,
            contact_dim=contact.dimension,
        )
