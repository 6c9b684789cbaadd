#!/usr/bin/python3
"""Runs one file of tests, as ctest wants it.

    run_pytest.py BIN_DIR FILE [MODULE...]

BIN_DIR holds the programs of the build, for tests of whole clusters. Exits
with 77 where pytest, one of the modules or protoc, which makes the API's
messages, is missing.
"""

import importlib.util
import os
import shutil
import sys


def there_is(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # What it is in.
        return False


def main():
    binaries, file, modules = sys.argv[1], sys.argv[2], sys.argv[3:]
    lacking = [module for module in ("pytest", *modules)
               if not there_is(module)]
    if "google.protobuf" in modules and shutil.which("protoc") is None:
        lacking.append("protoc")
    if lacking:
        print(f"skipped: {', '.join(lacking)} missing for {sys.executable}; "
              "deploy/install_packages.sh --with-lint installs it")
        return 77
    # Two threads of torch on two cores wait for each other.
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["PACELINE_BIN"] = binaries
    sys.dont_write_bytecode = True

    import pytest

    return pytest.main(["-q", "-p", "no:cacheprovider", file])


# A process that a test spawns imports this file.
if __name__ == "__main__":
    sys.exit(main())
