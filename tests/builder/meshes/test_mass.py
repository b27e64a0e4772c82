"""Mass properties of meshes in MuJoCo's four modes: closed forms, and what MuJoCo's compiler makes of real files."""

import mujoco
import numpy as np
import pytest
import trimesh

from simengine.builder.mesh_data import Mesh
from simengine.builder.meshes.files import load_mesh
from simengine.builder.meshes.mass import MeshInertia, mesh_inertia
from simengine.errors import AssetError, ModelError
from tests.builder.meshes.mesh_samples import FACES, POINTS
from tests.builder.meshes.test_clean import sphere
from tests.builder.meshes.test_decompose import l_shape

REAL = [
    "mujoco_menagerie/agility_cassie", "mujoco_menagerie/shadow_hand", "mujoco_menagerie/ufactory_xarm7",
    "mjlab/unitree_go1", "mujoco_menagerie/skydio_x2", "mujoco_warp/aloha_pot", "mujoco/meshes", "trimesh/models",
    "newton-assets", "example-robot-data", "IsaacGymEnvs", "urdf-usd-converter",
]  # fmt: skip


def mujoco_inertia(data: bytes, name: str, mode: str):
    """Mass, centre of mass and inertia about it, of one geom of density 1."""
    xml = f"""<mujoco><compiler boundmass="0"/><asset><mesh name="m" file="{name}" inertia="{mode}"/></asset>
    <worldbody><body><freejoint/><geom type="mesh" mesh="m" density="1"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml, {name: data})
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.body_iquat[1])
    rotation = rotation.reshape(3, 3)
    return model.body_mass[1], model.body_ipos[1], rotation @ np.diag(model.body_inertia[1]) @ rotation.T


def errors(ours, theirs, extent):
    return (
        abs(ours[0] / theirs[0] - 1),
        np.abs(ours[1] - theirs[1]).max() / extent,
        np.abs(ours[2] - theirs[2]).max() / np.abs(theirs[2]).max(),
    )


@pytest.mark.parametrize("folder", REAL)
def test_real_meshes_are_as_heavy_as_in_mujoco(shared, folder):
    """To 1e-6. MuJoCo's exact mode takes open surfaces, which enclose nothing; ours refuses these."""
    compared = 0
    for path in sorted((shared / "assets" / folder).rglob("*")):
        if path.suffix.lower() not in (".stl", ".obj"):
            continue
        data = path.read_bytes()
        for mode in MeshInertia:
            try:
                theirs = mujoco_inertia(data, path.name, mode)
            except ValueError:
                continue
            file = load_mesh(data, path.name, as_mujoco=True)
            mesh = Mesh(file.vertices, file.triangles, path.name)
            if mode == MeshInertia.EXACT and mesh.solid_problem:
                continue
            found = errors(mesh_inertia(mesh, mode), theirs, np.ptp(mesh.vertices, axis=0).max())
            assert max(found) < 1e-6, (path.name, mode, found)
            compared += 1
    assert compared >= 3


def test_what_mujoco_refuses_of_real_meshes_is_refused_here_too(shared):
    """But text STL, which MuJoCo does not read: no triangles, no volume, edges that two triangles pass the same way."""
    refused = []
    for path in sorted((shared / "assets").rglob("*")):
        if path.suffix.lower() not in (".stl", ".obj") or path.read_bytes()[:6] == b"solid ":
            continue
        data = path.read_bytes()
        for mode in (MeshInertia.EXACT, MeshInertia.LEGACY):
            try:
                mujoco_inertia(data, path.name, mode)
            except ValueError:
                with pytest.raises((AssetError, ModelError)):
                    file = load_mesh(data, path.name, as_mujoco=True)
                    mesh_inertia(Mesh(file.vertices, file.triangles, path.name), mode)
                refused.append((path.name, mode))
    assert len(refused) >= 20


@pytest.mark.parametrize("mode", ["exact", "legacy", "convex"])
def test_a_box_is_a_solid_in_each_mode(mode):
    size = np.array([1.0, 2.0, 3.0])
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * size + [5, 6, 7]
    sides = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    triangles = [t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))]
    volume, com, inertia = mesh_inertia(Mesh(corners, triangles), mode)
    assert volume == pytest.approx(6)
    np.testing.assert_allclose(com, size / 2 + [5, 6, 7])
    np.testing.assert_allclose(inertia, np.diag(6 / 12 * ((size**2).sum() - size**2)), atol=1e-10)


def test_a_sphere_as_a_shell_and_as_a_solid():
    mesh = Mesh(*sphere(5))
    area, com, inertia = mesh_inertia(mesh, "shell")
    assert area == pytest.approx(4 * np.pi, rel=1e-3)
    np.testing.assert_allclose(com, 0, atol=1e-12)
    np.testing.assert_allclose(inertia, 2 / 3 * area * np.eye(3), rtol=1e-3, atol=1e-9)
    volume, _, inertia = mesh_inertia(mesh, "exact")
    np.testing.assert_allclose(inertia, 0.4 * volume * np.eye(3), rtol=1e-3, atol=1e-9)


def test_a_concave_solid_is_its_own_its_hull_or_too_heavy():
    sizes = {mode: mesh_inertia(l_shape(), mode)[0] for mode in ("exact", "convex", "legacy")}
    assert sizes["exact"] == pytest.approx(3)
    assert sizes["convex"] == pytest.approx(3.5)
    assert sizes["legacy"] >= 3


def test_a_tetrahedron_that_is_inside_out_weighs_the_same():
    ours, turned = (mesh_inertia(Mesh(POINTS, faces), "exact") for faces in (FACES, FACES[:, ::-1]))
    assert max(errors(turned, ours, 1)) < 1e-12


@pytest.mark.parametrize("faces, mode, message", [
    (FACES[:3], "exact", "open.*convex, shell or legacy"),
    (np.concatenate([FACES[:3], FACES[3:, ::-1]]), "exact", "winding"),
    (FACES[:1], "legacy", "no volume"),
    (FACES[:1], "convex", None),
    (FACES[:1], "solid", "none of exact, legacy, convex, shell"),
])  # fmt: skip
def test_what_has_no_mass_in_a_mode_is_refused(faces, mode, message):
    mesh = Mesh(POINTS, faces, "rock")
    if message is None:
        assert mesh_inertia(mesh, mode)[0] == pytest.approx(1 / 6)
        return
    with pytest.raises(ModelError, match=f"rock.*{message}"):
        mesh_inertia(mesh, mode)


def test_coplanar_points_have_no_hull():
    with pytest.raises(ModelError, match="coplanar"):
        mesh_inertia(Mesh(POINTS[:3], FACES[:1] * 0 + [0, 1, 2]), "convex")


@pytest.mark.parametrize("mode", MeshInertia)
def test_trimesh_agrees_where_it_has_the_mode(mode):
    points, triangles = sphere(2)
    points = points * [1, 2, 3] + [1, 1, 1]
    ours = mesh_inertia(Mesh(points, triangles), mode)
    reference = trimesh.Trimesh(points, triangles, process=False)
    if mode == MeshInertia.SHELL:
        assert ours[0] == pytest.approx(reference.area)
        return
    np.testing.assert_allclose(ours[1], reference.center_mass)
    np.testing.assert_allclose(ours[2], reference.moment_inertia, rtol=1e-9, atol=1e-9)
