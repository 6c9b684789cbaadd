"""Clusters of real processes for the tests of the client, and where their
programs and the repository are.

PACELINE_BIN is the folder of the programs; default: that of the preset `dev`.
"""

import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[4]
PACKAGE = REPOSITORY / "services" / "worker" / "python"
BIN = pathlib.Path(os.environ.get("PACELINE_BIN",
                                  REPOSITORY / "build" / "dev" / "bin"))

sys.path[:0] = [str(PACKAGE), str(REPOSITORY / "tests" / "integration")]

LONG = 120  # Seconds; ends only what would hang.

needs_programs = pytest.mark.skipif(
    not (BIN / "paceline-coordinator").exists(),
    reason=f"{BIN} has no programs: build them, or set PACELINE_BIN")


def prepare_messages():
    """What PYTHONPATH needs once."""
    pytest.importorskip("grpc")
    pytest.importorskip("google.protobuf")
    sys.path.insert(0, str(PACKAGE))
    from make_messages import DESCRIPTORS, make_messages
    newest = max(path.stat().st_mtime
                 for path in (REPOSITORY / "protos").rglob("*.proto"))
    if not DESCRIPTORS.exists() or DESCRIPTORS.stat().st_mtime < newest:
        make_messages()


def start_cluster(folder, servers=2, workers=2, step_time="2ms",
                  coordinator=(), evaluator=(), flags=()):
    """A RealCluster; its workers train built-in models, slowly."""
    from real_cluster import RealCluster
    return RealCluster(
        BIN, folder, servers,
        [(f"w{i}", ["--step-time", step_time, *flags])
         for i in range(workers)],
        evaluator=evaluator, coordinator=coordinator)


def run_command(*arguments, environment=None):
    """The command `paceline`: its exit code, output and errors."""
    done = subprocess.run([BIN / "paceline", *arguments], text=True,
                          capture_output=True, timeout=LONG, check=False,
                          env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout, done.stderr
