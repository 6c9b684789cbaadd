#!/usr/bin/python3
"""A job whose pods have an agent and a program, on a real cluster.

    program_test.py PACELINE

Installs a release into the namespace that KUBECONFIG names, with a pool and an
evaluator that train and evaluate with examples/tabular_mlp.py, kills a program
in its container, deletes a pod, and sees the job go on and end with each sample
counted once. PACELINE is the command. Images that the cluster has:

    PACELINE_SERVER_IMAGE   of Dockerfile.server
    PACELINE_WORKER_IMAGE   of Dockerfile.worker, target cpu
    PACELINE_PROGRAM_IMAGE  of services/worker/python/examples/Dockerfile, with
                            PACKAGES=python3-numpy or more

Skipped, visibly (exit code 77), where KUBECONFIG or one of these is not set,
or kubectl or helm is not installed.
"""

import json
import os
import sys

from release import kubectl, run  # Finds the next ones.
from real_cluster import until
from scenario import SKIPPED, image_values, missing, play

IMAGES = ("PACELINE_SERVER_IMAGE", "PACELINE_WORKER_IMAGE",
          "PACELINE_PROGRAM_IMAGE")
WORKERS = 2
EPOCHS = 40
# Of each batch, so that the job lasts: the agent waits.
STEP_TIME = "50ms"

# The program is a child, so that it can be killed from within its container:
# the first process of one is out of such a signal's reach.
SCRIPT = "/app/tabular_mlp.py"
COMMAND = ["python3", "-c",
           "import subprocess, sys; sys.exit(subprocess.run("
           f"['python3', '{SCRIPT}']).returncode)"]
KILL = f"""
import os, signal
for process in filter(str.isdigit, os.listdir("/proc")):
    with open(f"/proc/{{process}}/cmdline", "rb") as file:
        words = file.read().split(b"\\0")
    if words[1:2] == [b"{SCRIPT}"]:
        os.kill(int(process), signal.SIGKILL)
"""


def values():
    small = {"requests": {"cpu": "50m", "memory": "64Mi"},
             "limits": {"memory": "1Gi"}}
    program = {"name": "tabular", "command": COMMAND,
               "image": os.environ["PACELINE_PROGRAM_IMAGE"],
               "weightsSize": "16Mi", "shmSize": "64Mi",
               "agentResources": {"requests": {"cpu": "50m"}}}
    return {
        "images": image_values(os.environ["PACELINE_SERVER_IMAGE"],
                               os.environ["PACELINE_WORKER_IMAGE"]),
        "coordinator": {"resources": small, "persistence": {"enabled": False}},
        "servers": {"resources": small},
        "poolDefaults": {"program": program, "resources": small},
        "pools": {"cpu": None, "programs": {
            "replicas": WORKERS, "extraArgs": [f"--step-time={STEP_TIME}"]}},
        "checkpoints": {"accessModes": ["ReadWriteOnce"], "size": "1Gi",
                        "keep": False},
    }


def restarts(pod):
    """How often each container of a pod has been started anew, by name."""
    return {container["name"]: container["restartCount"]
            for container in pod["status"]["containerStatuses"]}


class Scenario:
    """Its steps, in their order: each takes over what the one before left."""

    def __init__(self, release):
        self.release = release

    def pods(self):
        return {pod["metadata"]["name"]: pod
                for pod in self.release.pods("worker")
                if "deletionTimestamp" not in pod["metadata"]}

    def installs(self):
        self.release.helm("install", "--wait", "--timeout", "3m",
                          values=values())
        for pod in [*self.pods().values(), *self.release.pods("evaluator")]:
            name = pod["metadata"]["name"]
            containers = pod["spec"]["containers"]
            assert [c["name"] for c in containers] == ["agent", "program"], name
            assert pod["spec"]["securityContext"]["runAsNonRoot"], name
            assert not any("runAsUser" in c["securityContext"]
                           for c in containers), name
        self.release.connect()
        return f"{WORKERS} pods and an evaluator, each with agent and program"

    def trains(self):
        file = self.release.folder / "job.json"
        file.write_text(json.dumps({"name": "tabular", "spec": {
            "model": "program:tabular", "data": "program",
            "paradigm": "ssp:s=3", "batch_size": 32, "learning_rate": 0.05,
            "workers": {"min": 1, "pools": ["programs"]},
            "stop": {"epochs": EPOCHS}, "checkpoints": {"interval": "10s"},
        }}))
        self.release.command("job", "create", "-f", str(file))
        self.goes_on()
        until("both workers compute", lambda: set(self.pods()) == {
            worker["worker"] for worker in self.workers()
            if int(worker.get("iterations", 0)) > 0})
        return f"{self.release.samples_counted('tabular')} samples counted"

    def workers(self):
        progress = self.release.job("tabular").get("progress", {})
        return [worker for worker in progress.get("workers", [])
                if worker["state"] != "lost"]

    def goes_on(self, more=500):
        before = self.release.samples_counted("tabular")
        until(f"{more} samples more are counted", lambda:
              self.release.samples_counted("tabular") > before + more)
        assert self.release.job("tabular")["state"] == "RUNNING"

    def outlives_a_program(self):
        """Its container starts anew; the agent beside it stays."""
        name = sorted(self.pods())[0]
        before = restarts(self.pods()[name])
        kubectl("exec", name, "-c", "program", "--", "python3", "-c", KILL)
        until("the program's container starts anew", lambda:
              restarts(self.pods()[name])["program"] > before["program"])
        after = restarts(self.pods()[name])
        assert after["agent"] == before["agent"], after
        self.goes_on()
        until("it computes again", lambda: any(
            worker["worker"] == name and worker["state"] == "computing"
            for worker in self.workers()))
        return f"{name}: restarts {before}, then {after}"

    def outlives_a_pod(self):
        before = self.pods()
        kubectl("delete", "pod", sorted(before)[1], "--wait=false")
        self.goes_on()
        [made] = until("another pod", lambda: set(self.pods()) - set(before))
        until("it computes", lambda: any(
            worker["worker"] == made for worker in self.workers()))
        return f"{sorted(before)[1]} deleted, {made} computes"

    def takes_workers_without_the_chart(self):
        """Those that `paceline worker manifest` prints."""
        fullname = self.release.fullname
        [space] = {pod["metadata"]["namespace"] for pod in self.pods().values()}
        file = self.release.folder / "manifest.yaml"
        file.write_text(run(
            self.release.paceline, "worker", "manifest", "--program=tabular",
            f"--image={os.environ['PACELINE_PROGRAM_IMAGE']}",
            f"--agent-image={os.environ['PACELINE_WORKER_IMAGE']}",
            f"--coordinator={fullname}-coordinator.{space}.svc:7070",
            f"--tls-secret={fullname}-tls-worker",
            f"--name={fullname}-more", "--pool=programs", "--cpu=50m",
            "--memory=256Mi", "--shm-size=64Mi", "--weights-size=16Mi", "--",
            "python3", SCRIPT))
        kubectl("apply", "-f", str(file))
        try:
            [more] = until("its worker computes", lambda: [
                worker["worker"] for worker in self.workers()
                if worker["worker"].startswith(f"{fullname}-more-")])
        finally:
            kubectl("delete", "-f", str(file), "--wait=false")
        self.goes_on()
        return f"{more} computed"

    def ends_with_each_sample_once(self):
        until("the job ends", lambda: self.release.job("tabular")["state"]
              not in ("RUNNING", "SAVING"), seconds=600)
        job = self.release.job("tabular")
        assert job["state"] == "SUCCEEDED", job
        progress = job["progress"]
        once = EPOCHS * int(progress["trainSamples"])
        assert int(progress["samples"]) == once, progress
        return (f"{progress['samples']} samples, accuracy "
                f"{progress['accuracy']:.3f}")

    def steps(self):
        return (self.installs, self.trains, self.outlives_a_program,
                self.outlives_a_pod, self.takes_workers_without_the_chart,
                self.ends_with_each_sample_once)


def main():
    reason = missing(IMAGES)
    if reason:
        print(f"SKIPPED: {reason}")
        return SKIPPED
    return play("programs", sys.argv[1],
                lambda release: Scenario(release).steps())


if __name__ == "__main__":
    sys.exit(main())
