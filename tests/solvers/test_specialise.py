"""Change-over from the general kernels to those made for a model's sizes and topology."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import simengine as sim
from simengine.errors import KernelCompileError, LaunchError, ModelError
from simengine.runtime import background, build, cache
from simengine.solvers import specialise
from simengine.solvers.specialise import chosen_groups

DT = 0.005
STEPS = 40
ROWS = ("joint_q", "joint_qd", "body_q", "body_qd", "featherstone_qacc")


def leg(links: int) -> sim.ModelBuilder:
    """A floating box with a leg of capsules."""
    builder = sim.ModelBuilder()
    parent = builder.add_body(xform=sim.transform((0, 0, 0.3)))
    builder.add_shape_box(parent, 0.1, 0.1, 0.05)
    for i in range(links):
        link = builder.add_body()
        builder.add_shape_capsule(link, 0.03, 0.06, xform=sim.transform((0, 0, -0.09)))
        builder.add_joint_revolute(parent, link, axis="XY"[i % 2], parent_xform=sim.transform((0, 0, -0.1 * (i + 1))))
        parent = link
    return builder


@pytest.fixture(scope="module")
def legs() -> sim.ModelBuilder:
    builder = sim.ModelBuilder()
    builder.replicate(leg(2), 3)
    builder.add_ground_plane()
    return builder


@pytest.fixture
def model(legs) -> sim.Model:
    model = legs.finalize(device="cpu")
    sim.solvers.Featherstone(model, specialise=False)  # its general kernels are loaded, whatever the cache becomes
    return model


@pytest.fixture
def own_cache(monkeypatch, tmp_path) -> Path:
    """An empty cache, and changes that do not wait for seconds of use."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(folder))
    monkeypatch.setattr(build, "find_prebuilt", lambda key: None)
    monkeypatch.setattr(specialise, "CPU_DELAY", 0)
    return folder


@pytest.fixture
def told(monkeypatch) -> list:
    """Compilations in which nothing is compiled: they end when the test says so, and were never of use before."""
    made = []

    class Told:
        def __init__(self, text, kernel, arch, label):
            self.text, self.ended, self.error, self.stopped = text, False, None, False
            made.append(self)

        def poll(self):
            return self.ended

        def stop(self):
            self.stopped = not self.ended

    monkeypatch.setattr(background, "Compilation", Told)
    monkeypatch.setattr(background, "find_compiled", lambda text, arch: None)
    monkeypatch.setattr(specialise, "CPU_DELAY", 0)
    return made


def run(model: sim.Model, solver, steps: int, between=lambda step: None) -> sim.State:
    state, other, control = model.state(), model.state(), model.control()
    for step in range(steps):
        between(step)
        solver.step(state, other, control, None, DT)
        state, other = other, state
    return state


def bits(state: sim.State) -> list[bytes]:
    return [sim.to_numpy(getattr(state, row)).tobytes() for row in ROWS]


def test_the_bits_stay_when_the_solver_changes_over(model, own_cache):
    expected = run(model, sim.solvers.Featherstone(model, specialise=False), STEPS)
    solver = sim.solvers.Featherstone(model)
    solver.step(model.state(), model.state(), model.control(), None, DT)
    assert solver.kernel_changes == 0, "the first step waits for nothing"

    def change(step):
        if step == STEPS // 2:
            assert solver.wait_for_kernels()

    state = run(model, solver, STEPS, change)
    assert solver.kernel_changes == 1
    assert bits(state) == bits(expected)
    assert not list(own_cache.glob("work-*")), "nothing is left behind"

    # a second solver finds it in the cache and takes it at once
    again = sim.solvers.Featherstone(model)
    assert again.wait_for_kernels()
    assert again.kernel_changes == 0
    assert bits(run(model, again, STEPS)) == bits(expected)


@pytest.mark.gpu
@pytest.mark.parametrize("lanes", [1, 8, 32])
def test_the_bits_stay_on_a_gpu(legs, lanes, precision, own_cache):
    model = legs.finalize(device="cuda:0", precision=precision)
    expected = run(model, sim.solvers.Featherstone(model, specialise=False, lanes=lanes), STEPS)
    solver = sim.solvers.Featherstone(model, lanes=lanes)
    assert solver.kernel_changes == 0
    state = run(model, solver, STEPS, lambda step: step == STEPS // 2 and solver.wait_for_kernels())
    assert solver.kernel_changes == 1
    assert bits(state) == bits(expected)


def test_true_compiles_at_once(model, own_cache):
    solver = sim.solvers.Featherstone(model, specialise=True)
    changes = solver.kernel_changes
    assert solver.wait_for_kernels()
    assert solver.kernel_changes == changes


def test_the_change_comes_with_the_next_step(model, told):
    solver = sim.solvers.Featherstone(model)
    run(model, solver, 2)
    assert len(told) == 1
    assert "SIM_TOPOLOGY_CONSTANT 1" in told[0].text
    assert solver.kernel_changes == 0
    told[0].ended = True
    run(model, solver, 1)
    assert solver.kernel_changes == 1


def test_nothing_changes_within_a_capture_and_graphs_keep_what_they_captured(model, told):
    solver = sim.solvers.Featherstone(model)
    state, other, control = model.state(), model.state(), model.control()
    solver.step(state, other, control, None, DT)
    told[0].ended = True
    with sim.capture("cpu") as graph:
        solver.step(state, other, control, None, DT)
        assert solver.kernel_changes == 0
        with pytest.raises(LaunchError, match="within sim.capture"):
            solver.wait_for_kernels()
    general = graph._launches[0].kernel
    assert solver.kernel_changes == 1
    with sim.capture("cpu") as graph:
        solver.step(state, other, control, None, DT)
    assert graph._launches[0].kernel is not general


def test_a_simulation_captures_again_after_a_change(model, told):
    expected = sim.Simulation(model, sim.solvers.Featherstone(model, specialise=False), DT, substeps=3)
    expected.step(6)
    simulation = sim.Simulation(model, sim.solvers.Featherstone(model), DT, substeps=3)
    simulation.step(3)
    before = simulation._graphs
    told[0].ended = True
    simulation.step(3)
    assert simulation._graphs is not before
    assert bits(simulation.state) == bits(expected.state)
    assert simulation.state.time.tobytes() == expected.state.time.tobytes()


def three_groups() -> sim.Model:
    builder = sim.ModelBuilder()
    for links in (1, 2, 3):
        builder.replicate(leg(links), 1)
    return builder.finalize(device="cpu")


def test_no_more_compile_at_once_than_may(told, monkeypatch):
    monkeypatch.setattr(background, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(background, "running", lambda: sum(not compilation.ended for compilation in told))
    solver = sim.solvers.Featherstone(three_groups())
    assert solver.kernel_changes == 0
    assert len(told) == 2
    told[0].ended = True
    assert solver.kernel_changes == 1
    assert solver.kernel_changes == 1
    assert len(told) == 3
    told[1].ended = told[2].ended = True
    assert solver.wait_for_kernels()


def test_a_failure_is_warned_of_once_in_the_compilers_words(model, told):
    solver = sim.solvers.Featherstone(model)
    run(model, solver, 1)
    told[0].ended, told[0].error = True, "error: out of sorts"
    with pytest.warns(RuntimeWarning, match="general one does the work:\nerror: out of sorts"):
        run(model, solver, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(model, solver, 2)
        assert not solver.wait_for_kernels()
    assert len(told) == 1, "it is not tried again"


def test_a_failure_spares_what_ended_well_and_ends_what_still_runs(told, monkeypatch):
    monkeypatch.setattr(background, "MOST_AT_ONCE", 3)
    model = three_groups()
    solver = sim.solvers.Featherstone(model)
    run(model, solver, 1)
    failed, made, slow = told
    failed.ended, failed.error, made.ended = True, "error: out of sorts", True
    with pytest.warns(RuntimeWarning, match="out of sorts"):
        run(model, solver, 1)
    assert solver.kernel_changes == 1
    assert [compilation.stopped for compilation in (failed, made, slow)] == [False, False, True]
    assert not solver.wait_for_kernels()


def test_a_full_disk_is_warned_of_and_the_general_kernel_does_the_work(model, own_cache, monkeypatch):
    def full(**options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(background, "tempfile", SimpleNamespace(mkdtemp=full))
    expected = run(model, sim.solvers.Featherstone(model, specialise=False), 3)
    solver = sim.solvers.Featherstone(model)
    with pytest.warns(RuntimeWarning, match="No space left on device") as told:
        state = run(model, solver, 3)
    assert len(told) == 1 and bits(state) == bits(expected)


def test_a_failure_is_an_error_where_the_user_asked_for_it(model, told, monkeypatch):
    class Failing(background.Compilation):
        def poll(self):
            self.error = "error: out of sorts"
            return True

    monkeypatch.setattr(background, "Compilation", Failing)
    with pytest.raises(KernelCompileError, match="out of sorts"):
        sim.solvers.Featherstone(model, specialise=True)


def test_no_compiler_means_the_general_kernel(model, monkeypatch, told):
    monkeypatch.setattr(build, "find_compiler", lambda: None)
    solver = sim.solvers.Featherstone(model)
    run(model, solver, 2)
    assert not solver.wait_for_kernels()
    assert not told


def test_a_wrong_compiler_is_warned_of(model, monkeypatch, told):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.warns(RuntimeWarning, match="no-such-compiler"):
        solver = sim.solvers.Featherstone(model)
    run(model, solver, 1)
    assert not told


def test_on_the_cpu_it_waits_for_some_use(model, told, monkeypatch):
    monkeypatch.setattr(specialise, "CPU_DELAY", 3600)
    solver = sim.solvers.Featherstone(model)
    run(model, solver, 2)
    assert not told


def test_the_largest_groups_are_chosen():
    assert chosen_groups([1]) == [0]
    assert chosen_groups([1, 1, 2]) == [0, 1, 2]
    assert chosen_groups([5, 9, 4, 7, 6, 8, 4, 4, 4, 20]) == [0, 1, 2, 3, 4, 5, 6, 9]
    assert chosen_groups([1, 3, 2, 1, 1, 1, 1, 1, 1, 50]) == [9]


def test_groups_that_have_none_to_offer_are_not_chosen():
    assert chosen_groups([0, 3, 0, 1]) == [1, 3]


@pytest.mark.parametrize("limit", ["MOST_DOFS", "MOST_PAIRS"])
def test_large_worlds_keep_the_general_kernel_whatever_the_choice(model, told, monkeypatch, limit):
    counts = model.groups[0].counts()
    size = counts["link_dofs" if limit == "MOST_DOFS" else "pairs"]
    monkeypatch.setattr(specialise, limit, size - 1)
    for choice in ("auto", True):
        solver = sim.solvers.Featherstone(model, specialise=choice)
        run(model, solver, 1)
        assert not solver.wait_for_kernels()
    assert not told
    monkeypatch.setattr(specialise, limit, size)
    run(model, sim.solvers.Featherstone(model), 1)
    assert len(told) == 1


def test_the_log_names_the_file_and_what_sets_the_kernel_apart(model, own_cache, caplog):
    with caplog.at_level("INFO", logger="simengine"):
        run(model, sim.solvers.Featherstone(model, specialise=True), 1)
    words = [record.getMessage() for record in caplog.records]
    assert sum(word.startswith("compiled featherstone.cu float32 specialised for cpu in ") for word in words) == 1
    assert "featherstone.cu float32 specialised" in [entry["label"] for entry in cache.entries()]


def test_other_choices_are_refused(model):
    with pytest.raises(ModelError, match="specialise is 'always'"):
        sim.solvers.Featherstone(model, specialise="always")


def in_a_process(script: str, folder: Path, compiler: str) -> subprocess.CompletedProcess:
    """Runs a script that has ``text``, a small kernel, with a shell script as the compiler."""
    program = folder / "compiler"
    program.write_text(f"#!/bin/sh\n{compiler}\n")
    program.chmod(0o700)
    beginning = """
        import os, sys, time
        from pathlib import Path
        from simengine.runtime import background, build
        build.architecture()
        folder = Path(sys.argv[1])
        os.environ["CXX"] = str(folder / "compiler")
    """
    root = Path(__file__).resolve().parent.parent.parent
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(beginning) + textwrap.dedent(script), str(folder)],
        env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
def test_a_process_that_ends_ends_its_compilers(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    script = """
        background.Compilation("int x;", "slow", "cpu")
        while not (folder / "pid").exists() or not (folder / "pid").read_text().strip():
            time.sleep(0.01)
    """
    done = in_a_process(script, tmp_path, f"echo $$ > {tmp_path}/pid; sleep 100")
    assert (done.returncode, done.stderr) == (0, "")
    pid = int((tmp_path / "pid").read_text())
    for _ in range(500):
        if not is_alive(pid):
            break
        time.sleep(0.01)
    assert not is_alive(pid)
    assert not list((tmp_path / "cache").glob("work-*"))


def test_the_compilers_words_come_back(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    script = """
        compilation = background.Compilation("int x;", "bad", "cpu")
        while not compilation.poll():
            time.sleep(0.01)
        print(compilation.error)
    """
    done = in_a_process(script, tmp_path, "echo 'a.cu:1:2: error: out of sorts' >&2; exit 3")
    assert done.returncode == 0, done.stderr
    assert "kernel bad: a.cu:1: out of sorts" in done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork_both_processes_go_on(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    script = """
        compilation = background.Compilation("int x;", "forked", "cpu")
        child = os.fork()
        while not compilation.poll():
            time.sleep(0.01)
        assert compilation.error is None and background.find_compiled("int x;", "cpu") is not None
        if child:
            assert os.waitpid(child, 0)[1] == 0
            print("both")
    """
    done = in_a_process(script, tmp_path, 'while [ "$1" != -o ]; do shift; done; sleep 0.3; echo made > "$2"')
    assert (done.returncode, done.stdout, done.stderr) == (0, "both\n", "")


def test_the_child_finds_the_package_from_any_folder(tmp_path, own_cache, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compilation = background.Compilation("no C++ at all", "nonsense", "cpu")
    while not compilation.poll():
        time.sleep(0.01)
    assert "kernel nonsense: " in compilation.error
