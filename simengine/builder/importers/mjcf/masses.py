"""Mass and inertia of the bodies of an MJCF file, by the rules of its <compiler>."""

from __future__ import annotations

import numpy as np

from simengine.builder.frames import compose
from simengine.builder.importers.mesh_shelf import UnreadableMesh
from simengine.builder.importers.mjcf.document import Body, Document
from simengine.builder.importers.mjcf.elements import turned
from simengine.builder.importers.mjcf.principal import PrincipalMass, mujoco_principal_axes, principal_mass
from simengine.builder.importers.mjcf.solids import TINY, Solid, SolidMaker, weighs
from simengine.builder.importers.paths import MissingFile
from simengine.builder.importers.report import Notes
from simengine.builder.inertia import combine
from simengine.errors import AssetError, MissingExtraError

UNREADABLE = (MissingFile, UnreadableMesh, MissingExtraError)
ROUNDING = 1e-9  # of the largest moment: a flat body just meets the triangle inequality


class Weighed:
    """The bodies of a document with their solids and masses, by ``id`` of the body."""

    def __init__(self, document: Document, maker: SolidMaker, notes: Notes):
        self.document, self.maker, self.notes = document, maker, notes
        self.solids: dict[int, list[Solid]] = {}
        self.masses: dict[int, PrincipalMass] = {}
        self.massive: set[int] = set()  # those with a mass of their own, before any bound
        for body in document.world.tree():
            self._add(body)
        self._scale_total()

    def _add(self, body: Body) -> None:
        rules = body.compiler
        world = body is self.document.world
        inferred = not world and rules.inertia_from_geom != "false"
        inferred = inferred and (body.inertial is None or rules.inertia_from_geom == "true")
        lowest, highest = rules.inertia_groups
        solids = []
        for geom in body.geoms:
            solid = self._solid(geom, inferred and lowest <= geom.group <= highest)
            if solid is not None:
                solids.append(solid)
        self.solids[id(body)] = solids
        if world:
            self.masses[id(body)] = PrincipalMass()
            return
        if inferred:
            own = _from_geoms(solids)
            if body.inertial is not None:
                self.notes.note("ignored", "<inertial>", body.inertial.element, "inertiafromgeom is true")
        else:
            own = _explicit(body)
        if own.mass > 0.0:
            self.massive.add(id(body))
        self.masses[id(body)] = self._bounded(body, own)

    def _solid(self, geom, weighed: bool) -> Solid | None:
        """A geom as a solid; None (noted) for one that is only seen and whose mesh cannot be read."""
        try:
            return self.maker.make(geom, weighed)
        except UNREADABLE as error:
            if geom.collides or (weighed and weighs(geom)) or geom.kind != "mesh":
                raise geom.element.error(str(error)) from None
            self.notes.ignore("<geom>", geom.element, str(error))
            return None
        except AssetError as error:
            if error.file is None:
                raise geom.element.error(str(error)) from None
            raise

    def _bounded(self, body: Body, own: PrincipalMass) -> PrincipalMass:
        """boundmass, boundinertia and balanceinertia; refused where no body can have the moments."""
        rules = body.compiler
        moments = [max(moment, rules.bound_inertia) for moment in own.moments]
        if own.mass < rules.bound_mass or moments != list(own.moments):
            reason = f"raised to boundmass {rules.bound_mass:g} kg, boundinertia {rules.bound_inertia:g} kg m2"
            self.notes.note("repaired", "mass or inertia", body.element, reason)
        largest = max(moments)
        if 2.0 * largest - sum(moments) > ROUNDING * largest:
            listed = ", ".join(f"{moment:g}" for moment in moments)
            if not rules.balance_inertia:
                raise body.element.error(
                    f"its principal moments {listed} break the triangle inequality, A + B >= C: mend them, or give "
                    "<compiler balanceinertia='true'/>"
                )
            moments = [sum(moments) / 3.0] * 3
            self.notes.note("repaired", "inertia", body.element, f"moments {listed} made equal (balanceinertia)")
        return PrincipalMass(max(own.mass, rules.bound_mass), own.frame, tuple(moments))

    def _scale_total(self) -> None:
        """settotalmass: scale all masses and inertias."""
        wanted = self.document.compiler.total_mass
        total = sum(own.mass for own in self.masses.values())
        if wanted <= 0.0 or total <= 0.0:
            return
        factor = wanted / total
        for own in self.masses.values():
            own.mass *= factor
            own.moments = tuple(moment * factor for moment in own.moments)

    def merge(self, child: Body, parent: Body) -> None:
        """Make a body part of its parent: its solids and its mass, in the parent's frame."""
        for solid in self.solids.pop(id(child)):
            solid.frame = compose(child.frame, solid.frame)
            self.solids[id(parent)].append(solid)
        own = self.masses.pop(id(child))
        if own.mass > 0.0 and parent is not self.document.world:
            moved = PrincipalMass(own.mass, compose(child.frame, own.frame), own.moments)
            parts = [self.masses[id(parent)].properties(), moved.properties()]
            self.masses[id(parent)] = principal_mass(combine(part for part in parts if part.mass > 0.0))


def _explicit(body: Body) -> PrincipalMass:
    """What <inertial> says; nothing where there is none. A diagonal inertia keeps the axes it is given in."""
    if body.inertial is None:
        return PrincipalMass()
    given = body.inertial
    if (given.inertia == np.diag(given.inertia.diagonal())).all():
        return PrincipalMass(given.mass, given.frame, tuple(map(float, given.inertia.diagonal())))
    moments, turn = mujoco_principal_axes(turned(given))
    return PrincipalMass(given.mass, (*given.frame[:3], *turn), moments)


def _from_geoms(solids: list[Solid]) -> PrincipalMass:
    """One geom: its own axes; several: the principal axes of their union."""
    parts = [solid.mass for solid in solids if solid.mass.mass > TINY]
    if not parts:
        return PrincipalMass()
    if len(parts) == 1:
        return PrincipalMass(parts[0].mass, parts[0].frame, parts[0].moments)
    return principal_mass(combine(part.properties() for part in parts))
