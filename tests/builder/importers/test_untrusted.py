"""Reading in another process: the same builder as without one; whatever goes wrong there is an error here."""

import os
import sys
import time
import warnings
from pathlib import Path

import pytest

import simengine as sim
from simengine.builder.importers.options import ChildLimits
from simengine.builder.importers.untrusted import import_untrusted
from simengine.builder.importers.urdf.urdf import import_urdf
from simengine.builder.importers.usd.limits import UsdLimits
from tests.builder.importers.urdf.texts import two_links
from tests.builder.importers.usd.stages import body, write_stage

posix = pytest.mark.skipif(os.name != "posix", reason="limits of memory and signals are POSIX")
ROBOT = two_links('<limit lower="0.2" upper="1" effort="5" velocity="1"/>')


def read(name, path="robot.urdf", builder=None, **limits):
    builder = sim.ModelBuilder() if builder is None else builder
    options = {"untrusted_limits": ChildLimits(**limits)} if limits else {}
    return import_untrusted(builder, f"tests.builder.importers.hostile_readers:{name}", path, options)


def fails(name, *words, path="robot.urdf", **limits):
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(-1, 1)
    key = builder._elements.key()
    with pytest.raises(sim.AssetError) as caught:
        read(name, path, builder, **limits)
    for word in words:
        assert word in str(caught.value), caught.value
    assert caught.value.file == str(path)
    assert str(caught.value).startswith(str(path))
    assert builder._elements.key() == key


# ---- the same as without


def both(path, method="add_urdf", **options):
    """(elements, gravity, report, warnings) of an import into a builder that holds something, without and with."""
    results = []
    for untrusted in (False, True):
        builder = sim.ModelBuilder()
        builder.default_material = sim.Material(friction=0.3)
        builder.default_joint.armature = 0.01
        builder.default_density = 500.0
        builder.add_shape_sphere(builder.add_body(mass=1, inertia=(1, 1, 1)), 1)
        builder.add_joint_free(-1, 0)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            report = getattr(builder, method)(path, untrusted=untrusted, **options)
        messages = [(str(one.message), one.category, one.filename) for one in told]
        results.append((builder._elements.key(), builder._given_gravity, report, messages))
    return results


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"label_prefix": "left", "floating": True, "self_collision": False},
        {"xform": (1, 2, 3, 0, 0, 1, 0), "scale": 0.5, "collapse_fixed_joints": True, "drive_stiffness": 3},
    ],
)
def test_a_urdf_gives_the_same_builder_report_and_warnings(tmp_path, options):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    mesh = "<collision><geometry><mesh filename='a.obj'/></geometry></collision>"
    extra = (
        f'<link name="tip">{mesh}</link><joint name="k" type="fixed"><parent link="arm"/><child link="tip"/></joint>'
        '<gazebo reference="arm"><mu1>0.4</mu1><frob/></gazebo><mujoco><option gravity="0 0 -1"/></mujoco>'
        '<transmission name="t"><type>SimpleTransmission</type><joint name="j"/><actuator name="m"/></transmission>'
    )
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOT.replace("</robot>", extra + "</robot>"))
    without, with_one = both(path, **options)
    assert without[0] == with_one[0]
    assert without[1] == with_one[1] == (0, 0, -1)
    assert without[2] == with_one[2]
    assert without[3] == with_one[3]
    assert without[3][0][2] == __file__


@pytest.mark.parametrize(
    "name",
    [
        "newton-assets/allegro_hand_description/allegro_hand_description_left.urdf",
        "IsaacGymEnvs/factory_and_tet/icosphere.urdf",
        "gymnasium/mujoco/ant.xml",
        "mujoco/mechanisms/slider_crank/slider_crank.xml",
        "newton/usd_physics/ant.usda",
    ],
)
def test_robots_by_others_give_the_same_builder(shared, name):
    path = shared / "assets" / name
    if not path.exists():
        path = next((shared / "assets").glob(f"{name.split('/')[0]}/**/{Path(name).name}"))
    method = {".urdf": "add_urdf", ".xml": "add_mjcf"}.get(path.suffix, "add_usd")
    without, with_one = both(path, method, filter_overlapping=False)
    assert without[:3] == with_one[:3]
    assert [one[:2] for one in without[3]] == [one[:2] for one in with_one[3]]


def test_limits_of_usd_hold_in_the_other_process(tmp_path):
    path = write_stage(tmp_path, body("a"))
    without, with_one = both(path, "add_usd", usd_limits=UsdLimits(), filter_overlapping=False)
    assert without[:3] == with_one[:3]
    with pytest.raises(sim.AssetError, match="more than the cap of 20"):
        sim.ModelBuilder().add_usd(path, untrusted=True, usd_limits=UsdLimits(layer_bytes=20))


def test_errors_are_the_same(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOT.replace('"0.2"', '"nan"'))
    caught = []
    for untrusted in (False, True):
        with pytest.raises(sim.AssetError) as error:
            sim.ModelBuilder().add_urdf(path, untrusted=untrusted)
        caught.append(error.value)
    assert str(caught[0]) == str(caught[1])
    for name in ("file", "line", "element", "prim_path"):
        assert getattr(caught[0], name) == getattr(caught[1], name)
    for options in ({"floatng": True}, {"drive_frequency": -1}):
        with pytest.raises(sim.ModelError, match=next(iter(options))):
            sim.ModelBuilder().add_urdf(path, untrusted=True, **options)


def test_a_label_that_is_taken_is_refused_as_without(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOT)
    builder = sim.ModelBuilder()
    builder.add_body(label="arm")
    key = builder._elements.key()
    with pytest.raises(sim.ModelError, match="'arm': is taken; give label_prefix="):
        builder.add_urdf(path, untrusted=True)
    assert builder._elements.key() == key


# ---- options


def test_options_that_make_no_sense_are_refused(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOT)
    with pytest.raises(sim.ModelError, match="untrusted_limits: acts only with untrusted=True"):
        sim.ModelBuilder().add_urdf(path, untrusted_limits=ChildLimits())
    with pytest.raises(sim.ModelError, match="untrusted: is 1; it must be True or False"):
        sim.ModelBuilder().add_urdf(path, untrusted=1)
    with pytest.raises(sim.ModelError, match="cannot be given to another process: a value of type function"):
        sim.ModelBuilder().add_urdf(path, untrusted=True, xform=lambda: 0)
    with pytest.raises(sim.ModelError, match="untrusted: is an option of the methods of ModelBuilder alone"):
        import_urdf(sim.ModelBuilder(), path, untrusted=True)
    with pytest.raises(sim.ModelError, match="it must be a path"):
        sim.ModelBuilder().add_usd(object(), untrusted=True)


# ---- readers that misbehave


@posix
def test_a_crash_is_an_error_that_names_the_file():
    fails("aborts", "crashed (SIGABRT")
    fails("overflows_the_stack", "crashed (SIGSEGV")
    fails("exits", "code 3")


@posix
def test_a_reader_that_eats_memory_is_stopped():
    fails("eats_memory", f"more than the {1 << 29} bytes", memory_bytes=1 << 29)


def test_a_reader_that_spins_is_stopped():
    began = time.monotonic()
    fails("spins", "more than 2 s", seconds=2)
    assert time.monotonic() - began < 30.0  # it would never end


@posix
def test_what_the_reader_started_is_ended_with_it(tmp_path):
    path = tmp_path / "pid"
    fails("sleeps_behind_a_child", "more than 3 s", path=path, seconds=3)
    child = int(path.read_text())
    for _ in range(200):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {child} lives on")


def test_garbage_is_no_result_and_nothing_is_unpickled():
    fails("writes_garbage", "wrote no result")
    fails("sends_what_is_no_warning", "neither a robot nor an error")


def test_an_answer_without_end_is_cut_off():
    fails("writes_without_end", f"more than {1 << 24} bytes", answer_bytes=1 << 24)


def test_what_a_reader_prints_is_no_part_of_the_answer():
    builder = sim.ModelBuilder()
    read("prints", builder=builder)
    assert [body.label for body in builder.bodies] == ["printed"]


def test_an_error_that_is_none_of_ours_is_told_by_its_last_words():
    fails("is_wrong", "code 1", "KeyError: 'no such thing'")


def test_our_errors_come_back_as_they_are():
    with pytest.raises(sim.AssetError, match=r"^robot.urdf:7: <link 'a'>: is not to its liking$") as caught:
        read("refuses")
    assert (caught.value.file, caught.value.line, caught.value.element) == ("robot.urdf", 7, "<link 'a'>")
    with pytest.raises(sim.MissingExtraError, match=r"usd-core: pip install") as caught:
        read("lacks_an_extra")
    assert (caught.value.package, caught.value.extra) == ("usd-core", "usd")
    assert isinstance(caught.value, ImportError)


def test_warnings_come_back_with_their_category():
    with pytest.warns(UserWarning, match="first"), pytest.warns(DeprecationWarning, match="second"):
        read("warns")


def test_a_robot_that_cannot_be_is_refused():
    fails("refers_to_what_is_not_there", "sent what is no robot", "parent: is 17")


def test_a_module_in_the_working_folder_is_not_run(tmp_path, monkeypatch):
    """Python would look there first for all that the reader imports."""
    for name in ("planted", "numpy", "usercustomize", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the stranger was here')\n")
    monkeypatch.chdir(tmp_path)
    fails("finds_a_module_in_the_working_folder", "No module named 'planted'")
    assert str(tmp_path) not in sys.path
