#!/usr/bin/python3
"""A job outlives its servers, its coordinators and its node, on a real cluster.

    failover_test.py PACELINE

Installs a release with two coordinators and three servers into the namespace
that KUBECONFIG names, and a job each of whose parts has a backup. A client in
the cluster watches the job by the coordinator's service all the time. Then pods
of servers and the leader's pod are deleted, politely and by force, the node is
drained, and `helm upgrade` replaces every pod. The job goes on, its samples are
never fewer than before, and it ends with each sample counted once an epoch.
PACELINE is the command. Images that the cluster has:

    PACELINE_SERVER_IMAGE  of Dockerfile.server
    PACELINE_WORKER_IMAGE  of Dockerfile.worker, target cpu

A cluster of one node is enough. Times are printed and not judged.

Skipped, visibly (exit code 77), where KUBECONFIG or one of these is not set,
or kubectl or helm is not installed.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time

from release import LONG, kubectl, objects  # Finds the next ones.
from real_cluster import until
from scenario import SKIPPED, image_values, missing, play

IMAGES = ("PACELINE_SERVER_IMAGE", "PACELINE_WORKER_IMAGE")
SERVERS = 3
COMPONENTS = ("coordinator", "server", "worker")
PARTS = 2  # Of the model: each server has one or two of their copies.
JOB = "failover"
BATCH = 32
STEP_TIME = "50ms"  # Of each batch, so that it leaves the CPU to the others.
POLITE = ()
FORCED = ("--force", "--grace-period=0")
AWAY = "exit code 6"  # Of the command: nobody answers.
LEADS = "paceline.dev/leads"
# How many samples more show that the job goes on: batches that were computed
# before may be counted after.
MORE = 20 * BATCH


def values(pods="first"):
    """With other `pods` the chart replaces every one."""
    small = {"requests": {"cpu": "50m", "memory": "64Mi"},
             "limits": {"memory": "1Gi"}}
    every = {"resources": small, "podAnnotations": {"pods": pods}}
    return {
        "images": image_values(os.environ["PACELINE_SERVER_IMAGE"],
                               os.environ["PACELINE_WORKER_IMAGE"]),
        "coordinator": {"replicas": 2, **every,
                        "persistence": {"keep": False, "size": "1Gi"}},
        "servers": {"replicas": SERVERS, **every},
        "evaluators": {"replicas": 0},
        "pools": {"cpu": {"replicas": 2, **every,
                          "extraArgs": [f"--step-time={STEP_TIME}"]}},
        "checkpoints": {"accessModes": ["ReadWriteOnce"], "size": "1Gi",
                        "keep": False},
    }


def watching_pod(name, release, host):
    """One that watches the job as an administrator, by the service."""
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532,
                "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "watch",
                "image": os.environ["PACELINE_SERVER_IMAGE"],
                "imagePullPolicy": image_values("a:b", "a:b")["pullPolicy"],
                "command": ["paceline", "job", "watch", JOB, "-o", "json",
                            f"--address={host}:7070",
                            f"--request-timeout={LONG}s",
                            "--tls-cert=/tls/tls.crt",
                            "--tls-key=/tls/tls.key", "--tls-ca=/tls/ca.crt"],
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]}},
                "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
                "volumeMounts": [{"name": "tls", "mountPath": "/tls",
                                  "readOnly": True}]}],
            "volumes": [{"name": "tls", "secret": {
                "secretName": f"{release.fullname}-tls-admin",
                "defaultMode": 0o440}}]}}


class Watch:
    """What a client is told that watches the job from within the cluster, from
    the first event to the last."""

    def __init__(self, release, stack):
        name = f"{release.fullname}-watch"
        [space] = {pod["metadata"]["namespace"]
                   for pod in release.pods("coordinator")}
        file = release.folder / "watch.json"
        file.write_text(json.dumps(watching_pod(
            name, release, f"{release.fullname}-coordinator.{space}.svc")))
        kubectl("apply", "-f", str(file))
        stack.callback(kubectl, "delete", "pod", name, "--ignore-not-found")
        self.name = name
        self.lock = threading.Lock()
        self.samples = -1
        self.grown = []  # When there were more of them.
        self.fewer = []  # (before, after)
        until("the watching client has started",
              lambda: {"running", "terminated"} & set(self.state()))
        self.process = subprocess.Popen(["kubectl", "logs", name, "-f"],
                                        stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()
        stack.callback(self.close)

    def read(self):
        """A document an event. Between two the client may have a word for
        people: that it tries again."""
        lines = []
        for line in self.process.stdout:
            if lines or line.startswith("{"):
                lines.append(line)
            if line.startswith("}"):
                self.note(json.loads("".join(lines)))
                lines = []

    def note(self, event):
        progress = event.get("progress") or event.get("job", {}).get(
            "progress", {})
        if "samples" not in progress:
            return
        samples = int(progress["samples"])
        with self.lock:
            if samples < self.samples:
                self.fewer.append((self.samples, samples))
            if samples > self.samples:
                self.grown.append(time.monotonic())
            self.samples = samples

    def longest_rest(self, since):
        """The longest time without more samples that ended after `since`, in
        seconds. The coordinator tells them twice a second."""
        with self.lock:
            times = [*self.grown, time.monotonic()]
        return max(after - before for before, after in zip(times, times[1:])
                   if after > since)

    def never_fewer(self):
        with self.lock:
            assert not self.fewer, f"samples, and then: {self.fewer}"

    def state(self):
        """Of its container: {"running": {...}}, or another word."""
        pod = json.loads(kubectl("get", "pod", self.name, "-o", "json"))
        return next((its["state"] for its
                     in pod["status"].get("containerStatuses", ())), {})

    def await_end(self):
        """The last number of samples, when the client has ended by itself."""
        ended = until("the watching client ends",
                      lambda: self.state().get("terminated"))
        assert ended["exitCode"] == 0, ended
        self.thread.join()
        self.never_fewer()
        return self.samples

    def close(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()


def is_ready(pod):
    return ("deletionTimestamp" not in pod["metadata"] and any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in pod["status"].get("conditions", ())))


class Scenario:
    """Its steps, in their order: each takes over what the one before left.
    `stack` is closed after the last."""

    def __init__(self, release, stack):
        self.release = release
        self.stack = stack
        self.watch = None

    def installs(self):
        """A fresh pair, of which one leads and the other one could."""
        began = time.monotonic()
        self.release.helm("install", "--wait", "--timeout", "3m",
                          values=values())
        took = time.monotonic() - began
        self.release.connect()
        leader = self.await_standby()
        self.leads_alone(leader)
        return (f"helm install --wait: {took:.1f} s; {leader} leads, and the "
                f"other one could after {time.monotonic() - began:.1f} s")

    # What is asked of the cluster and of its coordinators.

    def asks(self, *words):
        """What a command that only reads prints, by the service from outside. A
        port-forward stays with one pod, so there is another one when that pod
        is gone, or says nothing for a second."""
        def ask():
            try:
                if self.release.api is None:
                    self.release.connect()
                return (self.release.command(*words, "--request-timeout=1s"),)
            except AssertionError as trouble:
                away = AWAY in str(trouble) or "port-forward" in str(trouble)
                if not away:
                    raise
                self.release.disconnect()
                return None
        return until("somebody answers", ask)[0]

    def job(self):
        return json.loads(self.asks("job", "get", JOB, "-o", "json"))

    def samples(self):
        return int(self.job().get("progress", {}).get("samples", 0))

    def losses(self):
        return [line for line in self.asks("job", "logs", JOB).splitlines()
                if " lost" in line]

    def coordinators(self):
        listed = json.loads(self.asks("coordinator", "list", "-o", "json"))
        return listed["coordinators"]

    def term(self):
        return next((int(one["term"]) for one in self.coordinators()
                     if one["role"] == "LEADER"), 0)

    def await_standby(self):
        """Who leads, once another one could."""
        def look():
            found = self.coordinators()
            both = len(found) == 2 and all(one.get("ready") for one in found)
            return both and next(one["name"] for one in found
                                 if one["role"] == "LEADER")
        return until("a standby that could lead", look)

    def leads_alone(self, leader):
        """By the Lease, the label and the service, as people look at them."""
        name = f"{self.release.fullname}-coordinator"

        def seen():
            lease = json.loads(kubectl("get", "lease", name, "-o", "json"))
            labelled = [pod["metadata"]["name"]
                        for pod in self.release.pods("coordinator")
                        if pod["metadata"]["labels"].get(LEADS) == "true"]
            endpoints = json.loads(
                kubectl("get", "endpoints", name, "-o", "json"))
            behind = [address["targetRef"]["name"]
                      for subset in endpoints.get("subsets") or ()
                      for address in subset.get("addresses", ())]
            return (lease["spec"].get("holderIdentity"), labelled, behind) == (
                leader, [leader], [leader])
        until(f"the lease, the label and the service are {leader}'s", seen)

    def pod(self, component, name):
        return next((pod for pod in self.release.pods(component)
                     if pod["metadata"]["name"] == name), None)

    def takes_away(self, component, name, how):
        """Deletes a pod. Returns what waits for another one of its name."""
        uid = self.pod(component, name)["metadata"]["uid"]
        kubectl("delete", "pod", name, "--wait=false", *how)

        def back():
            pod = self.pod(component, name)
            return pod and pod["metadata"]["uid"] != uid and is_ready(pod)
        return lambda: until(f"{name} is back", back)

    def has_backups(self):
        """Whether all servers may get jobs, and each part is on two of them."""
        listed = json.loads(self.asks("server", "list", "-o", "json"))
        servers = listed.get("servers", [])
        roles = [shard["role"] for server in servers
                 for shard in server.get("shards", ())]
        return (sorted(roles) == ["BACKUP"] * PARTS + ["PRIMARY"] * PARTS and
                sum(server.get("takesJobs", False)
                    for server in servers) == SERVERS)

    def goes_on(self):
        before = self.samples()
        until(f"{MORE} samples more are counted",
              lambda: self.samples() > before + MORE)
        assert self.job()["state"] == "RUNNING"
        self.watch.never_fewer()

    # The steps.

    def imports_a_context(self):
        """That of the service, not of one of the two."""
        self.release.connect()
        self.release.import_context()
        listed = json.loads(
            self.release.by_context("coordinator", "list", "-o", "json"))
        assert len(listed["coordinators"]) == 2, listed
        return "by the context of import-kubernetes both are seen"

    def trains(self):
        file = self.release.folder / "job.json"
        file.write_text(json.dumps({"name": JOB, "spec": {
            "model": "mlp", "data": "synthetic:shapes", "paradigm": "ssp:s=3",
            "batch_size": BATCH, "learning_rate": 0.01, "seed": 1,
            "servers": PARTS, "replicas": 1, "workers": {"min": 1},
            "stop": {"epochs": 1_000_000}, "evaluation": {"disabled": True},
        }}))
        self.release.command("job", "create", "-f", str(file))
        self.watch = Watch(self.release, self.stack)
        self.goes_on()
        until("every part has a backup", self.has_backups)
        until("the client in the cluster is told",
              lambda: self.watch.samples > 0)
        return f"{self.samples()} samples counted"

    def shows_who_leads(self):
        table = self.asks("coordinator", "list")
        for word in ("LEADER", "STANDBY", "BEHIND"):
            assert word in table, table
        return "\n" + table.rstrip()

    def outlives_servers(self, how):
        """One after the other, each when the one before has its part again."""
        told = []
        for name in sorted(pod["metadata"]["name"]
                           for pod in self.release.pods("server")):
            began = time.monotonic()
            back = self.takes_away("server", name, how)
            self.goes_on()
            back()
            until("every part has a backup", self.has_backups)
            took = time.monotonic() - began
            self.goes_on()
            told.append(f"{name}: {self.watch.longest_rest(began):.1f} s "
                        f"without more samples, backups after {took:.1f} s")
        lost = [line for line in self.losses() if "with its server" in line]
        assert not lost, lost
        return "; ".join(told)

    def outlives_servers_that_are_told_to_go(self):
        return self.outlives_servers(POLITE)

    def outlives_servers_that_are_killed(self):
        return self.outlives_servers(FORCED)

    def outlives_a_leader(self, how, place=contextlib.nullcontext):
        """Somebody leads in a later term, nobody else is lost for it, and the
        one that does not lead stands by. In `place` the pod is deleted, and
        has another leader. Returns who leads and what was seen."""
        leader = self.await_standby()
        [other] = {one["name"] for one in self.coordinators()} - {leader}
        [node] = {self.pod("coordinator", leader)["spec"]["nodeName"]}
        before, losses, term = self.samples(), self.losses(), self.term()
        began = time.monotonic()
        with place(node):
            back = self.takes_away("coordinator", leader, how)
            until("somebody leads in a later term", lambda: self.term() > term)
            took = time.monotonic() - began
            now = self.samples()
            assert now >= before, (before, now)
            self.goes_on()
            rest = self.watch.longest_rest(began)
        back()
        leads = self.await_standby()
        self.leads_alone(leads)
        assert self.losses() == losses, self.losses()
        return leads == other, (
            f"{leads} answers as the leader after {took:.1f} s, {rest:.1f} s "
            "without more samples, both are there again after "
            f"{time.monotonic() - began:.1f} s")

    def outlives_leaders_that_are_told_to_go(self):
        """They hand the lead over."""
        told = []
        for _ in range(2):
            other_leads, seen = self.outlives_a_leader(POLITE)
            assert other_leads, seen
            told.append(seen)
        return "; ".join(told)

    def outlives_leaders_that_are_killed(self):
        """Kubernetes may be faster to start the same one again than the
        standby, which waits for five seconds: the first one to lead does."""
        return "; ".join(self.outlives_a_leader(FORCED)[1] for _ in range(2))

    @contextlib.contextmanager
    def cordoned(self, node):
        """A pod that is deleted does not come back as long as this lasts."""
        kubectl("cordon", node)
        try:
            yield
        finally:
            kubectl("uncordon", node)

    def outlives_leaders_that_do_not_come_back(self):
        """As if the leader's node were gone, until its standby leads."""
        told = []
        for _ in range(2):
            other_leads, seen = self.outlives_a_leader(FORCED, self.cordoned)
            assert other_leads, seen
            told.append(seen)
        return "; ".join(told)

    def leads_on_without_a_standby(self):
        """One that stands by is killed: who leads goes on, and is followed
        again."""
        leader = self.await_standby()
        [other] = {one["name"] for one in self.coordinators()} - {leader}
        losses = self.losses()
        began = time.monotonic()
        back = self.takes_away("coordinator", other, FORCED)
        self.goes_on()
        rest = self.watch.longest_rest(began)
        back()
        assert self.await_standby() == leader
        self.leads_alone(leader)
        assert self.losses() == losses, self.losses()
        return (f"{rest:.1f} s without more samples, {other} stands by after "
                f"{time.monotonic() - began:.1f} s")

    def drain(self, *components):
        """The nodes of those pods are drained of them, one node after the
        other. Returns what `kubectl drain` said of each pod.

        A node may get pods again as soon as its drain has begun: where there is
        one node alone, nothing that is evicted had another place. So one node
        shows what an eviction and the budgets do to a job. It does not show
        that volumes follow a pod to another node."""
        selector = (f"app.kubernetes.io/instance={self.release.name},"
                    f"app.kubernetes.io/component in ({','.join(components)})")
        pods = objects("pods", "-l", selector)
        old = {pod["metadata"]["uid"] for pod in pods}
        said = []
        for node in sorted({pod["spec"]["nodeName"] for pod in pods}):
            with contextlib.ExitStack() as stack:
                process = stack.enter_context(subprocess.Popen(
                    ["kubectl", "drain", node, f"--pod-selector={selector}",
                     "--ignore-daemonsets", "--delete-emptydir-data",
                     f"--timeout={LONG}s"],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    text=True))
                stack.callback(process.kill)
                stack.callback(kubectl, "uncordon", node)
                until(f"{node} is cordoned", lambda node=node: json.loads(
                    kubectl("get", "node", node, "-o", "json"))["spec"].get(
                        "unschedulable"))
                kubectl("uncordon", node)
                output, _ = process.communicate(timeout=2 * LONG)
                assert process.returncode == 0, output
                said += output.splitlines()

        def replaced():
            found = objects("pods", "-l", selector)
            return len(found) == len(old) and all(
                pod["metadata"]["uid"] not in old and is_ready(pod)
                for pod in found)
        until("other pods are ready", replaced)
        return said

    def outlives_a_drain(self, *components):
        began = time.monotonic()
        said = self.drain(*components)
        took = time.monotonic() - began
        until("every part has a backup", self.has_backups)
        self.await_standby()
        self.goes_on()
        held_back = sum("disruption budget" in line for line in said)
        return (f"{', '.join(components)}: {took:.1f} s, "
                f"{self.watch.longest_rest(began):.1f} s without more samples, "
                f"budgets held {held_back} evictions back"), held_back

    def outlives_servers_that_are_evicted(self):
        """The second is evicted when the first is ready again, not before."""
        told, held_back = self.outlives_a_drain("server")
        assert held_back >= SERVERS - 1, held_back
        return told

    def outlives_its_node(self):
        """All of the release is evicted: workers at once, servers and
        coordinators each one at a time."""
        told, held_back = self.outlives_a_drain(*COMPONENTS)
        assert held_back >= SERVERS, held_back
        return told

    def outlives_a_helm_upgrade(self):
        """Each part is rolled at the same time: coordinators, servers and
        workers."""
        began = time.monotonic()
        old = {pod["metadata"]["uid"] for part in COMPONENTS
               for pod in self.release.pods(part)}
        self.release.helm("upgrade", "--wait", "--timeout", "5m",
                          values=values("second"))
        took = time.monotonic() - began
        until("every part has a backup", self.has_backups)
        self.await_standby()
        self.goes_on()
        left = [pod["metadata"]["name"] for part in COMPONENTS
                for pod in self.release.pods(part)
                if pod["metadata"]["uid"] in old]
        assert not left, f"not replaced: {left}"
        return (f"{len(old)} pods replaced in {took:.1f} s, "
                f"{self.watch.longest_rest(began):.1f} s without more samples")

    def ends_with_each_sample_once(self):
        """What is left is cut short: the job ends after the next epoch."""
        self.release.command("job", "pause", JOB)
        until("it is paused", lambda: self.job()["state"] == "PAUSED")
        once = int(self.job()["progress"]["trainSamples"])
        epochs = self.samples() // once + 2
        self.release.command("job", "update", JOB, "--set",
                             f"spec.stop.epochs={epochs}")
        self.release.command("job", "resume", JOB)
        until("it has ended", lambda: self.job()["state"] in (
            "SUCCEEDED", "FAILED", "CANCELLED"))
        job = self.job()
        assert job["state"] == "SUCCEEDED", job
        samples = int(job["progress"]["samples"])
        assert samples == epochs * once, job["progress"]
        assert not int(job["progress"].get("samplesDiscarded", 0)), job
        told = self.watch.await_end()
        assert told == samples, (told, samples)
        return (f"{samples} samples, {epochs} epochs of {once}; the client "
                "that watched was told the same")

    def steps(self):
        return (self.installs, self.imports_a_context, self.trains,
                self.shows_who_leads,
                self.outlives_leaders_that_are_told_to_go,
                self.outlives_leaders_that_are_killed,
                self.outlives_leaders_that_do_not_come_back,
                self.leads_on_without_a_standby,
                self.outlives_servers_that_are_told_to_go,
                self.outlives_servers_that_are_killed,
                self.outlives_servers_that_are_evicted,
                self.outlives_its_node, self.outlives_a_helm_upgrade,
                self.ends_with_each_sample_once)


def main():
    reason = missing(IMAGES)
    if reason:
        print(f"SKIPPED: {reason}")
        return SKIPPED
    with contextlib.ExitStack() as stack:
        return play("failover", sys.argv[1],
                    lambda release: Scenario(release, stack).steps())


if __name__ == "__main__":
    sys.exit(main())
