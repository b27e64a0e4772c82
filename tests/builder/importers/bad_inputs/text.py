"""Bad inputs of the level of XML, text and archives."""

from tests.builder.importers.bad_inputs.cases import (
    INERTIAL,
    READ,
    WARN,
    Case,
    body,
    hinged,
    jointed,
    link,
    made,
    mjcf,
    sparse,
    urdf,
    usd_body,
    usda,
)

LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "lol" * 10}">' for i in range(9))
"""Each entity is ten of the one before: the last is 3e10 characters."""


def doctype(root: str, declarations: str, inside: str) -> str:
    return f"<?xml version='1.0'?>\n<!DOCTYPE {root} [{declarations}]>\n<{root}>{inside}</{root}>"


def deep(tag: str, root: str) -> str:
    return f"<{root}>" + f"<{tag}>" * 100_000 + f"</{tag}>" * 100_000 + f"</{root}>"


BAD_NUMBERS = ("1,5", "1e999", "0x10", "1_000", "nan", "inf", "-inf", "infinity", "٣", "1.5f", "")

MJCF_INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'

CASES = [
    *(
        Case("Empty file, 0 bytes", kind, {f"a.{end}": b""}, words=("empty",))
        for kind, end in (
            ("urdf", "urdf"),
            ("mjcf", "xml"),
            ("usd", "usda"),
            ("usd", "usdc"),
            ("mesh", "obj"),
            ("mesh", "stl"),
            ("tetra", "msh"),
        )
    ),
    Case("Truncated or ill-formed XML", "urdf", {"a.urdf": jointed()[:80]}, line=2),
    Case("Truncated or ill-formed XML", "mjcf", {"a.xml": body()[:-4]}),
    Case(
        "Truncated or ill-formed XML", "urdf", {"a.urdf": "<robot><link></robot>"}, words=("not well-formed",), line=1
    ),
    Case("Truncated or ill-formed XML", "usd", {"a.usda": usd_body()[:-20]}),
    Case("Truncated or ill-formed XML", "usd", {"a.usda": "#usda 1.0\ndef def def"}),
    Case("Wrong root", "urdf", {"a.urdf": "<mujoco/>"}, words=("<mujoco>", "<robot>"), line=1),
    Case("Wrong root", "mjcf", {"a.xml": "<robot name='r'/>"}, words=("<robot>", "<mujoco>"), line=1),
    Case("Wrong root", "usd", {"a.usda": "<robot/>"}),
    Case("Entity expansion", "urdf", {"a.urdf": doctype("robot", LAUGHS, "&l8;")}, words=("document type",), line=2),
    Case("Entity expansion", "mjcf", {"a.xml": doctype("mujoco", LAUGHS, "&l8;")}, words=("document type",), line=2),
    *(
        Case(
            "External entity or parameter entity",
            kind,
            {f"a.{end}": doctype(root, declaration, "&x;")},
            words=("document type",),
            line=2,
        )
        for kind, end, root in (("urdf", "urdf", "robot"), ("mjcf", "xml", "mujoco"))
        for declaration in (
            '<!ENTITY x SYSTEM "file:///etc/passwd">',
            '<!ENTITY x SYSTEM "http://127.0.0.1:9/x">',
            '<!ENTITY % x SYSTEM "http://127.0.0.1:9/x"> %x;',
        )
    ),
    Case("Nesting 1e5 deep", "urdf", {"a.urdf": made(lambda: deep("link", "robot"))}, words=("128 deep",)),
    Case("Nesting 1e5 deep", "mjcf", {"a.xml": made(lambda: deep("body", "mujoco"))}, words=("deep",)),
    Case("Nesting 1e5 deep", "usd", {"a.usda": usda('def Xform "a" {' * 3000 + "}" * 3000)}),
    *(
        Case("Attribute or file of gigabytes", kind, {f"a.{end}": sparse(5 << 30)}, words=("cap",))
        for kind, end in (("urdf", "urdf"), ("mjcf", "xml"), ("usd", "usda"), ("usd", "usdc"), ("usd", "usdz"))
    ),
    Case(
        "Attribute or file of gigabytes",
        "urdf",
        {"a.urdf": made(lambda: urdf(f'<link name="{"x" * (17 << 20)}"/>'))},
        words=("characters", "cap"),
        line=2,
    ),
    Case(
        "Attribute or file of gigabytes",
        "mjcf",
        {"a.xml": made(lambda: mjcf(f'<body name="{"x" * (17 << 20)}"/>'))},
        words=("characters", "cap"),
        line=2,
    ),
    Case("BOM, UTF-16", "urdf", {"a.urdf": b"\xef\xbb\xbf" + jointed().encode()}, READ),
    Case("BOM, UTF-16", "urdf", {"a.urdf": jointed().encode("utf-16")}, READ),
    Case(
        "BOM, UTF-16",
        "urdf",
        {"a.urdf": "<?xml version='1.0' encoding='iso-8859-1'?><robot><link name='\xe9'/></robot>".encode("latin-1")},
        READ,
        check=lambda builder, _: builder.bodies[0].label == "\xe9",
    ),
    Case("BOM, UTF-16", "urdf", {"a.urdf": link("", "\xe9").encode("latin-1")}, words=("not well-formed",), line=2),
    Case("BOM, UTF-16", "urdf", {"a.urdf": b"<robot><link name='a\0b'/></robot>"}, words=("not well-formed",)),
    Case("BOM, UTF-16", "urdf", {"a.urdf": b"<?xml version='1.0' encoding='utf-7'?><robot/>"}, words=("utf-7",)),
    Case("BOM, UTF-16", "mjcf", {"a.xml": b"\xef\xbb\xbf" + body().encode()}, READ),
    Case("BOM, UTF-16", "mjcf", {"a.xml": b"<mujoco><worldbody><body name='a\0b'/></worldbody></mujoco>"}),
    Case("BOM, UTF-16", "usd", {"a.usda": usd_body().encode("utf-16")}),
    Case("BOM, UTF-16", "usd", {"a.usda": usd_body().replace("Ball", "B\0ll")}),
    *(
        Case("Locale decimal comma", "urdf", {"a.urdf": jointed(f'<dynamics damping="{number}"/>')}, line=3)
        for number in BAD_NUMBERS
    ),
    *(
        Case("Locale decimal comma", "mjcf", {"a.xml": hinged(f'damping="{number}"')}, line=2)
        for number in ("1,5", "1e999", "0x10", "1_000", "٣", "1.5f")
    ),
    *(
        Case("Locale decimal comma", "usd", {"a.usda": usd_body(f"float physics:mass = {number}")})
        for number in ("1,5", "0x10", "1_000")
    ),
    *(
        Case("NaN or inf in any number", "urdf", {"a.urdf": link(INERTIAL.replace('"2"', f'"{number}"'))}, line=2)
        for number in ("nan", "inf", "-inf")
    ),
    *(
        Case("NaN or inf in any number", "mjcf", {"a.xml": body(f'<geom size="0.1" pos="0 {number} 0"/>')}, line=2)
        for number in ("nan", "inf")
    ),
    *(
        Case(
            "NaN or inf in any number",
            "usd",
            {
                "a.usda": usd_body(
                    f"double3 xformOp:translate = (0, {number}, 0)\n"
                    'uniform token[] xformOpOrder = ["xformOp:translate"]'
                )
            },
        )
        for number in ("nan", "inf")
    ),
    Case("Unknown tag or attribute", "urdf", {"a.urdf": jointed("<limits/>")}, WARN, ("misspelt",)),
    Case(
        "Unknown tag or attribute",
        "urdf",
        {"a.urdf": jointed("<limits/>")},
        words=("<limits>",),
        line=3,
        options={"strict": True},
    ),
    Case(
        "Unknown tag or attribute",
        "urdf",
        {"a.urdf": jointed().replace("type=", "colour='red' type=")},
        WARN,
        ("colour",),
    ),
    Case("Unknown tag or attribute", "mjcf", {"a.xml": hinged('dampng="1"')}, WARN, ("dampng",)),
    Case(
        "Unknown tag or attribute",
        "mjcf",
        {"a.xml": hinged('dampng="1"')},
        words=("dampng",),
        line=2,
        options={"strict": True},
    ),
    Case("Unknown tag or attribute", "usd", {"a.usda": usd_body("float physics:mas = 1")}, WARN, ("physics:mas",)),
    Case(
        "Unknown tag or attribute",
        "usd",
        {"a.usda": usd_body("float physics:mas = 1")},
        words=("physics:mas",),
        options={"strict": True},
    ),
    Case(
        "Duplicate attribute or repeated",
        "urdf",
        {"a.urdf": jointed().replace('type="revolute"', "type='fixed' type='x'")},
        words=("duplicate attribute",),
        line=3,
    ),
    Case(
        "Duplicate attribute or repeated",
        "urdf",
        {"a.urdf": jointed("<axis xyz='1 0 0'/><axis xyz='0 1 0'/>")},
        words=("2 <axis>",),
        line=3,
    ),
    Case(
        "Duplicate attribute or repeated",
        "mjcf",
        {"a.xml": body('<geom size="1" size="2"/>')},
        words=("duplicate attribute",),
        line=2,
    ),
    Case("Duplicate attribute or repeated", "mjcf", {"a.xml": body(2 * MJCF_INERTIAL)}, words=("inertial",)),
    Case("Duplicate attribute or repeated", "usd", {"a.usda": usda('def Xform "A" {}\ndef Xform "A" {}')}),
    Case("MJCF include cycle", "mjcf", {"a.xml": mjcf('<include file="a.xml"/>')}, words=("include",)),
    Case(
        "MJCF include cycle",
        "mjcf",
        {"a.xml": mjcf('<include file="b.xml"/>'), "b.xml": mjcf('<include file="a.xml"/>')},
        words=("include",),
    ),
    Case(
        "Include missing or outside root", "mjcf", {"a.xml": mjcf('<include file="b.xml"/>')}, words=("b.xml",), line=2
    ),
    Case(
        "Include missing or outside root",
        "mjcf",
        {"in/a.xml": mjcf('<include file="../b.xml"/>'), "b.xml": body()},
        words=("../b.xml", "outside"),
        line=2,
    ),
    Case(
        "Include missing or outside root", "mjcf", {"a.xml": mjcf('<include file="/etc/passwd"/>')}, words=("outside",)
    ),
    Case(
        "Attach conflicts",
        "mjcf",
        {
            "a.xml": mjcf(
                '<asset><model name="s" file="a.xml"/></asset><worldbody>'
                '<attach model="s" body="b" prefix="x"/></worldbody>'
            )
        },
    ),
    Case(
        "Attach conflicts",
        "mjcf",
        {
            "a.xml": mjcf(
                '<asset><model name="s" file="s.xml"/></asset><worldbody><body name="b"><geom size="1"/></body>'
                '<frame><attach model="s" body="b" prefix=""/></frame></worldbody>'
            ),
            "s.xml": body(),
        },
        words=("'b'",),
    ),
    Case(
        "xacro fed as URDF",
        "urdf",
        {"a.urdf": urdf("<xacro:property name='a' value='1'/>").replace("<robot", "<robot xmlns:xacro='x'")},
        words=("run 'xacro",),
        line=2,
    ),
    Case(
        "xacro fed as URDF", "urdf", {"a.urdf": link(INERTIAL.replace('"2"', '"${m}"'))}, words=("run 'xacro",), line=2
    ),
]
