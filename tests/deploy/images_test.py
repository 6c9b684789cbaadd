#!/usr/bin/python3
"""What is in the images, how large they are, and how they end.

    images_test.py

of the images that are named, skipped visibly (exit code 77) where none is or
podman is not installed:

    PACELINE_SERVER_IMAGE       of Dockerfile.server
    PACELINE_WORKER_IMAGE       of Dockerfile.worker, target cpu
    PACELINE_CUDA_WORKER_IMAGE  of Dockerfile.worker, target cuda
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import unittest

MB = 1_000_000
CUDA_LIBRARIES = re.compile(r"/lib(cublas|cublasLt|cudart)\.so")
# What somebody who got in could build or install with, or ask for more.
NOT_IN_AN_IMAGE = re.compile(
    r"(^|/)(sh|bash|dash|busybox|python3?(\.\d+)?|perl|gcc|g\+\+|c\+\+|cc1|ld|as"
    r"|make|cmake|ninja|nvcc|ptxas|apt|apt-get|dpkg|curl|wget)$"
    r"|\.(a|o|cc|h|cu|py|deb)$|(^|/)var/(cache|lib/(apt|dpkg))/"
    r"|(^|/)\.(git|cache|ccache)(/|$)|(^|/)root/")


def podman(*arguments, **options):
    return subprocess.run(["podman", *arguments], check=True,
                          capture_output=True, timeout=120, **options).stdout


class Image:
    def __init__(self, name):
        self.name = name
        [self.configuration] = json.loads(podman("image", "inspect", name))
        container = podman("create", "--pull=never", name).decode().strip()
        try:
            with subprocess.Popen(["podman", "export", container],
                                  stdout=subprocess.PIPE) as export:
                with tarfile.open(fileobj=export.stdout, mode="r|") as content:
                    self.files = {"/" + member.name.removeprefix("./"): member
                                  for member in content}
                export.stdout.read()  # What fills the last block.
            if export.returncode != 0:
                raise RuntimeError(f"podman export: {export.returncode}")
        finally:
            podman("rm", container)

    def size(self, of=lambda path: True):
        return sum(member.size for path, member in self.files.items()
                   if member.isfile() and of(path))


def named(variable):
    name = os.environ.get(variable)
    if not name:
        raise unittest.SkipTest(f"{variable} is not set")
    return Image(name)


class ImagesTest(unittest.TestCase):
    def is_bare(self, image):
        found = [path for path in image.files if NOT_IN_AN_IMAGE.search(path)]
        self.assertEqual(found, [])
        self.assertRegex(image.configuration["Config"]["User"],
                         r"^[1-9]\d*:[1-9]\d*$")
        labels = image.configuration["Config"]["Labels"]
        for label in ("title", "description", "version", "revision", "created"):
            self.assertIn(f"org.opencontainers.image.{label}", labels)
        secret = [path for path, member in image.files.items()
                  if member.mode & 0o6000]
        self.assertEqual(secret, [], "set-user-id programs")

    def ends_on_sigterm(self, image, *command):
        """As it runs in a cluster: its first process, read only, no rights.
        What it has said."""
        with subprocess.Popen(
                ["podman", "run", "--rm", "--pull=never", "--read-only",
                 "--network=host", "--cap-drop=all", "--tmpfs=/tmp",
                 "--security-opt=no-new-privileges", image.name, *command],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True) as running:
            patience = threading.Timer(60, running.kill)
            patience.start()
            said = ""
            for line in running.stderr:
                said += line
                if "metrics_port" in line:  # It is up.
                    break
            patience.cancel()
            began = time.monotonic()
            running.send_signal(signal.SIGTERM)
            said += running.communicate(timeout=60)[1]
            self.assertEqual(running.returncode, 0, said)
            self.assertLess(time.monotonic() - began, 20)
        return said

    def test_server(self):
        image = named("PACELINE_SERVER_IMAGE")
        self.is_bare(image)
        print(f"{image.name}: {image.size() / MB:.1f} MB")
        self.assertLessEqual(image.size(), 120 * MB)
        self.assertEqual([path for path in image.files
                          if CUDA_LIBRARIES.search(path)], [])
        for program in ("paceline", "paceline-coordinator", "paceline-server"):
            self.assertIn(f"/usr/local/bin/{program}", image.files)
        self.ends_on_sigterm(image, "paceline-coordinator", "--listen",
                             "127.0.0.1:0", "--store", "/tmp/jobs.db")
        self.ends_on_sigterm(image, "paceline-server", "--coordinator",
                             "127.0.0.1:1", "--name", "s0")

    def test_cpu_worker(self):
        image = named("PACELINE_WORKER_IMAGE")
        self.is_bare(image)
        print(f"{image.name}: {image.size() / MB:.1f} MB")
        self.assertLessEqual(image.size(), 150 * MB)
        self.ends_on_sigterm(image, "paceline-worker", "--coordinator",
                             "127.0.0.1:1", "--name", "w0")

    def test_cuda_worker(self):
        image = named("PACELINE_CUDA_WORKER_IMAGE")
        self.is_bare(image)
        cuda = image.size(CUDA_LIBRARIES.search)
        own = image.size() - cuda
        print(f"{image.name}: {own / MB:.1f} MB above {cuda / MB:.1f} MB of "
              "CUDA libraries")
        self.assertGreater(cuda, 0)
        self.assertLessEqual(own, 60 * MB)
        # Its backend can be loaded, and finds no driver: it goes on on the CPU.
        said = self.ends_on_sigterm(image, "paceline-worker", "--coordinator",
                                    "127.0.0.1:1", "--name", "w0", "--device",
                                    "auto")
        self.assertIn("no NVIDIA driver", said)


if __name__ == "__main__":
    IMAGES = ("PACELINE_SERVER_IMAGE", "PACELINE_WORKER_IMAGE",
              "PACELINE_CUDA_WORKER_IMAGE")
    if not any(os.environ.get(name) for name in IMAGES):
        print(f"SKIPPED: none of {', '.join(IMAGES)} is set")
        sys.exit(77)
    if not shutil.which("podman"):
        print("SKIPPED: podman is not installed")
        sys.exit(77)
    unittest.main()
