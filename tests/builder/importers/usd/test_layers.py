"""Safety: what a stage is composed of is checked before it is composed; nothing outside the roots is ever opened."""

from __future__ import annotations

import os
import struct
import time
import zipfile

import pytest
from pxr import Ar, Sdf, Usd, UsdUtils

from simengine.builder.builder import ModelBuilder
from simengine.builder.importers.usd.layers import nesting_depth
from simengine.builder.importers.usd.limits import UsdLimits
from simengine.errors import AssetError
from tests.builder.importers.usd.stages import HEADER, load, notes, prim

METRIC = HEADER.format(up="Z", metre=1, kilogram=1)
BALL = prim("Sphere", "ball", "PhysicsCollisionAPI")


@pytest.fixture
def folders(tmp_path):
    """An asset's folder, and one beside it with a layer that must never be opened."""
    inside, outside = tmp_path / "asset", tmp_path / "secret"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.usda").write_text(METRIC.replace("(\n", '(\n    defaultPrim = "ball"\n', 1) + BALL)
    return inside, outside


def refused(path, words, **options):
    """The error of an import that must be refused, with the builder as it was."""
    builder = ModelBuilder()
    with pytest.raises(AssetError, match=words) as caught:
        builder.add_usd(path, **options)
    assert not builder.shapes and not builder.bodies
    return caught.value


def scene(folder, text, name="scene.usda", header=METRIC):
    path = folder / name
    path.write_text(header + text)
    return path


CLIPS = """clips = {{
    dictionary default = {{
        asset[] assetPaths = [@{asset}@]
        string primPath = "/ball"
        double2[] active = [(0, 0)]
    }}
}}"""
MANIFEST = """clips = {{
    dictionary default = {{
        asset manifestAssetPath = @{asset}@
    }}
}}"""
VARIANT = """variantSet "v" = {{
    "x" (
        prepend references = @{asset}@
    ) {{
    }}
}}
"""
ARCS = {
    "reference": lambda asset: prim("", "a", meta=f"prepend references = @{asset}@"),
    "payload": lambda asset: prim("", "a", meta=f"prepend payload = @{asset}@"),
    "reference in a variant": lambda asset: prim(
        "", "a", meta='prepend variantSets = "v"', inside=VARIANT.format(asset=asset)
    ),
    "clips": lambda asset: prim("", "a", meta=CLIPS.format(asset=asset)),
    "clip manifest": lambda asset: prim("", "a", meta=MANIFEST.format(asset=asset)),
}


@pytest.mark.parametrize("arc", ARCS)
@pytest.mark.parametrize(
    "asset",
    ["../secret/secret.usda", "ABSOLUTE", "./../secret/secret.usda", "sub/../../secret/secret.usda", "link.usda"],
)
def test_layers_outside_the_asset_are_refused_and_not_opened(folders, arc, asset):
    inside, outside = folders
    (inside / "link.usda").symlink_to(outside / "secret.usda")
    (inside / "sub").mkdir()
    asset = str(outside / "secret.usda") if asset == "ABSOLUTE" else asset
    error = refused(scene(inside, ARCS[arc](asset)), "outside the asset's folder")
    assert error.file.endswith("scene.usda")
    assert Sdf.Layer.Find(str(outside / "secret.usda")) is None


def test_sublayers_outside_are_refused(folders):
    inside, outside = folders
    header = METRIC.replace("(\n", "(\n    subLayers = [@../secret/secret.usda@]\n", 1)
    refused(scene(inside, "", header=header), "outside")
    assert Sdf.Layer.Find(str(outside / "secret.usda")) is None


def test_what_a_layer_that_is_allowed_names_is_checked_too(folders):
    inside, _ = folders
    scene(inside, ARCS["payload"]("../secret/secret.usda"), "middle.usda")
    error = refused(scene(inside, ARCS["reference"]("./middle.usda")), "outside")
    assert error.file.endswith("middle.usda")


def test_folders_that_the_user_allows_are_read(folders):
    inside, outside = folders
    builder = ModelBuilder()
    builder.add_usd(scene(inside, ARCS["reference"]("../secret/secret.usda")), allow_paths=[outside])
    assert len(builder.shapes) == 1


@pytest.mark.parametrize(
    ("asset", "words"),
    [
        ("https://example.com/a.usda", "no addresses|only"),
        ("file:///etc/passwd", "no addresses|only"),
        ("omniverse://server/a.usd", "no addresses|only"),
        ("anon:0x1:x.usda", "only"),
        ("./other.obj", "must end in"),
        ("./other.abc", "must end in"),
        ("./scene.usda:SDF_FORMAT_ARGS:a=b", "arguments|only"),
        ("C:\\\\x.usda", "backslash|drive"),
        ("./%2e%2e/secret.usda", "percent"),
        ('`"./${X}.usda"`', "expressions"),
    ],
)
def test_names_of_other_kinds_are_refused(folders, asset, words):
    inside, _ = folders
    for name in ("other.obj", "other.abc"):
        (inside / name).write_text("x")
    refused(scene(inside, ARCS["reference"](asset)), words)


def test_clips_by_template_are_refused(folders):
    inside, _ = folders
    clips = 'clips = {\n dictionary default = {\n string templateAssetPath = "./clip.###.usda"\n }\n }'
    refused(scene(inside, prim("Xform", "a", meta=clips)), "template")


SUBLAYER = METRIC.replace("(\n", "(\n    subLayers = [@./missing.usda@]\n", 1)


@pytest.mark.parametrize("arc", ["reference", "payload"])
def test_a_layer_that_is_not_there_is_refused_with_the_prim_that_names_it(folders, arc):
    inside, _ = folders
    scene(inside, ARCS[arc]("./missing.usda"), "middle.usda")
    error = refused(scene(inside, prim("", "b", meta="references = @middle.usda@</a>")), "'./missing.usda' was not")
    assert (error.file, error.prim_path) == (str(inside / "middle.usda"), "/a")


def test_a_sublayer_that_is_not_there_is_refused(folders):
    inside, _ = folders
    assert refused(scene(inside, BALL, header=SUBLAYER), "missing.usda").prim_path == "/"


@pytest.mark.parametrize("header", [METRIC, SUBLAYER])
def test_layers_that_are_not_there_are_left_out_where_the_user_allows_it(folders, header):
    inside, _ = folders
    path = scene(inside, ARCS["reference"]("./missing.usda") * (header is METRIC) + BALL, header=header)
    builder = ModelBuilder()
    report = builder.add_usd(path, allow_missing=True)
    assert "missing.usda" in notes(report, "ignored")
    assert len(builder.shapes) == 1
    refused(path, "missing.usda", allow_missing=True, strict=True)


def test_a_layer_that_is_not_there_stops_only_the_variant_that_needs_it(folders):
    inside, _ = folders
    text = ARCS["reference in a variant"]("missing.usda")
    _, report = load(inside, text, BALL)
    assert "layer 'missing.usda' (/a)" in notes(report, "ignored")
    chosen = text.replace("(\n", '(\n    variants = {\n string v = "x"\n }\n', 1)
    assert refused(scene(inside, chosen), "missing.usda").prim_path == "/a"


def test_a_name_that_differs_in_case_is_told(folders):
    inside, _ = folders
    scene(inside, BALL, "Part.usda")
    refused(scene(inside, ARCS["reference"]("./part.usda")), "differs in case")


OTHER = prim("Xform", "a", meta="prepend references = @./scene.usda@</b>")
HALF = METRIC.replace("(\n", "(\n    subLayers = [@./{}.usda@]\n", 1)
CIRCLES = {  # header, text of the scene; header, text of other.usda; where what closes the circle is told
    "references": (METRIC, prim("Xform", "b", meta="prepend references = @./other.usda@</a>"), METRIC, OTHER, "/b"),
    "payloads": (METRIC, prim("Xform", "b", meta="prepend payload = @./other.usda@</a>"), METRIC, OTHER, "/b"),
    "a reference to itself": (METRIC, prim("Xform", "b", meta="prepend references = </b>"), METRIC, "", "/b"),
    "inherits": (METRIC, prim("Xform", "b", meta="inherits = </b/c>", inside='def "c" {\n}'), METRIC, "", "/b"),
    "sublayers": (HALF.format("other"), "", HALF.format("scene"), "", "/"),
    "a sublayer of itself": (HALF.format("scene"), "", METRIC, "", "/"),
}


@pytest.mark.parametrize("case", CIRCLES)
def test_layers_and_prims_that_lead_back_to_themselves_are_read_without_and_warned_of(folders, case):
    inside, _ = folders
    header, text, other_header, other, where = CIRCLES[case]
    scene(inside, other, "other.usda", other_header)
    path = scene(inside, text + BALL, header=header)
    builder = ModelBuilder()
    with pytest.warns(UserWarning, match=r"circle of files or prims \("):
        report = builder.add_usd(path)
    assert len(builder.shapes) == 1
    told = [note for note in report.warned if note.what == "circle of files or prims"]
    assert [note.where for note in told] == [where]
    assert "anon:" not in told[0].reason and "stage on" not in told[0].reason


def test_a_reference_to_a_prim_that_is_not_there_is_told_with_the_prim_that_makes_it(folders):
    inside, _ = folders
    with pytest.warns(UserWarning, match=r"composition \(/b\)"):
        report = ModelBuilder().add_usd(scene(inside, prim("Xform", "b", meta="prepend references = </nowhere>")))
    assert "/nowhere" in notes(report, "warned")


@pytest.fixture
def search_path(folders):
    """USD's search path leads outside; its environment variable is read once in a process."""
    Ar.DefaultResolver.SetDefaultSearchPath([str(folders[1])])
    yield
    Ar.DefaultResolver.SetDefaultSearchPath([])


def test_a_search_path_brings_nothing_in(folders, search_path):
    """A name without a leading dot could be found by USD in search paths; only what lies beside is read."""
    inside, _ = folders
    refused(scene(inside, ARCS["reference"]("secret.usda") + BALL), "not found beside")


def test_names_without_a_dot_are_found_beside_the_layer_and_the_root(folders):
    inside, _ = folders
    (inside / "sub").mkdir()
    header = METRIC.replace("(\n", '(\n    defaultPrim = "ball"\n', 1)
    scene(inside, BALL, "top.usda", header)
    middle = METRIC.replace("(\n", '(\n    defaultPrim = "a"\n', 1)
    scene(inside / "sub", ARCS["reference"]("top.usda"), "middle.usda", middle)
    builder = ModelBuilder()
    builder.add_usd(scene(inside, ARCS["reference"]("sub/middle.usda")))
    assert len(builder.shapes) == 1


# content


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.usda", b""),
        ("zeros.usd", bytes(100)),
        ("text.usdc", METRIC.encode()),
        ("crate.usda", b"PXR-USDC" + bytes(200)),
        ("stub.usdc", b"PXR-USDC"),
        ("offset.usdc", b"PXR-USDC" + bytes(8) + struct.pack("<q", 1 << 40) + bytes(100)),
        ("negative.usdc", b"PXR-USDC" + bytes(8) + struct.pack("<q", -1) + bytes(100)),
        ("broken.usda", METRIC.encode() + b'def Sphere "s" {\n double radius = \n'),
        ("bracket.usda", METRIC.encode() + b"}\n"),
        ("noise.usda", b"#usda 1.0\n" + bytes(range(256))),
        ("nothing.usdz", b"PK\x03\x04"),
    ],
)
def test_files_that_are_no_usd_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    error = refused(tmp_path / name, ".")
    assert error.file.startswith(str(tmp_path / name))


@pytest.mark.parametrize(("byte", "words"), [(b"\0", "NUL"), (b"\xff", "UTF-8: byte 0xff"), (b"\xc3", "byte 0xc3")])
@pytest.mark.parametrize("at", [b"ball", b"def", b"Sphere"])
def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path, byte, words, at):
    """USD's own parser cuts a name off at a NUL."""
    data = (METRIC + "# a comment\n" + BALL).encode()
    place = data.index(at) + 1
    path = tmp_path / "a.usda"
    path.write_bytes(data[:place] + byte + data[place:])
    assert refused(path, words).line == data.count(b"\n", 0, place) + 1


def test_words_of_a_crate_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "a.usdc"
    layer = Sdf.Layer.CreateNew(str(path))
    ball = Sdf.CreatePrimInLayer(layer, "/ball")
    ball.specifier, ball.typeName = Sdf.SpecifierDef, "Sphere"
    ball.SetInfo("displayName", "qwertyuiop")
    layer.Save()
    data = path.read_bytes()
    assert data.count(b"qwertyuiop") == 1
    path.write_bytes(data.replace(b"qwertyuiop", b"qwert\xff\xfeiop"))
    del layer, ball
    assert refused(path, "UTF-8").file == str(path)


def test_an_error_of_syntax_names_the_line(tmp_path):
    path = scene(tmp_path, "def Sphere {\n")
    assert refused(path, ".").line == 7


@pytest.mark.parametrize("name", ["folder.usda", "pipe.usda", "absent.usda", "scene.txt"])
def test_what_is_no_file_of_usd_is_refused_before_it_is_opened(tmp_path, name):
    path = tmp_path / name
    if name.startswith("folder"):
        path.mkdir()
    elif name.startswith("pipe"):
        os.mkfifo(path)
    elif name.startswith("scene"):
        path.write_text(METRIC)
    refused(path, ".")


def test_deep_nesting_is_refused_before_usd_parses_it(tmp_path):
    deep = "".join(f'def "p{i}" {{\n' for i in range(100_000))
    refused(scene(tmp_path, deep), "nested")
    brackets = scene(tmp_path, 'def "a" {\n custom double[] x = ' + "[" * 100_000, "brackets.usda")
    refused(brackets, "nested")


def test_nesting_is_counted_across_pieces():
    assert nesting_depth(b"{[(" + b"x" * 10 + b")]}") == 3
    assert nesting_depth(b"}{}{") <= 1


def test_caps_on_sizes_layers_and_bytes(folders):
    inside, _ = folders
    for i in range(4):
        scene(inside, BALL, f"part{i}.usda")
    path = scene(
        inside, "".join(prim("Xform", f"a{i}", meta=f"prepend references = @./part{i}.usda@</ball>") for i in range(4))
    )
    refused(path, "layers", usd_limits=UsdLimits(layers=3))
    refused(path, "bytes", usd_limits=UsdLimits(layer_bytes=50))
    refused(path, "bytes", usd_limits=UsdLimits(total_bytes=400))


def test_references_that_multiply_are_refused_before_they_are_composed(tmp_path):
    """Ten layers, each with ten references to the next: 10^10 prims."""
    header = METRIC.replace("(\n", '(\n    defaultPrim = "r"\n', 1)
    for level in range(10):
        inner = "".join(prim("Xform", f"p{i}", meta=f"prepend references = @./l{level + 1}.usda@") for i in range(10))
        scene(tmp_path, prim("Xform", "r", inside=inner if level < 9 else BALL), f"l{level}.usda", header)
    start = time.monotonic()
    refused(tmp_path / "l0.usda", "grows")
    assert time.monotonic() - start < 60.0


def test_inherits_that_multiply_are_refused(tmp_path):
    classes = [prim("Xform", "c0", inside=BALL)]
    for level in range(1, 12):
        inner = "".join(prim("Xform", f"p{i}", meta=f"inherits = </c{level - 1}>") for i in range(10))
        classes.append(prim("Xform", f"c{level}", inside=inner))
    refused(scene(tmp_path, "".join(classes)), "grows")


# packages


def package(folder, name="scene.usdz", text=BALL):
    """A sound package with one layer."""
    source = scene(folder, text, "inner.usda", METRIC.replace("(\n", '(\n    defaultPrim = "ball"\n', 1))
    assert UsdUtils.CreateNewUsdzPackage(str(source), str(folder / name))
    return folder / name


def test_packages_are_read(tmp_path):
    path = package(tmp_path)
    (tmp_path / "inner.usda").unlink()
    builder = ModelBuilder()
    builder.add_usd(path)
    assert len(builder.shapes) == 1


def test_layers_in_packages_may_refer_to_each_other(tmp_path):
    scene(tmp_path, BALL, "part.usda", METRIC.replace("(\n", '(\n    defaultPrim = "ball"\n', 1))
    source = scene(
        tmp_path, ARCS["reference"]("./part.usda"), "root.usda", METRIC.replace("(\n", '(\n    defaultPrim = "a"\n', 1)
    )
    assert UsdUtils.CreateNewUsdzPackage(str(source), str(tmp_path / "two.usdz"))
    for name in ("part.usda", "root.usda"):
        (tmp_path / name).unlink()
    builder = ModelBuilder()
    builder.add_usd(tmp_path / "two.usdz")
    assert len(builder.shapes) == 1


def test_a_layer_in_a_package_may_be_named_from_outside(tmp_path):
    package(tmp_path)
    builder = ModelBuilder()
    builder.add_usd(scene(tmp_path, ARCS["reference"]("./scene.usdz[inner.usda]")))
    assert len(builder.shapes) == 1


def zipped(path, entries, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return path


LAYER = (METRIC + BALL).encode()


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([("../escape.usda", LAYER)], "plain name"),
        ([("/abs.usda", LAYER)], "plain name"),
        ([("a\\b.usda", LAYER)], "plain name"),
        ([("root.usda", LAYER), ("inner.usdz", b"PK")], "package in a package"),
        ([("root.usda", LAYER), ("more.zip", b"PK")], "package in a package"),
        ([("root.txt", LAYER)], "must end in"),
        ([], "empty|no zip"),
    ],
)
def test_packages_with_odd_entries_are_refused(tmp_path, entries, words):
    refused(zipped(tmp_path / "bad.usdz", entries), words)


def test_compressed_packages_are_refused(tmp_path):
    """A bomb has to be compressed to be small."""
    bomb = zipped(tmp_path / "bomb.usdz", [("root.usda", METRIC.encode() + b" " * 50_000_000)], zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 1_000_000
    refused(bomb, "compressed")


def test_packages_with_too_many_files_are_refused(tmp_path):
    path = zipped(tmp_path / "many.usdz", [("root.usda", LAYER), *((f"{i}.txt", b"") for i in range(30))])
    refused(path, "more than the cap", usd_limits=UsdLimits(package_entries=20))


def test_packages_with_overlapping_or_contradicting_entries_are_refused(tmp_path):
    path = zipped(tmp_path / "twice.usdz", [("root.usda", LAYER), ("other.usda", LAYER)])
    data = bytearray(path.read_bytes())
    central = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, central + 42, 0)  # both entries begin at the same place
    path.write_bytes(data)
    refused(path, "overlaps|two ways")
    path = zipped(tmp_path / "sizes.usdz", [("root.usda", LAYER)])
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, 22, 5)  # the local header has another size than the table
    path.write_bytes(data)
    refused(path, "two ways")


@pytest.mark.parametrize("asset", ["../outside.usda", "./../../outside.usda", "/etc/hosts.usda", "https://x/y.usda"])
def test_layers_in_packages_do_not_lead_out(tmp_path, asset):
    text = (METRIC + ARCS["reference"](asset)).encode()
    folder = tmp_path / "p"
    folder.mkdir()
    (tmp_path / "outside.usda").write_bytes(LAYER)
    refused(zipped(folder / "out.usdz", [("root.usda", text)]), "out of the package")


def test_package_relative_names_do_not_lead_out(tmp_path):
    package(tmp_path)
    refused(
        scene(tmp_path, ARCS["reference"]("./scene.usdz[../../secret.usda]")),
        "out of|no plain|package|not found",
        strict=True,
    )


def test_textures_outside_are_not_opened_but_do_not_stop_the_physics(folders):
    inside, _ = folders
    shader = 'def Shader "s" {\n asset inputs:file = @../secret/secret.usda@\n}\n'
    builder = ModelBuilder()
    builder.add_usd(scene(inside, BALL + prim("Material", "m", inside=shader)))
    assert len(builder.shapes) == 1


def test_a_stage_that_was_refused_can_be_mended_and_read(folders):
    inside, _ = folders
    path = scene(inside, ARCS["reference"]("../secret/secret.usda"))
    refused(path, "outside")
    path.write_text(METRIC + BALL)
    builder = ModelBuilder()
    builder.add_usd(path)
    assert len(builder.shapes) == 1
    assert Usd.Stage.Open(str(path))
