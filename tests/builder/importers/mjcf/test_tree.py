"""Replicas and attached models: how deep, how many, and that the work grows with what is copied."""

from __future__ import annotations

import mujoco
import pytest

from simengine.builder.importers.mjcf import names
from simengine.builder.importers.mjcf.build_tree import Labels
from simengine.builder.importers.mjcf.document import Body, Compiler, Document
from simengine.builder.importers.mjcf.includes import DEPTH
from simengine.builder.importers.xml_reader import Element
from simengine.errors import AssetError
from tests.builder.importers.mjcf.mujoco_facts import read
from tests.builder.importers.mjcf.test_includes import GEOM, chain

LEG = f'<body name="leg"><joint name="j"/>{GEOM}<site name="s"/></body>'


def written(folder, text: str, name: str = "scene.xml"):
    path = folder / name
    path.write_text(text)
    return path


def names_in_mujoco(path, kind: str, count: str) -> list[str]:
    m = mujoco.MjModel.from_xml_path(str(path))
    return [getattr(m, kind)(i).name for i in range(getattr(m, count))]


def test_bodies_that_attach_each_other_may_not_stand_too_deep(tmp_path):
    text = chain("c", 100, GEOM) + chain("d", 100, '<attach body="c0" prefix="p"/>')
    path = written(tmp_path, f"<mujoco><worldbody>{text}</worldbody></mujoco>")
    with pytest.raises(AssetError, match=rf"scene\.xml:1: <attach>: bodies would be nested more than {DEPTH} deep"):
        read(path)


def test_models_that_attach_models_may_not_stand_too_deep(tmp_path):
    for k in range(8):
        asset = f'<asset><model name="m" file="g{k + 1}.xml"/></asset>' if k < 7 else ""
        inside = '<attach model="m" body="b0" prefix="p"/>' if k < 7 else GEOM
        text = f"<mujoco>{asset}<worldbody>{chain('b', 100, inside)}</worldbody></mujoco>"
        written(tmp_path, text, f"g{k}.xml")
    with pytest.raises(AssetError, match=rf"g6\.xml:1: <attach>: bodies would be nested more than {DEPTH} deep"):
        read(tmp_path / "g0.xml")


def test_what_is_attached_may_stand_as_deep_as_what_is_written(tmp_path):
    written(tmp_path, f"<mujoco><worldbody>{chain('b', 100, GEOM)}</worldbody></mujoco>", "m.xml")
    text = chain("c", DEPTH - 100, '<attach model="m" body="b0" prefix="p"/>')
    asset = '<asset><model name="m" file="m.xml"/></asset>'
    path = written(tmp_path, f"<mujoco>{asset}<worldbody>{text}</worldbody></mujoco>")
    builder, _ = read(path)
    assert [body.label for body in builder.bodies] == names_in_mujoco(path, "body", "nbody")[1:]


def test_a_deep_body_is_copied_under_other_names():
    element = Element("body", {}, "f", 1)
    root = last = Body(element, "b", Compiler())
    for _ in range(5000):
        last.bodies.append(Body(element, "b", Compiler()))
        last = last.bodies[0]
    copy = names.renamed(root, lambda kind, name: f"{kind} {name}")
    assert [body.name for body in copy.tree()] == ["body b"] * 5001
    assert {body.name for body in root.tree()} == {"b"}
    assert names.depth_of(copy) == 5000


REFERRING = """<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed>
<spatial name="u"><site site="s"/><site site="o"/></spatial></tendon>
<actuator><motor name="m" tendon="t"/><motor name="n" joint="k"/><motor name="v" tendon="u"/></actuator>
<sensor><actuatorfrc name="f" actuator="m"/><jointpos name="p" joint="j"/><jointpos name="q" joint="k"/></sensor>"""
OTHER = f'<site name="o"/><body name="other"><joint name="k"/>{GEOM}</body>'


def test_what_refers_to_replicas_of_replicas_is_copied_as_mujoco_copies_it(tmp_path):
    inner = f'<body name="ring">{GEOM}<replicate count="3" sep="-">{LEG}</replicate></body>'
    text = f'{OTHER}<replicate count="2" sep="_">{inner}</replicate>'
    path = written(tmp_path, f"<mujoco><worldbody>{text}</worldbody>{REFERRING}</mujoco>")
    builder, _ = read(path)
    for kind, count, elements in (
        ("tendon", "ntendon", builder.tendons),
        ("actuator", "nu", builder.actuators),
        ("sensor", "nsensor", builder.sensors),
    ):
        assert sorted(each.label for each in elements) == sorted(names_in_mujoco(path, kind, count))


def counted_references(path, monkeypatch) -> int:
    """How many elements are looked through for references while a file is read."""
    calls, plain = [0], names.references

    def counting(value):
        calls[0] += isinstance(value, names.Node)
        yield from plain(value)

    with monkeypatch.context() as patch:
        patch.setattr(names, "references", counting)
        read(path)
    return calls[0]


def test_a_replica_costs_what_refers_to_it_and_not_what_refers_to_others(tmp_path, monkeypatch):
    def cost(copies: int, others: int) -> int:
        bodies = "".join(f'<body><joint name="k{i}"/>{GEOM}</body>' for i in range(others))
        motors = "".join(f'<motor joint="k{i}"/>' for i in range(others))
        text = f'<mujoco><worldbody>{bodies}<replicate count="{copies}">{LEG}</replicate></worldbody>'
        return counted_references(
            written(tmp_path, f'{text}<actuator><motor joint="j"/>{motors}</actuator></mujoco>'), monkeypatch
        )

    # were every copy to look at every motor, the last two would differ by 40 * 50
    assert cost(60, 100) - cost(60, 50) == cost(20, 100) - cost(20, 50)


def test_copies_of_what_refers_count_against_the_cap(tmp_path):
    motors = '<motor joint="j"/>' * 10
    text = (
        f'<mujoco><worldbody><replicate count="5">{LEG}</replicate></worldbody><actuator>{motors}</actuator></mujoco>'
    )
    path = written(tmp_path, text)
    read(path, copies=5 * (4 + 10))
    with pytest.raises(AssetError, match="cap on copies"):
        read(path, copies=5 * (4 + 10) - 1)


def test_copies_of_assets_count_against_the_cap_once_for_each_prefix(tmp_path):
    materials = "".join(f'<material name="m{i}"/>' for i in range(10))
    written(tmp_path, f"<mujoco><asset>{materials}</asset><worldbody>{LEG}</worldbody></mujoco>", "m.xml")
    attached = '<attach model="m" prefix="a"/><frame pos="1 0 0"><attach model="m" prefix="b"/></frame>'
    asset = '<asset><model name="m" file="m.xml"/></asset>'
    path = written(tmp_path, f"<mujoco>{asset}<worldbody>{attached}</worldbody></mujoco>")
    read(path, copies=2 * (4 + 10))
    with pytest.raises(AssetError, match="cap on copies"):
        read(path, copies=2 * (4 + 10) - 1)


class Looked(set):
    """A set that counts how often it is asked."""

    times = 0

    def __contains__(self, item) -> bool:
        Looked.times += 1
        return super().__contains__(item)


def test_each_label_that_is_made_up_is_looked_for_twice_at_most():
    element = Element("mujoco", {}, "f", 1)
    world = Body(element, None, Compiler())
    labels = Labels(Document("", element, Compiler(), world), {})
    labels.taken["shape"] = Looked({"arm/sphere", "arm/sphere_2"})
    made = [labels.new("shape", "arm/sphere") for _ in range(500)]
    assert made == [f"arm/sphere_{i}" for i in range(1, 502) if i != 2]
    assert Looked.times <= 2 * 500 + 1
