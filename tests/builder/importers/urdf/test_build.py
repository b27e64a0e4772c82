"""What a checked robot becomes: starts and drives of joints that mimic, the forms of collision meshes, soft bodies."""

import math

import numpy as np
import pytest
from scipy import spatial

import simengine as sim
from simengine.enums import ShapeType
from tests.builder.importers.urdf.texts import BALL, TETRAHEDRON, add, joint, links, mesh_link, refused, robot

L_PRISM = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], float)


def l_shape() -> str:
    """An OBJ of a prism of height 1 over an L: closed, not convex; its volume is 3, that of its hull 3.5."""
    points = [(*p, z) for z in (0.0, 1.0) for p in L_PRISM]
    ends = [(0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)]
    faces = [(a, c, b) for a, b, c in ends] + [(a + 6, b + 6, c + 6) for a, b, c in ends]
    for i in range(6):
        j = (i + 1) % 6
        faces += [(i, j, j + 6), (i, j + 6, i + 6)]
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    return "\n".join(lines) + "\n"


# ---- mimic


def chain(first="", second='<mimic joint="a" multiplier="-2" offset="0.5"/>', third='<mimic joint="b" offset="0.1"/>'):
    return robot(
        links(4)
        + joint("c", "l2", "l3", third + '<limit lower="-9" upper="9" effort="1" velocity="1"/>', "prismatic")
        + joint("b", "l1", "l2", second)
        + joint("a", "l0", "l1", first, "revolute")
    )


def test_a_chain_of_mimics_starts_where_its_equalities_hold(tmp_path):
    text = chain('<limit lower="0.3" upper="1" effort="5" velocity="1"/>')
    builder, report = add(tmp_path, text, scale=0.5)
    start = {made.label: made.coords()[0] for made in builder.joints if made.dofs}
    assert start["a"] == 0.3
    assert start["b"] == pytest.approx(0.5 - 2 * 0.3)
    assert start["c"] == pytest.approx(0.5 * (0.1 + start["b"]))  # metres of a half
    for equality in builder.equalities:
        leader = builder.joints[equality.object1].coords()[0]
        follower = builder.joints[equality.object0].coords()[0]
        assert follower == pytest.approx(sum(a * leader**n for n, a in enumerate(equality.data[:5])), abs=1e-15)
    assert [note.what for note in report.defaulted if note.what == "start"] == ["start", "start"]


def test_what_mimics_has_no_drive_and_its_target_is_its_start(tmp_path):
    builder, _ = add(tmp_path, chain(), drive_stiffness=50, drive_damping=5)
    drives = {made.label: (made.dofs[0].target_ke, made.dofs[0].target_kd) for made in builder.joints if made.dofs}
    assert drives == {"a": (50, 5), "b": (0, 0), "c": (0, 0)}
    targets = {made.label: made.dofs[0].target_pos for made in builder.joints if made.dofs}
    assert targets == {made.label: made.coords()[0] for made in builder.joints if made.dofs}


def test_a_mimic_that_starts_outside_its_limits_is_told(tmp_path):
    _, report = add(tmp_path, chain(third='<mimic joint="b" offset="20"/>'))
    (note,) = report.warned
    assert "20.5" in note.reason


# ---- soft limits

HARD = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'


def safe(inside):
    return robot(links(2) + joint("a", "l0", "l1", HARD + f"<safety_controller {inside}/>", "revolute"))


def test_soft_limits_are_kept_and_hold_where_asked_for(tmp_path):
    text = safe('soft_lower_limit="-0.5" soft_upper_limit="5" k_position="100" k_velocity="40"')
    builder, report = add(tmp_path, text)
    (dof,) = builder.joints[1].dofs
    assert (dof.limit_lower, dof.limit_upper) == (-1, 2)
    kept = (("soft_lower_limit", -0.5), ("soft_upper_limit", 5.0), ("k_position", 100.0), ("k_velocity", 40.0))
    assert builder.custom == (("a/safety_controller", kept),)
    assert report.attributes["kept"] == len(report.kept) == 4
    builder, report = add(tmp_path, text, soft_limits=True)
    (dof,) = builder.joints[1].dofs
    assert (dof.limit_lower, dof.limit_upper) == (-0.5, 2)
    assert not report.kept and not builder.custom
    refused(tmp_path, text, "not simulated", line=4, unsupported="raise")


def test_soft_limits_that_are_not_written_bound_nothing(tmp_path):
    builder, _ = add(tmp_path, safe('k_velocity="40"'), soft_limits=True)
    assert builder.joints[1].dofs[0].limit_upper == 2


def test_soft_limits_that_cannot_be_are_refused(tmp_path):
    refused(tmp_path, safe('soft_lower_limit="1" soft_upper_limit="-1"'), "exchange", line=4)
    refused(tmp_path, safe('soft_lower_limit="3" soft_upper_limit="4"'), "outside", line=4, soft_limits=True)
    refused(tmp_path, safe('soft_lower_limit="x"'), "decimal", line=4)


# ---- collision meshes


@pytest.mark.parametrize("scale", ["1 1 1", "-1 1 2"])
def test_a_closed_mesh_wound_inwards_is_turned_round_and_noted(scale, tmp_path):
    inwards = TETRAHEDRON.replace("f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4", "f 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3")
    for text, count in ((TETRAHEDRON, 0), (inwards, 1)):
        (tmp_path / "a.obj").write_text(text)
        builder, report = add(tmp_path, mesh_link(extra=f'scale="{scale}"'))
        (shape,) = builder.shapes
        assert shape.type == ShapeType.MESH and shape.mesh.moments_about((0, 0, 0))[0] > 0
        assert len(report.repaired) == count
        assert all("wound inwards" in note.reason and "a.obj" in note.what for note in report.repaired)


def test_collision_meshes_collide_as_their_hull(tmp_path):
    (tmp_path / "a.obj").write_text(l_shape())
    builder, report = add(tmp_path, mesh_link(), collision_meshes="hull", ignore_inertial=True)
    (shape,) = builder.shapes
    assert shape.type == ShapeType.CONVEX_HULL
    assert len(shape.mesh.vertices) == 12  # shown as it is
    assert builder.bodies[0].mass == pytest.approx(3000.0)  # and weighs what the mesh does
    assert report.shapes == [0]
    builder, _ = add(tmp_path, mesh_link(tag="visual"), collision_meshes="hull")
    assert builder.shapes[0].type == ShapeType.MESH


def test_collision_meshes_are_cut_into_convex_parts(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "a.obj").write_text(l_shape())
    builder, report = add(tmp_path, mesh_link(), collision_meshes="decompose", ignore_inertial=True)
    assert [shape.label for shape in builder.shapes] == [f"base/collision/{i}" for i in range(len(builder.shapes))]
    assert len(builder.shapes) >= 2
    assert report.shapes == list(range(len(builder.shapes)))
    volume = sum(spatial.ConvexHull(shape.mesh.vertices).volume for shape in builder.shapes)
    assert volume == pytest.approx(3.0, rel=0.05)  # that of the hull is 3.5
    assert builder.bodies[0].mass == pytest.approx(3000.0)
    (tmp_path / "a.obj").write_text(TETRAHEDRON)
    builder, _ = add(tmp_path, mesh_link(), collision_meshes="decompose")
    assert [shape.label for shape in builder.shapes] == ["base/collision"]


def test_a_flat_mesh_has_no_hull(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n")
    text = mesh_link().replace('<link name="base">', f'<link name="base">{BALL}')
    refused(tmp_path, text, "a.obj", "coplanar", "thin box", line=2, collision_meshes="hull")
    builder, _ = add(tmp_path, text)
    assert builder.shapes[0].type == ShapeType.MESH


def test_an_unknown_form_of_collision_meshes_is_refused(tmp_path):
    with pytest.raises(sim.ModelError, match='add_urdf, collision_meshes: is "?\'box\'.*"mesh", "hull", "decompose"'):
        add(tmp_path, mesh_link(), collision_meshes="box")


DAE = """<COLLADA><asset><unit meter="0.01"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="f" count="12">0 0 0 100 0 0 0 100 0 0 0 100</float_array><technique_common>
<accessor source="#f" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries></COLLADA>"""


def test_a_dae_is_read_in_its_own_unit(tmp_path):
    (tmp_path / "a.dae").write_text(DAE)
    builder, _ = add(tmp_path, mesh_link("a.dae", extra='scale="1 2 3"'), ignore_inertial=True)
    assert builder.bodies[0].mass == pytest.approx(1000 * 6 / 6)  # a tetrahedron of 1 m, stretched


# ---- soft bodies


def soft(inside='<youngs value="1e5"/><poissons value="0.45"/><tetmesh filename="a.tet"/>'):
    return robot(f'<link name="base"><fem><origin xyz="1 0 0" rpy="0 0 {math.pi / 2}"/>{inside}</fem></link>')


def test_a_soft_body_is_kept_where_it_lies_on_its_link(tmp_path):
    (tmp_path / "a.tet").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nt 0 1 2 3\n")
    builder, report = add(tmp_path, soft(), scale=0.5)
    (body,) = builder.deformables
    assert (body.kind, body.body, body.label) == ("soft", 0, "base")
    np.testing.assert_allclose(body.vertices, [(0.5, 0, 0), (0.5, 0.5, 0), (0, 0, 0), (0.5, 0, 0.5)], atol=1e-15)
    assert body.parameters == (("youngs", 1e5), ("poissons", 0.45))
    assert [note.what for note in report.kept] == ["<fem>"]
    with pytest.warns(UserWarning, match="1 deformables"):
        builder.finalize(device="cpu")


def test_bad_soft_bodies_are_refused(tmp_path):
    refused(tmp_path, soft(), "a.tet", "not found", line=2)
    refused(tmp_path, soft("<density value='-1'/>"), "0 or more", line=2)
    refused(tmp_path, soft("<density value='1'/>"), "<tetmesh>", line=2)
    (tmp_path / "a.tet").write_text("v 0 0 0\n")
    refused(tmp_path, soft(), "a.tet", line=2)
