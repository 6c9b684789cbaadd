"""Steps on a real cluster, each after the one before, from nothing to nothing."""

import os
import shutil
import subprocess
import sys
import tempfile

from release import LONG, Release, run

SKIPPED = 77  # What ctest takes for it.


def missing(images, programs=()):
    """What is not here that steps with these need, or None. `programs` are
    those beside kubectl and helm that are known to be missing."""
    if not os.environ.get("KUBECONFIG"):
        return "KUBECONFIG names no cluster"
    unset = [name for name in images if not os.environ.get(name)]
    if unset:
        return f"{', '.join(unset)}: not set"
    absent = [*programs, *(program for program in ("kubectl", "helm")
                           if not shutil.which(program))]
    return f"not installed: {', '.join(absent)}" if absent else None


def image_values(server, worker):
    """The chart's `images`."""
    def split(image):
        repository, tag = image.rsplit(":", 1)
        return {"repository": repository, "tag": tag}
    return {"server": split(server), "workerCpu": split(worker),
            "pullPolicy": os.environ.get("PACELINE_PULL_POLICY",
                                         "IfNotPresent")}


def play(name, paceline, steps_of):
    """The steps that steps_of(release) lists, told as they are done; nothing
    of the release is left, whatever happens."""
    with tempfile.TemporaryDirectory(prefix="paceline-cluster-") as folder:
        release = Release(name, folder, paceline)
        try:
            for step in steps_of(release):
                print(f"ok {step.__name__}: {step()}", flush=True)
        except BaseException:
            print(run("kubectl", "get", "pods", "-o", "wide"), file=sys.stderr)
            raise
        finally:
            release.disconnect()
            for leftover in (["helm", "uninstall", release.name],
                             ["kubectl", "delete", "pvc", "-l",
                              f"app.kubernetes.io/instance={release.name}"]):
                subprocess.run(leftover, check=False, capture_output=True,
                               timeout=LONG)
    return 0
