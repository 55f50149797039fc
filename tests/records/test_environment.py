"""Facts of the host are recorded, credentials never."""

import platform
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.records.environment import VARIABLES, host_facts, kernel_environment, package_versions
from pytest_mixgpu.records.model import HostFacts
from pytest_mixgpu.records.secrets import looks_secret, readable, scrub, scrub_command

# Put together here, so that no scanner takes this file for a leak.
TOKEN = "hf_" + "Ab1" * 10


def test_the_host_is_described() -> None:
    """What decides about numbers is known of this host: system, processor, Python, packages."""
    facts = host_facts()
    assert f"{platform.python_implementation()} {platform.python_version()}" == facts.python
    assert platform.release() == facts.kernel
    assert {"msgspec", "pytest-mixgpu"} <= facts.packages.keys()
    assert facts.num_cores >= 1
    assert facts == msgspec.json.decode(msgspec.json.encode(facts), type=HostFacts)


def test_nothing_heavy_is_imported_for_it() -> None:
    """Versions are read from metadata: torch and its like stay unimported."""
    code = (
        "import sys; from pytest_mixgpu.records.environment import host_facts; host_facts(); "
        "print(sorted({'torch', 'numpy', 'scipy', 'ray', 'psutil', 'jinja2'} & sys.modules.keys()))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == result.stdout.strip()


def test_versions_are_sorted_and_of_known_packages_only() -> None:
    """Not everything that is installed is told, only what can change a number."""
    versions = package_versions()
    assert sorted(versions) == list(versions)
    assert not {"pip", "setuptools", "hypothesis"} & versions.keys()


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_only_listed_variables_are_recorded(environ: dict[str, str]) -> None:
    """A variable that is not on the list never shows up."""
    assert kernel_environment(environ).keys() == environ.keys() & VARIABLES


def test_listed_variables_are_recorded_by_name_in_order() -> None:
    """The list's variables are told as they are."""
    environ = {"OMP_NUM_THREADS": "1", "HF_TOKEN": TOKEN, "ATEN_CPU_CAPABILITY": "default", "HOME": "/home/me"}
    assert [("ATEN_CPU_CAPABILITY", "default"), ("OMP_NUM_THREADS", "1")] == list(kernel_environment(environ).items())


def test_a_secret_in_a_listed_variable_is_withheld() -> None:
    """A value that is a credential by its form is not told, whatever its name."""
    assert {"LD_PRELOAD": "(withheld)"} == kernel_environment({"LD_PRELOAD": f"/x/{TOKEN}.so"})


def test_no_listed_variable_is_named_like_a_secret() -> None:
    """The list itself asks for no credential."""
    words = ("TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH", "API_KEY")
    assert [] == [name for name in VARIABLES for word in words if word in name]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param(["pytest", "suites/e1", "--gpus=a40:16"], ["pytest", "suites/e1", "--gpus=a40:16"], id="plain"),
        pytest.param(["--token=abc"], ["--token=***"], id="flag-with-value"),
        pytest.param(["--token", "abc", "x"], ["--token", "***", "x"], id="flag-and-value"),
        pytest.param(["--token", "--gpus=auto"], ["--token", "--gpus=auto"], id="flag-and-flag"),
        pytest.param(["--my-api-key=1"], ["--my-api-key=***"], id="api-key"),
        pytest.param(["HF_TOKEN=abc", "pytest"], ["HF_TOKEN=***", "pytest"], id="variable"),
        pytest.param(["AWS_SECRET_ACCESS_KEY=abc"], ["AWS_SECRET_ACCESS_KEY=***"], id="variable-of-words"),
        pytest.param(["--password", "hunter2"], ["--password", "***"], id="password"),
        pytest.param([TOKEN], ["***"], id="bare-token"),
        pytest.param([f"--data={TOKEN}"], ["***"], id="token-under-another-name"),
        pytest.param(["https://me:pw@host/x?a=1"], ["https://***@host/x?a=1"], id="user-in-address"),
        pytest.param(["https://host/x?sig=1&token=abc&b=2"], ["https://host/x?sig=1&token=***&b=2"], id="query"),
        pytest.param(["-k", "test_monkey and not keyword"], ["-k", "test_monkey and not keyword"], id="words-in-words"),
        pytest.param(["--keyword=x", "--tokenizer=bert"], ["--keyword=x", "--tokenizer=bert"], id="longer-names"),
        pytest.param(["--mixgpu-report=/tmp/key=1"], ["--mixgpu-report=/tmp/key=1"], id="path"),
        pytest.param(["-p", "no:xdist", "-n", "2"], ["-p", "no:xdist", "-n", "2"], id="short-flags"),
        pytest.param(["\udcff"], ["\\udcff"], id="undecodable"),
    ],
)
def test_a_command_is_told_without_its_secrets(command: list[str], expected: list[str]) -> None:
    """What looks like a credential is hidden, everything else stays as it was typed."""
    assert tuple(expected) == scrub_command(command)


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        "ghp_" + "a1B2" * 9,
        "sk-" + "proj-" + "a1B2" * 9,
        "AKIA" + "ABCDEFGH12345678",
        "xox" + "b-1234567890-abcdefghij",
        "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.x",
        "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
        "Bearer " + "abcdefghijkl",
        "postgres://me:pw@db/x",
    ],
)
def test_secrets_are_known_by_their_form(value: str) -> None:
    """The common forms of credentials are recognised, and none is left after scrubbing."""
    assert looks_secret(value)
    assert not looks_secret(scrub(value).replace("***@", ""))


@pytest.mark.parametrize(
    "value", ["1", "0,1,2", "default", "/usr/lib/libjemalloc.so.2", "GPU-8932f937", "max_split_size_mb:128"]
)
def test_plain_values_are_no_secrets(value: str) -> None:
    """What variables usually hold is told."""
    assert not looks_secret(value)


@given(st.text(st.characters(codec=None)))
def test_anything_can_be_made_readable(text: str) -> None:
    """Whatever the system hands over becomes text that UTF-8 can hold; what it can hold already stays."""
    raw = readable(text).encode("utf-8")
    try:
        assert text.encode("utf-8") == raw
    except UnicodeEncodeError:
        assert b"\\u" in raw
