"""Physics materials and colours of Gprims."""

from __future__ import annotations

from simengine.builder.importers.usd.reading import Reader, applied
from simengine.builder.importers.usd.softness import impedance_of, reference_of
from simengine.builder.material import Material
from simengine.errors import ModelError

RIGID = {"PhysicsMaterialAPI", "NewtonMaterialAPI", "PhysxMaterialAPI", "MjcMaterialAPI"}
"""Schemas that make a material one of rigid surfaces."""

COMBINE = {"average": "average", "min": "minimum", "multiply": "multiply", "max": "maximum"}


class Materials:
    """Materials by the path of their prim; a shape without one takes the builder's own."""

    def __init__(self, reader: Reader):
        self.reader = reader
        self.known: dict[tuple[str, tuple], Material] = {}

    def bound(self, prim):
        """The prim of the material that is bound for physics, or None; one bound without a purpose counts too.

        It must say something of physics: UsdPhysics binds materials of display where there are no others.
        """
        from pxr import UsdShade

        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
        if not material:
            return None
        names = material.GetPrim().GetAuthoredPropertyNames()
        is_physical = any(name.partition(":")[0] in ("physics", "omniphysics") for name in names)
        is_physical = is_physical or any(name.endswith("MaterialAPI") for name in applied(material.GetPrim()))
        return material.GetPrim() if is_physical else None

    def of(self, prim) -> Material | None:
        """The material of a collider: that bound to it, with what MjcPhysics says of the contacts of the collider."""
        bound = self.bound(prim)
        if bound is not None and not RIGID & applied(bound):
            bound = None  # that of a deformable body
        contact = self._contact(prim)
        if bound is None and not contact:
            return None
        key = (str(bound.GetPath()) if bound else "", tuple(sorted(contact.items())))
        if key not in self.known:
            surface = self._surface(bound) if bound else {}
            try:
                self.known[key] = Material(**self._one_compliance(surface | contact, prim))
            except ModelError as error:
                raise self.reader.place(bound or prim).error(str(error)) from None
        return self.known[key]

    def _one_compliance(self, fields: dict, collider) -> dict:
        """The fields with one of the two forms of compliance: a solref goes before a stiffness in N/m, that before a
        solimp alone, which would scale a solref that is not written.
        """
        if "stiffness" not in fields:
            return fields
        if "time_constant" in fields:
            dropped, what, reason = "stiffness", "contact stiffness", "mjc:solref counts"
        elif "impedance" in fields:
            dropped, what, reason = "impedance", "mjc:solimp", "there is no mjc:solref: contact stiffness counts"
        else:
            return fields
        self.reader.notes.ignore(what, self.reader.place(collider), reason)
        return {name: value for name, value in fields.items() if name != dropped}

    def _surface(self, prim) -> dict:
        """The material's fields, of those that it gives."""
        reader = self.reader
        friction = reader.least(prim, "physics:dynamicFriction", 0.0)
        static = reader.least(prim, "physics:staticFriction", 0.0)
        if static < friction:
            reason = f"{static:g} is below the dynamic one: taken as {friction:g}"
            reader.notes.note("repaired", "static friction", reader.place(prim), reason)
        restitution = reader.least(prim, "physics:restitution", 0.0)
        fields = {"friction": friction, "static_friction": max(static, friction), "restitution": restitution}
        for name, field in (("torsional", "torsional"), ("rolling", "rolling")):
            value = reader.number(prim, f"mjc:{name}friction", -1.0)
            value = reader.least(prim, f"newton:{name}Friction", value)
            if value >= 0.0:
                fields[field] = value
        if (mode := reader.word(prim, "physxMaterial:frictionCombineMode", "")) in COMBINE:
            fields["combine"] = COMBINE[mode]
        physx = reader.least(prim, "physxMaterial:compliantContactStiffness", 0.0)
        stiffness = reader.least(prim, "newton:contactStiffness", physx)
        if stiffness:
            fields["stiffness"] = stiffness
        return fields

    def _contact(self, prim) -> dict:
        """What MjcCollisionAPI says, as fields of a material."""
        reader, fields = self.reader, {}
        if (reference := reference_of(reader, prim, "mjc:solref")) is not None:
            fields["time_constant"], fields["damping_ratio"] = reference
        if (impedance := impedance_of(reader, prim, "mjc:solimp")) is not None:
            fields["impedance"] = impedance
        if reader.raw(prim, "mjc:condim") is not None:
            fields["contact_dim"] = int(reader.number(prim, "mjc:condim", 3.0))
        if reader.raw(prim, "mjc:priority") is not None:
            fields["priority"] = int(reader.number(prim, "mjc:priority", 0.0))
        return fields

    def density(self, prim) -> float | None:
        """Density (kg/m3) of the bound material; None where it gives none."""
        bound = self.bound(prim)
        return self.reader.positive(bound, "physics:density") if bound else None

    def color(self, prim) -> tuple | None:
        """Red, green, blue, opacity: the constant displayColor, else the first of it; None where there is none."""
        try:
            rgb = tuple(float(x) for x in self._first(prim, "primvars:displayColor"))
            opacity = self._first(prim, "primvars:displayOpacity")
            alpha = 1.0 if opacity is None else float(opacity)
        except (TypeError, ValueError):
            return self._preview(prim)
        return tuple(min(max(x, 0.0), 1.0) for x in (*rgb, alpha)) if len(rgb) == 3 else None

    def _first(self, prim, name: str):
        """The first value of a primvar, by its indices where it has them; None where there is none."""
        values, indices = self.reader.raw(prim, name), self.reader.raw(prim, f"{name}:indices")
        try:
            return values[indices[0] if indices else 0]
        except (TypeError, IndexError):
            return None

    def _preview(self, prim) -> tuple | None:
        """The diffuse colour of a UsdPreviewSurface that is bound for display."""
        from pxr import UsdShade

        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        surface = material.ComputeSurfaceSource()[0] if material else None
        attribute = surface.GetPrim().GetAttribute("inputs:diffuseColor") if surface else None
        value = attribute.Get() if attribute else None
        try:
            return (*(min(max(float(x), 0.0), 1.0) for x in value), 1.0)
        except TypeError:
            return None
