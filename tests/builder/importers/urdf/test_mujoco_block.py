"""``<mujoco>`` in a URDF: masses as MuJoCo's own reader makes them of the same text; meshes where it looks for them."""

import mujoco
import numpy as np
import pytest

import simengine as sim
from tests.builder.importers.urdf.texts import TETRAHEDRON, add, mesh_link, refused, robot


def inertial(mass, diagonal, xy=0.0):
    xx, yy, zz = diagonal
    return (
        f'<inertial><origin xyz="0.1 0 0.2" rpy="0.3 0.2 0.1"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="0" iyz="0"/></inertial>'
    )


def tree(compiler, more=""):
    return robot(
        f"<mujoco><compiler {compiler}/>{more}</mujoco>\n"
        f'<link name="a">{inertial(2, (1, 1, 1))}</link>\n'
        f'<link name="b">{inertial(0.5, (1, 1, 3), 0.1)}</link>\n'
        '<link name="c"/>\n'
        f'<link name="d">{inertial(0.3, (0.1, 0.12, 0.15))}</link>\n'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>\n'
        # at its parent's origin: MuJoCo puts the bounded mass of a link without inertia where its joint is, not on it
        '<joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint>\n'
        '<joint name="l" type="continuous"><parent link="b"/><child link="d"/><origin xyz="0 1 0"/></joint>'
    )


@pytest.mark.parametrize("fused", ["true", "false"])
@pytest.mark.parametrize(
    "compiler",
    [
        'balanceinertia="true"',
        'balanceinertia="true" boundmass="0.7"',
        'balanceinertia="true" boundmass="0.1" boundinertia="1.05"',
        'balanceinertia="true" boundmass="0.7" boundinertia="0.13"',
        'balanceinertia="true" settotalmass="10"',
        'balanceinertia="true" settotalmass="10" boundmass="0.4"',
    ],
)
def test_masses_are_those_of_mujoco(tmp_path, monkeypatch, compiler, fused):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its log there
    text = tree(f'{compiler} fusestatic="{fused}"')
    reference = mujoco.MjModel.from_xml_string(text)
    builder, _ = add(tmp_path, text, collapse_fixed_joints=fused == "true")
    model = builder.finalize(device="cpu", precision="float64")
    for name in ("b", "d") if fused == "true" else ("a", "b", "c", "d"):
        theirs, (ours,) = reference.body(name), model.find_bodies(name)
        assert model.body_mass[ours] == pytest.approx(theirs.mass[0], rel=1e-12)
        if theirs.mass[0]:
            np.testing.assert_allclose(model.body_com[ours], theirs.ipos, atol=1e-12)
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, theirs.iquat)
        turn = turn.reshape(3, 3)
        np.testing.assert_allclose(model.body_inertia[ours], turn @ np.diag(theirs.inertia) @ turn.T, atol=1e-12)


def test_a_link_without_mass_gets_no_inertia_by_a_bound_alone(tmp_path):
    builder, _ = add(tmp_path, tree('boundinertia="1.05"'))
    assert [body.mass for body in builder.bodies] == [2, 0.5, 0, 0.3]
    assert not np.any(builder.bodies[2].inertia)
    assert np.linalg.eigvalsh(np.reshape(builder.bodies[3].inertia, (3, 3))) == pytest.approx([1.05] * 3)


def test_options_are_on_the_builder(tmp_path):
    option = (
        '<option timestep="0.004" gravity="0 1 -3" integrator="RK4" cone="elliptic" impratio="10" iterations="50" '
        'tolerance="1e-9" density="1.2" viscosity="2e-5" wind="1 2 3"><flag contact="disable"/></option>'
    )
    builder, report = add(tmp_path, tree('balanceinertia="true"', option))
    options = builder.options
    assert (options.dt, options.integrator, options.cone, options.impratio) == (0.004, "rk4", "elliptic", 10)
    assert (options.iterations, options.tolerance, options.density, options.viscosity) == (50, 1e-9, 1.2, 2e-5)
    assert options.wind == (1, 2, 3)
    assert builder.gravity == (0, 1, -3)
    assert [(note.what, "misspelt" in note.reason) for note in report.ignored] == [("<flag>", False)]
    assert [note.what for note in report.kept] == [f"attribute '{name}'" for name in ("density", "viscosity", "wind")]
    builder, report = add(tmp_path, tree('balanceinertia="true"', option), builder=sim.ModelBuilder(gravity=-1))
    assert builder.gravity == (0, 0, -1)
    assert [note.what for note in report.warned] == ["gravity"]


def test_geometry_gives_the_mass_where_the_compiler_says_so(tmp_path):
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    text = robot(
        f'<mujoco><compiler inertiafromgeom="true"/></mujoco><link name="a">{inertial(9, (1, 1, 1))}{ball}</link>'
    )
    builder, _ = add(tmp_path, text)
    assert builder.bodies[0].mass == pytest.approx(1000 * 4 / 3 * np.pi * 0.1**3)


@pytest.mark.parametrize(
    "compiler, filename, place",
    [
        ('meshdir="m"', "package://nowhere/deep/a.obj", "m/a.obj"),
        ('meshdir="m/" strippath="true"', "deep/a.obj", "m/a.obj"),
        ('meshdir="m" strippath="false"', "deep/a.obj", "m/deep/a.obj"),
        ('meshdir="m"', "/home/somebody/a.obj", "m/a.obj"),
        ('assetdir="m"', "a.obj", "m/a.obj"),
        ("", "deep/a.obj", "a.obj"),
        ('meshdir="m"', "deep/a.obj", "deep/a.obj"),  # the URDF's own rule first
    ],
)
def test_meshes_are_found_where_mujoco_looks_for_them(tmp_path, compiler, filename, place):
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text(TETRAHEDRON)
    text = mesh_link(filename).replace("<link", f"<mujoco><compiler {compiler}/></mujoco><link")
    builder, _ = add(tmp_path, text)
    assert len(builder.shapes[0].mesh.triangles) == 4
    (tmp_path / place).unlink()
    refused(tmp_path, text, "a.obj", line=2)


def test_a_mesh_folder_does_not_lead_out(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "a.obj").write_text(TETRAHEDRON)
    text = mesh_link().replace("<link", '<mujoco><compiler meshdir=".."/></mujoco><link')
    refused(inside, text, "outside", line=2)


@pytest.mark.parametrize(
    "compiler, words",
    [
        ('balanceinertia="yes"', "true, false"),
        ('boundmass="-1"', "zero or more"),
        ('boundmass="heavy"', "decimal"),
        ('inertiafromgeom="maybe"', "auto"),
    ],
)
def test_bad_settings_are_refused(tmp_path, compiler, words):
    refused(tmp_path, tree(compiler), words, line=2)
    refused(tmp_path, tree("").replace("</robot>", "<mujoco/></robot>"), "2 <mujoco>")


def test_what_mujoco_itself_passes_over_is_noted(tmp_path):
    text = tree('balanceinertia="true" angle="degree" fusestatic="false" colour="red"', "<size/><worldbody/>")
    _, report = add(tmp_path, text)
    notes = {note.what: note.reason for note in report.ignored}
    assert set(notes) == {"attribute 'angle'", "attribute 'fusestatic'", "attribute 'colour'",
                          "<size> of <mujoco>", "<worldbody> of <mujoco>"}  # fmt: skip
    assert "misspelt" in notes["attribute 'colour'"]
    assert "radians" in notes["attribute 'angle'"]
