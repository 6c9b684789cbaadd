#!/usr/bin/python3
"""deploy/compose.yaml with built images: the sample job from its creation to
its end.

    compose_test.py

Skipped, visibly (exit code 77), unless PACELINE_SERVER_IMAGE and
PACELINE_WORKER_IMAGE name images and docker-compose is installed. The Docker or
podman behind it (DOCKER_HOST) has to have them, and the ports of the file have
to be free. Prometheus and Grafana come along where PACELINE_PROMETHEUS_IMAGE
and PACELINE_GRAFANA_IMAGE name theirs.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

FILE = pathlib.Path(__file__).parents[2] / "deploy/compose.yaml"
JOB = "synthetic-lenet5"
MEMBERS = ["coordinator", "server-0", "server-1", "worker-0", "worker-1",
           "worker-slow", "evaluator"]


def compose(*arguments, timeout=600):
    done = subprocess.run(
        ["docker-compose", "-p", "pacelinetest", "-f", str(FILE), *arguments],
        capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise AssertionError(f"docker-compose {' '.join(arguments)}: "
                             f"{done.stdout}{done.stderr}")
    return done.stdout


def paceline(*arguments):
    return compose("run", "--rm", "-T", "paceline", *arguments)


def missing():
    unset = [name for name in ("PACELINE_SERVER_IMAGE", "PACELINE_WORKER_IMAGE")
             if not os.environ.get(name)]
    if unset:
        return f"not set: {', '.join(unset)}"
    if not shutil.which("docker-compose"):
        return "docker-compose is not installed"
    return None


def trains():
    services = MEMBERS + [service for service in ("prometheus", "grafana")
                          if os.environ.get(f"PACELINE_{service.upper()}_IMAGE")]
    compose("up", "--no-build", "--detach", *services)
    paceline("job", "create", "-f", f"/examples/{JOB}.yaml")
    paceline("job", "wait", JOB, "--for=state=SUCCEEDED", "--timeout=5m")
    job = json.loads(paceline("job", "get", JOB, "-o", "json"))
    workers = {worker["worker"] for worker in job["progress"]["workers"]}
    assert workers == {"worker-0", "worker-1", "worker-slow"}, workers
    assert job["progress"]["accuracy"] > 0.5, job["progress"]
    print(f"ok {', '.join(services)}: {job['progress']['samples']} samples, "
          f"accuracy {job['progress']['accuracy']:.3f}")


def main():
    reason = missing()
    if reason:
        print(f"SKIPPED: {reason}")
        return 77
    try:
        trains()
    finally:
        print(compose("down", "--volumes", "--timeout", "80"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
