"""What a user gives a step that it cannot take is refused, and the message names what is wrong and how to mend it.

What a builder is given is in tests/builder (test_validate, test_topology, test_urdf), assignments to arrays in
test_state, arguments of kernels in tests/runtime/test_arguments.
"""

import os
import re
import signal
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest

import simengine as sim
from simengine.errors import DeviceError, ModelError
from simengine.runtime import devices, pool

NAN, INF = float("nan"), float("inf")
REPOSITORY = Path(__file__).resolve().parent.parent


def builder() -> sim.ModelBuilder:
    """A ball above the ground."""
    made = sim.ModelBuilder()
    made.add_shape_sphere(made.add_body(xform=sim.transform((0, 0, 0.099)), label="ball"), 0.1)
    made.add_ground_plane()
    return made


class Scene:
    """A model with a solver and everything that a step takes."""

    def __init__(self, precision="float32", device="cpu"):
        self.model = builder().finalize(device=device, precision=precision)
        self.early = self.model.state()
        self.solver = sim.solvers.Featherstone(self.model)
        self.state, self.next_state = self.model.state(), self.model.state()
        self.control, self.contacts = self.model.control(), self.model.contacts()

    def step(self, dt=0.005, **changed):
        given = dict(state_in=self.state, state_out=self.next_state, control=self.control, contacts=self.contacts)
        self.solver.step(**(given | changed), dt=dt)


@pytest.fixture
def scene() -> Scene:
    return Scene()


# ---- what a step is given ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [0, -0.01, NAN, INF, -INF, 1e-400, True, None, "fast", 1j, [0.1]])
def test_a_dt_that_is_no_positive_number_of_seconds_is_refused(scene, dt):
    before = scene.next_state.joint_q.tobytes()
    with pytest.raises(ModelError, match=r"Featherstone: dt is .*; give a .*number of seconds"):
        scene.step(dt)
    assert scene.next_state.joint_q.tobytes() == before
    with pytest.raises(ModelError, match="dt is"):
        scene.solver.advise(dt)
    with pytest.raises(ModelError, match="dt is"):
        sim.Simulation(scene.model, scene.solver, dt)


@pytest.mark.parametrize("dt", [1e30, 1e300])
def test_a_huge_dt_is_told_by_check(scene, dt):
    with pytest.warns(UserWarning, match="time constant 0.02 s is below 2 dt"):
        scene.step(dt)
    with pytest.raises(sim.DivergenceError, match="not finite in world 0.*take a smaller dt.*first reported at step 1"):
        scene.solver.check(scene.next_state)


def test_a_tiny_dt_moves_nothing_and_breaks_nothing(scene):
    scene.step(1e-300)
    assert scene.solver.check(scene.next_state).ok
    assert scene.next_state.joint_q == pytest.approx(scene.state.joint_q, abs=1e-6)


@pytest.mark.parametrize("role", ["state_in", "state_out"])
def test_a_state_made_before_its_solver_is_refused(scene, role):
    with pytest.raises(ModelError, match=r"made before solvers.Featherstone.*make the solver first, then the states"):
        scene.step(**{role: scene.early})


@pytest.mark.parametrize("role", ["state_in", "state_out", "control", "contacts"])
def test_arrays_and_other_things_in_place_of_a_container_are_refused_by_name(scene, role):
    maker = "state" if "state" in role else role
    for wrong in (np.zeros(7, np.float32), [], "state", scene.model):
        message = rf"step: got an? {type(wrong).__name__} as the {role}; give a .* made by model\.{maker}\(\)"
        with pytest.raises(ModelError, match=message):
            scene.step(**{role: wrong})
    if role != "contacts":
        with pytest.raises(ModelError, match=f"got a NoneType as the {role}"):
            scene.step(**{role: None})


@pytest.mark.parametrize("role", ["state_in", "state_out", "control", "contacts"])
def test_containers_of_another_model_are_refused_by_name(scene, role):
    other = {"state_in": "state", "state_out": "next_state"}.get(role, role)
    verb, it = ("belong", "them") if role == "contacts" else ("belongs", "it")
    for precision in ("float32", "float64"):
        with pytest.raises(ModelError, match=f"step: the {role} {verb} to another model; make {it} with model"):
            scene.step(**{role: getattr(Scene(precision), other)})


def test_a_step_into_its_own_input_is_refused(scene):
    with pytest.raises(ModelError, match=r"state_out is state_in; .* give a second state"):
        scene.step(state_out=scene.state)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(5, np.float32), r"control.joint_f has shape \(6,\), got \(5,\)"),
        (np.zeros((6, 1), np.float32), r"control.joint_f has shape \(6,\), got \(6, 1\)"),
        (np.zeros(6, np.float64), r"control.joint_f is float32, got float64.*\.astype\('float32'\)"),
        (np.zeros(6, np.complex64), "control.joint_f is float32, got complex64"),
        (np.zeros(6, object), "control.joint_f is float32, got object"),
        (["a"] * 6, "control.joint_f wants float32 values"),
    ],
)
def test_efforts_of_another_shape_or_dtype_are_refused_and_the_array_stays(scene, value, message):
    array = scene.control.joint_f
    with pytest.raises(ModelError, match=message):
        scene.control.joint_f = value
    assert scene.control.joint_f is array and not array.any()


def test_assigned_arrays_are_the_ones_that_a_step_reads(scene):
    """Assignment copies and never rebinds: what the step was prepared with stays valid, the user's array stays his."""
    scene.state.joint_q[2] = 1.0  # above the ground
    scene.step(contacts=None)
    mine = np.zeros((1, 6), np.float32)
    mine[0, 0] = 5.0
    scene.control.body_f = mine
    mine[:] = NAN
    scene.step(contacts=None)
    mass = scene.model.body_mass[0]
    assert scene.next_state.joint_qd[0] == pytest.approx(5.0 / mass * 0.005, rel=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("role", ["state_in", "state_out", "control"])
def test_containers_of_another_device_are_refused_by_name(role):
    scene = Scene(device="cuda:0")
    name = {"state_in": "state", "state_out": "next_state"}.get(role, role)
    with pytest.raises(ModelError, match=f"{role} is on cpu, the model on cuda:0; copy it with .to"):
        scene.step(**{role: getattr(scene, name).to("cpu")})


@pytest.mark.gpu
def test_host_arrays_are_refused_where_the_model_is_on_a_gpu():
    scene = Scene(device="cuda:0")
    with pytest.raises(ModelError, match="control.joint_f lives on cuda:0, got a NumPy array"):
        scene.control.joint_f = np.zeros(6, np.float32)


def test_gpu_arrays_are_refused_where_the_model_is_on_the_cpu(scene):
    stranger = types.SimpleNamespace(__cuda_array_interface__={"shape": (6,), "typestr": "<f4", "version": 3})
    with pytest.raises(ModelError, match=r"control.joint_f lives on cpu, got a GPU array; use sim.to_numpy"):
        scene.control.joint_f = stranger


# ---- what the solver and its check are given -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(integrator="implict"), "integrator is 'implict'; it is one of .*did you mean 'implicit'"),
        (dict(cone=None), "cone is None; it is one of elliptic, pyramidal"),
        (dict(iterations=0), "iterations is 0"),
        (dict(iterations=NAN), "iterations is nan"),
        (dict(iterations=2.5), "iterations is 2.5; give a whole number"),
        (dict(iterations=10**12), "iterations is 10.*; give a whole number from 1 to 2147483647"),
        (dict(tolerance=-1), "tolerance is -1"),
        (dict(tolerance=INF), "tolerance is inf"),
        (dict(impratio=0), "impratio is 0"),
        (dict(impratio="high"), "impratio is 'high'; give a number"),
        (dict(stiction_speed=-0.1), "stiction_speed is -0.1"),
        (dict(outputs=("joint_force",)), "no output 'joint_force'; there are .*did you mean"),
        (dict(unsupported="ignore"), 'unsupported is \'ignore\'; it is "raise" or "warn"'),
    ],
)
def test_options_of_the_solver_are_checked_by_name(scene, options, message):
    with pytest.raises(ModelError, match=message):
        sim.solvers.Featherstone(scene.model, **options)


def test_a_builder_in_place_of_its_model_is_refused():
    with pytest.raises(ModelError, match=r"wants a Model \(builder.finalize\(\)\), got ModelBuilder"):
        sim.solvers.Featherstone(builder())


def test_a_simulation_refuses_a_solver_of_another_model(scene):
    for wrong in (None, Scene().solver):
        with pytest.raises(
            ModelError, match="Simulation, solver: belongs to another model or is none; make it for this"
        ):
            sim.Simulation(scene.model, wrong, 0.01)


def test_check_refuses_what_is_no_state_and_unknown_ways(scene):
    with pytest.raises(ModelError, match=r"check: got an ndarray as the state; give a State made by model\.state\(\)"):
        scene.solver.check(scene.state.joint_q)
    with pytest.raises(ModelError, match='on_problem is \'shout\'; it is "raise", "warn" or "ignore"'):
        scene.solver.check(scene.state, "shout")


@pytest.mark.parametrize(
    "call",
    [
        lambda s: sim.collide(s.model, Scene().state, s.contacts),
        lambda s: sim.collide(s.model, s.state, Scene().contacts),
        lambda s: sim.collide(s.model, s.state.body_q, s.contacts),
        lambda s: sim.eval_fk(s.model, s.state.joint_q),
        lambda s: sim.eval_mass_matrix(s.model, s.state, out=np.zeros((1, 6, 6))),
        lambda s: sim.eval_inverse_dynamics(s.model, s.state, np.zeros(6)),
        lambda s: sim.reset(s.model, s.state, world_mask=np.ones(3, bool)),
    ],
    ids=["state of another model", "contacts of another model", "array", "array for fk", "out", "dtype", "mask"],
)
def test_functions_beside_the_step_refuse_what_does_not_fit(scene, call):
    with pytest.raises(ModelError, match="another model|got a|must have|takes"):
        call(scene)


# ---- the machine ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(devices.gpu_count() > 0, reason="this machine has a GPU")
def test_a_model_for_a_gpu_that_is_not_there_is_refused_and_says_what_is_missing(scene):
    for ask in (lambda: builder().finalize(device="cuda:0"), lambda: scene.state.to("cuda")):
        with pytest.raises(DeviceError, match=r"device 'cuda.*' cannot be used: .*or use device=\"cpu\""):
            ask()


@pytest.mark.parametrize(
    ("runtime", "message"),
    [
        ("raise RuntimeError('cudaErrorInsufficientDriver')", "no usable NVIDIA driver .*install or update the driver"),
        ("return 0", "0 GPUs are visible .*CUDA_VISIBLE_DEVICES"),
    ],
    ids=["no driver", "none visible"],
)
def test_a_gpu_without_a_driver_or_hidden_from_the_process_is_told_apart(tmp_path, runtime, message):
    """In a process that finds a stand-in for CuPy, which answers as CuPy does there."""
    answer = f"def getDeviceCount():\n    {runtime}\n"
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text("from . import cuda\n")
    (tmp_path / "cupy" / "cuda").mkdir()
    (tmp_path / "cupy" / "cuda" / "__init__.py").write_text("from . import runtime\n")
    (tmp_path / "cupy" / "cuda" / "runtime.py").write_text(answer)
    script = "import simengine as sim\ntry: sim.get_device('cuda')\nexcept sim.SimError as error: print(error)"
    done = run_script(script, PYTHONPATH=f"{tmp_path}{os.pathsep}{REPOSITORY}")
    assert done.returncode == 0, done.stderr
    assert re.search(f"device 'cuda' cannot be used: .*{message}.*or use device=\"cpu\"", done.stdout)


def run_script(script: str, **environment) -> subprocess.CompletedProcess:
    """A script in a fresh process."""
    command = [sys.executable, "-W", "always", "-c", textwrap.dedent(script)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_a_cache_folder_that_cannot_be_used_is_replaced_with_one_warning(tmp_path):
    """Two kernels are compiled and run; a file stands where the folder should be, which stops every user."""
    place = tmp_path / "cache"
    place.write_text("not a folder")
    script = """
        import numpy as np, simengine as sim
        for factor in (2, 3):
            text = 'extern "C" __global__ void scale(int n, real* x) { for_each(i, n) x[i] *= %d; }' % factor
            x = np.ones(4, np.float32)
            sim.Kernel(text, name="scale").launch(4, [x])
            print(x.sum())
    """
    done = run_script(script, SIMENGINE_CACHE_DIR=str(place))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["8.0", "12.0"]
    assert done.stderr.count("RuntimeWarning") == 1
    assert (
        f"the kernel cache {place}" in done.stderr and "set SIMENGINE_CACHE_DIR to a folder of your own" in done.stderr
    )
    assert place.read_text() == "not a folder"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_fork_steps_on_with_the_same_bits():
    """A pool of four threads is at work when the process forks; the child's step gives the parent's bits."""
    pool.set_num_threads(4)
    try:
        scene = Scene()
        scene.step(contacts=None)
        expected = scene.next_state.joint_q.tobytes()
        scene.next_state.joint_q = 0.0
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # a child that hangs is ended
            scene.step(contacts=None)
            os._exit(0 if scene.next_state.joint_q.tobytes() == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        scene.step(contacts=None)
        assert scene.next_state.joint_q.tobytes() == expected
    finally:
        pool.set_num_threads(None)
