"""Documents that a stranger may send: each is read as it stands or refused with its line."""

import pytest

from simengine.builder.importers.xml_reader import XmlLimits, read_xml
from simengine.errors import AssetError


def read(text, **limits):
    data = text if isinstance(text, bytes) else text.encode()
    return read_xml(data, "robot", name="test.urdf", limits=XmlLimits(**limits) if limits else None)


def refused(text, *words, line=None, **limits):
    with pytest.raises(AssetError) as caught:
        read(text, **limits)
    message = str(caught.value)
    assert "test.urdf" in message
    for word in words:
        assert word in message, f"{word!r} not in {message!r}"
    if line is not None:
        assert caught.value.line == line
    return caught.value


def test_elements_keep_order_attributes_text_and_lines():
    root = read('<robot name="r">\n <link name="a"/>\n\n <joint name="b"/><link name="c"> hi </link></robot>')
    assert [(child.tag, child.attributes["name"], child.line) for child in root.children] == [
        ("link", "a", 2),
        ("joint", "b", 4),
        ("link", "c", 4),
    ]
    assert root.children[2].text == "hi"
    assert [child.attributes["name"] for child in root.all("link")] == ["a", "c"]


@pytest.mark.parametrize("data", [b"", b"  \n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_an_empty_file_is_refused(data):
    refused(data, "empty")


def test_a_cut_off_file_is_refused_with_its_line():
    refused('<robot>\n<link name="a">\n', "well-formed", line=3)


def test_a_wrong_root_is_refused():
    refused("<mujoco/>", "<mujoco>", "<robot>", line=1)


def test_expanding_entities_are_refused():
    levels = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
    refused(f'<!DOCTYPE robot [<!ENTITY e0 "ha">{levels}]><robot>&e9;</robot>', "document type", line=1)


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE robot SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE robot [<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;]>',
    ],
)
def test_external_references_are_refused(head):
    refused(f'<?xml version="1.0"?>\n{head}\n<robot/>', "document type", line=2)


def test_an_undefined_entity_is_refused():
    refused("<robot>&x;</robot>", "well-formed", line=1)


def test_depth_is_capped_without_overflow():
    depth = 100_000
    refused("<robot>" + "<a>" * depth + "</a>" * depth + "</robot>", "nested", "128")
    assert read("<robot>" + "<a>" * 100 + "</a>" * 100 + "</robot>").children


def test_sizes_are_capped():
    refused("<robot>" + "<a/>" * 20 + "</robot>", "20 elements", elements=20)
    refused(f'<robot a="{"x" * 50}"/>', "attribute 'a'", "50", attribute_characters=40)
    refused("<robot " + " ".join(f'a{i}="1"' for i in range(9)) + "/>", "9 attributes", attributes=8)
    refused("<robot>" + " " * 100 + "</robot>", "bytes", file_bytes=90)


def test_a_file_above_the_cap_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large.urdf"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a sparse file: reading it would exhaust memory
    with pytest.raises(AssetError, match="cap"):
        read_xml(path, "robot")


def test_a_duplicate_attribute_is_refused():
    refused('<robot>\n<a b="1" b="2"/></robot>', "duplicate attribute", line=2)


def test_encodings_are_decoded_or_refused():
    text = '<robot name="Jörg"/>'
    declared = '<?xml version="1.0" encoding="ISO-8859-1"?>' + text
    for data in (
        text.encode(),
        b"\xef\xbb\xbf" + text.encode(),
        text.encode("utf-16"),
        declared.encode("latin-1"),
    ):
        assert read(data).attributes["name"] == "Jörg"
    refused(text.encode("latin-1"), "well-formed", line=1)
    refused('<?xml version="1.0" encoding="utf-7"?><robot/>', "UTF-8")
    refused('<?xml version="1.0" encoding="cp037"?><robot/>', "UTF-8")
    refused('<?xml version="1.0" encoding="no-such"?><robot/>', "UTF-8")


def test_a_nul_byte_is_refused():
    refused(b'<robot>\n<a b="x\0y"/></robot>', "well-formed", line=2)


@pytest.mark.parametrize(
    "good, value", [("1", 1.0), (" -2.5e-3 ", -0.0025), ("+.5", 0.5), ("7.", 7.0), ("1E3", 1000.0)]
)
def test_decimal_numbers_are_read(good, value):
    assert read(f'<robot x="{good}"/>').number("x") == value


@pytest.mark.parametrize(
    "bad", ["nan", "inf", "-Infinity", "1e999", "0x10", "1_000", "1,5", "1.2.3", "", " ", "1 2", "٣", "1e", "--1"]
)
def test_other_numbers_are_refused_with_their_line(bad):
    root = read(f'<robot>\n<a name="n" x="{bad}"/></robot>')
    with pytest.raises(AssetError, match="'x'") as caught:
        root.children[0].number("x")
    assert caught.value.line == 2
    assert caught.value.element == "<a 'n'>"


def test_a_long_bad_number_is_quoted_shortened():
    with pytest.raises(AssetError) as caught:
        read(f'<robot x="{"9" * 5000}z"/>').number("x")
    assert len(str(caught.value)) < 300


def test_rows_of_numbers_have_their_length():
    root = read('<robot x="1 2\t3"/>')
    assert root.numbers("x", 3) == (1.0, 2.0, 3.0)
    with pytest.raises(AssetError, match="3 numbers, not 4"):
        root.numbers("x", 4)
    assert root.numbers("y", 2, (0.0, 1.0)) == (0.0, 1.0)


def test_missing_and_repeated_parts_are_refused():
    root = read("<robot>\n<a/>\n<a/>\n<b/></robot>")
    with pytest.raises(AssetError, match="one of 2 <a>") as caught:
        root.one("a")
    assert caught.value.line == 3
    assert root.one("c") is None
    with pytest.raises(AssetError, match="no <c>"):
        root.need("c")
    with pytest.raises(AssetError, match="no attribute 'x'"):
        root.string("x")
