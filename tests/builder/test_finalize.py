"""Tiling: worlds of one or several templates are what each template is alone, in its place."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import simengine as sim
from simengine import schema
from simengine.builder.finalize import check_room, random_keys
from simengine.errors import CapacityError
from tests.builder.scenes import chain, random_tree

ROOT = Path(__file__).resolve().parents[2]
ELEMENTS = {
    "bodies": "body", "joints": "joint", "coords": "coord", "dofs": "dof", "shapes": "shape", "sites": "site",
    "equalities": "equality",
}  # fmt: skip
OFFSETS = {
    "joint_parent": "bodies", "joint_child": "bodies", "shape_body": "bodies", "site_body": "bodies",
    "joint_q_start": "coords", "joint_qd_start": "dofs", "shape_rigid_body": "bodies", "shape_parent_body": "bodies",
}  # fmt: skip
OF_WORLD = ("body_world", "shape_world", "world_group", "random_key")


def data_of(builder, precision="float64"):
    return builder._assemble(precision, 0)


def rich(seed, plane=False):
    """A template with some of everything."""
    builder = random_tree(seed, 9)
    ball = builder.add_body((0, 0, seed, 0, 0, 0, 1))
    builder.add_shape_sphere(ball, 0.1 + seed)
    builder.add_shape_mesh(0, (np.eye(3) * (1 + seed), [[0, 1, 2]]))
    builder.add_site(2, label="eye")
    builder.add_equality_joint(0, 1)
    builder.add_equality_connect(-1, 3)
    if plane:
        builder.add_ground_plane()
    return builder


def assert_worlds_are(builder, templates):
    """Each world of the builder holds what its template alone compiles to, at its offsets."""
    data = data_of(builder)
    singles = [data_of(template) for template in templates]
    at = dict.fromkeys(ELEMENTS, 0)
    for world, single in enumerate(singles):
        for row in schema.rows("model"):
            kind = str(row.shape[0]).removesuffix("+1")
            if kind not in at or row.name in OF_WORLD:
                continue
            expected = single.arrays[row.name]
            count = len(expected) - row.shape[0].endswith("+1")
            got = data.arrays[row.name][at[kind] : at[kind] + count]
            expected = expected[:count]
            if row.name in OFFSETS:
                expected = np.where(expected < 0, expected, expected + at[OFFSETS[row.name]])
            elif row.name.startswith("equality_object"):
                of_joints = single.arrays["equality_type"] == 2
                expected = np.where(expected < 0, -1, expected + np.where(of_joints, at["joints"], at["bodies"]))
            elif row.name == "shape_mesh":
                for mine, its in zip(got, expected, strict=True):
                    assert (mine < 0) == (its < 0)
                    if mine >= 0:
                        np.testing.assert_array_equal(points(data, mine), points(single, its))
                continue
            np.testing.assert_array_equal(got, expected, err_msg=f"world {world}, {row.name}")
        assert (data.arrays["body_world"][at["bodies"] : at["bodies"] + len(single.arrays["body_mass"])] == world).all()
        for kind, name in ELEMENTS.items():
            assert data.arrays[f"world_{name}_start"][world] == at[kind]
            at[kind] += single.arrays[f"world_{name}_start"][1]
    return data


def points(data, mesh):
    start = data.arrays["mesh_point_start"]
    return data.arrays["mesh_point"][start[mesh] : start[mesh + 1]]


def test_copies_of_one_template_are_that_template():
    builder = sim.ModelBuilder()
    builder.replicate(rich(1), 4)
    data = assert_worlds_are(builder, [rich(1)] * 4)
    assert len(data.topologies) == 1
    np.testing.assert_array_equal(data.topologies[0]["group_world"], range(4))
    assert len(data.arrays["mesh_point"]) == 3


def test_mixed_templates_are_each_what_they_are_alone():
    order = [1, 2, 1, 1, 3, 2, 1]
    builder = sim.ModelBuilder()
    for seed in order:
        builder.add_builder(rich(seed, plane=seed == 3))
    data = assert_worlds_are(builder, [rich(seed, plane=seed == 3) for seed in order])
    assert len(builder._template_elements) == 3
    start = data.arrays["joint_q_start"]
    assert start[-1] == len(data.arrays["joint_q"])
    np.testing.assert_array_equal(np.unique(data.arrays["shape_mesh"]), [-1, 0, 1, 2])


def test_more_worlds_than_arrays_or_memory_hold_are_refused_with_their_number(monkeypatch):
    ball, builder = sim.ModelBuilder(), sim.ModelBuilder()
    ball.add_shape_sphere(ball.add_body(), 0.1)
    with pytest.raises(CapacityError, match=r"worlds: more than .* \(needed 1000000000, had \d+\)"):
        builder.replicate(ball, 10**9)
    assert builder.world_count == 0
    builder.replicate(ball, 3)
    monkeypatch.setattr(builder, "_assemble", lambda *arguments: np.empty(2**60, np.int8))
    with pytest.raises(CapacityError, match=r"memory is too small for the model, worlds: 3 \(Unable"):
        builder.finalize(device="cpu")
    with pytest.raises(CapacityError, match="coords: more than"):
        check_room({"worlds": 3, "coords": 2**31})
    check_room({"worlds": 3, "coords": 2**31 - 1})


def test_replicate_is_add_builder_by_hand():
    by_hand, replicated = sim.ModelBuilder(), sim.ModelBuilder()
    template = rich(1)
    assert replicated.replicate(template, 3) == 0
    assert [by_hand.add_builder(template) for _ in range(3)] == [0, 1, 2]
    a, b = data_of(by_hand), data_of(replicated)
    for name in a.arrays:
        np.testing.assert_array_equal(a.arrays[name], b.arrays[name], err_msg=name)
    assert {kind: list(names) for kind, names in a.labels.items()} == {k: list(v) for k, v in b.labels.items()}
    assert len(a.topologies) == len(b.topologies) == 1


def test_worlds_that_differ_in_numbers_share_a_group_and_in_structure_do_not():
    def legs(count, radius, prismatic=False):
        builder = chain(count, radius=radius)
        if prismatic:
            builder.add_joint_prismatic(-1, builder.add_body(mass=1, inertia=(1, 1, 1)))
        else:
            builder.add_joint_revolute(-1, builder.add_body(mass=1, inertia=(1, 1, 1)))
        return builder

    builder = sim.ModelBuilder()
    for template in (legs(2, 0.1), legs(3, 0.1), legs(2, 0.2), legs(2, 0.1, prismatic=True), legs(3, 0.3)):
        builder.add_builder(template)
    data = data_of(builder)
    np.testing.assert_array_equal(data.arrays["world_group"], [0, 1, 0, 2, 1])
    assert [list(t["group_world"]) for t in data.topologies] == [[0, 2], [1, 4], [3]]


def test_static_shapes_of_the_outer_builder_stand_last_and_meet_every_world():
    builder = sim.ModelBuilder()
    builder.add_ground_plane()
    builder.replicate(chain(1), 3)
    builder.add_shape_box(-1, 1, 1, 1, label="wall")
    data = data_of(builder)
    np.testing.assert_array_equal(data.arrays["shape_world"], [0, 1, 2, -1, -1])
    np.testing.assert_array_equal(data.arrays["shape_body"], [0, 1, 2, -1, -1])
    np.testing.assert_array_equal(data.arrays["world_shape_start"], [0, 1, 2, 3])
    assert list(data.labels["shape"]) == ["capsule_0"] * 3 + ["ground", "wall"]
    t = data.topologies[0]
    pairs = sorted(zip(t["pair_shape0"], t["pair_shape1"], strict=True))
    assert pairs == [(0, 2), (1, 0)]


def test_one_world_keeps_the_numbers_that_the_builder_gave():
    builder = sim.ModelBuilder()
    ground = builder.add_ground_plane()
    body = builder.add_body()
    ball = builder.add_shape_sphere(body, 1)
    data = data_of(builder)
    assert (data.arrays["shape_body"][ground], data.arrays["shape_body"][ball]) == (-1, body)
    np.testing.assert_array_equal(data.arrays["world_shape_start"], [0, 2])


def test_add_builder_moves_and_prefixes_one_world():
    builder = sim.ModelBuilder()
    ball = sim.ModelBuilder()
    ball.add_body((0, 0, 1, 0, 0, 0, 1), mass=1, inertia=(1, 1, 1), label="ball")
    builder.add_builder(ball, xform=(1, 2, 0, 0, 0, 0, 1), label_prefix="left")
    builder.add_builder(ball)
    data = data_of(builder)
    np.testing.assert_array_equal(data.arrays["body_q"][:, :3], [[1, 2, 1], [0, 0, 1]])
    assert list(data.labels["body"]) == ["left/ball", "ball"]
    assert len(data.topologies) == 1


def test_later_changes_to_a_template_do_not_show():
    template, builder = chain(1), sim.ModelBuilder()
    builder.replicate(template, 2)
    before = data_of(builder).arrays
    template.joints[0].dofs[0].damping = 9.0
    template.add_body(mass=1, inertia=(1, 1, 1))
    after = data_of(builder).arrays
    for name in before:
        np.testing.assert_array_equal(before[name], after[name], err_msg=name)


def test_gravity_is_the_template_s_where_it_was_set_there():
    moon, plain, builder = chain(1), chain(1), sim.ModelBuilder(gravity=-3)
    moon.gravity = -1.6
    builder.add_builder(moon)
    builder.add_builder(plain)
    data = data_of(builder)
    np.testing.assert_array_equal(data.arrays["gravity"], [[0, 0, -1.6], [0, 0, -3]])
    assert len(data.topologies) == 1


def test_unsupported_pairs_are_counted_over_all_worlds():
    template = sim.ModelBuilder()
    for _ in range(3):
        template.add_shape_plane(template.add_body(mass=1, inertia=(1, 1, 1)))
    builder = sim.ModelBuilder()
    builder.add_ground_plane()
    builder.replicate(template, 5)
    model = builder.finalize(device="cpu")
    assert model.unsupported_pairs == {("plane", "plane"): 30}


def test_replicas_stand_on_a_grid_for_viewers_alone():
    builder = sim.ModelBuilder(up_axis="Y")
    template = chain(1, sim.ModelBuilder(up_axis="Y"))
    builder.replicate(template, 5, spacing=2)
    model = builder.finalize(device="cpu")
    expected = [[-2, 0, -1], [0, 0, -1], [2, 0, -1], [-2, 0, 1], [0, 0, 1]]
    np.testing.assert_array_equal(model.world_offset, expected)
    np.testing.assert_array_equal(model.body_q[0], model.body_q[4])


def test_worlds_and_bodies_do_not_mix():
    template = chain(1)
    with_body, with_worlds = chain(1), sim.ModelBuilder()
    with_worlds.replicate(template, 2)
    with pytest.raises(sim.ModelError, match=r"replicate: this builder holds bodies itself \('link_0'\)"):
        with_body.replicate(template, 2)
    for add in (
        lambda b: b.add_body(),
        lambda b: b.add_joint_fixed(-1, 0),
        lambda b: b.add_site(-1),
        lambda b: b.merge_builder(template),
    ):
        with pytest.raises(sim.ModelError, match="must be in a world, and this builder holds 2 of them"):
            add(with_worlds)
    with pytest.raises(sim.ModelError, match="is on a body, but bodies are in worlds only"):
        with_worlds.add_shape_sphere(0, 1)
    with pytest.raises(sim.ModelError, match="add_builder: the other builder has 2 worlds itself"):
        sim.ModelBuilder().add_builder(with_worlds)
    with pytest.raises(sim.ModelError, match="up_axis is 'Y' here and 'Z' there"):
        sim.ModelBuilder(up_axis="Y").replicate(template, 1)
    for count in (0, 1.5, "2", None, float("inf")):
        with pytest.raises(sim.ModelError, match="replicate(, count: is|: count is)"):
            sim.ModelBuilder().replicate(template, count)
    for other in ("x", None, template.finalize(device="cpu")):
        for add in (sim.ModelBuilder().add_builder, sim.ModelBuilder().merge_builder):
            with pytest.raises(sim.ModelError, match=f"got a {type(other).__name__}; it takes a ModelBuilder"):
                add(other)
        with pytest.raises(sim.ModelError, match="replicate: got a"):
            sim.ModelBuilder().replicate(other, 2)
    for call in (with_body.merge_builder, with_body.add_builder):
        with pytest.raises(sim.ModelError, match="itself"):
            call(with_body)


def test_what_single_precision_cannot_hold_is_refused_by_name():
    """The largest float32 is 3.4e38."""
    builder = sim.ModelBuilder()
    builder.add_body(mass=1.0, inertia=(1e39, 1e39, 1e39))
    with pytest.raises(sim.ModelError, match=r'body_inertia: holds 1e\+39, which single .* precision="float64"'):
        builder.finalize(device="cpu")
    assert builder.finalize(device="cpu", precision="float64").body_inertia[0, 0, 0] == 1e39


def test_a_free_body_too_small_for_single_precision_is_refused_by_name():
    """The least normal float32 is 1.2e-38, and 1 / x of less is infinite. A solid sphere's moment is 2/5 m r^2."""
    radius = 5e-9
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(label="grain"), radius)
    with pytest.raises(sim.ModelError, match=r"body 'grain': has a moment of inertia of .* too small for float32"):
        builder.finalize(device="cpu")
    model = builder.finalize(device="cpu", precision="float64")
    mass = 1000 * 4 / 3 * np.pi * radius**3
    assert model.body_inertia[0, 0, 0] == pytest.approx(0.4 * mass * radius**2, rel=1e-12)
    held = sim.ModelBuilder()
    held.add_shape_sphere(held.add_body(label="grain", kinematic=True), radius)
    held.finalize(device="cpu")


def test_model_views_and_labels(precision):
    builder = sim.ModelBuilder()
    builder.add_ground_plane()
    builder.replicate(chain(3), 4)
    model = builder.finalize(device="cpu", precision=precision)
    assert model.by_world(model.joint_q).shape == (4, 3)
    assert model.by_world(model.shape_friction).shape == (4, 3)
    np.testing.assert_array_equal(model.find_bodies("link_2"), [2, 5, 8, 11])
    np.testing.assert_array_equal(model.find_shapes("g*d"), [12])
    assert model.body_mass.dtype == precision
    assert (model.body_inverse_weight[:, 1] > 0).all()


def test_keys_of_random_numbers_are_distinct_and_follow_the_seed():
    keys = random_keys(0, 10_000)
    assert len(np.unique(keys)) == 10_000
    np.testing.assert_array_equal(keys[:100], random_keys(0, 100))
    assert not np.isin(random_keys(1, 10_000), keys).any()
    # first output of SplitMix64 seeded with 0, from its authors' code
    assert keys[0] == 0xE220A8397B1DCDAF


def test_an_empty_builder_is_one_empty_world():
    model = sim.ModelBuilder().finalize(device="cpu")
    assert (model.world_count, model.body_count, model.joint_dof_count, model.shape_count) == (1, 0, 0, 0)


def test_arrays_put_into_fields_are_taken_and_made_unit():
    def changed(xform, axis, q):
        builder = chain(1)
        builder.add_body(mass=1, inertia=(1, 1, 1))
        builder.bodies[1].xform, builder.joints[0].dofs[0].axis, builder.joints[0].q = xform, axis, q
        return builder

    plain = changed((1, 2, 3, 0, 0, 0.6, 0.8), (0, 0.6, 0.8), (0.5,))
    arrays = changed(np.array([1, 2, 3, 0, 0, 3, 4]), np.array([0, 3, 4]), [0.5])
    a, b = data_of(plain).arrays, data_of(arrays).arrays
    for name in a:
        np.testing.assert_allclose(a[name], b[name], atol=1e-15, err_msg=name)
    builder = sim.ModelBuilder()
    for _ in range(2):
        builder.add_builder(changed(np.array([1, 2, 3, 0, 0, 3, 4]), np.array([0, 3, 4]), [0.5]))
    assert len(builder._template_elements) == 1


def test_thousands_of_copies_of_a_robot_are_that_robot_within_two_gigabytes():
    script = (
        "import resource, numpy as np, simengine as sim\n"
        "from benchmarks.finalize import robot\n"
        "from simengine import schema\n"
        "one, builder, worlds = robot().finalize(device='cpu'), sim.ModelBuilder(), 8192\n"
        "builder.replicate(robot(), worlds)\n"
        "model = builder.finalize(device='cpu')\n"
        "assert (model.body_count, one.body_count, len(model.groups)) == (30 * worlds, 30, 1)\n"
        "for row in schema.rows('model'):\n"
        "    if row.over not in schema.PER_WORLD or row.is_offsets:\n"
        "        continue\n"
        "    many, single = model.by_world(getattr(model, row.name)), getattr(one, row.name)[None]\n"
        "    if row.indexes == 'bodies':\n"
        "        many = np.where(many < 0, many, many - 30 * np.arange(worlds)[:, None])\n"
        "    if row.indexes == 'worlds':\n"
        "        single = np.arange(worlds)[:, None]\n"
        "    assert (many == single).all(), row.name\n"
        "assert list(model.find_bodies('head')) == list(range(1, 30 * worlds, 30))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) * (1 if sys.platform == "darwin" else 1024) < 2e9
