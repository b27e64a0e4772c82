"""A stage's physics read into a Scene, by the descriptors of UsdPhysics and the attributes that they leave out."""

from __future__ import annotations

from dataclasses import dataclass

from simengine.builder.importers.usd.bodies import BodyReader
from simengine.builder.importers.usd.document import Articulation, Scene
from simengine.builder.importers.usd.joints import JointReader
from simengine.builder.importers.usd.names import paths_above
from simengine.builder.importers.usd.nested import merged_bodies
from simengine.builder.importers.usd.reading import Reader
from simengine.builder.importers.usd.stage import usd_messages
from simengine.builder.importers.usd.tree import stacked


@dataclass
class Found:
    """What UsdPhysics' own parser finds, prims in the order of the stage.

    shapes: the descriptor of each collider by path. roots: (path, descriptor) of each articulation.
    """

    prims: list
    bodies: list
    shapes: dict
    joints: list
    roots: list


def find(stage, top, file: str) -> Found:
    """Run the parser over ``top`` and all below."""
    from pxr import Usd, UsdPhysics

    prims = []
    traversal = iter(Usd.PrimRange(top))
    for prim in traversal:
        prims.append(prim)
        if str(prim.GetTypeName()) == "PointInstancer":  # its prototypes are not there by themselves
            traversal.PruneChildren()
    paths = {str(prim.GetPath()) for prim in prims}
    with usd_messages(file):  # what it complains of is told by our own notes, with the prim
        objects = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, [str(top.GetPath())])
    kinds = UsdPhysics.ObjectType
    by_kind = {str(kind): list(zip(*pair, strict=True)) for kind, pair in objects.items()}
    bodies = {str(path) for path, _ in by_kind.get(str(kinds.RigidBody), [])}
    shapes = {
        str(path): descriptor
        for kind, pairs in by_kind.items()
        for path, descriptor in pairs
        if kind.endswith("Shape") and str(path) in paths
    }
    joints = {str(path) for kind, pairs in by_kind.items() if kind.endswith("Joint") for path, _ in pairs}
    return Found(
        prims,
        [prim for prim in prims if str(prim.GetPath()) in bodies],
        shapes,
        [prim for prim in prims if str(prim.GetPath()) in joints],
        sorted((str(path), descriptor) for path, descriptor in by_kind.get(str(kinds.Articulation), [])),
    )


def parse(stage, found: Found, bodies: BodyReader, joints: JointReader, visuals: bool) -> Scene:
    """Fill the Scene of ``bodies``."""
    scene, reader = bodies.scene, bodies.reader
    owners = {path: str(shape.rigidBody) for path, shape in found.shapes.items()}
    merged = merged_bodies(found.bodies, found.joints, set(owners.values()), stage, reader)
    bodies.add_bodies([prim for prim in found.bodies if str(prim.GetPath()) not in merged])
    owners = {path: merged.get(body, body) for path, body in owners.items()}
    bodies.add_shapes(
        found.prims, {path: body if body in scene.bodies else "" for path, body in owners.items()}, visuals
    )
    bodies.weigh({str(prim.GetPath()): prim for prim in found.prims})
    scene.joints = joints.read_all(stage, found.joints)
    _add_articulations(stage, found, scene, reader)
    _stack(scene, reader)
    _add_pairs(found, scene, reader)
    _add_groups(stage, found, scene, reader)
    _separate_owners(found, scene, reader)
    return scene


def _add_articulations(stage, found: Found, scene: Scene, reader: Reader) -> None:
    paths = {path for path, _ in found.roots}
    below: dict[str, list[str]] = {path: [] for path in paths}
    for body in scene.bodies:
        for path in (body, *paths_above(body)):
            if path in paths:
                below[path].append(body)
    for path, descriptor in found.roots:
        prim = stage.GetPrimAtPath(path)
        outer = next((other for other in paths_above(path) if other in paths), None)
        if outer:
            reason = f"it lies in that at {outer}: the joints decide what is one tree"
            reader.notes.note("warned", "articulation root", reader.place(prim), reason)
        members = [str(body) for body in descriptor.articulatedBodies if str(body) in scene.bodies]
        collides = reader.flag(prim, "physxArticulation:enabledSelfCollisions", True)
        scene.articulations.append(
            Articulation(
                path,
                members or below[path],
                reader.flag(prim, "newton:selfCollisionEnabled", collides),
                reader.flag(prim, "newton:jointsAddMobility", False),
            )
        )
        if not reader.flag(prim, "physxArticulation:articulationEnabled", True):
            reason = "articulationEnabled is false, but joints that can make a tree do"
            reader.notes.note("defaulted", "articulation root", reader.place(prim), reason)


def _stack(scene: Scene, reader: Reader) -> None:
    """Make one joint of several between two bodies where the articulation says that they add up."""
    adding = {body for articulation in scene.articulations if articulation.stacked for body in articulation.bodies}
    groups: dict[tuple[str, str], list] = {}
    for joint in scene.joints.values():
        if joint.body1 in adding and not joint.excluded:
            groups.setdefault((joint.body0, joint.body1), []).append(joint)
    for joints in groups.values():
        if len(joints) < 2:
            continue
        one = stacked(joints)
        if one is None:
            raise reader.place(joints[0].path).error(
                f"it and {len(joints) - 1} more joints add up between two bodies (jointsAddMobility), but they are not "
                "sliders followed by hinges that meet in a point: put bodies between them"
            )
        for joint in joints:
            scene.stacked[joint.path] = (one.path, joint.label)
            if joint is not joints[0]:
                del scene.joints[joint.path]
        scene.joints[one.path] = one
        names = ", ".join(joint.label for joint in joints)
        reader.notes.note("defaulted", "joints", reader.place(one.path), f"{names} add up to one joint of that name")


def _add_pairs(found: Found, scene: Scene, reader: Reader) -> None:
    """FilteredPairsAPI: the prim does not touch those that it names."""
    for prim in found.prims:
        for target in reader.targets(prim, "physics:filteredPairs"):
            scene.filters.append((str(prim.GetPath()), str(target)))


def _add_groups(stage, found: Found, scene: Scene, reader: Reader) -> None:
    """CollisionGroups: USD's own table says which of them touch, with merged and inverted ones."""
    from pxr import UsdPhysics

    members: dict[str, set[str]] = {}
    for path, shape in found.shapes.items():
        for group in shape.collisionGroups:
            members.setdefault(str(group), set()).add(path)
    if not members:
        return
    for prim in found.prims:
        if str(prim.GetTypeName()) == "PhysicsCollisionGroup":
            reader.seen.update(str(attribute.GetPath()) for attribute in prim.GetAuthoredAttributes())
    table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(stage)
    groups = [group for group in table.GetGroups() if str(group) in members]
    for number, one in enumerate(groups):
        for two in groups[number:]:
            if not table.IsCollisionEnabled(one, two):
                scene.groups.append((members[str(one)], members[str(two)]))


def _separate_owners(found: Found, scene: Scene, reader: Reader) -> None:
    """Shapes that belong to different scenes do not touch."""
    owners: dict[tuple, set[str]] = {}
    by_body = {str(prim.GetPath()): reader.targets(prim, "physics:simulationOwner") for prim in found.bodies}
    for path, shape in found.shapes.items():
        owner = shape.simulationOwners or by_body.get(str(shape.rigidBody), [])
        if owner:
            owners.setdefault(tuple(sorted(map(str, owner))), set()).add(path)
    sets = list(owners.values())
    for number, one in enumerate(sets):
        scene.groups += [(one, two) for two in sets[number + 1 :]]
