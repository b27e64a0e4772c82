"""Meshes that overlap: as deep as the least way out of each other, and never pushed further in."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.builder import mesh_collision
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.collision import shape_distance
from simengine.runtime.modes import emulated_lanes
from tests.collision.collision_pairs import unit
from tests.collision.mesh_overlaps import (
    angle_piece,
    clamp,
    common_bounds,
    common_volume,
    concave_meshes,
    contacts_at,
    convex_meshes,
    edges_of,
    placed,
    random_places,
    touching_shift,
    use_backward_trees,
)
from tests.collision.test_collide_convex import AT, CORNERS, contacts_of, slabs
from tests.collision.test_collide_mesh import floor
from tests.collision.test_rest_shapes import simulate

CONVEX, CONCAVE = convex_meshes(), concave_meshes()
MANY = [150, pytest.param(10000, marks=pytest.mark.slow)]


def block(x: float, y: float, z: float) -> Mesh:
    return convex_hull(CORNERS * [x, y, z])


def hollow_block(outer: float, inner: float) -> Mesh:
    one, other = block(outer, outer, outer), block(inner, inner, inner)
    faces = np.concatenate([one.triangles, np.asarray(other.triangles)[:, ::-1] + len(one.vertices)])
    return Mesh(np.concatenate([one.vertices, other.vertices]), faces)


def sheet(half: float) -> Mesh:
    return Mesh([[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0]], [[0, 1, 2], [0, 2, 3]])


def largest_gap(one, other) -> float:
    """Of two convex polyhedra (vertices, triangles), over the normals of both and the products of their edges: what is
    negative is minus the least translation that parts them (separating axes)."""
    normals, edges = [], []
    for vertices, triangles in (one, other):
        corner = vertices[triangles]
        normals.append(unit(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])))
        ends = vertices[edges_of(triangles)]
        edges.append(unit(ends[:, 1] - ends[:, 0]))
    across = np.cross(edges[0][:, None], edges[1]).reshape(-1, 3)
    size = np.linalg.norm(across, axis=1)
    across = across[size > 1e-7] / size[size > 1e-7, None]
    ways = np.concatenate([*normals, across])
    ways = np.concatenate([ways, -ways])
    return float(((other[0] @ ways.T).min(0) - (one[0] @ ways.T).max(0)).max())


@pytest.mark.parametrize("n", MANY)
def test_convex_meshes_are_as_deep_as_their_solids(n, precision):
    """The deepest contact and the distance of those that overlap by up to 20 % of their size: the separating axes'."""
    which, pose, _ = random_places(CONVEX, n, 3, 0.1)
    model, state, worlds, found = contacts_at(CONVEX, which, pose, precision)
    shapes = np.arange(2 * n).reshape(n, 2)
    measured = np.asarray(shape_distance(model, state, shapes).distance)[worlds]
    tolerance = 1e-6 if precision == "float64" else 1e-4
    overlaps = 0
    for i in range(n):
        one, other = ((placed(CONVEX[k], p), CONVEX[k].triangles) for k, p in zip(which[i], pose[i], strict=True))
        gap = largest_gap(one, other)
        size = 2 * min(np.linalg.norm(CONVEX[k].vertices, axis=1).max() for k in which[i])
        if not -0.2 * size < gap < -2 * tolerance:
            continue
        overlaps += 1
        assert len(found[i]["distance"]) > 0
        assert found[i]["distance"].min() == pytest.approx(gap, abs=tolerance)
        assert measured[i] == pytest.approx(gap, abs=tolerance)
    assert overlaps > n // 4


@pytest.mark.parametrize("n", MANY)
def test_concave_meshes_that_overlap_are_pushed_apart(n, precision):
    """Moved apart along the deepest contact by its depth, what two closed meshes share is less; and no contact is much
    deeper than the way on which they came."""
    which, pose, gap = random_places(CONCAVE, n, 4, 0.05)
    _, _, _, found = contacts_at(CONCAVE, which, pose, precision)
    overlaps = 0
    for i in np.flatnonzero(gap < -1e-4):
        one, other = (placed(CONCAVE[k], p) for k, p in zip(which[i], pose[i], strict=True))
        s, t = (CONCAVE[k].triangles for k in which[i])
        bounds = common_bounds(one, other)
        if np.any(bounds[0] >= bounds[1]) or common_volume((one, s), (other, t), bounds) == 0:
            continue
        overlaps += 1
        distance = found[i]["distance"]
        assert len(distance) > 0 and distance.min() < 0
        assert distance.min() > 2 * gap[i]
        deepest = distance.argmin()
        apart = -float(distance[deepest]) * found[i]["normal"][deepest].astype(float)
        low, high = common_bounds(one, other + apart)
        bounds = np.minimum(low, bounds[0]), np.maximum(high, bounds[1])
        before = common_volume((one, s), (other, t), bounds)
        if before == 0:
            continue  # no line meets so small an overlap
        after = common_volume((one, s), (other + apart, t), bounds)
        assert after < before
    assert overlaps > n // 4


def test_a_body_held_in_several_places_leaves_by_the_way_that_parts_all_of_them(precision):
    """Two stars, of whose features none that support each other are near: no way is as short as the one on which three
    of them come free at once. The deepest contact is as long as its way, and little longer than the best of many."""
    star_mesh = CONCAVE[0]
    pose = np.array(
        [
            [0, 0, 0, -0.28203, -0.67944, 0.5708, 0.36469],
            [0.32166, -0.09683, 0.4335, 0.22722, 0.31526, -0.67191, 0.6305],
        ]
    )
    pose[:, 3:] = unit(pose[:, 3:])
    *_, (found,) = contacts_at(CONCAVE, np.zeros((1, 2), int), pose[None], precision)
    one, other = ((placed(star_mesh, p), star_mesh.triangles) for p in pose)
    deepest = found["distance"].argmin()
    depth, normal = -float(found["distance"][deepest]), found["normal"][deepest].astype(float)
    assert depth == pytest.approx(touching_shift(one, other, normal), abs=1e-5)
    ways = unit(np.random.default_rng(0).normal(size=(100, 3)))
    shortest = min(shift for shift in (touching_shift(one, other, way) for way in ways) if np.isfinite(shift))
    assert depth < 1.05 * shortest


def test_what_goes_all_the_way_through_a_plate_is_pushed_out_along_its_length(precision):
    """The lines in which the two cross cancel each other, and what round-off leaves of them tells no way."""
    meshes = [angle_piece(), block(0.3, 0.3, 0.005)]
    random = np.random.default_rng(7)
    pose = np.zeros((24, 2, 7))
    pose[:, 1, :3] = random.uniform([-0.05, -0.05, 0.16], [0.05, 0.05, 0.25], (24, 3))
    turn = random.integers(0, 4, (24, 2)) * np.pi / 4
    pose[..., 5], pose[..., 6] = np.sin(turn), np.cos(turn)
    *_, found = contacts_at(meshes, np.tile([0, 1], (24, 1)), pose, precision)
    for pair, height in zip(found, pose[:, 1, 2], strict=True):
        deepest = pair["distance"].argmin()
        assert np.allclose(pair["normal"][deepest], [0, 0, 1], atol=1e-6)
        assert pair["distance"][deepest] == pytest.approx(height - 0.305, abs=1e-6)


def test_edges_that_still_cross_after_a_way_are_seen_whichever_mesh_is_first(precision):
    """A clamp on a sheet: its second way, twice as deep as the first, is by two edges."""
    pose = np.array(
        [
            [0, 0, 0, -0.4713, 0.75014, -0.44461, 0.13225],
            [-0.15797, 0.05856, -0.04684, 0.64519, 0.39717, -0.52268, -0.39089],
        ]
    )
    pose[:, 3:] = unit(pose[:, 3:])
    deepest = []
    for order in ([0, 1], [1, 0]):
        *_, (found,) = contacts_at([sheet(0.3), clamp()], np.array([order]), pose[None, order], precision)
        deepest.append(-found["distance"].min())
    assert deepest == pytest.approx([0.1565, 0.1565], abs=1e-4)


@pytest.mark.parametrize("plate_first", [False, True])
def test_a_concave_body_through_a_thin_plate_is_as_deep_as_the_nearer_side_tells(plate_first, precision):
    """Corners that have come out again on the far side of the plate count, in either order of the meshes."""
    half = 0.0025
    plate, body = convex_hull(CORNERS * [0.3, 0.3, half]), Mesh(0.25 * angle_piece().vertices, angle_piece().triangles)
    random = np.random.default_rng(5)
    pose = np.zeros((400, 2, 7))
    pose[:, 0, 6] = 1
    pose[:, 1, :3] = random.uniform(-0.06, 0.06, (400, 3))
    pose[:, 1, 3:] = unit(random.normal(size=(400, 4)))
    order = [0, 1] if plate_first else [1, 0]
    meshes = [plate, body]
    *_, found = contacts_at(meshes, np.tile(order, (400, 1)), pose[:, order], precision)
    heights = np.array([placed(body, p)[:, 2] for p in pose[:, 1]])
    needed = np.minimum(heights.max(axis=1) + half, half - heights.min(axis=1))
    cut = needed > 1e-4
    assert np.count_nonzero(cut) > 200
    told = np.array([-np.min(pair["distance"], initial=0) for pair in found])
    assert np.allclose(told[cut], needed[cut], rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("ground", ["block", "fine sheet", "sheet of two triangles"])
@pytest.mark.parametrize("depth", [1e-4, 2e-3, 1e-2])
def test_a_block_of_twelve_triangles_on_a_floor_is_pushed_up_alone(ground, depth, precision):
    """Anywhere, overhanging, turned: the deepest is the overlap, and no contact has another direction."""
    builder = sim.ModelBuilder()
    top = {"block": block(1, 1, 0.1), "fine sheet": floor(half=1.0), "sheet of two triangles": sheet(1)}[ground]
    builder.add_shape_mesh(-1, top, xform=AT(p=(0, 0, -0.1 if ground == "block" else 0)))
    random = np.random.default_rng(5)
    for number in range(40):
        place = [*random.uniform(-1.02, 1.02, 2), 0.1 - depth]
        q = sim.quat_from_axis_angle((0, 0, 1), random.uniform(0, 2 * np.pi))
        body = builder.add_body(xform=AT(p=place, q=q))
        builder.add_shape_mesh(body, block(0.1, 0.1, 0.1), collision_group=number + 1)
    model = builder.finalize(device="cpu", precision=precision)
    (found,) = slabs(model, contacts_of(model, model.state()))
    tolerance = 1e-9 if precision == "float64" else 2e-6
    touched = set(found["shape0"]) | set(found["shape1"])
    assert len(touched) == 41
    assert np.allclose(found["normal"], [0, 0, 1], atol=1e-5)
    assert found["distance"].min() == pytest.approx(-depth, abs=tolerance)


def test_a_block_in_a_corner_is_pushed_from_the_floor_and_from_the_wall(precision):
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, angle_piece())
    builder.add_shape_mesh(builder.add_body(xform=AT(p=(0.149, 0, 0.148))), block(0.05, 0.05, 0.05))
    model = builder.finalize(device="cpu", precision=precision)
    (found,) = slabs(model, contacts_of(model, model.state()))
    for normal, depth in (((1, 0, 0), 1e-3), ((0, 0, 1), 2e-3)):
        along = found["normal"] @ normal > 0.999
        assert np.sum(along) == 4 and np.allclose(found["distance"][along], -depth, atol=1e-6)
    assert len(found["distance"]) == 8


def test_a_thin_wall_pushes_back_to_the_side_that_was_passed(precision):
    """The corner of a block is 0.6 mm deep in a wall of 1 mm: the back, which is nearer, does not push."""
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, hollow_block(0.2, 0.199))
    builder.add_shape_mesh(builder.add_body(xform=AT(p=(0.03, 0.02, 0.2494))), block(0.05, 0.05, 0.05))
    model = builder.finalize(device="cpu", precision=precision)
    (found,) = slabs(model, contacts_of(model, model.state()))
    assert len(found["distance"]) == 4
    assert np.allclose(found["normal"], [0, 0, 1], atol=1e-5) and np.allclose(found["distance"], -6e-4, atol=1e-6)


@pytest.mark.parametrize("below", [False, True])
def test_a_sheet_pushes_to_the_side_on_which_most_of_a_body_is(below, precision):
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, sheet(1))
    side = -1 if below else 1
    builder.add_shape_mesh(builder.add_body(xform=AT(p=(0.1, 0.2, side * 0.099))), block(0.1, 0.1, 0.1))
    model = builder.finalize(device="cpu", precision=precision)
    (found,) = slabs(model, contacts_of(model, model.state()))
    assert len(found["distance"]) == 4
    assert np.allclose(found["normal"], [0, 0, side], atol=1e-5) and np.allclose(found["distance"], -1e-3, atol=1e-6)


def test_a_thin_sheet_within_a_solid_is_lifted_out_at_its_corners(precision):
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, block(1, 1, 0.1), xform=AT(p=(0, 0, -0.1)))
    builder.add_shape_mesh(builder.add_body(mass=1, inertia=(1, 1, 1), xform=AT(p=(0.1, 0.2, -2e-4))), sheet(0.1))
    model = builder.finalize(device="cpu", precision=precision)
    (found,) = slabs(model, contacts_of(model, model.state()))
    assert len(found["distance"]) == 4
    assert np.allclose(found["normal"], [0, 0, 1], atol=1e-5) and np.allclose(found["distance"], -2e-4, atol=1e-6)


@pytest.mark.parametrize("shared", [False, True])
def test_a_small_foot_keeps_its_corners_on_large_ground(shared, precision):
    """A block of 4 cm on one of 80 m, as the first shape and, shared by worlds, as the last."""
    robot, builder = sim.ModelBuilder(), sim.ModelBuilder()
    foot = AT(p=(0.3, 0.2, 0.0199))
    ground = dict(mesh=block(40, 40, 1), xform=AT(p=(0, 0, -1)))
    if not shared:
        robot.add_shape_mesh(-1, **ground)
    robot.add_shape_mesh(robot.add_body(xform=foot), block(0.02, 0.02, 0.02))
    builder.replicate(robot, 2)
    if shared:
        builder.add_shape_mesh(-1, **ground)
    model = builder.finalize(device="cpu", precision=precision)
    for found in slabs(model, contacts_of(model, model.state())):
        points = found["point0" if shared else "point1"][:, :2].astype(float)
        assert np.abs(np.abs(points) - 0.02).max() < 1e-4
        assert {tuple(side) for side in np.sign(points)} == {(-1, -1), (-1, 1), (1, -1), (1, 1)}


both_kinds = pytest.mark.parametrize("meshes", [CONVEX, CONCAVE], ids=["convex", "concave"])
ADDED = {"add_shape_sphere": 1, "add_shape_capsule": 2, "add_shape_box": 3}
ALONG_WAY_OUT = 1020  # in the last 10 bits of a contact's number
COLUMNS = ("count", "feature", "point0", "point1", "normal", "tangent", "distance")


def same_bits(a, b) -> bool:
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in COLUMNS)


@both_kinds
def test_contacts_do_not_depend_on_lanes(meshes):
    which, pose, _ = random_places(meshes, 60, 6, 0.03)
    model, state, _, found = contacts_at(meshes, which, pose, "float64")
    emulated = model.contacts()
    with emulated_lanes(4, 1, poison=True):
        sim.collide(model, state, emulated)
    assert same_bits(contacts_of(model, state), emulated)
    assert sum(len(pair["distance"]) > 0 for pair in found) > 20


@pytest.mark.parametrize("leaf", [1, 3, 64])
@both_kinds
def test_contacts_do_not_depend_on_the_size_of_the_leaves_of_trees(meshes, leaf, monkeypatch):
    """To the bit, numbers and all."""
    which, pose, _ = random_places(meshes, 60, 6, 0.03)
    model, state, *_ = contacts_at(meshes, which, pose, "float64")
    monkeypatch.setattr(mesh_collision, "LEAF_TRIANGLES", leaf)
    monkeypatch.setattr(mesh_collision, "triangle_tree", mesh_collision.triangle_tree.__wrapped__)
    other, other_state, *_ = contacts_at(meshes, which, pose, "float64")
    assert len(other.mesh_lower) != len(model.mesh_lower)
    assert same_bits(contacts_of(model, state), contacts_of(other, other_state))


@both_kinds
def test_contacts_do_not_depend_on_the_order_and_the_boxes_of_trees(meshes, monkeypatch):
    """To the bit."""
    which, pose, _ = random_places(meshes, 60, 6, 0.03)
    model, state, *_ = contacts_at(meshes, which, pose, "float64")
    use_backward_trees(monkeypatch)
    other, other_state, *_ = contacts_at(meshes, which, pose, "float64")
    assert not np.array_equal(other.mesh_order, model.mesh_order)
    assert same_bits(contacts_of(model, state), contacts_of(other, other_state))


def test_contacts_of_right_angled_meshes_do_not_depend_on_the_order_and_the_boxes_of_trees(monkeypatch):
    """To the bit, where faces in one plane and edges beyond the overlap are as near as those that are in it; one is of
    two blocks with a face of each back to back."""
    part = block(0.1, 0.1, 0.1)
    faces = np.concatenate([part.triangles, part.triangles + len(part.vertices)])
    glued = Mesh(np.concatenate([part.vertices, part.vertices + [0.2, 0, 0]]), faces)
    meshes = [angle_piece(), clamp(), hollow_block(0.2, 0.19), block(0.02, 0.02, 0.4), block(0.3, 0.3, 0.005), glued]
    random = np.random.default_rng(0)
    which, pose = random.integers(0, len(meshes), (360, 2)), np.zeros((360, 2, 7))
    pose[:, 1, :3], pose[..., 6] = random.uniform(-0.25, 0.25, (360, 3)), 1
    model, state, _, found = contacts_at(meshes, which, pose, "float64")
    use_backward_trees(monkeypatch)
    other, other_state, *_ = contacts_at(meshes, which, pose, "float64")
    assert sum(len(pair["distance"]) > 0 for pair in found) > 100
    assert same_bits(contacts_of(model, state), contacts_of(other, other_state))


def test_contacts_of_convex_shapes_with_meshes_do_not_depend_on_trees(precision, monkeypatch):
    """To the bit, with those along the way out of a body that no triangle pushes as deep."""

    def contacts():
        random, builder = np.random.default_rng(3), sim.ModelBuilder()
        for mesh in (*CONVEX, *CONCAVE):
            for add in ("add_shape_sphere", "add_shape_capsule", "add_shape_box"):
                template = sim.ModelBuilder()
                template.add_shape_mesh(-1, mesh)
                place = AT(p=tuple(random.uniform(-0.2, 0.2, 3)), q=tuple(unit(random.normal(size=4))))
                getattr(template, add)(template.add_body(xform=place), *(0.12, 0.06, 0.08)[: ADDED[add]])
                builder.replicate(template, 1)
        model = builder.finalize(device="cpu", precision=precision)
        pairs = list(slabs(model, contacts_of(model, model.state())))
        return {name: np.concatenate([pair[name] for pair in pairs]) for name in pairs[0]}

    expected = contacts()
    use_backward_trees(monkeypatch)
    found = contacts()
    assert len(expected["feature"]) > 60 and np.array_equal(found["feature"], expected["feature"])
    assert np.sum((expected["feature"] & 1023) == ALONG_WAY_OUT) > 0
    for name in ("point0", "point1", "normal", "distance"):
        assert found[name].tobytes() == expected[name].tobytes()


@both_kinds
def test_the_deepest_contact_does_not_depend_on_the_numbers_of_triangles(meshes):
    random = np.random.default_rng(0)
    shuffled = [Mesh(m.vertices, np.asarray(m.triangles)[random.permutation(len(m.triangles))]) for m in meshes]
    which, pose, _ = random_places(meshes, 60, 6, 0.03)
    *_, one = contacts_at(meshes, which, pose, "float64")
    *_, other = contacts_at(shuffled, which, pose, "float64")
    touching = 0
    for a, b in zip(one, other, strict=True):
        touching += len(a["distance"]) > 0
        assert (len(a["distance"]) > 0) == (len(b["distance"]) > 0)
        if len(a["distance"]):
            assert a["distance"].min() == pytest.approx(b["distance"].min(), abs=1e-9)
    assert touching > 20


def test_contacts_with_one_number_that_are_far_apart_are_all_kept(precision):
    """Two feet, half a turn from each other, on two such blocks, 1,024 triangles from the first to the second: numbers
    have 10 bits for the triangle of each mesh."""
    ball = convex_hull(0.2 * unit(np.random.default_rng(0).normal(size=(508, 3))))
    assert len(ball.triangles) == 1024 - 12

    def two_blocks(half, height: float) -> Mesh:
        parts = [(block(*half), 1, [-0.5, 0, 0]), (ball, 1, [0, 0, height]), (block(*half), -1, [0.5, 0, 0])]
        first = np.cumsum([0, *(len(part.vertices) for part, *_ in parts)])
        return Mesh(
            np.concatenate([part.vertices * [turn, turn, 1.0] + np.array(at) for part, turn, at in parts]),
            np.concatenate([np.asarray(part.triangles) + k for (part, *_), k in zip(parts, first, strict=False)]),
        )

    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, two_blocks((0.2, 0.2, 0.2), -0.5))
    builder.add_shape_mesh(builder.add_body(xform=AT(p=(0, 0, 0.299))), two_blocks((0.1, 0.1, 0.1), 0.5))
    model = builder.finalize(device="cpu", precision=precision)
    (found,) = slabs(model, contacts_of(model, model.state()))
    assert len(set(found["feature"])) == 2
    assert np.allclose(found["distance"], -1e-3, atol=1e-6) and np.allclose(found["normal"], [0, 0, 1], atol=1e-5)
    corners = sorted(tuple(np.round(p[:2].astype(float), 3)) for p in found["point0"])
    assert corners == [(-0.6, -0.1), (-0.6, 0.1), (0.6, -0.1), (0.6, 0.1)]


def lying(mesh: Mesh):
    """The turn that lays a mesh's first face down, and the height of its origin then."""
    a, b, c = np.asarray(mesh.vertices)[np.asarray(mesh.triangles)[0]]
    normal = unit(np.cross(b - a, c - a))
    axis = np.cross(normal, [0, 0, -1.0])
    q = sim.quat_from_axis_angle(unit(axis), np.arccos(-normal[2]))
    return q, float(normal @ a)


TETRAHEDRON = convex_hull(0.15 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1.0]]))
SCENES = {
    "a block": [(block(0.1, 0.1, 0.1), AT(p=(0.03, 0.02, 0.1)))],
    "five blocks": [(block(0.1, 0.1, 0.1), AT(p=(0.002 * i, 0, 0.1 + 0.2 * i))) for i in range(5)],
    "an L": [(angle_piece(), AT(p=(0.03, 0.02, 0)))],
    "a block on an L": [(angle_piece(), AT(p=(0.03, 0.02, 0))), (block(0.05, 0.05, 0.05), AT(p=(0.2, 0.02, 0.15)))],
    "a tetrahedron": [(TETRAHEDRON, AT(p=(0.03, 0.02, lying(TETRAHEDRON)[1]), q=lying(TETRAHEDRON)[0]))],
    "a clamp over a bar": [
        (block(0.04, 0.3, 0.11), AT(p=(0, 0, 0.11))),
        (clamp(), AT(p=(-0.15, 0, 0.32), q=sim.quat_from_axis_angle((1, 0, 0), -np.pi / 2))),
    ],
}
GROUNDS = {
    "block": lambda b: b.add_shape_mesh(-1, block(1, 1, 0.1), xform=AT(p=(0, 0, -0.1))),
    "two triangles": lambda b: b.add_shape_mesh(-1, sheet(1)),
    "fine floor": lambda b: b.add_shape_mesh(-1, floor()),
}
RESTS = [(scene, "block", "float64") for scene in SCENES] + [(scene, "block", "float32") for scene in SCENES]
RESTS += [(scene, ground, "float32") for scene in ("five blocks", "an L") for ground in ("two triangles", "fine floor")]


@pytest.mark.parametrize(("scene", "ground", "precision"), RESTS, ids=lambda x: x)
def test_meshes_at_rest_on_meshes_stay(scene, ground, precision):
    """Drift below 0.1 mm and speeds below 1e-4 over 3 s; nothing has sunk."""
    builder = sim.ModelBuilder()
    GROUNDS[ground](builder)
    for mesh, place in SCENES[scene]:
        builder.add_shape_mesh(builder.add_body(xform=place), mesh)
    model = builder.finalize(device="cpu", precision=precision)
    start = model.state().body_q[:, :3].copy()
    places, speed, _ = simulate(model, 3.0)
    assert np.abs(places[-1] - places[0]).max() < 1e-4 and speed < 1e-4
    assert np.abs(places[-1] - start)[:, 2].max() < 3e-3
