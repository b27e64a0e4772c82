"""The command line: exit codes, one-line errors, and what run, info, doctor and cache do."""

import math
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import simengine as sim
from simengine import cli, dynamics
from simengine.cli_files import find_robot, format_of, root_name
from simengine.cli_info import table
from simengine.errors import AssetError, DivergenceError
from simengine.runtime import cache

ROOT = Path(__file__).resolve().parents[1]


def run(capsys, *arguments) -> tuple[int, str, str]:
    """The code, the output and the errors, without the lines that a kernel was compiled: that depends on the cache."""
    code = cli.main(["run", *map(str, arguments), "--device", "cpu"])
    out, err = capsys.readouterr()
    return code, out, without_log(err)


def without_log(err: str) -> str:
    return "".join(line for line in err.splitlines(keepends=True) if not line.startswith("compiled "))


def test_a_floating_robot_lands_and_holds_its_pose(tmp_path, capsys):
    """Dropped from 0.1 m it ends at rest, its trunk as high as it stands, less what drives and contacts give."""
    file = tmp_path / "new" / "run.usdc"
    code, out, err = run(
        capsys,
        "quadruped",
        "--floating",
        "--seconds",
        2,
        "--worlds",
        2,
        "--noise",
        0.05,
        "--height",
        0.5,
        "--record",
        file,
    )
    assert (code, err) == (0, "")
    assert "drives hold the initial pose at 5 Hz" in out
    assert "simulated 2 s of 2 worlds on cpu" in out
    assert f"writing {file}: 121 frames of 2 worlds" in out
    stage = Usd.Stage.Open(str(file))
    standing = standing_height("quadruped")
    for world in (0, 1):
        trunk = UsdGeom.Xformable(stage.GetPrimAtPath(f"/World/world_{world}/trunk"))
        heights = [trunk.ComputeLocalToWorldTransform(frame).ExtractTranslation()[2] for frame in (0, 100, 120)]
        assert heights[0] == pytest.approx(0.5, abs=1e-6)
        assert heights[2] == pytest.approx(standing, abs=0.03)
        assert heights[2] == pytest.approx(heights[1], abs=1e-3)


def standing_height(name: str) -> float:
    """Of the root link above the lowest point, in the initial pose; the feet are spheres."""
    builder = sim.ModelBuilder()
    builder.add_urdf(find_robot(name), floating=True)
    model = builder.finalize(device="cpu", precision="float64")
    state = model.state()
    feet = model.find_bodies("*_foot")
    radius = model.shape_size[model.find_shapes("*_foot/*")[0], 0]
    return state.body_q[0, 2] - state.body_q[feet, 2].min() + radius


def test_without_a_height_the_robot_just_clears_the_ground(capsys):
    code, out, _ = run(capsys, "quadruped", "--floating", "--seconds", 0.02)
    assert code == 0
    height = float(re.search(r"the root link is (\d\.\d+) m high", out).group(1))
    assert height == pytest.approx(standing_height("quadruped") + 0.001, abs=1e-3)


def test_xform_places_the_root_link(tmp_path, capsys):
    file = tmp_path / "run.usda"
    pose = ("--xform", 1, 2, 3, 0, 0, 1, 0)
    code, out, _ = run(capsys, "pendulum", *pose, "--no-ground", "--seconds", 0.02, "--record", file)
    assert code == 0
    assert "just clears" not in out
    stage = Usd.Stage.Open(str(file))
    mount = UsdGeom.Xformable(stage.GetPrimAtPath("/World/world_0/mount")).ComputeLocalToWorldTransform(0)
    np.testing.assert_allclose(mount.ExtractTranslation(), (1, 2, 3), atol=1e-6)
    np.testing.assert_allclose(mount.TransformDir((1, 0, 0)), (-1, 0, 0), atol=1e-6)
    assert not stage.GetPrimAtPath("/World/ground")


def test_without_drives_the_cart_pole_falls_and_with_them_it_stands(tmp_path, capsys):
    def tilt(frequency):
        file = tmp_path / f"{frequency}.usdc"
        common = ("--worlds", 2, "--noise", 0.05, "--seconds", 1, "--record", file)
        assert run(capsys, "cartpole", "--drive-frequency", frequency, *common)[0] == 0
        stage = Usd.Stage.Open(str(file))
        pole = UsdGeom.Xformable(stage.GetPrimAtPath("/World/world_1/pole")).ComputeLocalToWorldTransform(60)
        return pole.TransformDir((0, 0, 1))[2]

    assert tilt(0) < 0.9
    assert tilt(5) > 0.999


def test_only_some_worlds_are_recorded_and_it_says_so(tmp_path, capsys):
    file = tmp_path / "run.usdc"
    code, out, _ = run(capsys, "pendulum", "--worlds", 5, "--record", file, "--record-worlds", 2, "--seconds", 0.05)
    assert code == 0
    assert "recording the first 2 of 5 worlds" in out
    stage = Usd.Stage.Open(str(file))
    assert [prim.GetName() for prim in stage.GetPrimAtPath("/World").GetChildren()] == ["ground", "world_0", "world_1"]


def test_noise_of_a_world_is_its_own(monkeypatch, capsys):
    """World i starts alike whether it is one of 2 or of 4; the first has no noise; limits hold."""
    seen = []
    monkeypatch.setattr("simengine.cli_run._simulate", lambda simulation, seconds: seen.append(simulation))
    for worlds in (2, 4):
        assert run(capsys, "quadruped", "--worlds", worlds, "--noise", 3, "--seed", 7)[0] == 0
    two, four = (s.model.by_world(s.state.joint_q) for s in seen)
    np.testing.assert_array_equal(two, four[:2])
    np.testing.assert_array_equal(two[0], seen[0].model.by_world(seen[0].model.joint_q)[0])
    assert len({row.tobytes() for row in four}) == 4
    model = seen[1].model
    assert (four >= model.by_world(model.joint_limit_lower)).all()
    assert (four <= model.by_world(model.joint_limit_upper)).all()


def test_the_limits_for_noise_are_read_once_for_all_worlds(monkeypatch, capsys):
    monkeypatch.setattr("simengine.cli_run._simulate", lambda simulation, seconds: None)
    reads = []
    monkeypatch.setattr("simengine.cli_run.to_numpy", lambda array: (reads.append(1), sim.to_numpy(array))[1])
    counts = []
    for worlds in (2, 6):
        reads.clear()
        assert run(capsys, "cartpole", "--worlds", worlds, "--noise", 1)[0] == 0
        counts.append(len(reads))
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.urdf",), r"error: nothing\.urdf: there is no such file, nor a robot of that name; .* quadruped"),
        (("quadrupet",), r"did you mean 'quadruped'\?"),
        (("",), "error: FILE: is empty; give the path"),
        (("pendulum", "--allow-path", "/nowhere"), "error: --allow-path: there is no folder '/nowhere'"),
        (("pendulum", "--package-root", "/nowhere"), "error: --package-root: there is no folder '/nowhere'"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(capsys, arguments, message):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert re.search(message, err)
    assert len(err.strip().splitlines()) == 1


def test_kinds_of_files_that_are_not_read_are_named(tmp_path, capsys):
    (tmp_path / "robot.sdf").write_text("<sdf/>")
    assert cli.main(["info", str(tmp_path / "robot.sdf")]) == 2
    assert re.search(r"its ending must be one of \.urdf, \.mjcf, \.xml, \.usd", capsys.readouterr().err)


PUSHED = """<mujoco model="pushed"><option timestep="0.004" integrator="Euler"/><worldbody>
<geom name="floor" type="plane" size="0 0 1"/>
<body name="ball" pos="0 0 0.3"><freejoint/><geom size="0.1"/></body>
<body name="arm" pos="1 0 0.5"><joint name="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.05"/></body>
</worldbody>{actuator}</mujoco>"""


def test_an_mjcf_scene_runs_with_its_own_ground_step_and_integrator(tmp_path, capsys):
    (tmp_path / "scene.xml").write_text(PUSHED.format(actuator=""))
    code, out, err = run(capsys, tmp_path / "scene.xml", "--seconds", 0.1, "--dt", 0.02, "--drive-frequency", 0)
    assert code == 0, err
    assert "5 steps in a frame, since the file's step is 0.004 s" in out
    assert "the file asks for the integrator euler: euler" in out
    assert "just clears" not in out
    code, out, _ = run(capsys, tmp_path / "scene.xml", "--seconds", 0.1)
    assert code == 0
    assert "integrator euler: implicit, for the drives" in out
    assert "drives hold the initial pose at 5 Hz" in out


def test_no_second_ground_is_put_under_a_file_that_has_one(tmp_path, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr("simengine.cli_run._simulate", lambda simulation, seconds: seen.append(simulation.model))
    (tmp_path / "with.xml").write_text(PUSHED.format(actuator=""))
    (tmp_path / "without.xml").write_text(
        PUSHED.format(actuator="").replace('<geom name="floor" type="plane" size="0 0 1"/>', "")
    )
    for name in ("with", "without"):
        assert run(capsys, tmp_path / f"{name}.xml")[0] == 0
    planes = [[label for label in model.shape_label if label in ("floor", "ground")] for model in seen]
    assert planes == [["floor"], ["ground"]]


def test_a_urdf_by_the_name_of_an_xml_is_read_as_urdf(tmp_path):
    for text, kind in (
        ('<?xml version="1.0"?>\n<!-- a robot -->\n<robot name="r">', "urdf"),
        ("<mujoco>", "mjcf"),
        ("<robots>", "mjcf"),
        ("\ufeff<robot>", "urdf"),
        ("<!-- <robot> --><mujoco/>", "mjcf"),
        ("<!-->--> --><robot/>", "mjcf"),
        ("<!-- " + "license " * 2000 + "-->\n<?xacro x?>\n<robot/>", "urdf"),
        ("<!-- without an end <robot>", "mjcf"),
        ("", "mjcf"),
    ):
        (tmp_path / "robot.xml").write_text(text, encoding="utf-8")
        assert format_of(tmp_path / "robot.xml") == kind, text[:40]


def test_the_root_of_a_file_is_found_behind_any_number_of_comments():
    """Thousands of them, and one without an end: work that doubled with each would never end."""
    assert root_name(b"<!-- --> " * 5000 + b"<robot name='r'>") == b"robot"
    assert root_name(b"<!-- -->" * 5000 + b"<mujoco/>") == b"mujoco"
    assert root_name(b"<!-- --> " * 5000 + b"<!-- ") == b""


def test_files_outside_the_working_folder_are_not_trusted(tmp_path, monkeypatch, capsys):
    """The importers are told so: the CLI's own files and those below the working folder are read at once."""
    seen = []
    original = sim.ModelBuilder.add_urdf
    monkeypatch.setattr(
        sim.ModelBuilder,
        "add_urdf",
        lambda self, path, **options: seen.append(options["untrusted"]) or original(self, path, **options),
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/own.urdf").write_text('<robot name="r"><link name="l"/></robot>')
    monkeypatch.chdir(tmp_path / "mine")
    for arguments in (["own.urdf"], ["pendulum"], [str(tmp_path / "mine/own.urdf")]):
        assert cli.main(["info", *arguments]) == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    path = str(tmp_path / "mine/own.urdf")
    assert cli.main(["info", path, "--trust"]) == 0
    assert cli.main(["info", path]) == 0
    assert seen == [False, False, False, False, True]


@pytest.mark.parametrize("ending", ["urdf", "xml", "usda"])
def test_convert_writes_a_file_that_describes_the_same_robot(tmp_path, capsys, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["convert", "arm", f"arm.{ending}"]) == 0
    out = capsys.readouterr().out
    assert "read:" in out
    builders = [sim.ModelBuilder(), sim.ModelBuilder()]
    add = {"urdf": "add_urdf", "xml": "add_mjcf", "usda": "add_usd"}[ending]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builders[0].add_urdf(find_robot("arm"))
        getattr(builders[1], add)(tmp_path / f"arm.{ending}")
        first, second = (builder.finalize(device="cpu", precision="float64") for builder in builders)
    mass = [sim.eval_mass_matrix(model, model.state()) for model in (first, second)]
    np.testing.assert_allclose(mass[1], mass[0], rtol=1e-6)


def test_convert_refuses_what_it_cannot_write(tmp_path, capsys):
    assert cli.main(["convert", "arm", str(tmp_path / "arm.usdz")]) == 2
    assert "its ending must be one of .urdf, .mjcf, .xml, .usd, .usda, .usdc" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_strict_refuses_a_file_of_which_something_would_be_ignored(tmp_path, capsys):
    (tmp_path / "r.urdf").write_text('<robot name="r"><link name="l" colour="red"/></robot>')
    assert cli.main(["info", str(tmp_path / "r.urdf"), "--trust"]) == 0
    assert cli.main(["info", str(tmp_path / "r.urdf"), "--trust", "--strict"]) == 2
    assert "attribute 'colour' is not read" in capsys.readouterr().err


def test_info_lists_what_is_kept(tmp_path, capsys):
    text = PUSHED.format(actuator='<actuator><motor name="push" joint="hinge"/></actuator>')
    (tmp_path / "scene.xml").write_text(text)
    assert cli.main(["info", str(tmp_path / "scene.xml")]) == 0
    assert "actuators: push" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("fly",),
        ("run",),
        ("run", "pendulum", "--render", "x.mp4"),
        ("run", "pendulum", "--worlds", "0"),
        ("run", "pendulum", "--worlds", "9" * 9999),
        ("run", "pendulum", "--seed", "-1"),
    ],
)
def test_usage_that_the_parser_refuses_is_code_2(capsys, arguments):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2
    assert "usage: simengine" in capsys.readouterr().err


def test_a_broken_file_is_named_with_its_line(tmp_path, capsys):
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="r">\n<link name="a"/>\n<link name="a"/>\n</robot>')
    assert cli.main(["info", str(path)]) == 2
    assert re.search(rf"error: {path}:3: ", capsys.readouterr().err)


def test_a_run_that_diverges_is_code_1(monkeypatch, capsys):
    def fail(self, on_problem="raise"):
        raise DivergenceError("world 0 is lost", worlds=[0])

    monkeypatch.setattr(sim.Simulation, "check", fail)
    code, _, err = run(capsys, "pendulum")
    assert code == 1
    assert err.splitlines()[-1] == "error: world 0 is lost"


def test_an_interrupt_is_code_130_and_the_recording_is_kept(tmp_path, monkeypatch, capsys):
    came_at = []

    def interrupt(self, on_problem="raise"):
        if self.frame_count >= 3:
            came_at.append(self.frame_count)
            raise KeyboardInterrupt

    monkeypatch.setattr(sim.Simulation, "check", interrupt)
    code, _, err = run(capsys, "pendulum", "--record", tmp_path / "run.usdc")
    assert code == 130
    far = f"interrupted after {came_at[0] / 60:.2f} of 3 s"
    assert err.splitlines()[-1] == f"{far}; {tmp_path / 'run.usdc'} holds {came_at[0] + 1} frames"
    stage = Usd.Stage.Open(str(tmp_path / "run.usdc"))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, came_at[0])
    code, _, err = run(capsys, "pendulum")
    assert (code, err.splitlines()[-1]) == (130, f"interrupted after {came_at[1] / 60:.2f} of 3 s")


def test_worlds_beyond_arrays_or_memory_are_one_line_and_code_1(capsys, monkeypatch):
    code, _, err = run(capsys, "pendulum", "--worlds", 2**31 - 1)
    assert code == 1
    assert re.fullmatch(r"error: worlds: more than the arrays .* \(needed 2147483647, had \d+\)\n", err)
    monkeypatch.setattr(dynamics, "update_model", lambda model: np.empty(2**60, np.int8))
    code, _, err = run(capsys, "pendulum", "--worlds", 3)
    assert code == 1
    small = r"error: the memory is too small for the model, worlds: \d \(Unable to allocate \S+ EiB .*\)\n"
    assert re.fullmatch(small, err)


def test_a_robot_that_sags_is_told_with_the_reason_and_a_frequency_at_which_it_stands(tmp_path, capsys):
    """A trunk of M = 50 kg on a foot of m = 4 kg, a slider between them: its drive has stiffness k = w^2 m.

    So the trunk sinks by M g / k, beside what the contact of the foot gives.
    """
    path = tmp_path / "robot.urdf"
    path.write_text(HOPPER)
    code, out, err = run(capsys, path, "--floating", "--seconds", 2)
    sunk, tilt = map(float, re.search(r"ended (\S+) m lower than in .* tilted by (\d+) degrees", out).groups())
    weight, stiffness = 50 * 9.81, 4 * (2 * math.pi * 5) ** 2
    assert (code, tilt) == (0, 0)
    assert sunk == pytest.approx(weight / stiffness, rel=0.05)
    assert "try --drive-frequency 10" in err
    code, out, err = run(capsys, path, "--floating", "--seconds", 2, "--drive-frequency", 20)
    assert (code, err) == (0, "")
    assert "m lower than in the start pose" in out
    for quiet in ("--no-ground",), ("--height", 1, "--seconds", 0.1):
        assert "sags" not in run(capsys, path, "--floating", *quiet)[2]


HOPPER = """<robot name="hopper">
<link name="trunk">
<inertial><mass value="50"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<link name="foot">
<inertial><mass value="4"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 -0.5"/><geometry><box size="2 2 0.1"/></geometry></collision>
</link>
<joint name="leg" type="prismatic"><parent link="trunk"/><child link="foot"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="10000" velocity="100"/></joint>
</robot>"""


def test_folders_that_a_file_may_name_can_be_given(tmp_path, capsys):
    (tmp_path / "a").mkdir()
    (tmp_path / "packages" / "parts").mkdir(parents=True)
    for folder in (tmp_path / "packages" / "parts", tmp_path / "other"):
        folder.mkdir(exist_ok=True)
        (folder / "box.obj").write_text(TETRAHEDRON)
    geometry = '<collision><geometry><mesh filename="{}"/></geometry></collision>'
    robot = f'<robot name="r"><link name="l">{geometry}</link></robot>'
    path = tmp_path / "a" / "robot.urdf"
    for name, option, folder in (
        ("package://parts/box.obj", "--package-root", tmp_path / "packages"),
        ("../other/box.obj", "--allow-path", tmp_path / "other"),
    ):
        path.write_text(robot.format(name))
        assert cli.main(["info", str(path)]) == 2
        assert option in capsys.readouterr().err
        assert cli.main(["info", str(path), option, str(folder)]) == 0
        capsys.readouterr()
        assert run(capsys, path, option, folder, "--seconds", 0.02, "--no-ground")[0] == 0


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


def test_a_name_with_a_line_break_and_a_device_are_told_as_they_are(capsys):
    assert cli.main(["info", "a\nb"]) == 2
    assert capsys.readouterr().err.startswith("error: 'a\\nb': there is no such file")
    assert cli.main(["info", os.devnull]) == 2
    assert capsys.readouterr().err == f"error: {os.devnull}: is no regular file (a device, pipe or socket)\n"


def test_a_missing_extra_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pxr", None)
    code, _, err = run(capsys, "pendulum", "--record", tmp_path / "run.usdc")
    assert code == 2
    assert 'pip install "simengine[usd]"' in err


@pytest.mark.parametrize("place", [("--debug", "info"), ("info", "--debug")])
def test_debug_shows_the_traceback(capsys, place):
    assert cli.main([*place, "nothing.urdf"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_info_tells_of_bodies_joints_and_the_report(capsys):
    assert cli.main(["info", "arm"]) == 0
    out = capsys.readouterr().out
    assert "7 degrees of freedom, the root link fixed, mass 20.6 kg" in out
    assert re.search(r"^joint1 +revolute +\w+ +link1 +-2\.9 to 2\.9 +120 ", out, re.MULTILINE)
    assert len(re.findall(r"^tool +0\.4 ", out, re.MULTILINE)) == 1
    assert len(re.findall(r"^body +mass kg ", out, re.MULTILINE)) == 1
    assert "read: 9 links" in out


def test_doctor_finds_a_kernel_that_runs(capsys):
    code = cli.main(["doctor"])
    out = capsys.readouterr().out
    assert re.search(r"^ok +kernel on cpu: runs", out, re.MULTILINE)
    assert code == int("PROBLEM" in out)


def test_run_lets_through_what_is_warned_of_this_machine(monkeypatch, capsys):
    finalize, warned = sim.ModelBuilder.finalize, []

    def finalize_and_warn(self, *arguments, **options):
        if not warned:
            warned.append(True)
            warnings.warn("the kernel cache cannot be written", RuntimeWarning, stacklevel=2)
            warnings.warn("about the robot", UserWarning, stacklevel=2)
        return finalize(self, *arguments, **options)

    monkeypatch.setattr(sim.ModelBuilder, "finalize", finalize_and_warn)
    code, _, err = run(capsys, "quadruped", "--seconds", 0.1)
    assert (code, err) == (0, "warning: the kernel cache cannot be written\n")


def test_cache_lists_and_clears(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "cache"
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(folder))
    (tmp_path / "made").write_bytes(b"x" * 2000)
    cache.store("a" * 64, ".so", tmp_path / "made", "walk.cu float32 specialised")
    assert cli.main(["cache", "list"]) == 0
    kernel, total = capsys.readouterr().out.splitlines()
    assert kernel.split() == ["a" * 16, "cpu", "2.0", "kB", "walk.cu", "float32", "specialised"]
    assert total.startswith("1 kernels, 0.0 MB")
    assert cli.main(["cache", "clear"]) == 0
    assert "removed 1 kernels" in capsys.readouterr().out
    assert list(folder.iterdir()) == []


def test_version_and_the_module_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "simengine.cli", "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"simengine {sim.__version__}\n"


def test_a_reader_that_goes_away_is_no_error():
    """As in `simengine info arm | head -1`, with more text than a pipe holds."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "simengine.cli", "info", "arm"],
        cwd=ROOT,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, without_log(done.stderr)) == (1, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device that is always full is Linux's")
@pytest.mark.parametrize("command", [("info", "arm"), ("cache", "list")])
def test_a_full_disk_under_the_output_is_told(command):
    """Both where the text is longer than a buffer, and fails while it is printed, and where it is shorter."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "simengine.cli", *command],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    expected = "error: standard output: cannot be written: No space left on device\n"
    assert (done.returncode, without_log(done.stderr)) == (1, expected)


def test_warnings_and_log_lines_are_single_lines(tmp_path, capsys):
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="r"><link name="a"/><colour/></robot>')
    code, _, err = run(capsys, path, "--seconds", 0.02, "--no-ground")
    assert code == 0
    assert all(line.startswith("warning: ") for line in err.splitlines())
    assert "colour" in err


def test_files_and_names_of_robots(tmp_path):
    assert find_robot("arm").read_text().startswith("<?xml")
    with pytest.raises(AssetError, match="is a folder"):
        find_robot(str(tmp_path))


def test_tables_align():
    assert table(("a", "bb"), [("1", "2"), ("333", "4")]) == "a    bb\n1    2\n333  4"
