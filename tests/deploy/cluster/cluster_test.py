#!/usr/bin/python3
"""The chart on a real cluster, from nothing to nothing.

    cluster_test.py PACELINE

Installs a release with CPU pools of one, two and five workers, the one
throttled to a quarter of the two's CPU, into the namespace that KUBECONFIG
names, starts jobs from outside over mutual TLS, switches a paradigm, takes
workers and the names of servers away, replaces images, and takes everything
down. PACELINE is the command. Images that the cluster has:

    PACELINE_SERVER_IMAGE       of Dockerfile.server
    PACELINE_WORKER_IMAGE       of Dockerfile.worker, target cpu
    PACELINE_NEXT_WORKER_IMAGE  another one of that repository

Skipped, visibly (exit code 77), where KUBECONFIG or one of these is not set,
or kubectl, helm, Prometheus or Alertmanager is not installed.
"""

import contextlib
import json
import os
import sys
import time

from release import kubectl, samples  # Finds the next ones.
from monitoring_stack import missing_programs
from real_cluster import until
from boards import watching
from scenario import SKIPPED, image_values, missing, play

LEASE = 10  # Seconds, as the chart has it.
IMAGES = ("PACELINE_SERVER_IMAGE", "PACELINE_WORKER_IMAGE",
          "PACELINE_NEXT_WORKER_IMAGE")

# A batch takes longer than the period over which the kernel counts CPU time, so
# that its limit shows in every iteration.
JOB = {
    "spec": {
        "model": "lenet5", "data": "synthetic:shapes", "paradigm": "ssp:s=3",
        "batch_size": 256, "micro_batch": 64, "learning_rate": 0.01, "seed": 1,
        "workers": {"min": 2, "pools": ["fast", "slow"]},
        "stop": {"epochs": 30, "target_accuracy": 0.9, "at_target": True},
        "evaluation": {"every": 6000},
        "checkpoints": {"interval": "10s", "keep": 2},
    },
}


def values(worker_image):
    small = {"requests": {"cpu": "50m", "memory": "128Mi"}}

    def limited(cpu):
        return {**small, "limits": {"cpu": cpu, "memory": "1Gi"}}
    return {
        "images": image_values(os.environ["PACELINE_SERVER_IMAGE"],
                               worker_image),
        "coordinator": {"resources": small,
                        "persistence": {"keep": True, "size": "1Gi"}},
        "servers": {"resources": small},
        "evaluators": {"resources": small},
        "pools": {
            "cpu": None,
            "fast": {"replicas": 2, "resources": limited("600m")},
            "slow": {"replicas": 1, "resources": limited("150m")},
            "idle": {"replicas": 5, "resources": limited("100m")},
        },
        "checkpoints": {"accessModes": ["ReadWriteOnce"], "size": "1Gi",
                        "keep": False},
    }


class Scenario:
    """Its steps, in their order: each takes over what the one before left."""

    def __init__(self, release):
        self.release = release
        self.slow = None  # The throttled worker's name.

    def installs(self):
        began = time.monotonic()
        self.release.helm(
            "install", "--wait", "--timeout", "2m",
            values=values(os.environ["PACELINE_WORKER_IMAGE"]))
        took = time.monotonic() - began
        assert took < 120, took
        # Of a pool of five helm waits for four.
        pods = until("every pod is ready", self.all_ready)
        assert len(pods) == 1 + 2 + 8 + 1, [p["metadata"]["name"] for p in pods]
        for pod in pods:
            self.is_restricted(pod)
        return f"helm install --wait: {took:.1f} s, {len(pods)} pods ready"

    def all_ready(self):
        """All pods, once they are."""
        pods = [pod for part in ("coordinator", "server", "worker", "evaluator")
                for pod in self.release.pods(part)]
        return pods if all(
            container["ready"] for pod in pods
            for container in pod["status"]["containerStatuses"]) else None

    def is_restricted(self, pod):
        name = pod["metadata"]["name"]
        of_pod = pod["spec"]["securityContext"]
        assert of_pod["runAsNonRoot"] and of_pod["runAsUser"] > 0, name
        for container in pod["spec"]["containers"]:
            mine = container["securityContext"]
            assert mine["readOnlyRootFilesystem"], name
            assert mine["allowPrivilegeEscalation"] is False, name
            assert mine["capabilities"] == {"drop": ["ALL"]}, name

    def passes_helm_test(self):
        began = time.monotonic()
        self.release.helm("test", "--timeout", "4m")
        return f"helm test: {time.monotonic() - began:.1f} s"

    def refuses_who_has_no_certificate(self):
        self.release.connect()
        try:
            self.release.command("job", "list", certificate=False)
        except AssertionError as refused:
            said = str(refused)
            assert "exit code 5" in said, said
            assert "wants a client certificate" in said, said
            assert "--tls-cert" in said, said
            assert "trying again" not in said, said
            return f"without a certificate: {said.splitlines()[-1]}"
        raise AssertionError("a call without a certificate was served")

    def create(self, name, **spec):
        file = self.release.folder / f"{name}.json"
        file.write_text(json.dumps(
            {"name": name, "spec": {**JOB["spec"], **spec}}))
        self.release.command("job", "create", "-f", str(file))

    def names_the_straggler(self):
        """In the coordinator's metrics, once it has been slow for a while."""
        [pod] = [pod for pod in self.release.pods("worker")
                 if pod["metadata"]["labels"]["paceline.dev/pool"] == "slow"]
        self.slow = pod["metadata"]["name"]
        with self.release.scraping(
                f"service/{self.release.fullname}-coordinator") as scrape:
            self.create("target")

            def flagged():
                return {labels["worker"] for name, labels, value
                        in samples(scrape())
                        if name == "paceline_coordinator_worker_straggler"
                        and value == 1}
            until("a straggler", lambda: self.slow in flagged())
            [worker] = [w for w in self.release.job("target")["progress"]
                        ["workers"] if w["worker"] == self.slow]
        return ("straggler named after at most "
                f"{int(worker['iterations'])} of its iterations")

    def switches(self):
        self.release.command("job", "switch", "target", "--paradigm", "cgp",
                             "--reason", "one slow worker")
        with watching(self.release) as boards:
            shown = until("the switch on a board", lambda: {
                f"{board.title}: {panel['title']}" for board in boards()
                for panel, answers in board.panels() for _, found in answers
                for series in found if series.labels.get("paradigm") == "cgp"})
        return f"after job switch, cgp is shown by {', '.join(sorted(shown))}"

    def reaches_its_target(self):
        began = time.monotonic()
        self.release.command("job", "wait", "target",
                             "--for=state=SUCCEEDED", "--timeout=10m")
        progress = self.release.job("target")["progress"]
        assert progress["accuracy"] >= 0.9, progress
        return (f"target reached: accuracy {progress['accuracy']:.3f} after "
                f"{progress['samples']} samples "
                f"({time.monotonic() - began:.0f} s of waiting)")

    def goes_on_without_workers(self):
        self.create("long", stop={"epochs": 10000})
        until("the long job trains",
              lambda: self.release.samples_counted("long") > 2000)
        fast = [pod["metadata"]["name"] for pod in self.release.pods("worker")
                if pod["metadata"]["labels"]["paceline.dev/pool"] == "fast"]
        kubectl("delete", "pod", fast[0], "--wait=false", "--grace-period=1")
        self.progresses("long", 2000)
        self.release.command("worker", "drain", fast[1])
        self.progresses("long", 2000)
        self.release.command("worker", "undrain", fast[1])
        until("all workers back", lambda: len(
            [w for w in self.release.job("long")["progress"]["workers"]
             if w["state"] != "lost"]) == 3)
        return "a worker's pod deleted, another drained: the job goes on"

    def name_is_known(self):
        """Whether DNS knows the second server's name, asked in the first's
        pod: who finds that server is told that it wants TLS."""
        server = f"{self.release.fullname}-server"
        [space] = {pod["metadata"]["namespace"]
                   for pod in self.release.pods("server")}
        try:
            kubectl("exec", f"{server}-0", "--", "paceline", "job", "list",
                    "--insecure-plaintext", "--request-timeout=1s",
                    f"--address={server}-1.{server}.{space}.svc:7071")
        except AssertionError as refused:
            if "DNS resolution failed" in str(refused):
                return False
            assert "speaks TLS" in str(refused), refused
        return True

    @contextlib.contextmanager
    def without_names(self):
        """The servers have no names, as where DNS does not know them yet."""
        name = f"{self.release.fullname}-server"
        service = json.loads(kubectl("get", "service", name, "-o", "json"))
        for field in ("creationTimestamp", "resourceVersion", "uid"):
            del service["metadata"][field]
        file = self.release.folder / "service.json"
        file.write_text(json.dumps(service))
        kubectl("delete", "service", name)
        try:
            until("the names are forgotten", lambda: not self.name_is_known())
            yield
        finally:
            kubectl("create", "-f", str(file))

    def losses_of(self, job):
        return [line for line in self.release.command("job", "logs", job)
                .splitlines() if " lost" in line or "gives up" in line]

    def waits_for_names(self):
        """A worker that begins a job waits for names that are late; one that
        waits in vain says why, in the coordinator's log."""
        idle = {"workers": {"min": 2, "max": 2, "pools": ["idle"]},
                "stop": {"epochs": 10000}, "servers": 2}
        with self.without_names():
            self.create("late", **idle)
        self.progresses("late", 1000)
        late = self.losses_of("late")
        assert all("DNS resolution failed" in line for line in late), late
        self.release.command("job", "cancel", "late", "--yes")
        with self.without_names():
            self.create("later", **idle)
            told = until("the reason of a loss", lambda: [
                line for line in self.losses_of("later")
                if "DNS resolution failed" in line])
        self.progresses("later", 1000)
        self.release.command("job", "cancel", "later", "--yes")
        return f"names that come late: {len(late)} losses; in vain: {told[0]}"

    def progresses(self, job, more):
        before = self.release.samples_counted(job)
        until(f"{job} counts {more} samples more",
              lambda: self.release.samples_counted(job) > before + more)

    def all_have(self, image):
        """Whether all workers do that are not about to end."""
        return all(pod["spec"]["containers"][0]["image"] == image
                   for pod in self.release.pods("worker")
                   if "deletionTimestamp" not in pod["metadata"])

    def rolls(self, image, roll):
        """All workers get the image while the job runs; and it went on."""
        before = self.release.samples_counted("long")
        began = time.monotonic()
        roll()
        took = time.monotonic() - began
        during = self.release.samples_counted("long") - before
        assert during > 0, "no sample was counted during the roll-out"
        until(f"every worker has {image}", lambda: self.all_have(image))
        assert self.release.job("long")["state"] == "RUNNING"
        self.progresses("long", 2000)
        return f"{took:.1f} s, {during} samples counted meanwhile"

    def upgrades(self):
        image = os.environ["PACELINE_NEXT_WORKER_IMAGE"]
        return "helm upgrade: " + self.rolls(image, lambda: self.release.helm(
            "upgrade", "--wait", "--timeout", "4m", values=values(image)))

    def rolls_back(self):
        image = os.environ["PACELINE_WORKER_IMAGE"]
        return "helm rollback: " + self.rolls(image, lambda: self.release.helm(
            "rollback", "--wait", "--timeout", "4m"))

    def goes_back_from(self, what, wrong):
        """helm upgrade --atomic with values that cannot work."""
        before = self.release.samples_counted("long")
        try:
            self.release.helm("upgrade", "--atomic", "--timeout", "60s",
                              values=wrong)
        except AssertionError as refused:
            assert "rolled back" in str(refused), refused
        else:
            raise AssertionError(f"helm upgrade saw nothing wrong: {what}")
        assert self.release.samples_counted("long") > before, what
        until(f"every worker as it was: {what}",
              lambda: self.all_have(os.environ["PACELINE_WORKER_IMAGE"]))
        self.progresses("long", 2000)

    def goes_back_from_an_image_that_is_not_there(self):
        image = os.environ["PACELINE_WORKER_IMAGE"]
        self.goes_back_from("no image", values(image + "-absent"))
        return "helm upgrade --atomic failed and went back: the job goes on"

    def goes_back_where_one_part_has_no_image(self):
        """Pools of one, two and five, and the evaluator: each alone gets the
        image of GPU workers, which this cluster does not have."""
        parts = ("slow", "fast", "idle", "evaluators")
        for part in parts:
            wrong = values(os.environ["PACELINE_WORKER_IMAGE"])
            wrong["images"]["worker"] = {"tag": "absent"}
            of_part = (wrong["evaluators"] if part == "evaluators"
                       else wrong["pools"][part])
            of_part["image"] = "cuda"
            self.goes_back_from(part, wrong)
        return f"helm upgrade --atomic went back for each of {parts}"

    def waited_at_most_a_lease(self):
        """Of all waits of the job, since before its workers were taken."""
        with self.release.scraping(
                f"service/{self.release.fullname}-coordinator") as scrape:
            waits = {labels["le"]: value for name, labels, value
                     in samples(scrape())
                     if name == "paceline_coordinator_gate_wait_seconds_bucket"
                     and labels["job_id"].endswith("long")}
        assert waits["+Inf"] > 100, waits
        assert waits[str(LEASE)] == waits["+Inf"], waits
        return f"{waits['+Inf']:.0f} waits, none above the lease of {LEASE} s"

    def saves_what_runs(self):
        """Coordinator and servers are replaced: the job is saved, and goes on
        by itself."""
        before = self.release.samples_counted("long")
        replaced = values(os.environ["PACELINE_WORKER_IMAGE"])
        for role in ("coordinator", "servers"):
            replaced[role]["podAnnotations"] = {"trial": "replaced"}
        began = time.monotonic()
        self.release.helm("upgrade", "--wait", "--timeout", "4m",
                          values=replaced)
        took = time.monotonic() - began
        self.release.connect()
        until("the job is RUNNING again",
              lambda: self.release.job("long")["state"] == "RUNNING")
        until("it trains on from where it was",
              lambda: self.release.samples_counted("long") > before)
        return f"coordinator and servers replaced in {took:.1f} s: it goes on"

    def leaves_what_is_kept(self):
        self.release.command("job", "cancel", "long", "--yes")
        self.release.disconnect()
        began = time.monotonic()
        self.release.helm("uninstall", "--wait", "--timeout", "4m")
        took = time.monotonic() - began
        kept = [("PersistentVolumeClaim", f"{self.release.fullname}-store")]
        until("nothing but what is kept",
              lambda: self.release.leftovers() == kept, seconds=60)
        kubectl("delete", "pvc", kept[0][1])
        return f"helm uninstall: {took:.1f} s, left {kept[0][1]}"

    def steps(self):
        return (self.installs, self.passes_helm_test,
                self.refuses_who_has_no_certificate,
                self.names_the_straggler, self.switches,
                self.reaches_its_target, self.waits_for_names,
                self.goes_on_without_workers,
                self.upgrades, self.rolls_back,
                self.goes_back_from_an_image_that_is_not_there,
                self.goes_back_where_one_part_has_no_image,
                self.waited_at_most_a_lease, self.saves_what_runs,
                self.leaves_what_is_kept)


def main():
    reason = missing(IMAGES, missing_programs())
    if reason:
        print(f"SKIPPED: {reason}")
        return SKIPPED
    return play("trial", sys.argv[1],
                lambda release: Scenario(release).steps())


if __name__ == "__main__":
    sys.exit(main())
