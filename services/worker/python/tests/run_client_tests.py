#!/usr/bin/python3
"""Runs tests of the package that need a build's programs.

    run_client_tests.py BIN_DIR FILE...

BIN_DIR holds the programs; FILEs are those of this folder. Exits with 77 where
a package that the tests need is missing.
"""

import importlib.util
import os
import pathlib
import shutil
import sys

NEEDED = {"pytest": "python3-pytest", "numpy": "python3-numpy",
          "grpc": "python3-grpcio", "google.protobuf": "python3-protobuf",
          "yaml": "python3-yaml", "setuptools": "python3-setuptools",
          "wheel": "python3-wheel", "pip": "python3-pip"}


def missing():
    """Debian's packages."""
    for module, package in NEEDED.items():
        try:
            if importlib.util.find_spec(module) is None:
                yield package
        except ModuleNotFoundError:  # What it is in.
            yield package
    if shutil.which("protoc") is None:
        yield "protobuf-compiler"


def main():
    folder = pathlib.Path(__file__).resolve().parent
    lacking = list(missing())
    if lacking:
        print(f"skipped: {', '.join(lacking)} missing")
        return 77
    os.environ["PACELINE_BIN"] = sys.argv[1]
    import pytest
    return pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", folder,
                        *(str(folder / name) for name in sys.argv[2:])])


if __name__ == "__main__":
    sys.exit(main())
