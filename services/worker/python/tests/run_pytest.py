#!/usr/bin/python3
"""Runs one file of tests, as ctest wants it.

    run_pytest.py FILE [MODULE...]

Exits with 77 where pytest or one of the modules is missing.
"""

import importlib.util
import os
import sys

file, modules = sys.argv[1], ["pytest", *sys.argv[2:]]
for module in modules:
    if importlib.util.find_spec(module) is None:
        print(f"skipped: there is no {module} for {sys.executable}; "
              "deploy/install_packages.sh --with-lint installs it")
        sys.exit(77)
# Two threads of torch on two cores wait for each other.
os.environ["OMP_NUM_THREADS"] = "1"
sys.dont_write_bytecode = True

import pytest  # noqa: E402

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", file]))
