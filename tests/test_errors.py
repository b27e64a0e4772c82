"""Errors say what, where and what to do, and hold the same as data."""

import pickle

import numpy as np
import pytest

import simengine as sim
from simengine import errors


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.AssetError("has no name", file="a.urdf", line=7, element="link"), "a.urdf:7: link: has no name"),
        (errors.AssetError("is empty", file="a.usd", prim_path="/World"), "a.usd </World>: is empty"),
        (errors.ModelError("mass is negative", element="body 'arm'"), "body 'arm': mass is negative"),
        (errors.CapacityError("is full", buffer="contacts", needed=9, had=8), "contacts: is full (needed 9, had 8)"),
        (errors.LaunchError("is wrong", kernel="k", parameter="x"), "kernel k, parameter x: is wrong"),
        (
            errors.KernelCompileError("no such name", kernel="k", file="k.cu", line=3, excerpt="  x = y;"),
            "kernel k: k.cu:3: no such name\n    x = y;",
        ),
        (
            errors.UnsupportedError(
                "tendons are not solved", solver="XPBD", elements="abcdefg", alternatives=["Featherstone"]
            ),
            "XPBD: tendons are not solved (on a, b, c, d, e and 2 more); supported by Featherstone",
        ),
        (
            errors.MissingExtraError("pxr", "usd", "recording"),
            'recording needs the package pxr: pip install "simengine[usd]"',
        ),
    ],
)
def test_messages(error, text):
    assert str(error) == text
    assert isinstance(error, errors.SimError)


def test_names_have_the_article_that_is_spoken():
    names = "box", "ellipsoid", "equality", "int", "SDF", "convex_hull", "universal"
    spoken = "a box", "an ellipsoid", "an equality", "an int", "an SDF", "a convex_hull", "a universal"
    assert tuple(map(errors.with_article, names)) == spoken


def test_a_missing_extra_is_an_import_error_too():
    with pytest.raises(ImportError):
        raise errors.MissingExtraError("pxr", "usd", "recording")


@pytest.mark.parametrize(
    "error",
    [
        errors.AssetError("has no name", file="a.urdf", line=7, element="link"),
        errors.MissingExtraError("pxr", "usd", "recording"),
        errors.SimError("plain"),
    ],
)
def test_errors_pass_from_a_child_process_to_its_parent(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_a_misspelt_name_gets_the_nearest_one():
    assert errors.did_you_mean("joint_p", ["joint_q", "body"]) == "; did you mean 'joint_q'?"
    assert errors.did_you_mean("xyz", ["joint_q"]) == ""


def _apart():
    builder = sim.ModelBuilder()
    body = builder.add_body(mass=1, inertia=(1, 1, 1), xform=sim.transform((0, 0, 1)))
    builder.add_joint_revolute(-1, body)
    return builder


def _nan():
    model = sim.ModelBuilder().finalize(device="cpu")
    model.gravity[0] = np.nan
    return sim.solvers.Featherstone(model), model.state()


@pytest.mark.parametrize(
    ("made", "call"),
    [
        (_apart, lambda builder: builder.finalize(device="cpu")),
        (_nan, lambda given: given[0].check(given[1], "warn")),
        (lambda: None, lambda _: errors.warn_user("told")),
    ],
)
def test_a_warning_points_at_the_users_line(made, call):
    given = made()
    with pytest.warns(UserWarning) as told:
        call(given)
    assert {(one.filename, one.lineno) for one in told} == {(__file__, call.__code__.co_firstlineno)}
