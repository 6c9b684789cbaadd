#!/usr/bin/env python3
"""Makes what paceline.Client needs to know of the API from the protos.

    make_messages.py [FILE]

FILE is paceline/_generated/api.binpb beside this script, unless it is named:
the descriptors of the API and of all that they import, as protoc writes them.
They are part of a wheel; a source tree that is used by PYTHONPATH needs them
once. protoc is that of grpcio-tools or, where that is missing, the system's
(Debian: protobuf-compiler).
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import typing

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
DESCRIPTORS = HERE / "paceline" / "_generated" / "api.binpb"
PROTOS = ("protos/paceline/v1/jobs.proto", "protos/paceline/v1/cluster.proto",
          "protos/google/rpc/error_details.proto",
          "protos/google/rpc/status.proto")


def find_protoc() -> typing.List[str]:
    """The command, with what comes before its own arguments."""
    try:
        import grpc_tools.protoc
    except ImportError:
        pass
    else:
        include = pathlib.Path(grpc_tools.protoc.__file__).parent / "_proto"
        return [sys.executable, "-m", "grpc_tools.protoc",
                f"--proto_path={include}"]
    protoc = shutil.which("protoc")
    if protoc is None:
        raise SystemExit(
            "make_messages.py: protoc is missing: install grpcio-tools (pip) "
            "or protobuf-compiler (Debian)")
    return [protoc]


def make_messages(target: pathlib.Path = DESCRIPTORS) -> None:
    """Writes `target`, whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_name(f"{target.name}.tmp-{os.getpid()}")
    try:
        subprocess.run(
            [*find_protoc(), f"--proto_path={ROOT}", "--include_imports",
             f"--descriptor_set_out={made}", *PROTOS], cwd=ROOT, check=True)
        os.replace(made, target)
    finally:
        made.unlink(missing_ok=True)


if __name__ == "__main__":
    make_messages(*(pathlib.Path(path).absolute() for path in sys.argv[1:2]))
