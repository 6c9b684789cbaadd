"""Python stubs of the admin API, generated from the protos of a source tree."""

import shutil
import subprocess
import sys

try:
    import grpc
    import google.protobuf  # noqa: F401
except ImportError:
    print("skipped: python3-grpcio or python3-protobuf is missing")
    sys.exit(77)


def make_stubs(source, scratch):
    """Puts protos.paceline.v1 and the others on the path. Exits with 77 where
    protoc or its plugin is missing."""
    plugin = shutil.which("grpc_python_plugin")
    if not plugin or not shutil.which("protoc"):
        print("skipped: protoc or grpc_python_plugin is missing")
        sys.exit(77)
    protos = [str(p.relative_to(source)) for p in
              sorted(source.glob("protos/*/*/*.proto"))]
    subprocess.run(
        ["protoc", "--proto_path=.", f"--python_out={scratch}",
         f"--grpc_python_out={scratch}",
         f"--plugin=protoc-gen-grpc_python={plugin}"] + protos,
        cwd=source, check=True)
    sys.path.insert(0, str(scratch))


def open_stubs(address):
    """JobService and ClusterService; after make_stubs()."""
    from protos.paceline.v1 import cluster_pb2_grpc, jobs_pb2_grpc
    channel = grpc.insecure_channel(address)
    return (jobs_pb2_grpc.JobServiceStub(channel),
            cluster_pb2_grpc.ClusterServiceStub(channel))
