"""COLLADA: unit and up axis, nodes and instances, primitives of all kinds; hardened; against pycollada."""

import io

import numpy as np
import pytest
import trimesh

from simengine.builder.meshes.files import is_closed, load_mesh
from tests.builder.meshes.mesh_samples import FACES, POINTS, dae, volume
from tests.builder.meshes.test_files import refused

Z_UP = "<up_axis>Z_UP</up_axis>"
OTHER = '<input semantic="X" source="#v" offset="{}"/>'
INPUT = '<input semantic="VERTEX" source="#v" offset="0"/>'


def load(*args, **options):
    return load_mesh(dae(*args, **options), "a.dae")


def rows(table):
    return {tuple(row) for row in np.round(table, 9).tolist()}


@pytest.mark.parametrize("asset, to_z_up", [
    (Z_UP, np.eye(3)),
    ('<unit name="cm" meter="0.01"/><up_axis>Z_UP</up_axis>', 0.01 * np.eye(3)),
    ("<up_axis>Y_UP</up_axis>", [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    ("", [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),  # which is Y_UP
    ("<up_axis>X_UP</up_axis>", [[0, -1, 0], [0, 0, -1], [1, 0, 0]]),
])  # fmt: skip
def test_unit_and_up_axis_are_honoured(asset, to_z_up):
    mesh = load(asset=asset)
    assert rows(mesh.vertices) == rows(POINTS @ np.transpose(to_z_up))
    assert volume(mesh) == pytest.approx(np.linalg.det(to_z_up) / 6)


NODES = """<node><translate>1 2 3</translate><rotate>0 0 1 90</rotate><rotate>0.6 0.8 0 30</rotate><scale>1 2 -3</scale>
<instance_geometry url="#g"/><node><matrix>1 0 0 5  0 0 -1 6  0 1 0 7  0 0 0 1</matrix>
<instance_geometry url="#g"/></node></node>"""


def test_nested_nodes_are_where_pycollada_puts_them():
    primitives = f'<triangles count="4">{INPUT}<p>{" ".join(map(str, FACES.ravel()))}</p></triangles>'
    data = dae(NODES, asset=Z_UP, primitives=primitives)
    mesh = load_mesh(data, "a.dae")
    theirs = trimesh.load_scene(io.BytesIO(data), file_type="dae").to_geometry()
    for one, other in ((mesh.vertices, theirs.vertices), (theirs.vertices, mesh.vertices)):  # theirs are float32
        assert np.linalg.norm(one[:, None] - other, axis=2).min(axis=1).max() < 1e-5
    assert volume(mesh) == pytest.approx(2 * 6 / 6)


def test_instances_of_nodes():
    library = (
        '<library_nodes><node id="n"><translate>9 0 0</translate><instance_geometry url="#g"/></node></library_nodes>'
    )
    mesh = load('<node><instance_node url="#n"/></node><node><scale>2 2 2</scale><instance_node url="#n"/></node>',
                asset=Z_UP, libraries=library)  # fmt: skip
    assert volume(mesh) == pytest.approx(9 / 6)
    assert mesh.vertices[:, 0].max() == 20


def test_without_a_scene_all_geometries_are_read():
    text = dae(asset=Z_UP).decode()
    start, end = text.index("<library_visual"), text.index("</COLLADA>")
    assert volume(load_mesh((text[:start] + text[end:]).encode(), "a.dae")) == pytest.approx(1 / 6)


@pytest.mark.parametrize("primitives", [
    f"<triangles>{INPUT}<p>{{faces}}</p></triangles>",
    f"<polylist>{INPUT}<vcount>3 3 3 3</vcount><p>{{faces}}</p></polylist>",
    f"<polygons>{INPUT}<p>0 2 1</p><p>0 1 3</p><p>0 3 2</p><p>1 2 3</p></polygons>",
    f"<tristrips>{INPUT}<p>0 2 1 3 0 2</p></tristrips>",
    f"<trifans>{INPUT}<p>0 2 1 3 2</p><p>1 2 3</p></trifans>",
    f"<triangles>{INPUT}<p>0 2 1</p></triangles><triangles>{INPUT}<p>0 1 3 0 3 2 1 2 3</p></triangles>",
])  # fmt: skip
def test_all_kinds_of_primitives(primitives):
    mesh = load(asset=Z_UP, primitives=primitives.format(faces=" ".join(map(str, FACES.ravel()))))
    assert is_closed(mesh.triangles)
    assert volume(mesh) == pytest.approx(1 / 6)


def test_lines_skins_and_splines_are_noted():
    primitives = f"<lines>{INPUT}<p>0 1</p></lines><triangles>{INPUT}<p>0 2 1</p></triangles>"
    libraries = """<library_controllers><controller id="c"><skin source="#g"/></controller></library_controllers>
    <library_geometries><geometry id="curve"><spline/></geometry></library_geometries>"""
    nodes = '<node><instance_controller url="#c"/><instance_geometry url="#curve"/></node>'
    mesh = load(nodes, asset=Z_UP, primitives=primitives, libraries=libraries)
    assert mesh.repairs == [
        "1 geometries without a mesh (splines, convex hulls) left out",
        "1 primitives <lines> left out",
        "1 skinned or morphed meshes taken at rest",
    ]


@pytest.mark.parametrize("options, message", [
    ({"asset": "<up_axis>UP</up_axis>"}, "none of X_UP"),
    ({"asset": '<unit meter="0"/>'}, "positive"),
    ({"asset": '<unit meter="-1"/>'}, "positive"),
    ({"asset": '<unit meter="x"/>'}, "decimal number"),
    ({"nodes": '<node><instance_geometry url="#h"/></node>'}, "no such <geometry>"),
    ({"nodes": '<node><instance_geometry url="other.dae#g"/></node>'}, "outside this file"),
    ({"nodes": '<node><instance_geometry url="file:///etc/passwd#g"/></node>'}, "outside this file"),
    ({"nodes": '<node><instance_geometry url="#v"/></node>'}, "no such <geometry>"),
    ({"nodes": '<node id="n"><instance_node url="#n"/></node>'}, "instances of themselves"),
    ({"nodes": "<node><lookat>0 0 0 1 0 0 0 0 1</lookat></node>"}, "matrix"),
    ({"nodes": "<node><translate>1 2</translate></node>"}, "3 finite numbers"),
    ({"nodes": "<node><translate>1 2 nan</translate></node>"}, "3 finite numbers"),
    ({"nodes": "<node><rotate>0 0 0 5</rotate></node>"}, "length zero"),
    ({"nodes": "<node/>"}, "no triangles"),
    ({"primitives": f"<triangles>{INPUT}<p>0 1</p></triangles>"}, "multiple of three"),
    ({"primitives": f"<triangles>{INPUT}<p>0 1 4</p></triangles>"}, "names vertex 4"),
    ({"primitives": f"<triangles>{INPUT}<p>0 1 -1</p></triangles>"}, "names vertex -1"),
    ({"primitives": f"<triangles>{INPUT}<p>0 1 x</p></triangles>"}, "not a number"),
    ({"primitives": "<triangles><p>0 1 2</p></triangles>"}, "semantic VERTEX"),
    ({"primitives": f"<triangles>{INPUT}{OTHER.format('99')}<p>0</p></triangles>"}, "cap of 63"),
    ({"primitives": f"<triangles>{INPUT}{OTHER.format('1')}<p>0</p></triangles>"}, "multiple of 2"),
    ({"primitives": f"<triangles>{INPUT}{OTHER.format('x')}<p>0</p></triangles>"}, "whole number"),
    ({"primitives": f"<polylist>{INPUT}<vcount>3 4</vcount><p>0 1 2 0 1 2</p></polylist>"}, "vcount"),
    ({"primitives": f"<polylist>{INPUT}<vcount>-3 9</vcount><p>0 1 2 0 1 2</p></polylist>"}, "vcount"),
    ({"primitives": f"<polygons>{INPUT}<ph><p>0 1 2</p><h>0 1 2</h></ph></polygons>"}, "holes"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(options, message):
    refused(dae(**options), "a.dae", message)


@pytest.mark.parametrize("old, new, message", [
    ('count="4" stride', 'count="5" stride', "do not fit"),
    ('count="4" stride', 'count="9999999999" stride', "do not fit"),
    ('stride="3"', 'stride="0"', "do not fit"),
    ('source="#p-array"', 'source="#g"', "no such <float_array>"),
    ('semantic="POSITION"', 'semantic="NORMAL"', "POSITION"),
    ("<COLLADA", "<MESH", "mend the file"),
    ('<?xml version="1.0"?>', '<!DOCTYPE x [<!ENTITY a "b">]>', "DOCTYPE"),
    ("0 0 0", "0 0 &a;", "not well-formed"),
])  # fmt: skip
def test_a_damaged_document_is_refused(old, new, message):
    refused(dae().decode().replace(old, new, 1).encode(), "a.dae", message)


def test_instances_of_instances_do_not_multiply_without_end():
    chain = "".join(
        f'<node id="n{i}"><instance_node url="#n{i + 1}"/><instance_node url="#n{i + 1}"/></node>' for i in range(60)
    )
    libraries = f'<library_nodes>{chain}<node id="n60"><instance_geometry url="#g"/></node></library_nodes>'
    refused(dae('<node><instance_node url="#n0"/></node>', libraries=libraries), "a.dae", "more than 20000 nodes")
