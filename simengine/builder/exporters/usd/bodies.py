"""Rigid bodies with their masses."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.exporters.scene import floats
from simengine.builder.exporters.usd.writer import ROOT, Writer, author
from simengine.builder.frames import quaternion_of
from simengine.builder.inertia import MassProperties, principal_axes
from simengine.viewers.usd_shapes import set_pose

LIGHT = 1e-9
"""kg: of a body that has shapes and no mass, since 0 tells readers to take that of the shapes."""


def write_body(writer: Writer, index: int) -> None:
    """A body as a child of the root, where it starts."""
    from pxr import UsdGeom, UsdPhysics

    body, scene = writer.scene.elements.bodies[index], writer.scene
    prim = writer.define(writer.take(ROOT, body.label, "body", index), "Xform", body.label)
    set_pose(UsdGeom.Xformable(prim), scene.initial.pose[index])
    rigid = UsdPhysics.RigidBodyAPI.Apply(prim)
    if body.kinematic:
        rigid.CreateKinematicEnabledAttr(True)
    _velocity(writer, index, rigid)
    shaped = any(shape.body == index for shape in scene.elements.shapes)
    _mass(writer, prim, scene.masses[index], body.label, shaped)
    if body.gravity_compensation == 1.0:
        author(prim, "PhysxRigidBodyAPI", physxRigidBody__disableGravity=True)
    elif body.gravity_compensation:
        reason = f"{body.gravity_compensation:g}: USD has all or nothing"
        writer.notes.lose("gravity compensation", f"body {body.label!r}", reason)
    writer.notes.report.count("bodies")


def _velocity(writer: Writer, index: int, rigid) -> None:
    """Of a body that floats, in the world's axes and degrees; that of others follows from their joints."""
    from pxr import Gf

    scene = writer.scene
    velocity = scene.initial.velocity[index]
    if floats(scene.elements.joints[scene.joint_of[index]]) and any(velocity):
        rigid.CreateVelocityAttr(Gf.Vec3f(*velocity[:3]))
        rigid.CreateAngularVelocityAttr(Gf.Vec3f(*(math.degrees(x) for x in velocity[3:])))


def _mass(writer: Writer, prim, own: MassProperties, label: str, shaped: bool) -> None:
    """Single precision by UsdPhysics; the inertia in double precision besides, by Newton's schema."""
    from pxr import Gf, UsdPhysics

    what, mass = f"body {label!r}", own.mass
    if mass == 0:
        if not shaped:
            return
        writer.notes.lose("zero mass", what, f"0 stands for that of the shapes: {LIGHT:g} kg was written")
        mass = LIGHT
    api = UsdPhysics.MassAPI.Apply(prim)
    api.CreateMassAttr(mass)
    api.CreateCenterOfMassAttr(Gf.Vec3f(*map(float, own.com)))
    inertia = 0.5 * (own.inertia + own.inertia.T)
    if not inertia.any():
        writer.notes.lose("zero inertia", what, "0 stands for that of the shapes: a radius of 1 mm was written")
        inertia = np.eye(3) * mass * 1e-6
    moments, axes = principal_axes(inertia)
    api.CreateDiagonalInertiaAttr(Gf.Vec3f(*map(float, moments)))
    x, y, z, w = quaternion_of(axes)
    api.CreatePrincipalAxesAttr(Gf.Quatf(w, x, y, z))
    full = [float(inertia[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    author(prim, "NewtonMassAPI", newton__inertia=full)
