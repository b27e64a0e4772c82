"""What <compiler> asks to be made of the tree once it is weighed: fusestatic, discardvisual, alignfree."""

from __future__ import annotations

from simengine.builder.frames import IDENTITY, compose, inverse
from simengine.builder.importers.mjcf.document import Body, Document
from simengine.builder.importers.mjcf.masses import Weighed
from simengine.builder.importers.mjcf.names import REFERRING, references
from simengine.builder.importers.report import Notes


def simplify(document: Document, weighed: Weighed, notes: Notes) -> None:
    """Change the tree as its compiler says; what moves stays as it is."""
    refers = {
        (reference.kind, reference.name)
        for part in REFERRING
        for node in getattr(document, part)
        for reference in references(node)
    }
    if document.compiler.discard_visual:
        _discard_visual(document, weighed, refers, notes)
    if document.compiler.fuse_static:
        _fuse_static(document, weighed, refers, notes)
    for body in document.world.tree():
        if len(body.joints) == 1 and body.joints[0].kind == "free" and not body.bodies:
            align = body.joints[0].align
            if body.compiler.align_free if align is None else align:
                _align(body, weighed, notes)


def _discard_visual(document: Document, weighed: Weighed, refers: set, notes: Notes) -> None:
    """Leave out geoms that touch nothing and that nothing refers to."""
    for body in document.world.tree():
        solids = weighed.solids[id(body)]
        weighed.solids[id(body)] = kept = []
        for solid in solids:
            if solid.geom.collides or ("geom", solid.geom.name) in refers:
                kept.append(solid)
            else:
                notes.note("ignored", "<geom>", solid.geom.element, "it is only seen (discardvisual)")


def _fuse_static(document: Document, weighed: Weighed, refers: set, notes: Notes) -> None:
    """Make bodies that do not move against their parent a part of it, unless something refers to them."""
    sensed = {sensor.target[1].name for sensor in document.sensors if sensor.kind in ("force", "torque")}
    fluid = bool(document.options.get("density") or document.options.get("viscosity"))

    def stays(body: Body, parent: Body) -> bool:
        massive = id(body) in weighed.massive
        return bool(
            body.joints
            or body.mocap
            or not body.may_fuse
            or ("body", body.name) in refers
            or any(site.name in sensed for site in body.sites)
            or (massive and (fluid or body.gravity_compensation != parent.gravity_compensation))
        )

    def fuse(parent: Body) -> None:
        result = []
        for body in parent.bodies:
            fuse(body)
            if stays(body, parent):
                result.append(body)
                continue
            notes.note("repaired", "<body>", body.element, "made part of its parent, as it does not move (fusestatic)")
            weighed.merge(body, parent)
            for site in body.sites:
                site.frame = compose(body.frame, site.frame)
            parent.sites.extend(body.sites)
            for child in body.bodies:
                child.frame = compose(body.frame, child.frame)
            result.extend(body.bodies)
        parent.bodies = result

    fuse(document.world)


def _align(body: Body, weighed: Weighed, notes: Notes) -> None:
    """Put the frame of a free body into its centre of mass, along its principal axes."""
    own = weighed.masses[id(body)]
    back = inverse(own.frame)
    body.frame = compose(body.frame, own.frame)
    for solid in weighed.solids[id(body)]:
        solid.frame = compose(back, solid.frame)
    for site in body.sites:
        site.frame = compose(back, site.frame)
    own.frame = IDENTITY
    notes.note(
        "repaired", "body frame", body.element, "put into the centre of mass, along the principal axes (alignfree)"
    )
