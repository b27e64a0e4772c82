"""Every kind of actuator, expanded as MuJoCo's compiler expands it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.errors import AssetError
from tests.builder.importers.mjcf.mujoco_facts import read

TREE = """
<body name="b" pos="0 0 1" euler="10 20 0"><joint name="h" range="-30 60" axis="0 1 0" damping="1"/>
 <joint name="s" type="slide" axis="1 0 0" range="-1 2" limited="true"/>
 <geom type="box" size=".1 .2 .3" pos=".2 .1 0"/><site name="p" pos=".1 0 0"/>
 <body pos="1 0 0"><joint name="q" type="ball"/><geom type="box" size=".1 .1 .2"/><site name="r"/></body></body>
"""
TENDON = (
    '<tendon><fixed name="t" range="-1 3"><joint joint="h" coef="2"/><joint joint="s" coef="-.5"/></fixed></tendon>'
)

SHORT = {
    "motor": '<motor joint="h" gear="7 1 2" ctrlrange="-1 2" forcerange="-3 4" group="2"/>',
    "position": '<position joint="h" kp="20" kv="3"/>',
    "position with a filter": '<position joint="h" kp="20" kv="3" timeconst=".3" ctrlrange="-1 1"/>',
    "position with a damping ratio": '<position joint="h" kp="20" dampratio=".7" gear="3"/>',
    "damping ratio over a tendon": '<position tendon="t" kp="20" dampratio="1" gear="2"/>',
    "inherited range": '<position joint="h" kp="20" inheritrange=".9"/>',
    "inherited range of a tendon": '<position tendon="t" kp="20" inheritrange="1.1"/>',
    "velocity": '<velocity joint="s" kv="5" ctrllimited="false" ctrlrange="0 1"/>',
    "intvelocity": '<intvelocity joint="s" kp="5" kv=".1" actrange="-1 2"/>',
    "intvelocity inherits": '<intvelocity joint="s" kp="5" inheritrange="1"/>',
    "damper": '<damper joint="s" kv="5" ctrlrange="0 2"/>',
    "cylinder": '<cylinder joint="s" timeconst=".4" diameter=".2" bias="1 2 3"/>',
    "cylinder by area": '<cylinder joint="s" area=".2"/>',
    "muscle": '<muscle joint="h" lengthrange=".1 1" force="30" range=".7 1.1" vmax="2" timeconst=".02 .05"'
    ' tausmooth=".1"/>',
    "muscle as it comes": '<muscle joint="h" lengthrange=".1 1"/>',
    "adhesion": '<adhesion body="b" gain="3" ctrlrange="0 2"/>',
    "general": '<general joint="h" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="4 5 6" dyntype="filter"'
    ' dynprm=".3" actrange="-1 1" actlimited="true" actearly="true"/>',
    "site": '<general site="p" gear="1 2 3 4 5 6"/>',
    "site with reference": '<position site="p" refsite="r" kp="4" gear="0 0 0 1 0 0"/>',
    "joint in parent": '<motor jointinparent="q" gear="1 2 3"/>',
    "slider crank": '<motor cranksite="p" slidersite="r" cranklength=".4"/>',
    "pid": '<pid joint="h" kp="10" ki="2" kv="1" imax="3" slewmax="4"/>',
    "pid without states": '<pid joint="h" kp="10" dampratio="1"/>',
    "orientation": '<orientation joint="q" kp="10" kv="1"/>',
    "dc motor": '<dcmotor joint="h" motorconst=".1" resistance="2"/>',
    "dc motor from its data sheet": '<dcmotor joint="h" nominal="24 3 200" inductance=".001" thermal="2 30 0 .004 25 '
    '20" cogging=".1 6 .2" saturation="5 0 100" lugre="1000 1 .1 .2 .01"/>',
    "dc motor with a controller": '<dcmotor joint="h" motorconst=".1 .2" resistance="2" controller="1 2 3 4 5 6"'
    ' input="pos vel"/>',
}
DEFAULTS = {
    "kv of a class": (
        '<default><position kp="5" kv="2"/><default class="a"><motor gear="3"/></default></default>',
        '<position joint="h"/><position joint="h" kp="7"/><motor class="a" joint="s"/><general class="a" joint="s"/>',
    ),
    "general in a class": (
        '<default><general gainprm="3 4" ctrlrange="-1 1" biastype="affine" biasprm="1"/></default>',
        '<general joint="h"/><velocity joint="h"/><damper joint="h" ctrlrange="0 1"/>',
    ),
    "the nearest class of the kind": (
        '<default><position kp="5" kv="2"/><default class="a"><velocity kv="3"/><default class="b"><motor gear="2"/>'
        "</default></default></default>",
        '<position class="b" joint="h"/><velocity class="b" joint="h"/><general class="b" joint="h"/>'
        '<intvelocity class="b" joint="h"/><cylinder class="a" joint="h"/>',
    ),
    "two in one class": (
        '<default><general gainprm="3"/><default class="a"><position kp="7"/><velocity kv="2"/></default></default>',
        '<position class="a" joint="h"/><velocity class="a" joint="h"/><motor class="a" joint="h"/>',
    ),
    "muscle in a class": ('<default><muscle force="9" lmin=".3"/></default>', '<muscle joint="h" lengthrange="0 1"/>'),
    "dc motor in a class": (
        '<default><dcmotor motorconst=".3" resistance="4" inductance=".01"/></default>',
        '<dcmotor joint="h"/><dcmotor joint="h" resistance="5"/>',
    ),
}


def check(text: str, tmp_path) -> None:
    m = mujoco.MjModel.from_xml_string(text)
    path = tmp_path / "scene.xml"
    path.write_text(text)
    builder, _ = read(path)
    assert len(builder.actuators) == m.nactuator if hasattr(m, "nactuator") else m.nu
    for i, actuator in enumerate(builder.actuators):
        gain, bias, dynamics = (
            getattr(mujoco, f"mjt{kind}")(int(getattr(m, f"actuator_{name}type")[i])).name.partition("_")[2].lower()
            for kind, name in (("Gain", "gain"), ("Bias", "bias"), ("Dyn", "dyn"))
        )
        assert (actuator.gain[0], actuator.bias[0], actuator.dynamics[0]) == (gain, bias, dynamics)
        for name, (_, ours) in (("gain", actuator.gain), ("bias", actuator.bias), ("dyn", actuator.dynamics)):
            theirs = getattr(m, f"actuator_{name}prm")[i]
            np.testing.assert_allclose(
                np.resize((*ours, *[0.0] * 20), len(theirs)), theirs, rtol=1e-9, atol=1e-12, err_msg=name
            )
        np.testing.assert_allclose(actuator.gear, m.actuator_gear[i][:6])
        assert actuator.activations == m.actuator_actnum[i]
        limits = {
            "force": (actuator.force_range, m.actuator_forcelimited[i], m.actuator_forcerange[i]),
            "act": (actuator.activation_range, m.actuator_actlimited[i], m.actuator_actrange[i]),
        }
        for ours, limited, theirs in limits.values():
            assert np.isfinite(ours).all() == bool(limited)
            if limited:
                np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        assert actuator.length_range == tuple(m.actuator_lengthrange[i])
        assert actuator.crank_length == m.actuator_cranklength[i]
        assert actuator.early == bool(m.actuator_actearly[i])
        assert actuator.group == m.actuator_group[i]


@pytest.mark.parametrize("name", SHORT)
def test_each_shortcut_is_expanded_as_mujoco_does(name, tmp_path):
    text = f"<mujoco><worldbody>{TREE}</worldbody>{TENDON}<actuator>{SHORT[name]}</actuator></mujoco>"
    check(text, tmp_path)


@pytest.mark.parametrize("name", DEFAULTS)
def test_default_classes_of_actuators_are_those_of_mujoco(name, tmp_path):
    head, actuators = DEFAULTS[name]
    check(f"<mujoco>{head}<worldbody>{TREE}</worldbody>{TENDON}<actuator>{actuators}</actuator></mujoco>", tmp_path)


CLASSES = {
    "general": '<general gaintype="affine" gainprm="3 4 -5 6" biastype="affine" biasprm="1 2 -3 4" dyntype="filter"'
    ' dynprm=".3 .4 .5"/>',
    "motor": '<motor gear="2"/>',
    "position": '<position kp="5" kv="2" timeconst=".2"/>',
    "velocity": '<velocity kv="6"/>',
    "intvelocity": '<intvelocity kp="5" kv="2"/>',
    "damper": '<damper kv="7" ctrlrange="0 1"/>',
    "cylinder": '<cylinder area="3" timeconst=".6" bias="1 2 3"/>',
    "muscle": '<muscle force="9" lmin=".3" timeconst=".02 .03"/>',
    "adhesion": '<adhesion gain="4" ctrlrange="0 1"/>',
    "pid": '<pid kp="10" ki="2" kv="1" imax="3" slewmax="4"/>',
    "dcmotor": '<dcmotor motorconst=".3" resistance="4" inductance=".01" cogging="1 2 3"/>',
    "orientation": '<orientation kp="3" kv="2"/>',
}
INSTANCES = {
    "adhesion": 'body="b" ctrlrange="0 1"',
    "muscle": 'joint="h" lengthrange="0 1"',
    "damper": 'joint="h" kv="3" ctrlrange="0 1"',
    "orientation": 'joint="q"',
    "dcmotor": 'joint="h" motorconst=".1" resistance="1"',
}


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_of_one_kind_gives_its_parameters_to_its_own_kind_alone(kind, tmp_path):
    for other in CLASSES:
        target = "q" if kind == "orientation" else "h"  # a class of orientations may make a <general> one
        attributes = INSTANCES.get(
            other, f'joint="{target}" lengthrange="0 1"' if other == "general" else f'joint="{target}"'
        )
        check(
            f"<mujoco><default>{CLASSES[kind]}</default><worldbody>{TREE}</worldbody>"
            f"<actuator><{other} {attributes}/></actuator></mujoco>",
            tmp_path,
        )


def test_input_ranges_are_those_of_mujoco(tmp_path):
    names = ["motor", "inherited range", "inherited range of a tendon", "damper", "velocity"]
    text = (
        f"<mujoco><worldbody>{TREE}</worldbody>{TENDON}<actuator>{''.join(SHORT[n] for n in names)}</actuator></mujoco>"
    )
    m = mujoco.MjModel.from_xml_string(text)
    path = tmp_path / "scene.xml"
    path.write_text(text)
    builder, _ = read(path)
    for i, actuator in enumerate(builder.actuators):
        assert np.isfinite(actuator.control_range).all() == bool(m.actuator_ctrllimited[i])
        if m.actuator_ctrllimited[i]:
            np.testing.assert_allclose(actuator.control_range, m.actuator_ctrlrange[i], rtol=1e-12)


def test_an_actuator_of_the_second_hinge_names_its_degree_of_freedom(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint name="a" axis="1 0 0"/><joint name="b" axis="0 1 0"/><geom size=".1"/></body>'
        '</worldbody><actuator><motor joint="b"/></actuator></mujoco>'
    )
    builder, report = read(path)
    (actuator,) = builder.actuators
    assert builder.joints[actuator.target].dofs[actuator.dof].label == "b"
    assert builder.joints[actuator.target].label == "a+b"
    assert report.joints["a"] == report.joints["b"] == actuator.target


def test_a_dampratio_without_an_inertia_to_tell_it_is_refused_with_its_line(tmp_path):
    """A centre of mass 2 million km away: of the free joint's mass matrix rounding leaves nothing to invert."""
    text = """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body>
<body><freejoint/><inertial pos="2147483649 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
<actuator><position joint="j" kp="3" dampratio="1"/></actuator></mujoco>"""
    (tmp_path / "far.xml").write_text(text)
    with pytest.raises(AssetError, match="matrix is singular") as caught:
        sim.ModelBuilder().add_mjcf(tmp_path / "far.xml")
    assert caught.value.line == 3
