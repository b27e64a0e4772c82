"""Keyframes in MJCF files: MuJoCo's library reads the states that the builder holds."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.errors import ModelError

ACTUATORS = """<actuator><motor joint="j"/><pid joint="j" kp="3" ki="1"/><position joint="j" kp="2" timeconst=".1"/>
</actuator>"""
SCENE = f"""<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>{ACTUATORS}
<keyframe><key name="a" ctrl="1 2 3 4"/><key name="b" qpos=".3" ctrl="0 0 0 0"/><key name="c" ctrl="0 0 3 0"/>
</keyframe></mujoco>"""


def exported(tmp_path, change=lambda builder: None) -> mujoco.MjModel:
    (tmp_path / "in.xml").write_text(SCENE)
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder.add_mjcf(tmp_path / "in.xml")
        change(builder)
        sim.export_mjcf(builder, tmp_path / "out.xml")
    return mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))


def test_inputs_of_actuators_with_several_are_where_mujoco_has_them(tmp_path):
    written, read = mujoco.MjModel.from_xml_string(SCENE), exported(tmp_path)
    for name in ("a", "b", "c"):
        np.testing.assert_array_equal(read.key(name).ctrl, written.key(name).ctrl)
        np.testing.assert_array_equal(read.key(name).qpos, written.key(name).qpos)


def test_a_keyframe_that_names_some_actuators_leaves_the_others_without_input(tmp_path):
    model = exported(tmp_path, lambda builder: builder.add_keyframe("own", actuators=((2, (7.0,), (5.0,)),)))
    np.testing.assert_array_equal(model.key("own").ctrl, [0, 0, 0, 7])
    assert model.key("own").act[-1] == 5.0


def test_an_input_that_is_no_tuple_is_refused_when_it_is_given(tmp_path):
    with pytest.raises(ModelError, match="keyframe 'own'.*its inputs"):
        exported(tmp_path, lambda builder: builder.add_keyframe("own", actuators=((0, 1.0, ()),)))
