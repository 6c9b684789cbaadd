"""paceline.Client against a coordinator, servers and workers on loopback."""

import json
import subprocess
import sys
import threading

import pytest

from client_cluster import (BIN, LONG, PACKAGE, needs_programs,
                            prepare_messages, start_cluster)

prepare_messages()

import paceline  # noqa: E402
from paceline import api_errors  # noqa: E402
from paceline.cluster_settings import resolve_connection  # noqa: E402
from paceline.coordinator_channel import (  # noqa: E402
    CoordinatorChannel, retry_pause)

pytestmark = needs_programs


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(tmp_path_factory):
    cluster = start_cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    assert set(cluster.stop()) == {0}


@pytest.fixture(name="client")
def fixture_client(cluster):
    with paceline.Client(cluster.address, config_file="") as client:
        yield client


@pytest.fixture(name="spec")
def fixture_spec():
    """Of a job that takes a second or two."""
    return {"model": "logreg", "data": "synthetic:tiny", "seed": 7,
            "workers": {"min": 2}, "stop": {"epochs": 10},
            "evaluation": {"every": 512}}


@pytest.fixture(name="long_spec")
def fixture_long_spec(spec):
    """Of one that ends when it is told to."""
    return {**spec, "stop": {"epochs": 100_000}}


def running(client, name, spec):
    client.create_job({"name": name, "spec": spec})
    return client.wait_for_job(name, "RUNNING", timeout=LONG)


def end(client, name):
    """Ends and forgets the job."""
    client.cancel_job(name)
    client.wait_for_job(name, "CANCELLED", timeout=LONG)
    client.delete_job(name)


def test_a_job_from_creation_to_its_end(client, spec):
    job = client.create_job({"name": "life", "display_name": "A life",
                             "labels": {"team": "vision", "build": 1.10},
                             "spec": spec})
    assert (job.id, job.namespace, job.state) == ("life", "default", "PENDING")
    # A text keeps the text that a number has in Python.
    assert job.labels == {"team": "vision", "build": "1.1"}
    assert job.spec["stop"] == {"epochs": 10} and job.spec["seed"] == 7
    assert job.create_time.tzinfo is not None

    updates = list(client.watch_job("life", timeout=LONG))
    states = [update.job.state for update in updates if update.job]
    assert states[-1] == "SUCCEEDED" and "RUNNING" in states
    # Whether anything has to be decided is a matter of chance.
    assert {update.kind for update in updates} - {"decision"} == {
        "job", "progress", "accuracy", "checkpoint"}
    for update in updates:
        assert getattr(update, update.kind) is not None

    ended = client.wait_for_job("life", timeout=LONG)
    assert ended.ended and ended.progress.samples == 10 * 1024
    assert ended.end_time >= ended.start_time >= ended.create_time
    # A spec that was read makes another job.
    again = client.create_job({"spec": ended.spec}, name="life-again",
                              dry_run=True)
    assert again.spec == ended.spec

    curve = client.accuracy_curve("life")
    assert [p.samples for p in curve] == sorted(p.samples for p in curve)
    assert len(curve) >= 20 and all(0 <= p.accuracy <= 1 for p in curve)
    watched = {u.accuracy.samples for u in updates if u.accuracy}
    assert watched <= {p.samples for p in curve}

    rows = client.workers_table("life")
    assert sorted(row.worker for row in rows) == ["w0", "w1"]
    assert sum(row.samples for row in rows) == ended.progress.samples
    assert client.get_job_report("life")["samples"] == 10 * 1024


def test_lists_are_whole_and_filtered(client, spec):
    for i in range(3):
        client.create_job({"name": f"many-{i}", "labels": {"set": "many"},
                           "spec": {**spec, "workers": {"min": 99}}})
    found = client.list_jobs(filter='labels.set = "many"', order_by="name")
    assert [job.id for job in found] == ["many-0", "many-1", "many-2"]
    assert len(client.list_jobs(filter='labels.set = "many"', limit=2)) == 2
    everywhere = client.list_jobs(all_namespaces=True)
    assert {job.name for job in found} <= {job.name for job in everywhere}
    with pytest.raises(api_errors.InvalidArgument):
        client.list_jobs(filter="colour = blue")
    assert [w.name for w in client.list_workers()] == [
        "workers/e0", "workers/w0", "workers/w1"]
    for job in found:
        end(client, job.name)
    assert not client.list_jobs(filter='labels.set = "many"')


def test_a_running_job_is_switched_changed_paused_and_ended(client, long_spec):
    running(client, "busy", long_spec)
    assert client.switch_paradigm("busy", "ssp:s=2",
                                  reason="a test").spec["paradigm"] == "ssp:s=2"
    changed = client.update_job("busy", {
        "spec.learning_rate": 0.002, "spec.checkpoints.interval": "1h",
        "labels.team": "vision", "labels.old": "yes"})
    assert changed.spec["learning_rate"] == 0.002
    assert changed.spec["checkpoints"]["interval"] == "3600s"
    changed = client.update_job("busy", {"labels.old": None,
                                         "spec.checkpoints.interval": None})
    assert changed.labels == {"team": "vision"}
    assert "interval" not in changed.spec["checkpoints"]

    decisions = client.list_decisions("busy")
    assert [d.sequence for d in decisions] == list(
        range(1, len(decisions) + 1))
    switch = next(d for d in decisions if d.kind == "switch")
    assert "ssp:s=2" in switch.text and switch.time.tzinfo is not None
    watch = client.watch_job("busy", timeout=LONG)
    assert next(watch).job.state == "RUNNING"
    client.switch_paradigm("busy", "asp")
    told = next(update.decision for update in watch
                if update.decision and "to asp" in update.decision.text)
    assert told.kind == "switch" and told.sequence > switch.sequence

    with pytest.raises(api_errors.Aborted) as stale:
        client.pause_job("busy", etag="00")
    assert stale.value.reason == "ETAG_MISMATCH"
    client.pause_job("busy", etag=client.get_job("busy").etag)
    paused = client.wait_for_job("busy", "PAUSED", timeout=LONG)
    assert "/checkpoints/pause-" in paused.restore_from
    # Nobody trains it now: its samples stay.
    samples = paused.progress.samples
    assert client.get_job("busy").progress.samples == samples
    client.resume_job("busy")
    client.wait_for_job("busy", "RUNNING", timeout=LONG)

    with pytest.raises(api_errors.FailedPrecondition):
        client.delete_job("busy")
    client.cancel_job("busy")
    with pytest.raises(api_errors.JobEndedOtherwise, match="CANCELLED"):
        client.wait_for_job("busy", timeout=LONG)
    client.delete_job("busy")
    with pytest.raises(api_errors.NotFound):
        client.get_job("busy")
    with pytest.raises(api_errors.NotFound):
        client.delete_job("busy")


def test_checkpoints_are_made_listed_and_gone_back_to(client, long_spec):
    running(client, "saved", long_spec)
    made = client.create_checkpoint("saved", name="mine", timeout=LONG)
    assert (made.id, made.state, made.servers) == ("mine", "READY", 2)
    assert made == client.get_checkpoint("saved", "mine")
    with pytest.raises(api_errors.AlreadyExists):
        client.create_checkpoint("saved", name="mine")
    begun = client.create_checkpoint("saved", name="other", wait=False)
    assert begun.state in ("WRITING", "READY")
    client.cancel_job("saved")
    client.wait_for_job("saved", "CANCELLED", timeout=LONG)
    with pytest.raises(api_errors.FailedPrecondition):
        client.create_checkpoint("saved")
    assert "mine" in [c.id for c in client.list_checkpoints("saved")]
    restored = client.restore_job("saved", "mine")
    assert restored.restore_from == made.name
    client.cancel_job("saved")
    client.wait_for_job("saved", "CANCELLED", timeout=LONG)
    client.delete_checkpoint("saved", "other")
    with pytest.raises(api_errors.NotFound):
        client.get_checkpoint("saved", "other")
    client.delete_job("saved")


def test_a_checkpoint_waits_for_another_one(client, long_spec, monkeypatch):
    """That of the job's interval, say."""
    running(client, "twice", long_spec)
    call = client._channel.call
    tries = []

    def being_written(service, method, request):
        tries.append(method)
        if method == "CreateCheckpoint" and len(tries) == 1:
            raise api_errors.FailedPrecondition(
                "wait", reason="CHECKPOINT_BEING_WRITTEN")
        return call(service, method, request)

    monkeypatch.setattr(client._channel, "call", being_written)
    with pytest.raises(api_errors.FailedPrecondition):
        client.create_checkpoint("twice", wait=False)
    tries.clear()
    with pytest.raises(api_errors.DeadlineExceeded, match="another checkpoint"):
        client.create_checkpoint("twice", timeout="0s")
    tries.clear()
    assert client.create_checkpoint("twice", timeout=LONG).state == "READY"
    assert tries[:2] == ["CreateCheckpoint"] * 2
    monkeypatch.undo()
    client.cancel_job("twice")
    client.wait_for_job("twice", "CANCELLED", timeout=LONG)
    client.delete_job("twice")


def test_waiting_ends_in_time_and_says_where_the_job_is(client, spec):
    client.create_job({"name": "waits", "spec": {**spec,
                                                 "workers": {"min": 99}}})
    with pytest.raises(api_errors.DeadlineExceeded, match="it is PENDING"):
        client.wait_for_job("waits", timeout="50ms")
    with pytest.raises(api_errors.DeadlineExceeded):
        for _ in client.watch_job("waits", timeout=0.05):
            pass
    with pytest.raises(api_errors.InvalidArgument, match="SUCCEEDED"):
        client.wait_for_job("waits", "DONE")
    assert client.wait_for_job("waits", {"PENDING", "RUNNING"},
                               timeout=LONG).state == "PENDING"
    end(client, "waits")


def test_a_watch_that_is_left_ends_its_stream(client, long_spec):
    running(client, "left", long_spec)
    # A caller may have 64 streams.
    for _ in range(100):
        assert next(iter(client.watch_job("left", timeout=LONG))).job
    end(client, "left")


YAML = """\
# A job as the command takes it.
name: from-yaml
labels: {build: 1.10}
spec:
  model: logreg
  data: synthetic:tiny
  batchSize: 16
  checkpoints: {interval: 90}
  stop: {epochs: 1}
---
"""


def test_jobs_come_from_files(client, tmp_path):
    pytest.importorskip("yaml")
    file = tmp_path / "job.yaml"
    file.write_text(YAML)
    job = client.create_job(file, dry_run=True)
    assert job.labels == {"build": "1.10"}
    assert job.spec["batch_size"] == 16
    assert job.spec["checkpoints"]["interval"] == "90s"
    assert client.create_job(str(file), name="other",
                             dry_run=True).id == "other"

    file.write_text(YAML + YAML)
    with pytest.raises(api_errors.InvalidArgument, match="2 jobs"):
        client.create_job(file)
    with pytest.raises(api_errors.NotFound, match="none.yaml"):
        client.create_job(tmp_path / "none.yaml")


def test_without_pyyaml_json_is_read(client, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    file = tmp_path / "job.json"
    file.write_text(json.dumps({
        "name": "from-json", "labels": {"build": "1.10"},
        "spec": {"model": "logreg", "data": "synthetic:tiny",
                 "learningRate": 1e-3, "seed": 2**63}}))
    job = client.create_job(file, dry_run=True)
    assert job.spec["learning_rate"] == 1e-3 and job.spec["seed"] == 2**63
    file.write_text(YAML)
    with pytest.raises(api_errors.InvalidArgument, match="install PyYAML"):
        client.create_job(file)


# (job, what its error says): the command says the same of the same file.
WRONG_JOBS = [
    ("spec: {modle: mlp}", "line 1: spec.modle: there is no such field; did "
                           "you mean model?"),
    ("spec:\n  model: mlp\n  batch_size: many",
     'line 3: spec.batch_size: "many" is not a whole number that is not '
     "negative"),
    ("spec: {wire: fp8}",
     'line 1: spec.wire: "fp8" is not one of FP32, BF16, FP16, INT8'),
    ("spec: {stop: {at_target: maybe}}",
     'line 1: spec.stop.at_target: "maybe" is not true or false'),
    ("spec: {checkpoints: {interval: soon}}",
     'line 1: spec.checkpoints.interval: "soon" is not a duration such as '
     "30s, 5m or 1.5h"),
    ("spec: {model: a, model: b}", "line 1: spec.model: is given twice"),
    ("spec: {workers: {pools: a}}",
     "line 1: spec.workers.pools: must be a list, as [A, B]"),
    ("labels: [a]", "line 1: labels: must have entries, as KEY: VALUE"),
    ("- a", "line 1: must have fields, as NAME: VALUE"),
    ("name: a", "spec: must be there, with a model and data"),
]


@pytest.mark.parametrize("text,says", WRONG_JOBS)
def test_wrong_files_are_refused_in_the_words_of_the_command(
        client, cluster, tmp_path, text, says):
    pytest.importorskip("yaml")
    file = tmp_path / "job.yaml"
    file.write_text(text)
    with pytest.raises(api_errors.InvalidArgument) as refused:
        client.create_job(file)
    assert str(refused.value).splitlines()[1].strip() == says
    assert refused.value.reason == "INVALID_FIELD"
    command = subprocess.run(
        [BIN / "paceline", "job", "create", "-f", file, "--address",
         cluster.address], capture_output=True, text=True, timeout=LONG,
        check=False)
    assert command.returncode == 2
    assert says in [line.strip() for line in command.stderr.splitlines()]


def test_the_coordinator_names_every_wrong_field(client):
    with pytest.raises(api_errors.InvalidArgument) as refused:
        client.create_job({"spec": {"model": "vgg", "data": "cats",
                                    "batch_size": 10**6}})
    assert [v.field for v in refused.value.violations] == [
        "job.spec.model", "job.spec.data", "job.spec.batch_size"]
    assert refused.value.code == "INVALID_ARGUMENT"
    assert "job.spec.model: " in str(refused.value)
    for changes, says in (({"spec.modle": 1}, "did you mean model"),
                          ({"spec.model.x": 1}, "model has no fields"),
                          ({"labels": "x"}, "name an entry"),
                          ({}, "nothing is to be changed")):
        with pytest.raises(api_errors.InvalidArgument, match=says):
            client.update_job("any", changes)
    for name in ("", "a/b", "namespaces/a/jobs/", "x/a/jobs/b"):
        with pytest.raises(api_errors.InvalidArgument, match="names no job"):
            client.get_job(name)


def test_a_coordinator_that_comes_back_is_waited_for(tmp_path, spec):
    cluster = start_cluster(tmp_path, servers=1, workers=1)
    try:
        client = paceline.Client(cluster.address, config_file="",
                                 request_timeout=LONG)
        client.create_job({"name": "stays", "spec": {
            **spec, "workers": {"min": 99}}})
        watch = client.watch_job("stays", timeout=LONG)
        assert next(watch).job.state == "PENDING"
        cluster.coordinator.kill()
        cluster.coordinator.wait()
        impatient = paceline.Client(cluster.address, config_file="",
                                    request_timeout="3s")
        with pytest.raises(api_errors.Unavailable,
                           match="cannot reach") as away:
            impatient.get_job("stays")
        assert away.value.tries > 1
        returning = threading.Thread(target=cluster.start_coordinator)
        returning.start()
        # Called while it is away.
        assert client.get_job("stays").state == "PENDING"
        returning.join()
        client.cancel_job("stays")
        states = [u.job.state for u in watch if u.job]
        assert states[-1] == "CANCELLED"
        client.close()
        with pytest.raises(api_errors.InvalidArgument, match="closed"):
            client.get_job("stays")
    finally:
        cluster.stop()


def test_closing_closes_the_channels_of_before_too():
    # A stream may be open on one of them still.
    connection = resolve_connection({"address": "127.0.0.1:1"}, config_file="")
    channel = CoordinatorChannel(connection)
    first = channel.dialled()
    channel.reconnect(first)
    assert channel.dialled() is not first
    channel.close()
    with pytest.raises(ValueError, match="closed"):
        first.channel.unary_unary("/x")(b"")


def test_pauses_between_tries_grow():
    assert retry_pause(1) == pytest.approx(0.1)
    assert retry_pause(2) == pytest.approx(0.15)
    assert retry_pause(100) == 2.0


ANOTHER_CLIENT = """
import sys; sys.path.insert(0, %r)
from google.protobuf import descriptor_pb2, descriptor_pool
file = descriptor_pb2.FileDescriptorProto(
    name="google/rpc/error_details.proto", package="google.rpc")
file.message_type.add(name="ErrorInfo").field.add(
    name="reason", number=1, type=9, label=1)
descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
import paceline.client
from paceline.api_messages import message_class
print(message_class("google.rpc.ErrorInfo")(domain="paceline").domain)
"""


def test_it_lives_beside_other_clients_with_the_names_of_google_rpc():
    said = subprocess.run([sys.executable, "-c", ANOTHER_CLIENT % str(PACKAGE)],
                          capture_output=True, text=True, timeout=LONG,
                          check=True).stdout
    assert said == "paceline\n"


@pytest.mark.parametrize("missing", ["grpc", "google.protobuf"])
def test_without_grpc_or_protobuf_a_sentence_says_what_to_install(missing):
    script = (f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); "
              f"sys.modules[{missing!r}] = None; import paceline\n"
              "try:\n    paceline.Client\nexcept ImportError as error:\n"
              "    print(error)\n")
    said = subprocess.run([sys.executable, "-c", script], capture_output=True,
                          text=True, timeout=LONG, check=True).stdout
    assert said == ("paceline.Client needs grpcio and protobuf: install "
                    "paceline[client] (Debian: python3-grpcio, "
                    "python3-protobuf)\n")
