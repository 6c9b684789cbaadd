"""A client of a paceline cluster: jobs, their course, their checkpoints.

    client = paceline.Client()         # The cluster of the command's context.
    job = client.create_job("job.yaml")
    for update in client.watch_job(job.id): ...
    curve = client.accuracy_curve(job.id)

It needs grpcio and protobuf, paceline[client]. docs/python-client.md tells it
all; what methods answer with is in paceline.resources, what they raise in
paceline.api_errors.
"""

from __future__ import annotations

import json
import types
import typing
import uuid

from paceline.api_messages import grpc, new
from paceline.api_errors import (ApiError, DeadlineExceeded,
                                 FailedPrecondition, Internal, InvalidArgument, JobEndedOtherwise,
                                 NotFound, Unavailable, Unknown)
from paceline.cluster_settings import resolve_connection
from paceline.coordinator_channel import (CoordinatorChannel, Dialled,
                                          retry_pause)
from paceline.durations import Duration, parse_duration
from paceline.job_document import JobSource, MapChange, read_job, read_update
from paceline.resources import (EVENTS, AccuracyPoint, Checkpoint, Decision,
                                Job, JobUpdate, Worker, WorkerProgress,
                                to_resource)

T = typing.TypeVar("T")

_PAGE = 500
_LOOK_AGAIN = 0.3  # Seconds between two looks at a checkpoint.


class Client:
    """Whom it talks to is found as by the command `paceline`: each setting is
    that of the argument, of the environment (PACELINE_ADDRESS, ...) or of the
    config file's context, the first that has it.

    Every call has a deadline, `request_timeout`; what is UNAVAILABLE is tried
    again within it. Thread-safe.
    """

    def __init__(self, address: typing.Optional[str] = None, *,
                 context: typing.Optional[str] = None,
                 namespace: typing.Optional[str] = None,
                 tls_ca: typing.Optional[str] = None,
                 tls_cert: typing.Optional[str] = None,
                 tls_key: typing.Optional[str] = None,
                 tls_server_name: typing.Optional[str] = None,
                 token_file: typing.Optional[str] = None,
                 insecure_plaintext: typing.Optional[bool] = None,
                 request_timeout: typing.Optional[Duration] = None,
                 config_file: typing.Optional[str] = None) -> None:
        """`address` is "host:port", of two coordinators with a comma
        between them; `request_timeout` in seconds, or as "30s";
        `config_file` stands for PACELINE_CONFIG, "" for no file at all.

        Nothing is dialled yet. Raises InvalidArgument for settings that are
        wrong or contradict each other, NotFound for a context or a file that
        does not exist.
        """
        self._channel = CoordinatorChannel(resolve_connection(
            {"address": address, "namespace": namespace, "tls-ca": tls_ca,
             "tls-cert": tls_cert, "tls-key": tls_key,
             "tls-server-name": tls_server_name, "token-file": token_file,
             "insecure-plaintext": insecure_plaintext,
             "request-timeout": request_timeout},
            context=context, config_file=config_file))
        self._namespace = self._channel.connection.namespace

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: typing.Optional[typing.Type[BaseException]],
                 error: typing.Optional[BaseException],
                 trace: typing.Optional[types.TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; calls that are open end with Cancelled."""
        self._channel.close()

    @property
    def address(self) -> str:
        """ "host:port" of the coordinator; of two with a comma."""
        return self._channel.connection.address

    @property
    def namespace(self) -> str:
        """Of jobs that are named without one."""
        return self._namespace

    # Jobs. A job is named "mnist", in the client's namespace, or in full,
    # "namespaces/NAMESPACE/jobs/JOB".

    def create_job(self, source: JobSource, *, name: str = "",
                   dry_run: bool = False) -> Job:
        """Creates a job; it starts by itself once its workers are free.

        `source` is a dict, {"name": ..., "spec": {"model": ..., ...}}, or the
        path of a YAML or JSON file of one job (docs/cli.md). `name` stands for
        the one in it; without any the coordinator draws one. With `dry_run`
        the coordinator checks it, and does nothing.

        Raises InvalidArgument, whose violations name every wrong field;
        AlreadyExists; ResourceExhausted for a quota.
        """
        job = read_job(source)
        request = new("CreateJobRequest", request_id=_request_id(),
                      validate_only=dry_run)
        typed = name or job.name
        job.ClearField("name")
        request.job.CopyFrom(job)
        request.parent = f"namespaces/{self._namespace}"
        if typed:
            full = self._job_name(typed)
            space = full.split("/")[1]
            if (self._channel.connection.namespace_given and
                    space != self._namespace):
                raise InvalidArgument(
                    f"the job's name says namespace {space}, the client's "
                    f"is {self._namespace}")
            request.parent = f"namespaces/{space}"
            request.job_id = full.rpartition("/")[2]
        return self._job("CreateJob", request)

    def get_job(self, name: str) -> Job:
        """Raises NotFound."""
        return self._job("GetJob", new("GetJobRequest",
                                       name=self._job_name(name)))

    def list_jobs(self, *, filter: str = "", order_by: str = "",
                  limit: int = 0, all_namespaces: bool = False
                  ) -> typing.List[Job]:
        """The jobs of the namespace, the newest first; at most `limit` of
        them (0: all). `filter` as 'state = RUNNING AND labels.team =
        "vision"', `order_by` as "name" or "create_time desc" (docs/api.md)."""
        space = "-" if all_namespaces else self._namespace
        request = new("ListJobsRequest", parent=f"namespaces/{space}",
                      filter=filter, order_by=order_by)
        return self._list("JobService", "ListJobs", request, "jobs", Job,
                          limit)

    def update_job(self, name: str,
                   changes: typing.Mapping[str, typing.Any], *,
                   etag: str = "", dry_run: bool = False) -> Job:
        """Changes fields, on a running job at once where that is possible:

            client.update_job("mnist", {"spec.learning_rate": 0.01,
                                        "spec.workers.max": 6,
                                        "labels.team": "vision",
                                        "labels.old": None})

        None takes a field, or an entry of a map, away. With an `etag` only if
        that is still the job's. Raises NotFound, Aborted (another etag),
        InvalidArgument, FailedPrecondition (it has ended).
        """
        request, map_changes = read_update(changes)
        if not changes:
            raise InvalidArgument("nothing is to be changed: name a field")
        request.job.name = self._job_name(name)
        request.job.etag = etag
        request.request_id = _request_id()
        request.validate_only = dry_run
        if map_changes:
            self._change_maps(request.job, map_changes)
        return self._job("UpdateJob", request)

    def switch_paradigm(self, name: str, paradigm: str, *, reason: str = "",
                        etag: str = "", dry_run: bool = False) -> Job:
        """Another paradigm ("bsp", "ssp:s=3", "cgp", ...) takes over, on a
        running job at once. `reason` is for the record."""
        request = self._change("SwitchParadigmRequest", name, etag, dry_run)
        request.paradigm = paradigm
        request.reason = reason
        return self._job("SwitchParadigm", request)

    def pause_job(self, name: str, *, etag: str = "",
                  dry_run: bool = False) -> Job:
        """Saves the job exactly and gives its workers back. It is PAUSING,
        then PAUSED: wait_for_job() waits for that."""
        return self._job("PauseJob", self._change("PauseJobRequest", name,
                                                  etag, dry_run))

    def resume_job(self, name: str, *, etag: str = "",
                   dry_run: bool = False) -> Job:
        """A paused job goes on from its last checkpoint.

        One that is PAUSING trains on with what its servers hold.
        """
        return self._job("ResumeJob", self._change("ResumeJobRequest", name,
                                                   etag, dry_run))

    def cancel_job(self, name: str, *, etag: str = "",
                   dry_run: bool = False) -> Job:
        """Ends the job; nothing is saved that was not."""
        return self._job("CancelJob", self._change("CancelJobRequest", name,
                                                   etag, dry_run))

    def restore_job(self, name: str, checkpoint: str = "", *, etag: str = "",
                    dry_run: bool = False) -> Job:
        """A job that is paused or has ended goes on from one of its
        checkpoints; default: the newest that is ready and has not diverged."""
        request = self._change("RestoreJobRequest", name, etag, dry_run)
        if checkpoint:
            request.checkpoint = self._checkpoint_name(request.name,
                                                       checkpoint)
        return self._job("RestoreJob", request)

    def delete_job(self, name: str, *, etag: str = "",
                   dry_run: bool = False) -> None:
        """Forgets a job that has ended, its history and its checkpoints.
        Raises FailedPrecondition if it has not ended: cancel it first."""
        self._delete("DeleteJob", new(
            "DeleteJobRequest", name=self._job_name(name), etag=etag,
            validate_only=dry_run))

    # Its course.

    def watch_job(self, name: str, *,
                  timeout: typing.Optional[Duration] = None
                  ) -> typing.Iterator[JobUpdate]:
        """The job as it is now, then what happens to it, until it has ended;
        through broken connections it resumes where it was.

        Raises NotFound (also when the job is deleted), DeadlineExceeded once
        `timeout` has passed (None: as long as it takes), Unavailable when the
        coordinator was away for a whole request timeout.
        """
        return self._watch(self._job_name(name), self._deadline(timeout))

    def wait_for_job(self, name: str,
                     states: typing.Union[str, typing.Iterable[str]] =
                     "SUCCEEDED", *,
                     timeout: typing.Optional[Duration] = None) -> Job:
        """Waits until the job is in one of the states ("PAUSED", "RUNNING",
        ...), and gives it as it is then.

        Raises JobEndedOtherwise, with the job's reason, if it ends in another
        state; DeadlineExceeded, with its present state, once `timeout` has
        passed (None: as long as it takes).
        """
        wanted = {states} if isinstance(states, str) else set(states)
        known = {value.name for value in _job_states() if value.number}
        if not wanted or wanted - known:
            raise InvalidArgument(
                f"states {sorted(wanted)}: there are "
                + ", ".join(sorted(known)))
        full = self._job_name(name)
        deadline = self._deadline(timeout)
        last = None
        try:
            for update in self._watch(full, deadline):
                if update.job is None:
                    continue
                last = update.job
                if last.state in wanted:
                    return last
        except DeadlineExceeded:
            # Those before it may have used the time up.
            last = self.get_job(full)
            if last.state in wanted:
                return last
            if not last.ended:
                raise DeadlineExceeded(f"job/{last.id}: not in time, it is "
                                       f"{last.state}") from None
        last = last or self.get_job(full)
        if last.state in wanted:
            return last
        raise JobEndedOtherwise(
            f"job/{last.id} has ended as {last.state}" +
            (f": {last.state_reason}" if last.state_reason else ""))

    def accuracy_curve(self, name: str) -> typing.List[AccuracyPoint]:
        """The evaluations of the job so far, the oldest first."""
        request = new("ListAccuracyPointsRequest", parent=self._job_name(name))
        return self._list("JobService", "ListAccuracyPoints", request,
                          "accuracy_points", AccuracyPoint)

    def workers_table(self, name: str) -> typing.List[WorkerProgress]:
        """A row for each worker of the job's present run; empty before it
        has one."""
        progress = self.get_job(name).progress
        return list(progress.workers) if progress is not None else []

    def list_decisions(self, name: str) -> typing.List[Decision]:
        """What was decided about the job, and why, newest last."""
        request = new("ListDecisionsRequest", parent=self._job_name(name))
        return self._list("JobService", "ListDecisions", request, "decisions",
                          Decision)

    def get_job_report(self, name: str) -> typing.Dict[str, typing.Any]:
        """Everything that was measured on the job's runs so far: an element of "runs" of what `paceline local -o json` prints. Raises
        FailedPrecondition if it has not run yet."""
        report = self._channel.call("JobService", "GetJobReport", new(
            "GetJobReportRequest", name=self._job_name(name)))
        return json.loads(report.json)

    # Checkpoints. One is named "CHECKPOINT" beside its job, or in full.

    def create_checkpoint(self, job: str, *, name: str = "",
                          directory: str = "", wait: bool = True,
                          timeout: typing.Optional[Duration] = None,
                          dry_run: bool = False) -> Checkpoint:
        """Saves a job that runs, and waits until that is done (`wait`): first
        for another checkpoint of it that is being written, if there is one.

        `name` is drawn if left out; `directory` is an absolute path that
        coordinator and servers share, or s3://BUCKET/PREFIX, by default where
        the cluster keeps its checkpoints. Raises AlreadyExists, FailedPrecondition (the job does
        not run, or another one is being written and `wait` is false),
        DeadlineExceeded once `timeout` has passed, Unknown if it could not be
        written.
        """
        deadline = self._deadline(timeout)
        request = new("CreateCheckpointRequest", parent=self._job_name(job),
                      checkpoint_id=name, directory=directory,
                      request_id=_request_id(), validate_only=dry_run)

        def look_again_later(subject: str) -> None:
            if deadline is not None and self._channel.now() >= deadline:
                raise DeadlineExceeded(f"{subject} is WRITING: not in time")
            self._channel.pause(_LOOK_AGAIN)

        while True:
            try:
                made = to_resource(self._channel.call(
                    "JobService", "CreateCheckpoint", request), Checkpoint)
                break
            except FailedPrecondition as error:
                if not wait or error.reason != "CHECKPOINT_BEING_WRITTEN":
                    raise
                look_again_later(f"another checkpoint of {job}")
        while wait and not dry_run and made.state == "WRITING":
            look_again_later(f"checkpoint {made.name}")
            made = self._get_checkpoint(made.name)
        if made.state == "FAILED":
            raise Unknown(f"checkpoint {made.name} could not be written: "
                          f"{made.state_reason}")
        return made

    def get_checkpoint(self, job: str, checkpoint: str) -> Checkpoint:
        """Raises NotFound."""
        return self._get_checkpoint(
            self._checkpoint_name(self._job_name(job), checkpoint))

    def list_checkpoints(self, job: str) -> typing.List[Checkpoint]:
        """Of one job, newest first."""
        request = new("ListCheckpointsRequest", parent=self._job_name(job))
        return self._list("JobService", "ListCheckpoints", request,
                          "checkpoints", Checkpoint)

    def delete_checkpoint(self, job: str, checkpoint: str, *,
                          dry_run: bool = False) -> None:
        """Deletes it and its files. Raises NotFound, FailedPrecondition if a
        paused job would go on from it."""
        self._delete("DeleteCheckpoint", new(
            "DeleteCheckpointRequest", validate_only=dry_run,
            name=self._checkpoint_name(self._job_name(job), checkpoint)))

    # The cluster.

    def list_workers(self) -> typing.List[Worker]:
        """Workers and evaluators that are connected, by name."""
        return self._list("ClusterService", "ListWorkers",
                          new("ListWorkersRequest"), "workers", Worker)

    def _job(self, method: str, request: typing.Any) -> Job:
        return to_resource(self._channel.call("JobService", method, request),
                           Job)

    def _get_checkpoint(self, full: str) -> Checkpoint:
        return to_resource(self._channel.call(
            "JobService", "GetCheckpoint",
            new("GetCheckpointRequest", name=full)), Checkpoint)

    def _change(self, kind: str, name: str, etag: str,
                dry_run: bool) -> typing.Any:
        return new(kind, name=self._job_name(name), etag=etag,
                   request_id=_request_id(), validate_only=dry_run)

    def _change_maps(self, job: typing.Any,
                     changes: typing.Iterable[MapChange]) -> None:
        present = self._channel.call("JobService", "GetJob",
                                     new("GetJobRequest", name=job.name))
        job.labels.update(present.labels)
        job.annotations.update(present.annotations)
        for change in changes:
            entries = getattr(job, change.map)
            if change.value is None:
                entries.pop(change.key, None)
            else:
                entries[change.key] = change.value
        # What somebody else adds meanwhile must not get lost.
        job.etag = job.etag or present.etag

    def _delete(self, method: str, request: typing.Any) -> None:
        try:
            self._channel.call("JobService", method, request)
        except NotFound as error:
            # An earlier try may have done it.
            if request.validate_only or error.tries == 1:
                raise

    def _list(self, service: str, method: str, request: typing.Any,
              field: str, kind: typing.Type[T],
              limit: int = 0) -> typing.List[T]:
        found: typing.List[T] = []
        while True:
            left = limit - len(found) if limit > 0 else _PAGE
            request.page_size = min(left, _PAGE)
            page = self._channel.call(service, method, request)
            found += [to_resource(item, kind) for item in getattr(page, field)]
            if limit > 0 and len(found) >= limit:
                return found[:limit]
            if not page.next_page_token:
                return found
            # One that never ends must not fill this machine's memory.
            if page.next_page_token == request.page_token:
                raise Internal("the coordinator gave one page token twice: "
                               "its list has no end")
            request.page_token = page.next_page_token

    def _watch(self, full: str, deadline: typing.Optional[float]
               ) -> typing.Iterator[JobUpdate]:
        request = new("WatchJobRequest", name=full)
        outage = _Outage(self._channel, deadline)
        while True:
            dialled = self._channel.dialled()
            stream = self._channel.watch(dialled, request, deadline)
            try:
                for event in stream:
                    request.resume_token = event.resume_token
                    outage.over()
                    kind = event.WhichOneof("event")
                    # A newer coordinator sends what this package does not
                    # know.
                    if kind in EVENTS:
                        yield JobUpdate(kind, **{kind: to_resource(
                            getattr(event, kind), EVENTS[kind])})
                return
            except grpc.RpcError as error:
                outage.judge(dialled, error, request)
            finally:
                stream.cancel()

    def _deadline(self, timeout: typing.Optional[Duration]
                  ) -> typing.Optional[float]:
        if timeout is None:
            return None
        try:
            seconds = parse_duration("timeout", timeout)
        except ValueError as error:
            raise InvalidArgument(str(error)) from None
        return self._channel.now() + max(0.0, seconds)

    def _job_name(self, typed: str) -> str:
        parts = typed.split("/")
        if all(parts):
            if len(parts) == 1:
                return f"namespaces/{self._namespace}/jobs/{typed}"
            if len(parts) == 4 and parts[::2] == ["namespaces", "jobs"]:
                return typed
        raise InvalidArgument(f'"{typed}" names no job: give JOB or '
                              "namespaces/NAMESPACE/jobs/JOB")

    def _checkpoint_name(self, job: str, typed: str) -> str:
        parts = typed.split("/")
        if all(parts):
            if len(parts) == 1:
                return f"{job}/checkpoints/{typed}"
            if len(parts) == 6 and parts[::2] == ["namespaces", "jobs",
                                                  "checkpoints"]:
                return typed
        raise InvalidArgument(
            f'"{typed}" names no checkpoint: give CHECKPOINT or the full '
            "name, namespaces/NAMESPACE/jobs/JOB/checkpoints/CHECKPOINT")


class _Outage:
    """Whether a stream that broke is tried again."""

    def __init__(self, channel: CoordinatorChannel,
                 deadline: typing.Optional[float]) -> None:
        self._channel = channel
        self._deadline = deadline
        self.over()

    def over(self) -> None:
        self._began: typing.Optional[float] = None
        self._tries = 0

    def judge(self, dialled: Dialled, error: typing.Any,
              request: typing.Any) -> None:
        """Waits and returns if it is; raises what it ended with if not."""
        channel = self._channel
        explained = channel.explain(dialled, error)
        if isinstance(explained, DeadlineExceeded):
            if self._deadline is not None and channel.now() >= self._deadline:
                raise DeadlineExceeded("the time to wait has passed") from None
            channel.reconnect(dialled)
            return
        # A coordinator that has restarted may not know the token: from the
        # present state on, then.
        if isinstance(explained, InvalidArgument) and request.resume_token:
            request.ClearField("resume_token")
            return
        if not isinstance(explained, Unavailable):
            raise explained from None
        self._wait(dialled, explained, request)

    def _wait(self, dialled: Dialled, explained: ApiError,
              request: typing.Any) -> None:
        channel = self._channel
        if self._began is None:
            self._began = channel.now()
        self._tries += 1
        pause = retry_pause(self._tries)
        timeout = channel.connection.request_timeout
        # Who has seen something had the right credentials, and waits.
        if self._tries == 1 and not request.resume_token:
            channel.check_credentials(dialled, explained, timeout)
        if channel.now() + pause >= self._began + timeout:
            raise explained from None
        if (self._deadline is not None and
                channel.now() + pause >= self._deadline):
            raise explained from None
        channel.pause(pause)
        channel.reconnect(dialled)


def _job_states() -> typing.Any:
    return new("Job").DESCRIPTOR.enum_types_by_name["State"].values


def _request_id() -> str:
    """The same request twice makes one change."""
    return str(uuid.uuid4())
