"""What the solver refuses, reports and offers."""

from __future__ import annotations

import concurrent.futures

import numpy as np
import pytest

import simengine as sim
from simengine.runtime import modes
from tests.solvers.scenes import add_box, on_ground, run, slider


def box_model(**options):
    return on_ground(add_box((0.2, 0.2, 0.2)), 0.1999, sim.Material(), **options)


def step_arguments(model):
    return model.state(), model.state(), model.control(), None


@pytest.mark.parametrize("dt", [0.0, -1e-3, np.nan, np.inf, "soon", "0.1", None])
def test_dt_that_is_no_positive_number_is_refused(dt):
    model = slider()
    solver = sim.solvers.Featherstone(model)
    with pytest.raises(sim.ModelError, match="dt is"):
        solver.step(*step_arguments(model), dt)


def test_a_state_made_before_the_solver_is_refused_and_told_why():
    model = slider()
    early = model.state()
    solver = sim.solvers.Featherstone(model)
    for states in ((early, model.state()), (model.state(), early)):
        with pytest.raises(sim.ModelError, match="made before solvers.Featherstone"):
            solver.step(*states, model.control(), None, 1e-3)


def test_containers_of_another_model_and_wrong_kinds_are_refused_by_name():
    model, other = slider(), slider()
    solver = sim.solvers.Featherstone(model)
    sim.solvers.Featherstone(other)
    good = model.state(), model.state(), model.control(), None
    wrong = {
        "state_in": other.state(),
        "state_out": other.state(),
        "control": other.control(),
        "contacts": other.contacts(),
    }
    for i, (name, value) in enumerate(wrong.items()):
        with pytest.raises(sim.ModelError, match=f"{name} belongs? to another model"):
            solver.step(*[value if k == i else g for k, g in enumerate(good)], 1e-3)
        with pytest.raises(sim.ModelError, match=name):
            solver.step(*[np.zeros(3) if k == i else g for k, g in enumerate(good)], 1e-3)


def test_a_step_onto_its_own_input_is_refused():
    model = slider()
    solver, state = sim.solvers.Featherstone(model), model.state()
    with pytest.raises(sim.ModelError, match="state_out is state_in"):
        solver.step(state, state, model.control(), None, 1e-3)


@pytest.mark.parametrize(
    "options",
    [
        dict(integrator="implicitt"),
        dict(cone="round"),
        dict(impratio=0),
        dict(iterations=0),
        dict(tolerance=-1.0),
        dict(outputs=("force",)),
        dict(unsupported="ignore"),
        dict(stiction_speed=np.nan),
        dict(lanes=0),
        dict(lanes=3),
        dict(lanes=True),
        dict(lanes="8"),
    ],
)
def test_wrong_options_are_refused_by_name(options):
    with pytest.raises(sim.ModelError, match=next(iter(options)).removesuffix("s")):
        sim.solvers.Featherstone(slider(), **options)


@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 32])
def test_numbers_of_lanes_that_there_are_are_taken(lanes):
    sim.solvers.Featherstone(slider(), lanes=lanes)


def test_options_cannot_be_changed_and_misspelt_ones_are_told():
    solver = sim.solvers.Featherstone(slider())
    options = "integrator", "cone", "impratio", "max_iterations", "tolerance", "stiction_speed", "restitution_speed"
    for name in (*options, "iterations", "model", "supports", "step"):
        before = getattr(solver, name)
        with pytest.raises(AttributeError, match=f"{name} cannot be set; options are given to the constructor"):
            setattr(solver, name, 5)
        assert getattr(solver, name) is before or getattr(solver, name) == before
    with pytest.raises(AttributeError, match="iteratons is unknown; did you mean 'iterations'"):
        solver.iteratons = 5


@pytest.mark.parametrize("seed", ["x", 1.5, None, True])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(sim.ModelError, match="seed is"):
        sim.ModelBuilder().finalize(device="cpu", seed=seed)


def test_a_step_never_changes_its_input():
    model = box_model()
    solver, state, control = sim.solvers.Featherstone(model), model.state(), model.control()
    before = {name: array.copy() for name, array in {**state.arrays(), **control.arrays(), **model.arrays()}.items()}
    solver.step(state, model.state(), control, None, 1e-3)
    for name, array in {**state.arrays(), **control.arrays(), **model.arrays()}.items():
        assert np.array_equal(array, before[name], equal_nan=array.dtype.kind == "f"), name


def test_a_capture_replays_the_steps_and_runs_nothing_by_itself():
    model = box_model()
    solver, control = sim.solvers.Featherstone(model), model.control()
    state, other = model.state(), model.state()
    with sim.capture(model.device) as graph:
        solver.step(state, other, control, None, 1e-3)
        solver.step(other, state, control, None, 1e-3)
    assert state.step_count[0] == 0 and other.step_count[0] == 0
    for _ in range(10):
        graph.launch()
    direct = run(solver, model.state(), control, 1e-3, 20)
    for name, array in state.arrays().items():
        assert array.tobytes() == direct.arrays()[name].tobytes(), name


def test_another_dt_takes_effect_with_the_same_states():
    model = slider(gravity=-10.0, axis="Z")
    solver, state, out, control = sim.solvers.Featherstone(model), model.state(), model.state(), model.control()
    for dt in (1e-3, 2e-3, 1e-3):
        solver.step(state, out, control, None, dt)
        assert out.joint_qd[0] == pytest.approx(-10.0 * dt) and out.time[0] == dt


def test_outputs_that_were_not_asked_for_raise():
    solver = sim.solvers.Featherstone(slider(), outputs=("joint_drive_force",))
    assert solver.joint_drive_force.shape == (1,)
    with pytest.raises(AttributeError, match="ask for it with outputs"):
        _ = solver.joint_constraint_force
    with pytest.raises(AttributeError, match="no 'resid'"):
        _ = solver.resid


def test_iterations_and_residual_are_reported_per_world():
    template = sim.ModelBuilder()
    body = template.add_body(xform=(0, 0, 0.09, 0, 0, 0, 1), velocity=(1, 2, -1, 3, 2, 1))
    template.add_shape_box(body, 0.1, 0.1, 0.1)
    builder = sim.ModelBuilder()
    builder.add_ground_plane()
    builder.replicate(template, 3)
    model = builder.finalize(device="cpu", precision="float64")
    solver, state, out = sim.solvers.Featherstone(model), model.state(), model.state()
    model.by_world(state.joint_q)[1, 2] = 5.0
    solver.step(state, out, model.control(), None, 1e-3)
    assert solver.iterations[0] > solver.iterations[1] == 1 and np.all(solver.residual <= solver.tolerance)


def test_a_solve_cut_short_is_reported_with_its_residual():
    model = on_ground(add_box((0.2, 0.2, 0.2)), 0.19, sim.Material(), velocity=(1, 2, -1, 3, 2, 1))
    solver = sim.solvers.Featherstone(model, iterations=1)
    state = run(solver, model.state(), model.control(), 1e-3, 1)
    with pytest.raises(sim.DivergenceError, match="limit of 1 iterations"):
        solver.check(state)
    with pytest.warns(UserWarning, match="limit of 1 iterations"):
        status = solver.check(state, "warn")
    assert status.worlds == (0,) and solver.check(state, "ignore") == status and not status.ok
    with pytest.raises(sim.ModelError, match="on_problem"):
        solver.check(state, "shout")


def squeezed(stiffness: float) -> sim.Model:
    """A box askew that two smooth planes squeeze by 1 cm each."""
    turn, half = sim.quat_from_euler((0.5, 0.7, 0.3)), np.pi
    builder = sim.ModelBuilder(gravity=0.0)
    builder.default_material = sim.Material(stiffness=stiffness, dissipation=0.0, friction=0.0)
    body = builder.add_body(mass=1.0, inertia=(0.01, 0.02, 0.03), xform=(0, 0, 0, *turn), velocity=(0.1, 0.2, 0) * 2)
    builder.add_shape_box(body, 0.1, 0.1, 0.1, density=0.0)
    normal = 2 * np.array((turn[0] * turn[2] + turn[1] * turn[3], turn[1] * turn[2] - turn[0] * turn[3], 0))
    normal[2] = 1 - 2 * (turn[0] ** 2 + turn[1] ** 2)
    over = sim.math.quat_multiply(turn, sim.quat_from_axis_angle((1, 0, 0), half))
    builder.add_shape_plane(-1, xform=(*(-0.09 * normal), *turn))
    builder.add_shape_plane(-1, xform=(*(0.09 * normal), *over))
    return builder.finalize(device="cpu", precision="float32")


@pytest.mark.parametrize("stiffness, sound", [(1e6, True), (1e10, False)])
def test_a_solve_that_round_off_stops_above_its_tolerance_is_reported(stiffness, sound):
    """1e10 N/m on 1 kg, 1e8 N against each other: their round-off moves the box along the planes by 1e8 x 1e-7 N."""
    model = squeezed(stiffness)
    solver = sim.solvers.Featherstone(model)
    state = run(solver, model.state(), model.control(), 2e-3, 20)
    assert (solver.iterations < solver.max_iterations).all() and solver.check(state, "ignore").ok == sound
    if not sound:
        with pytest.raises(sim.DivergenceError, match="limit of 100 iterations or of float32"):
            solver.check(state)


def test_a_tolerance_below_round_off_is_no_failure():
    options = dict(velocity=(1, 2, -1, 3, 2, 1), precision="float32")
    model = on_ground(add_box((0.2, 0.2, 0.2)), 0.19, sim.Material(), **options)
    solver, state, out = sim.solvers.Featherstone(model, tolerance=1e-30), model.state(), model.state()
    solver.step(state, out, model.control(), None, 1e-3)
    assert solver.iterations[0] < 100 and 0 < solver.residual[0] < 100 * np.finfo("float32").eps
    assert solver.check(out, "ignore").ok


def test_too_few_contact_slots_are_reported_with_the_exact_need():
    model = box_model()
    solver, contacts = sim.solvers.Featherstone(model), model.contacts(capacity_per_world=3)
    state, out = model.state(), model.state()
    sim.collide(model, state, contacts)
    solver.step(state, out, model.control(), contacts, 1e-3)
    with pytest.raises(sim.CapacityError, match="needed 4, had 3") as caught:
        solver.check(out)
    assert caught.value.needed == 4 and caught.value.had == 3 and "world 0" in str(caught.value)


def test_what_broke_is_named():
    model = slider(label="rail")
    solver, state = sim.solvers.Featherstone(model), model.state()
    control = model.control()
    control.joint_f[0] = np.nan
    with modes.debugging(False):  # which would stop at the first NaN by itself
        out = run(solver, state, control, 1e-3, 3)
    with pytest.raises(sim.DivergenceError, match="joint 'rail'") as caught:
        solver.check(out)
    assert caught.value.worlds == (0,) and caught.value.step == 1 and caught.value.quantity == "joint_q"


def test_the_step_of_the_first_failure_is_kept_until_a_reset():
    model = slider()
    solver, control, state = sim.solvers.Featherstone(model), model.control(), model.state()
    with modes.debugging(False):
        state = run(solver, state, control, 1e-3, 4)
        assert state.status_step[0] == 0
        control.joint_f[0] = np.inf
        state = run(solver, state, control, 1e-3, 1)
        control.clear()
        state = run(solver, state, control, 1e-3, 7)
    assert state.status_step[0] == 5 and state.step_count[0] == 12
    with pytest.raises(sim.DivergenceError, match="world 0 first reported at step 5") as caught:
        solver.check(state)
    assert caught.value.step == 5
    sim.reset(model, state)
    assert state.status_step[0] == 0 and solver.check(state).ok


def test_solvers_word_their_own_bits_and_share_the_rest():
    class Other(sim.solvers.Solver):
        name = "Featherstone"  # whose rows the states carry

    model = slider()
    solver, state = Other(model), model.state()
    state.status[0] = sim.enums.StatusBit.NOT_CONVERGED | sim.enums.StatusBit.PIVOT
    state.status_step[0] = 3
    message = solver.check(state, "ignore").message
    assert "did not reach its tolerance" in message and "a pivot was not positive" in message
    words = sim.solvers.Featherstone(model, iterations=7).check(state, "ignore").message
    assert "limit of 7 iterations" in words and "in the last step world 0 had a residual of" in words


# ---- what is not supported


def with_contact_dim_4():
    builder = sim.ModelBuilder()
    body = builder.add_body()
    builder.add_shape_sphere(body, 0.1, label="ball", material=sim.Material(contact_dim=4))
    builder.add_shape_plane(-1)
    return builder


def with_loop():
    builder = sim.ModelBuilder()
    a, b = (builder.add_body(mass=1.0, inertia=(1, 1, 1)) for _ in range(2))
    builder.add_equality_connect(a, b, label="loop")
    return builder


def with_distance_joint():
    builder = sim.ModelBuilder()
    body = builder.add_body(mass=1.0, inertia=(1, 1, 1))
    builder.add_joint_distance(-1, body, max_distance=1.0, label="rope")
    return builder


@pytest.mark.parametrize(
    "build, name", [(with_contact_dim_4, "ball"), (with_loop, "loop"), (with_distance_joint, "rope")]
)
def test_unsupported_properties_raise_or_warn_by_name(build, name):
    model = build().finalize(device="cpu")
    with pytest.raises(sim.UnsupportedError, match=name) as caught:
        sim.solvers.Featherstone(model)
    assert caught.value.solver == "Featherstone" and any(name in element for element in caught.value.elements)
    with pytest.warns(UserWarning, match=rf"^solvers.Featherstone: [\w ]+s [\w ]*are ignored: 1 \(.*{name}"):
        sim.solvers.Featherstone(model, unsupported="warn")


@pytest.mark.parametrize("build", [with_contact_dim_4, with_loop, with_distance_joint])
def test_unsupported_properties_are_counted_in_one_world(build):
    """All worlds are copies: their elements have the same names."""
    builder = sim.ModelBuilder()
    builder.replicate(build(), 50)
    with pytest.raises(sim.UnsupportedError) as caught:
        sim.solvers.Featherstone(builder.finalize(device="cpu"))
    assert len(caught.value.elements) == 1
    with pytest.warns(UserWarning, match=r"are ignored: 1 in each world \("):
        sim.solvers.Featherstone(builder.finalize(device="cpu"), unsupported="warn")


def test_unsupported_properties_of_worlds_that_differ_are_all_named():
    builder = sim.ModelBuilder()
    for build in (with_loop, with_contact_dim_4, with_loop):
        builder.add_builder(build())
    with pytest.warns(UserWarning) as caught:
        sim.solvers.Featherstone(builder.finalize(device="cpu"), unsupported="warn")
    told = " ".join(str(warning.message) for warning in caught)
    assert told.count("loop") - told.count("loop joints") == 1
    assert "ball" in told and "each world" not in told


def ball_of_dimension(dimension):
    builder = sim.ModelBuilder()
    material = sim.Material(contact_dim=dimension)
    builder.add_shape_sphere(builder.add_body(), 0.1, label="ball", material=material)
    return builder


def test_unsupported_properties_are_found_in_every_world_of_a_group():
    """Worlds of one batch group may differ in contact dimensions."""
    builder = sim.ModelBuilder()
    for dimension in (3, 6, 4):
        builder.add_builder(ball_of_dimension(dimension))
    builder.add_ground_plane()
    model = builder.finalize(device="cpu")
    assert len(model.groups) == 1
    with pytest.raises(sim.UnsupportedError, match="contact dimensions") as caught:
        sim.solvers.Featherstone(model)
    assert len(caught.value.elements) == 1
    with pytest.warns(UserWarning, match=r"are ignored: 1 in some worlds \("):
        sim.solvers.Featherstone(model, unsupported="warn")


def test_limits_of_rotation_are_found_in_every_world_of_a_group():
    world, builder = sim.ModelBuilder(), sim.ModelBuilder()
    world.add_joint_free(-1, world.add_body(mass=1.0, inertia=(1, 1, 1)), label="floats")
    builder.replicate(world, 3)
    model = builder.finalize(device="cpu")
    model.joint_angle_limit[1] = 0.5
    with pytest.raises(sim.UnsupportedError, match="floats"):
        sim.solvers.Featherstone(model)


ONLY_SEEN = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint/><geom size=".1"/>
<geom name="seen" size=".2" condim="6" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""
IN_A_PAIR = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint/>
<geom name="ball" size=".1" condim="6" contype="0" conaffinity="0"/></body></worldbody>
<contact><pair geom1="floor" geom2="ball" condim="3"/></contact></mujoco>"""


@pytest.mark.parametrize("text", [ONLY_SEEN, IN_A_PAIR], ids=["only seen", "in a pair with a dimension of its own"])
@pytest.mark.parametrize("worlds", [1, 3])
def test_dimensions_of_shapes_that_no_contact_takes_are_not_refused(text, worlds, tmp_path):
    (tmp_path / "scene.xml").write_text(text)
    world, builder = sim.ModelBuilder(), sim.ModelBuilder()
    world.add_mjcf(tmp_path / "scene.xml")
    builder.replicate(world, worlds)
    sim.solvers.Featherstone(builder.finalize(device="cpu"))


def test_dimensions_of_shapes_in_a_contact_pair_are_told_where_it_follows_them():
    """The pair of one world has a dimension of its own, that of the other has not."""
    builder = sim.ModelBuilder()
    for dimension in (3, None):
        world = ball_of_dimension(6)
        world.add_contact_pair(world.add_shape_plane(-1), 0, contact_dim=dimension)
        builder.add_builder(world)
    with pytest.warns(UserWarning, match=r"ignored: 1 in some worlds \(.*ball\)"):
        sim.solvers.Featherstone(builder.finalize(device="cpu"), unsupported="warn")


def test_contact_pairs_are_told_by_number_in_the_model():
    builder = sim.ModelBuilder()
    for dimension in (3, 4):
        world = ball_of_dimension(3)
        world.add_contact_pair(world.add_shape_plane(-1), 0, contact_dim=dimension)
        builder.add_builder(world)
    with pytest.raises(sim.UnsupportedError) as caught:
        sim.solvers.Featherstone(builder.finalize(device="cpu"))
    assert caught.value.elements == ("contact pair 1",)


def test_unsupported_properties_of_shared_shapes_are_told_as_such():
    builder = sim.ModelBuilder()
    builder.replicate(ball_of_dimension(4), 3)
    builder.add_ground_plane(label="ground", material=sim.Material(contact_dim=6))
    with pytest.warns(UserWarning, match=r"ignored: 1 in each world, 1 shared by all worlds \(.*ball, ground\)"):
        sim.solvers.Featherstone(builder.finalize(device="cpu"), unsupported="warn")


@pytest.mark.parametrize("limit, value", [("angle", 0.5), ("swing", (0.5, np.inf)), ("twist", (-np.inf, 0.5))])
def test_limits_of_rotation_of_a_free_joint_are_refused_by_name(limit, value):
    builder = sim.ModelBuilder()
    builder.add_joint_free(-1, builder.add_body(mass=1.0, inertia=(1, 1, 1)), label="floats")
    builder.add_joint_ball(-1, builder.add_body(mass=1.0, inertia=(1, 1, 1)), label="turns", angle_limit=1.0)
    model = builder.finalize(device="cpu")
    sim.solvers.Featherstone(model)
    getattr(model, f"joint_{limit}_limit")[0] = value
    with pytest.raises(sim.UnsupportedError, match="rotation") as caught:
        sim.solvers.Featherstone(model)
    assert caught.value.elements == ("floats",)


def test_pairs_without_a_routine_are_named_once_and_counted():
    builder = sim.ModelBuilder()
    for x in (0.0, 3.0):
        body = builder.add_body(xform=(x, 0, 1, 0, 0, 0, 1), mass=1, inertia=(1, 1, 1))
        builder.add_shape_plane(body, 0.1, 0.1)
    model = builder.finalize(device="cpu")
    with pytest.warns(UserWarning, match="no collision routine"):
        solver = sim.solvers.Featherstone(model)
    assert "1" in solver.supports["pairs of shapes without a routine"]


def test_all_pairs_that_pass_through_each_other_are_told_those_with_the_world_first():
    builder = sim.ModelBuilder()
    for x in range(2):
        body = builder.add_body(xform=(3 * x, 0, 1, 0, 0, 0, 1), mass=1, inertia=(1, 1, 1))
        builder.add_shape_plane(body, 0.1, 0.1)
        builder.add_shape_heightfield(body, [[0, 0], [0, 0]], 0.1, 0.1)
    builder.add_shape_box(-1, 1, 1, 1)
    builder.add_ground_plane()
    with pytest.warns(UserWarning, match="pass through each other") as caught:
        sim.solvers.Featherstone(builder.finalize(device="cpu"))
    (message,) = (str(warning.message) for warning in caught)
    told = message.partition("each other: ")[2].replace(", with", " with").split(", ")
    assert told == [
        "heightfield through plane (4 with shapes of the unmoving world)",
        "plane through plane (3 with shapes of the unmoving world)",
        "heightfield through heightfield (1)",
    ]


def test_every_feature_of_supports_is_described():
    supports = sim.solvers.Featherstone(slider()).supports
    assert all(isinstance(text, str) and text for text in supports.values())
    for feature in ("integrators", "friction cones", "contact dimensions", "restitution"):
        assert feature in supports
    assert sim.solvers.Featherstone.coordinates == "joint"


def test_the_docstring_says_first_what_the_solver_is_not():
    assert "not the penalty solver of that name elsewhere" in sim.solvers.Featherstone.__doc__.splitlines()[0]


def test_threads_may_step_states_of_their_own_with_one_solver():
    """Of a model whose contacts are found before the step, in a slab of the solver's."""
    random = np.random.default_rng(5)
    vertices = np.column_stack([np.mgrid[-2:2:9j, -2:2:9j].reshape(2, -1).T, 0.05 * random.random(81)])
    faces = [[i, i + 9, i + 1] for i in range(71) if i % 9 < 8] + [
        [i + 1, i + 9, i + 10] for i in range(71) if i % 9 < 8
    ]
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, (vertices, faces))
    builder.add_shape_cone(builder.add_body(xform=sim.transform((0, 0, 0.3))), 0.1, 0.1)
    model = builder.finalize(device="cpu")
    solver = sim.solvers.Featherstone(model, specialise=False)

    def fall(speed: float, dt: float) -> bytes:
        state, after, control = model.state(), model.state(), model.control()
        state.joint_qd[:2] = speed
        for _ in range(300):
            solver.step(state, after, control, None, dt)
            state, after = after, state
        return state.joint_q.tobytes()

    cases = [(0.5, 2e-3), (-0.7, 3e-3), (0.2, 2.5e-3)]
    alone = [fall(*case) for case in cases]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda case: fall(*case), cases)) == alone
