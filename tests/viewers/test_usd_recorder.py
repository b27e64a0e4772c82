"""What UsdRecorder writes is read back with usd-core alone, and compared with the states and with closed forms."""

import sys

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdValidation

import simengine as sim
from simengine.enums import ShapeType
from simengine.errors import AssetError, MissingExtraError, ModelError
from simengine.viewers import UsdRecorder
from simengine.viewers.usd_shapes import ShapePrims

TETRAHEDRON = (
    np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float),
    [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)],
)


def all_shapes(up_axis="Z") -> sim.ModelBuilder:
    """One free body with a shape of every kind, each turned and moved."""
    builder = sim.ModelBuilder(up_axis=up_axis)
    body = builder.add_body(xform=sim.transform((1, 2, 3), (0.5, 0.5, 0.5, 0.5)), label="many shapes")
    place = {"xform": sim.transform((0.1, -0.2, 0.3), (0.36, 0.48, 0, 0.8))}
    builder.add_shape_sphere(body, 0.3, label="sphere", color=(1, 0, 0, 0.5), **place)
    builder.add_shape_box(body, 0.1, 0.2, 0.3, label="box", **place)
    builder.add_shape_capsule(body, 0.1, 0.4, label="capsule", **place)
    builder.add_shape_cylinder(body, 0.1, 0.4, label="cylinder", **place)
    builder.add_shape_cone(body, 0.1, 0.4, label="cone", **place)
    builder.add_shape_ellipsoid(body, 0.1, 0.2, 0.4, label="ellipsoid", **place)
    builder.add_shape_mesh(body, TETRAHEDRON, scale=(1, 2, 3), label="mesh", **place)
    builder.add_shape_box(body, 1, 1, 1, label="hidden", visible=False)
    builder.add_shape_plane(hx=2, hy=3, label="sheet")
    return builder


def record(path, model, states, fps=50.0, **options) -> Usd.Stage:
    with UsdRecorder(path, model, fps, **options) as recorder:
        for frame, state in enumerate(states):
            recorder.write(state, frame / fps)
    return Usd.Stage.Open(str(path))


def pose_of(stage, path, code=0.0) -> np.ndarray:
    """Position and quaternion in the world of the stage (7,)."""
    matrix = UsdGeom.Xformable(stage.GetPrimAtPath(path)).ComputeLocalToWorldTransform(code)
    quat = matrix.ExtractRotationQuat()
    return np.array([*matrix.ExtractTranslation(), *quat.GetImaginary(), quat.GetReal()])


def assert_same_pose(found, expected, tolerance=1e-9):
    expected = np.asarray(expected, float)
    sign = 1 if found[3:] @ expected[3:] >= 0 else -1
    np.testing.assert_allclose(found, [*expected[:3], *(sign * expected[3:])], atol=tolerance)


def tumbling(worlds=3) -> sim.Model:
    """Worlds 2 m apart, in each a box that tumbles in free flight above a plane that they share."""
    template = sim.ModelBuilder(gravity=0)
    box = template.add_body(xform=sim.transform((0, 0, 1)), velocity=(0.3, 0, 0, 9, 8, -7), label="box")
    template.add_shape_box(box, 0.1, 0.2, 0.3)
    template.add_shape_sphere(-1, 0.05, xform=sim.transform((0.5, 0, 0.05)), label="stone")
    builder = sim.ModelBuilder(gravity=0)
    builder.replicate(template, worlds, spacing=2.0)
    builder.add_ground_plane()
    return builder.finalize(device="cpu", precision="float64")


def states_of(model, count, frames_per_second=50.0) -> list:
    simulation = sim.Simulation(model, sim.solvers.Featherstone(model), 1 / frames_per_second, 4)
    states = [simulation.state.copy()]
    for _ in range(count - 1):
        simulation.step()
        states.append(simulation.state.copy())
    return states


@pytest.mark.parametrize("suffix", [".usdc", ".usda", ".usd"])
def test_bodies_are_where_the_states_have_them(tmp_path, suffix):
    model = tumbling()
    states = states_of(model, 40)
    stage = record(tmp_path / f"run{suffix}", model, states)
    for world in range(3):
        offset = [*model.world_offset[world], 0, 0, 0, 0]
        for frame in (0, 1, 17, 39):
            expected = states[frame].body_q[world] + offset
            assert_same_pose(pose_of(stage, f"/World/world_{world}/box", frame), expected)
        assert_same_pose(
            pose_of(stage, f"/World/world_{world}/stone", 20), [0.5, 0, 0.05, 0, 0, 0, 1] + np.array(offset)
        )
    assert np.ptp(model.world_offset[:, 0]) == 2.0


def test_stage_says_units_up_and_times(tmp_path):
    model = tumbling(1)
    stage = record(tmp_path / "run.usdc", model, states_of(model, 11))
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert UsdPhysics.GetStageKilogramsPerUnit(stage) == 1.0
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 10.0)
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == 50.0
    assert stage.GetDefaultPrim().GetPath() == "/World"
    assert stage.GetPrimAtPath("/World/world_0/box").GetDisplayName() == "box"


def test_validators_of_usd_find_nothing(tmp_path):
    builder = sim.ModelBuilder()
    builder.replicate(all_shapes(), 2, spacing=3.0)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu")
    stage = record(tmp_path / "run.usda", model, [model.state()] * 3)
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert len(validators) > 10
    found = UsdValidation.ValidationContext(validators).Validate(stage)
    assert [f"{error.GetName()}: {error.GetMessage()}" for error in found] == []


def test_turning_bodies_blend_the_short_way(tmp_path):
    """Half way between two samples the orientation lies between theirs, though quaternions have two signs."""
    model = tumbling(1)
    states = states_of(model, 60)
    for state in states[::2]:
        state.body_q[0, 3:] *= -1  # the same rotations
    stage = record(tmp_path / "run.usdc", model, states)
    for frame in range(59):
        a, b = (pose_of(stage, "/World/world_0/box", frame + k)[3:] for k in (0, 1))
        between = pose_of(stage, "/World/world_0/box", frame + 0.5)[3:]
        whole = np.arccos(min(abs(a @ b), 1))
        assert np.arccos(min(abs(a @ between), 1)) == pytest.approx(whole / 2, abs=1e-6)


def test_shapes_have_their_sizes_places_and_colours(tmp_path):
    model = all_shapes().finalize(device="cpu", precision="float64")
    stage = record(tmp_path / "run.usda", model, [model.state()])
    at = "/World/world_0/many_shapes"
    shape = {name: stage.GetPrimAtPath(f"{at}/{name}") for name in ("sphere", "box", "capsule", "cylinder", "cone")}
    shape |= {name: stage.GetPrimAtPath(f"{at}/{name}") for name in ("ellipsoid", "mesh")}
    assert not stage.GetPrimAtPath(f"{at}/hidden")
    extents = {
        "sphere": (0.3, 0.3, 0.3),
        "box": (0.1, 0.2, 0.3),
        "capsule": (0.1, 0.1, 0.5),
        "cylinder": (0.1, 0.1, 0.4),
        "cone": (0.1, 0.1, 0.4),
        "ellipsoid": (0.1, 0.2, 0.4),
    }
    cache = UsdGeom.BBoxCache(Usd.TimeCode.Default(), [UsdGeom.Tokens.default_])
    for name, half in extents.items():
        box = cache.ComputeUntransformedBound(shape[name]).GetRange()
        scale = UsdGeom.Xformable(shape[name]).GetLocalTransformation().GetTranspose()
        lengths = [Gf.Vec3d(*(scale[i][j] for i in range(3))).GetLength() for j in range(3)]
        np.testing.assert_allclose(np.array(box.GetMax()) * lengths, half, rtol=1e-6, err_msg=name)
    assert shape["capsule"].GetAttribute("axis").Get() == shape["cone"].GetAttribute("axis").Get() == "Z"
    np.testing.assert_allclose(shape["sphere"].GetAttribute("primvars:displayColor").Get()[0], (1, 0, 0))
    assert shape["sphere"].GetAttribute("primvars:displayOpacity").Get()[0] == 0.5
    body, place = Gf.Matrix4d(), Gf.Matrix4d()
    body.SetTransform(Gf.Rotation(Gf.Quatd(0.5, 0.5, 0.5, 0.5)), Gf.Vec3d(1, 2, 3))
    place.SetTransform(Gf.Rotation(Gf.Quatd(0.8, 0.36, 0.48, 0)), Gf.Vec3d(0.1, -0.2, 0.3))
    found = UsdGeom.Xformable(shape["mesh"]).ComputeLocalToWorldTransform(0)
    for corner, vertex in zip(shape["mesh"].GetAttribute("points").Get(), TETRAHEDRON[0], strict=True):
        expected = (place * body).Transform(Gf.Vec3d(*(vertex * (1, 2, 3))))
        np.testing.assert_allclose(found.Transform(Gf.Vec3d(corner)), expected, atol=1e-9)
    sheet = np.array(stage.GetPrimAtPath("/World/world_0/sheet").GetAttribute("points").Get())
    assert (sheet.min(axis=0).tolist(), sheet.max(axis=0).tolist()) == ([-2, -3, 0], [2, 3, 0])


def test_a_height_field_is_the_surface_of_its_heights(tmp_path):
    heights = np.random.default_rng(0).random((3, 4))
    builder = sim.ModelBuilder()
    builder.add_body(mass=1, inertia=np.eye(3))
    builder.add_shape_heightfield(-1, heights, 2, 3, base=0.5, xform=sim.transform((1, 0, 2)), label="hills")
    model = builder.finalize(device="cpu")
    stage = record(tmp_path / "run.usda", model, [model.state()])
    prim = UsdGeom.Mesh(stage.GetPrimAtPath("/World/world_0/hills"))
    points = np.array([prim.ComputeLocalToWorldTransform(0).Transform(Gf.Vec3d(p)) for p in prim.GetPointsAttr().Get()])
    x, y = np.meshgrid(np.linspace(-1, 3, 4), np.linspace(-3, 3, 3))
    expected = np.stack([x, y, heights + 2], -1).reshape(-1, 3)
    assert sorted(map(tuple, points.round(5))) == sorted(map(tuple, expected.round(5)))
    assert len(prim.GetFaceVertexCountsAttr().Get()) == 2 * 2 * 3


def test_every_type_of_shape_has_its_prim():
    model = all_shapes().finalize(device="cpu")
    assert set(ShapePrims(model, None, 0.0)._makers) == set(ShapeType)


@pytest.mark.parametrize("up_axis", ["X", "Y", "Z"])
def test_up_is_up_in_the_viewer(tmp_path, up_axis):
    """A body one metre above the ground is one metre up along the stage's up axis."""
    builder = sim.ModelBuilder(up_axis=up_axis)
    height = np.array([name == up_axis for name in "XYZ"], float)
    builder.add_shape_sphere(builder.add_body(xform=sim.transform(height), label="ball"), 0.1)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    stage = record(tmp_path / "run.usda", model, [model.state()])
    found = pose_of(stage, "/World/world_0/ball")[:3]
    expected = np.array([name == UsdGeom.GetStageUpAxis(stage) for name in "XYZ"], float)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    normal = UsdGeom.Xformable(stage.GetPrimAtPath("/World/world_0/ground")).ComputeLocalToWorldTransform(0)
    np.testing.assert_allclose(normal.TransformDir(Gf.Vec3d(0, 0, 1)), expected, atol=1e-9)


def test_some_worlds_of_many(tmp_path):
    model = tumbling(9)
    states = states_of(model, 3)
    stage = record(tmp_path / "run.usdc", model, states, worlds=[7, 2])
    names = [prim.GetName() for prim in stage.GetPrimAtPath("/World").GetChildren()]
    assert names == ["ground", "world_7", "world_2"]
    expected = states[2].body_q[7] + [*model.world_offset[7], 0, 0, 0, 0]
    assert_same_pose(pose_of(stage, "/World/world_7/box", 2), expected)


def test_a_body_at_rest_has_one_pose_and_no_samples(tmp_path):
    model = all_shapes().finalize(device="cpu")
    stage = record(tmp_path / "run.usda", model, [model.state()] * 4)
    ops = UsdGeom.Xformable(stage.GetPrimAtPath("/World/world_0/many_shapes")).GetOrderedXformOps()
    assert [op.GetNumTimeSamples() for op in ops] == [0, 0]
    assert_same_pose(pose_of(stage, "/World/world_0/many_shapes", 3), (1, 2, 3, 0.5, 0.5, 0.5, 0.5), 1e-6)


def test_labels_become_names_that_usd_takes(tmp_path):
    builder = sim.ModelBuilder()
    for label in ("left leg", "left-leg", "1st"):
        builder.add_shape_sphere(builder.add_body(label=label), 0.1, label=f"{label}/round")
    model = builder.finalize(device="cpu")
    stage = record(tmp_path / "run.usda", model, [model.state()])
    prims = stage.GetPrimAtPath("/World/world_0").GetChildren()
    assert [prim.GetName() for prim in prims] == ["left_leg", "left_leg_2", "_1st"]
    assert [prim.GetDisplayName() for prim in prims] == ["left leg", "left-leg", "1st"]
    assert all([child.GetName() for child in prim.GetChildren()] == ["round"] for prim in prims)


def test_poses_that_are_not_finite_are_left_out_and_named(tmp_path):
    model = tumbling(2)
    states = states_of(model, 4)
    states[2].body_q[1] = np.nan
    with pytest.warns(UserWarning, match="not finite were left out: 1 of 'box' in world 1 from frame 2 on"):
        stage = record(tmp_path / "run.usdc", model, states)
    samples = UsdGeom.Xformable(stage.GetPrimAtPath("/World/world_1/box")).GetOrderedXformOps()[0].GetTimeSamples()
    assert samples == [0.0, 1.0, 3.0]


def test_a_broken_run_is_written_as_far_as_it_went(tmp_path):
    model = tumbling(1)
    with pytest.raises(RuntimeError, match="broken"), UsdRecorder(tmp_path / "new/run.usdc", model) as recorder:
        recorder.write(model.state(), 0.0)
        recorder.write(model.state(), 0.5)
        raise RuntimeError("broken")
    assert Usd.Stage.Open(str(tmp_path / "new/run.usdc")).GetEndTimeCode() == 30.0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["run.usdc"]


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "run.usda"
    path.write_text("old")
    model = tumbling(1)
    recorder = UsdRecorder(path, model)
    recorder.write(model.state(), 0.0)
    assert path.read_text() == "old"
    recorder.close()
    recorder.close()
    assert path.read_text().startswith("#usda")
    with pytest.raises(ModelError, match="is closed"):
        recorder.write(model.state(), 1.0)


def test_wrong_arguments_are_named(tmp_path):
    model = tumbling(1)
    with pytest.raises(ModelError, match=r"must end in \.usdc"):
        UsdRecorder(tmp_path / "run.mp4", model)
    (tmp_path / "folder.usdc").mkdir()
    with pytest.raises(ModelError, match="is a folder"):
        UsdRecorder(tmp_path / "folder.usdc", model)
    (tmp_path / "file").write_text("")
    with pytest.raises(AssetError, match=r"file/run.usdc: cannot be written: there is no folder"):
        UsdRecorder(tmp_path / "file" / "run.usdc", model)
    with pytest.raises(ModelError, match="frames_per_second: is 0"):
        UsdRecorder(tmp_path / "run.usdc", model, 0)
    for worlds in ([], [1], [0, 0]):
        with pytest.raises(ModelError, match="worlds: are"):
            UsdRecorder(tmp_path / "run.usdc", model, worlds=worlds)
    recorder = UsdRecorder(tmp_path / "run.usdc", model)
    recorder.write(model.state(), 1.0)
    for seconds in (1.0, 0.5, np.nan):
        with pytest.raises(ModelError, match="times must grow"):
            recorder.write(model.state(), seconds)


def test_without_usd_core_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(MissingExtraError, match=r'pip install "simengine\[usd\]"'):
        UsdRecorder(tmp_path / "run.usdc", tumbling(1))
