"""Every variant of benchmarks/rule_variants.py still fits the headers, changes them and compiles."""

import pytest

from benchmarks import rule_variants
from simengine.runtime import build, nvrtc, source
from tests.kernels.harness import COMPILERS, PRECISIONS, device_text, full_text
from tests.kernels.lanes_kernel import TEXT as LANES
from tests.kernels.numeric_kernel import TEXT as NUMERIC


@pytest.fixture
def variant(request, monkeypatch, tmp_path):
    """The variant's name, applied within this test alone."""
    for module, name in ((source, "kernels_folder"), (build, "FLAGS"), (nvrtc, "OPTIONS")):
        monkeypatch.setattr(module, name, getattr(module, name))
    rule_variants.apply(request.param, tmp_path)
    return request.param


def on(device):
    return [name for name, variant in rule_variants.VARIANTS.items() if device in variant.devices]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("variant", on("cpu"), indirect=True)
def test_variant_compiles_on_the_cpu(variant, precision, tmp_path):
    for text in (NUMERIC, LANES):
        build.run_compiler(COMPILERS["g++"], full_text(text, precision), tmp_path / "kernel.so", build.architecture())


def cubins():
    """Code of the test kernels under the flags and headers of the moment."""
    options = (*(word for word in nvrtc.OPTIONS if "line-info" not in word), "--gpu-architecture=sm_90")
    return [nvrtc.compile_bytes(device_text(text, "float32"), "kernel", options) for text in (NUMERIC, LANES)]


@pytest.fixture(scope="module")
def shipped_cubins():
    return cubins()


@pytest.mark.skipif(not nvrtc.is_available(), reason="needs NVRTC (package nvidia-cuda-nvrtc)")
@pytest.mark.parametrize("variant", on("cuda"), indirect=True)
def test_variant_compiles_under_nvrtc_to_other_code(shipped_cubins, variant):
    assert (cubins() == shipped_cubins) == (variant == "same bits")


def test_an_edit_that_no_longer_fits_is_refused(monkeypatch, tmp_path):
    wrong = rule_variants.Variant("", {"numeric.h": (("text that is not there", ""),)})
    monkeypatch.setitem(rule_variants.VARIANTS, "wrong", wrong)
    with pytest.raises(ValueError, match="no longer holds"):
        rule_variants.apply("wrong", tmp_path)
