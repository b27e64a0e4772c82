"""Physics materials, and what MjcPhysics says of the contacts of one collider."""

from __future__ import annotations

from simengine.builder.elements import Shape
from simengine.builder.exporters.usd.writer import MATERIALS, Writer, author
from simengine.builder.material import Material

MODES = {"minimum": "min", "multiply": "multiply", "maximum": "max"}


class Materials:
    """Each different surface once."""

    def __init__(self, writer: Writer):
        self.writer = writer
        self.known: dict[tuple, object] = {}

    def bind(self, prim, shape: Shape) -> None:
        """Bind the material of a collider, and author what belongs to the collider itself."""
        from pxr import UsdShade

        what, material = f"shape {shape.label!r}", shape.material
        self._note(material, what)
        binding = UsdShade.MaterialBindingAPI.Apply(prim)
        binding.Bind(self._surface(material), UsdShade.Tokens.weakerThanDescendants, "physics")
        given = material.time_constant is not None or material.damping_ratio is not None
        author(
            prim,
            "MjcCollisionAPI",
            mjc__solref=material.row()["shape_reference"] if given else None,
            mjc__solimp=material.impedance,
            mjc__condim=None if material.contact_dim == 3 else material.contact_dim,
            mjc__priority=material.priority or None,
            mjc__solmix=None if shape.mix == 1.0 else shape.mix,
        )

    def _note(self, material: Material, what: str) -> None:
        lose = self.writer.notes.lose
        if material.combine == "mjcf":
            note = self.writer.notes.rewrite if self.writer.scene.one_material else lose
            note("combine mode 'mjcf'", what, "no schema has it: comes back as the average")
        if material.dissipation:
            lose("dissipation", what, f"{material.dissipation:g} s/m: no schema has it")

    def _surface(self, material: Material):
        from pxr import UsdPhysics, UsdShade

        static = material.friction if material.static_friction is None else material.static_friction
        mode, stiffness = MODES.get(material.combine), material.stiffness
        surface = (material.friction, static, material.restitution, material.torsional, material.rolling, mode)
        if (surface, stiffness) not in self.known:
            path = self.writer.take(MATERIALS, "material")
            prim = self.writer.define(path, "Material", path.rpartition("/")[2])
            api = UsdPhysics.MaterialAPI.Apply(prim)
            api.CreateDynamicFrictionAttr(material.friction)
            api.CreateStaticFrictionAttr(static)
            api.CreateRestitutionAttr(material.restitution)
            author(
                prim,
                "NewtonMaterialAPI",
                newton__torsionalFriction=material.torsional,
                newton__rollingFriction=material.rolling,
                newton__contactStiffness=stiffness,
            )
            author(prim, "PhysxMaterialAPI", physxMaterial__frictionCombineMode=mode)
            self.known[surface, stiffness] = UsdShade.Material(prim)
        return self.known[surface, stiffness]
