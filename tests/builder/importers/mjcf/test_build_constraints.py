"""Which geoms may touch, against MuJoCo's library, and what the file says of how."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import simengine as sim
from tests.builder.importers.mjcf.mujoco_facts import finalized, read


def touching(text: str) -> set[tuple[str, str]]:
    """Names of geoms that MuJoCo finds in contact; all of them overlap."""
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    names = [mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_GEOM, i) for i in range(m.ngeom)]
    return {tuple(sorted((names[c.geom1], names[c.geom2]))) for c in d.contact}


def pairs(builder) -> set[tuple[str, str]]:
    """Names of shapes that we find in contact."""
    model = finalized(builder)
    contacts = model.contacts()
    sim.collide(model, model.state(), contacts)
    count = int(contacts.count[0])
    ends = zip(np.asarray(contacts.shape0)[:count], np.asarray(contacts.shape1)[:count], strict=True)
    return {tuple(sorted((builder.shapes[i].label, builder.shapes[j].label))) for i, j in ends}


def random_tree(seed: int) -> str:
    """Bodies at random below each other, each with spheres of random masks about one point; some without joints, some
    with joints about different anchors."""
    rng = np.random.default_rng(seed)
    children: dict[int, list[int]] = {}
    for i in range(1, 10):
        children.setdefault(int(rng.integers(0, i)), []).append(i)
    joints = (
        "",
        '<joint axis="0 1 0"/>',
        '<joint axis="1 0 0"/><joint type="slide"/>',
        '<joint axis="0 1 0"/><joint axis="0 0 1" pos=".01 0 0"/>',
    )

    def geom(name: str) -> str:
        contype, conaffinity = rng.integers(0, 4, 2)
        x = rng.uniform(-0.01, 0.01)
        return f'<geom name="{name}" size=".5" pos="{x:g} 0 0" contype="{contype}" conaffinity="{conaffinity}"/>'

    def body(i: int) -> str:
        inside = joints[rng.integers(len(joints))] + geom(f"g{i}") + geom(f"h{i}")
        return f'<body name="b{i}">{inside}{"".join(map(body, children.get(i, [])))}</body>'

    tree = geom("floor") + "".join(map(body, children[0]))
    chosen = rng.choice(np.arange(1, 10), (3, 2))
    excludes = "".join(f'<exclude body1="b{a}" body2="b{b}"/>' for a, b in chosen if a != b)
    filtering = "disable" if seed % 3 == 2 else "enable"
    return (
        f'<mujoco><option><flag filterparent="{filtering}"/></option><worldbody>{tree}</worldbody><contact>{excludes}'
        '<pair geom1="g1" geom2="h1"/><pair geom1="floor" geom2="g9"/></contact></mujoco>'
    )


@pytest.mark.parametrize("seed", range(12))
def test_geoms_touch_that_touch_in_mujoco(seed, tmp_path):
    text = random_tree(seed)
    path = tmp_path / "scene.xml"
    path.write_text(text)
    builder, _ = read(path)
    ours, theirs = pairs(builder), touching(text)
    moved = {joint.child for joint in builder.joints if joint.dofs}

    def still(label: str) -> bool:
        """Neither engine moves it; MuJoCo makes no contacts then, but for explicit pairs."""
        body = next(shape.body for shape in builder.shapes if shape.label == label)
        while body >= 0 and body not in moved:
            body = next(joint.parent for joint in builder.joints if joint.child == body)
        return body < 0

    assert {pair for pair in ours if not all(map(still, pair))} == {
        pair for pair in theirs if not all(map(still, pair))
    }


def test_contact_parameters_are_on_the_shapes_and_the_pair(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(
        '<mujoco><worldbody><geom name="a" type="plane" size="1 1 1" margin=".01" gap=".02" solmix="3" priority="2"'
        ' solref=".03 .8" solimp=".8 .9 .002 .4 3" condim="4" friction=".7 .01 .002"/><body><joint/>'
        '<geom name="b" size=".1" group="3" margin="-.1"/></body></worldbody>'
        '<contact><pair name="p" geom1="a" geom2="b" condim="1" friction=".1 .2 .3 .4 .5" solref=".1 1" gap=".3"/>'
        "</contact></mujoco>"
    )
    builder, report = read(path)
    shape, other = builder.shapes
    material = shape.material
    assert (shape.margin, shape.gap, shape.mix, material.priority) == (0.01, 0.02, 3.0, 2)
    assert (material.time_constant, material.damping_ratio) == (0.03, 0.8)
    assert material.impedance == (0.8, 0.9, 0.002, 0.4, 3.0)
    assert material.combine == "mjcf"
    assert (shape.visible, other.visible) == (True, False)
    assert (other.margin, [note.what for note in report.warned]) == (0.0, ["margin"])
    (pair,) = builder.contact_pairs
    assert (pair.label, pair.shape0, pair.shape1, pair.contact_dim) == ("p", 0, 1, 1)
    assert (pair.friction, pair.reference, pair.gap) == ((0.1, 0.2, 0.3, 0.4, 0.5), (0.1, 1.0), 0.3)
    assert (pair.impedance, pair.margin) == ((0.9, 0.95, 0.001, 0.5, 2.0), 0.0)  # not those of the geoms


def test_contact_pairs_are_mujocos_with_its_defaults_whatever_the_geoms_say(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(
        '<mujoco><default><default class="d"><pair condim="1" margin=".05" friction=".6 .3"/></default></default>'
        '<worldbody><geom name="a" type="plane" size="1 1 1" margin=".01" solref=".05 .7" condim="1"/>'
        '<body><joint/><geom name="b" size=".1" gap=".2" friction=".3 .2 .1" solimp=".5 .6" margin=".03"/></body>'
        '<body><joint/><geom name="c" size=".1"/></body></worldbody><contact><pair geom1="a" geom2="b"/>'
        '<pair geom1="c" geom2="b" class="d"/><pair geom1="c" geom2="a" condim="3" friction=".2" solref="-300 -20"'
        ' solimp=".7 .8" solreffriction=".04 .9" margin=".01" gap=".02"/></contact></mujoco>'
    )
    builder, report = read(path)
    model = builder.finalize(device="cpu", precision="float64")
    mj = mujoco.MjModel.from_xml_path(str(path))
    assert report.read["contact pairs"] == 3 and not report.kept
    theirs = [{int(a), int(b)} for a, b in zip(mj.pair_geom1, mj.pair_geom2, strict=True)]  # in an order of its own
    ours = zip(model.contact_pair_shape0, model.contact_pair_shape1, strict=True)
    order = [theirs.index({int(a), int(b)}) for a, b in ours]
    for name, wanted in (
        ("dim", mj.pair_dim),
        ("friction", mj.pair_friction),
        ("friction_reference", mj.pair_solreffriction),
        ("impedance", mj.pair_solimp),
        ("margin", mj.pair_margin),
        ("gap", mj.pair_gap),
    ):
        np.testing.assert_allclose(getattr(model, f"contact_pair_{name}"), wanted[order], rtol=1e-15, err_msg=name)
    np.testing.assert_allclose(model.contact_pair_reference[:2], mj.pair_solref[order][:2])
    np.testing.assert_allclose(model.contact_pair_reference[2], (2 / 20, 20 / 2 / np.sqrt(300)))


def test_of_two_pairs_of_the_same_geoms_the_first_is_taken(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(
        '<mujoco><worldbody><geom name="a" type="plane" size="1 1 1"/><body><joint/><geom name="b" size=".1"/></body>'
        '</worldbody><contact><pair name="p" geom1="a" geom2="b"/><pair name="q" geom1="b" geom2="a"/></contact>'
        "</mujoco>"
    )
    builder, report = read(path)
    assert [pair.label for pair in builder.contact_pairs] == ["p"]
    assert [(note.what, note.reason) for note in report.ignored] == [("<pair>", "another pair has the same two geoms")]
