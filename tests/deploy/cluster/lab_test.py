#!/usr/bin/python3
"""What a laboratory adds to the chart's values, on a real cluster.

    lab_test.py PACELINE

Puts an S3 store into the namespace that KUBECONFIG names, and installs a
release with checkpoints in its bucket, with a pool and an evaluator whose data
an init container writes, with a pool that begins without a worker, and with
tokens that are good in one namespace. `import-kubernetes` makes the context by
which the job is created that trains on these data. Then every pod with a part
of the job is killed, and the job goes on from the bucket. PACELINE is the
command. Images that the cluster has:

    PACELINE_SERVER_IMAGE   of Dockerfile.server
    PACELINE_WORKER_IMAGE   of Dockerfile.worker, target cpu
    PACELINE_PROGRAM_IMAGE  of services/worker/python/examples/Dockerfile, for
                            its Python
    PACELINE_BUCKET_IMAGE   of Dockerfile.bucket, beside this file

Skipped, visibly (exit code 77), where KUBECONFIG or one of these is not set,
or kubectl or helm is not installed.
"""

import contextlib
import hashlib
import json
import os
import secrets
import sys
import time

from release import kubectl, objects, samples  # Finds the next ones.
from real_cluster import until
from scenario import SKIPPED, image_values, missing, play

IMAGES = ("PACELINE_SERVER_IMAGE", "PACELINE_WORKER_IMAGE",
          "PACELINE_PROGRAM_IMAGE", "PACELINE_BUCKET_IMAGE")
KEY = "S3RVER"  # That of s3rver, which is its secret, too.
ROOT = "s3://models/runs/eu"
PORT = 4568
SAMPLES = 6000
EPOCHS = 5
STEP_TIME = "50ms"  # Of each batch, so that the job lasts.
NOBODY = "paceline-no-such-scheduler"
QUEUE = {"kueue.x-k8s.io/queue-name": "vision"}
FORCED = ("--force", "--grace-period=0")
RESTRICTED = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
              "capabilities": {"drop": ["ALL"]}}
# What the init container runs: MNIST's files, with bars in place of digits.
FETCH = f"""
import os, struct
os.mkdir("/data/digits")
bars = [bytes(255 if at // 78 == label else 0 for at in range(28 * 28))
        for label in range(10)]
for split, size in (("train", {SAMPLES}), ("t10k", 1000)):
    labels = bytes(at * 7 % 10 for at in range(size))
    with open(f"/data/digits/{{split}}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">IIII", 0x803, size, 28, 28))
        file.write(b"".join(bars[label] for label in labels))
    with open(f"/data/digits/{{split}}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">II", 0x801, size) + labels)
"""


def store(name):
    """An S3 store with a bucket, as a pod and its service."""
    labels = {"app": name}
    pod = {
        "restartPolicy": "Always", "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532,
            "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{
            "name": "store", "image": os.environ["PACELINE_BUCKET_IMAGE"],
            "imagePullPolicy": image_values("a:b", "a:b")["pullPolicy"],
            "command": ["node", "/opt/node_modules/s3rver/bin/s3rver.js",
                        "--directory", "/bucket", "--address", "0.0.0.0",
                        "--port", str(PORT), "--silent", "--no-vhost-buckets",
                        "--configure-bucket", "models"],
            "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
            "securityContext": RESTRICTED,
            "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
            "volumeMounts": [{"name": "bucket", "mountPath": "/bucket"}]}],
        "volumes": [{"name": "bucket", "emptyDir": {}}]}
    return [
        {"apiVersion": "v1", "kind": "Pod",
         "metadata": {"name": name, "labels": labels}, "spec": pod},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
         "spec": {"selector": labels, "ports": [{"port": PORT}]}}]


def values(bucket, endpoint, tokens):
    small = {"requests": {"cpu": "50m", "memory": "64Mi"},
             "limits": {"memory": "1Gi"}}
    fetched = {
        "data": {"volume": {"emptyDir": {"sizeLimit": "100Mi"}}},
        "initContainers": [{
            "name": "fetch", "image": os.environ["PACELINE_PROGRAM_IMAGE"],
            "imagePullPolicy": image_values("a:b", "a:b")["pullPolicy"],
            "command": ["python3", "-c", FETCH],
            "resources": {"limits": {"memory": "256Mi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}
    return {
        "images": image_values(os.environ["PACELINE_SERVER_IMAGE"],
                               os.environ["PACELINE_WORKER_IMAGE"]),
        "coordinator": {"resources": small,
                        "persistence": {"keep": False, "size": "1Gi"}},
        "servers": {"resources": small},
        "poolDefaults": {"resources": small,
                         "extraArgs": [f"--step-time={STEP_TIME}"]},
        "evaluators": fetched,
        "pools": {
            "cpu": None,
            "fetched": {**fetched, "deploymentLabels": QUEUE,
                        "podLabels": {"team": "a"},
                        "podAnnotations": {"queue": "vision"}},
            "later": {"replicas": 0},
            "queued": {"replicas": 0, "schedulerName": NOBODY},
        },
        "checkpoints": {"s3": {"path": ROOT, "endpoint": endpoint,
                               "existingSecret": bucket}},
        "tokens": {"existingSecret": tokens},
    }


class Scenario:
    """Its steps, in their order: each takes over what the one before left.
    `stack` is closed after the last."""

    def __init__(self, release, stack):
        self.release = release
        self.stack = stack
        self.bucket = f"{release.name}-bucket"
        self.tokens = f"{release.name}-tokens"
        self.space = kubectl("config", "view", "--minify", "-o",
                             "jsonpath={..namespace}") or "default"
        self.words = {}  # A token by the name that it is known by.

    def makes(self, *what):
        file = self.release.folder / "made.json"
        file.write_text(json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": what}))
        kubectl("apply", "-f", str(file))
        for one in what:
            self.stack.callback(kubectl, "delete", one["kind"],
                                one["metadata"]["name"], "--ignore-not-found")

    def secret(self, name, content):
        return {"apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": name}, "stringData": content}

    def installs(self):
        roles = {"alice": "admin", "vision": "admin@vision",
                 "board": "viewer@vision"}
        self.words = {name: secrets.token_hex(32) for name in roles}
        self.makes(*store(self.bucket), self.secret(self.bucket, {
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": KEY,
        }), self.secret(self.tokens, {"tokens": "".join(
            f"{name} {role} sha256:"
            f"{hashlib.sha256(self.words[name].encode()).hexdigest()}\n"
            for name, role in roles.items())}))
        endpoint = f"http://{self.bucket}.{self.space}.svc:{PORT}"
        began = time.monotonic()
        self.release.helm("install", "--wait", "--timeout", "3m",
                          values=values(self.bucket, endpoint, self.tokens))
        took = time.monotonic() - began
        claims = [claim["metadata"]["name"] for claim in objects(
            "pvc", "-l", f"app.kubernetes.io/instance={self.release.name}")]
        assert claims == [f"{self.release.fullname}-store"], claims
        return f"helm install --wait: {took:.1f} s, no claim for checkpoints"

    def has_pods_as_said(self):
        [pod] = until("a pod whose data are there",
                      lambda: self.release.pods("worker"))
        spec = pod["spec"]
        assert pod["metadata"]["labels"]["team"] == "a", pod["metadata"]
        assert pod["metadata"]["annotations"]["queue"] == "vision", pod
        [fetch] = spec["initContainers"]
        assert fetch["securityContext"] == RESTRICTED, fetch
        [mount] = [mount for mount in spec["containers"][0]["volumeMounts"]
                   if mount["name"] == "data"]
        assert mount["readOnly"] and mount["mountPath"] == "/data", mount
        pools = {one["metadata"]["labels"]["paceline.dev/pool"]: one
                 for one in objects("deployments",
                                    *self.release.selector("worker"))}
        assert pools["fetched"]["metadata"]["labels"].items() >= QUEUE.items()
        assert not QUEUE.keys() & pod["metadata"]["labels"].keys()
        assert pools["later"]["spec"]["replicas"] == 0, pools["later"]["spec"]
        return f"{pod['metadata']['name']}, its data from an init container"

    def imports_a_context(self):
        """After which no flag names a certificate."""
        self.release.connect()
        self.release.import_context()
        workers = json.loads(
            self.release.by_context("worker", "list", "-o", "json"))
        pools = [one.get("pool") for one in workers["workers"]
                 if not one.get("evaluator")]
        assert "fetched" in pools, workers
        return f"a context that sees {len(workers['workers'])} members"

    def by_token(self, name, *words):
        """Without a certificate of the caller's."""
        file = self.release.folder / f"{name}.token"
        file.touch(mode=0o600)
        file.write_text(self.words[name])
        return self.release.command(*words, f"--token-file={file}",
                                    certificate=False)

    def refused(self, reason, name, *words):
        try:
            self.by_token(name, *words)
        except AssertionError as trouble:
            assert "exit code 5" in str(trouble), trouble
            assert reason in str(trouble), trouble
            return
        raise AssertionError(f"{name} may {' '.join(words)}")

    def job_file(self, name, pool, **spec):
        file = self.release.folder / f"{name}.json"
        file.write_text(json.dumps({"name": name, "spec": {
            "model": "mlp", "data": "mnist:digits", "paradigm": "ssp:s=3",
            "batch_size": 32, "learning_rate": 0.01, "seed": 1,
            "workers": {"min": 1, "pools": [pool]}, "servers": 2,
            "stop": {"epochs": EPOCHS}, "checkpoints": {"interval": "1h"},
            **spec}}))
        return str(file)

    def trains_on_what_was_fetched(self):
        self.release.by_context("job", "create", "-f",
                                self.job_file("bars", "fetched"))
        self.goes_on()
        return f"{self.release.samples_counted('bars')} samples counted"

    def goes_on(self, more=500):
        before = self.release.samples_counted("bars")
        until(f"{more} samples more are counted", lambda:
              self.release.samples_counted("bars") > before + more)

    def goes_on_from_the_bucket(self):
        """All that held weights is killed."""
        self.release.by_context("job", "pause", "bars")
        until("it is paused",
              lambda: self.release.job("bars")["state"] == "PAUSED")
        paused = self.release.samples_counted("bars")
        listed = json.loads(
            self.release.by_context("checkpoint", "list", "bars", "-o", "json"))
        place = listed["checkpoints"][0]["directory"]
        assert place.startswith(f"{ROOT}/"), place
        verified = kubectl("exec", f"{self.release.fullname}-server-0", "--",
                           "paceline", "checkpoint", "verify", place)
        assert f"{place}: whole: " in verified, verified
        began = time.monotonic()
        pods = [pod["metadata"] for part in ("server", "coordinator")
                for pod in self.release.pods(part)]
        kubectl("delete", "pod", *(pod["name"] for pod in pods), *FORCED)
        uids = {pod["uid"] for pod in pods}
        until("others are ready", lambda: len(self.ready_but(uids)) == 3)
        self.release.connect()
        self.release.command("job", "resume", "bars")
        self.goes_on()
        took = time.monotonic() - began
        assert self.release.samples_counted("bars") > paused
        return (f"{verified.strip().splitlines()[0]}; three pods killed at "
                f"{paused} samples, it trains again after {took:.1f} s")

    def ready_but(self, uids):
        """Pods of servers and coordinators that are, and are not those."""
        return [pod for part in ("server", "coordinator")
                for pod in self.release.pods(part)
                if pod["metadata"]["uid"] not in uids and all(
                    its["ready"] for its
                    in pod["status"].get("containerStatuses", [{"ready": 0}]))]

    def ends_with_each_sample_once(self):
        until("the job ends", lambda: self.release.job("bars")["state"]
              not in ("RUNNING", "SAVING", "STARTING"), seconds=600)
        job = self.release.job("bars")
        assert job["state"] == "SUCCEEDED", job
        progress = job["progress"]
        assert int(progress["samples"]) == EPOCHS * SAMPLES, progress
        assert progress["accuracy"] > 0.9, progress
        return (f"{progress['samples']} samples, accuracy "
                f"{progress['accuracy']:.3f}")

    def divides_teams(self):
        mine = self.job_file("theirs", "later", data="synthetic:shapes",
                             stop={"epochs": 1})
        self.by_token("vision", "job", "create", "-n", "vision", "-f", mine)
        for name in ("alice", "vision", "board"):
            seen = self.by_token(name, "job", "list", "-A")
            assert "theirs" in seen, seen
            assert ("bars" in seen) == (name == "alice"), (name, seen)
        [worker] = [pod["metadata"]["name"]
                    for pod in self.release.pods("worker")]
        self.refused("NAMESPACE_NOT_ALLOWED", "vision", "job", "get", "bars")
        self.refused("NAMESPACE_NOT_ALLOWED", "vision", "worker", "drain",
                     worker)
        self.refused("NAMESPACE_NOT_ALLOWED", "vision", "worker", "logs",
                     worker)
        self.refused("ROLE_NOT_ALLOWED", "board", "job", "cancel", "-n",
                     "vision", "theirs", "--yes")
        logs = self.by_token("alice", "worker", "logs", worker)
        assert "registered" in logs, logs
        return f"alice reads {len(logs.splitlines())} lines of {worker}"

    def queued(self):
        return [pod for pod in self.release.pods("worker") if
                pod["metadata"]["labels"]["paceline.dev/pool"] == "queued"]

    def wakes_a_pool(self):
        """As KEDA does, when the coordinator says that a job wants workers. The
        pod of another pool is left to its scheduler meanwhile."""
        with self.release.scraping(
                f"service/{self.release.fullname}-coordinator") as scrape:
            until("a worker of the pool is wanted", lambda: [
                value for name, labels, value in samples(scrape())
                if name == "paceline_coordinator_pool_workers_wanted" and
                labels["pool"] == "later" and value > 0])
        kubectl("scale", "deployment", "--replicas=1", *(
            f"{self.release.fullname}-worker-{pool}"
            for pool in ("queued", "later")))
        began = time.monotonic()
        self.by_token("vision", "job", "wait", "-n", "vision", "theirs",
                      "--for=state=SUCCEEDED", "--timeout=5m")
        [queued] = until("the other pool's pod", self.queued)
        assert queued["spec"]["schedulerName"] == NOBODY, queued["spec"]
        assert "nodeName" not in queued["spec"], queued["spec"]
        return (f"0 to 1 worker: the job of another namespace has ended after "
                f"{time.monotonic() - began:.1f} s")

    def leaves_nothing(self):
        self.release.disconnect()
        self.release.helm("uninstall", "--wait", "--timeout", "4m")
        until("nothing is left", lambda: not self.release.leftovers(),
              seconds=60)
        return "helm uninstall left nothing"

    def steps(self):
        return (self.installs, self.has_pods_as_said, self.imports_a_context,
                self.trains_on_what_was_fetched, self.goes_on_from_the_bucket,
                self.divides_teams, self.wakes_a_pool,
                self.ends_with_each_sample_once, self.leaves_nothing)


def main():
    reason = missing(IMAGES)
    if reason:
        print(f"SKIPPED: {reason}")
        return SKIPPED
    with contextlib.ExitStack() as stack:
        return play("lab", sys.argv[1],
                    lambda release: Scenario(release, stack).steps())


if __name__ == "__main__":
    sys.exit(main())
