"""Keyframes as they stand on a builder, against MuJoCo's library."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np

import simengine as sim
from simengine.builder.mechanisms import input_count
from tests.builder.importers.mjcf.mujoco_facts import read

SCENE = """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
<actuator><motor joint="j"/><pid joint="j" kp="3" ki="1"/><motor joint="j"/></actuator>
<keyframe><key ctrl="1 2 3 4"/><key qpos=".3"/></keyframe></mujoco>"""


def written(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(SCENE)
    return path


def test_the_inputs_of_a_keyframe_are_a_tuple_for_each_actuator_as_mujoco_counts_them(tmp_path):
    path = written(tmp_path)
    builder, _ = read(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    for key, controls in zip(builder.keyframes, m.key_ctrl, strict=True):
        assert [len(inputs) for _, inputs, _ in key.actuators] == [1, 2, 1]
        np.testing.assert_array_equal([x for _, inputs, _ in key.actuators for x in inputs], controls)
    counts = [input_count(actuator.gain[0], actuator.inputs) for actuator in builder.actuators]
    assert counts == [1, 2, 1]


def test_an_actuator_of_several_inputs_comes_through_the_process_for_files_from_strangers(tmp_path):
    path = written(tmp_path)
    plain, other = read(path)[0], sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.add_mjcf(path, untrusted=True)
    assert other.keyframes == plain.keyframes
    assert other.actuators == plain.actuators
