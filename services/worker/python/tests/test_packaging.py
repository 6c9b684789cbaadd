"""The wheel: built without a network, installed, and used from there."""

import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from client_cluster import LONG, PACKAGE, REPOSITORY

# Found, not imported: setuptools wants to be there before distutils is.
for needed in ("setuptools", "wheel", "pip"):
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is missing", allow_module_level=True)
if shutil.which("protoc") is None:
    pytest.importorskip("grpc_tools")

VERSION = re.search(r"project\(paceline VERSION ([\d.]+)",
                    (REPOSITORY / "CMakeLists.txt").read_text())[1]
USE = """
import paceline, paceline.api_messages as api, paceline.api_errors
assert "/installed/" in paceline.__file__, paceline.__file__
print(api.new("Job").DESCRIPTOR.full_name)
try:
    paceline.Client("127.0.0.1:1", config_file="", request_timeout="3s"
                    ).get_job("any")
except paceline.api_errors.ApiError as error:
    print(error.code)
"""


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], check=True, text=True,
                          capture_output=True, timeout=LONG, **options)


@pytest.fixture(name="sources", scope="module")
def fixture_sources(tmp_path_factory):
    """A copy of what a clone has of the package, so that a build leaves
    nothing in ours."""
    root = tmp_path_factory.mktemp("clone")
    for folder in ("protos", "services/worker/python"):
        shutil.copytree(REPOSITORY / folder, root / folder,
                        ignore=shutil.ignore_patterns(
                            "_generated", "build", "*.egg-info",
                            "__pycache__"))
    shutil.copy(REPOSITORY / "CMakeLists.txt", root)
    return root / "services" / "worker" / "python"


@pytest.fixture(name="wheel", scope="module")
def fixture_wheel(sources, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    python("-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
           "--no-index", "-q", "-w", folder, sources)
    return next(folder.glob("*.whl"))


def test_it_has_the_package_its_types_and_the_api(wheel):
    assert wheel.name == f"paceline-{VERSION}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert {"paceline/py.typed", "paceline/client.py",
            "paceline/_generated/api.binpb"} <= set(names)
    modules = {path.name for path in (PACKAGE / "paceline").glob("*.py")}
    assert {f"paceline/{name}" for name in modules} <= set(names)
    assert not [name for name in names if not name.startswith("paceline")]


def test_its_metadata_name_the_extras(wheel):
    metadata = zipfile.ZipFile(wheel).read(
        f"paceline-{VERSION}.dist-info/METADATA").decode()
    assert "Requires-Python: >=3.8" in metadata
    required = re.findall(r"Requires-Dist: (\w+).*extra == '(\w+)'", metadata)
    assert set(required) == {("torch", "torch"), ("grpcio", "client"),
                             ("protobuf", "client"), ("PyYAML", "client")}
    # Training needs nothing that is not torch's.
    assert metadata.count("Requires-Dist") == len(required)


def test_it_works_where_it_is_installed(wheel, tmp_path):
    pytest.importorskip("grpc")
    installed = tmp_path / "installed"
    python("-m", "pip", "install", "--no-index", "--no-deps", "-q",
           "--target", installed, wheel)
    said = python("-c", USE, cwd=tmp_path, env={"PYTHONPATH": str(installed)})
    assert said.stdout == "paceline.v1.Job\nUNAVAILABLE\n"


def test_a_source_distribution_makes_the_same_wheel(wheel, sources, tmp_path):
    python("setup.py", "-q", "sdist", "-d", tmp_path, cwd=sources)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path)
    unpacked = tmp_path / f"paceline-{VERSION}"
    python("-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
           "--no-index", "-q", "-w", tmp_path, unpacked)
    again = zipfile.ZipFile(next(tmp_path.glob("*.whl")))
    first = zipfile.ZipFile(wheel)
    for name in first.namelist():
        if not name.endswith("RECORD"):
            assert again.read(name) == first.read(name), name


def test_a_source_tree_that_has_no_api_yet_says_what_to_run(sources):
    pytest.importorskip("grpc")
    said = python("-c", "import paceline\ntry:\n    paceline.Client('[::1]:1')"
                  ".get_job('a')\nexcept ImportError as error:\n"
                  "    print(error)",
                  cwd=sources, env={"PYTHONPATH": str(sources)}).stdout
    assert "make_messages.py once" in said
    python(sources / "make_messages.py")
    assert (sources / "paceline" / "_generated" / "api.binpb").exists()
    generated = pathlib.Path(sources, "paceline", "_generated")
    assert [path.name for path in generated.iterdir()] == ["api.binpb"]
