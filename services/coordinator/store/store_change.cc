#include "services/coordinator/store/store_change.h"

#include <string>
#include <utility>

#include "absl/time/time.h"

namespace paceline {
namespace {

using OfJob = v1::StoreChange::OfJob;
using Request = v1::StoreChange::Request;

OfJob& AddOfJob(const std::string& uid, v1::StoreChange& change) {
  OfJob& of_job = *change.add_of_jobs();
  of_job.set_uid(uid);
  return of_job;
}

Request ToWire(const AnsweredRequest& request) {
  Request wire;
  wire.set_identity(request.identity);
  wire.set_request_id(request.request_id);
  wire.set_digest(request.digest);
  wire.set_resource(request.resource);
  wire.set_time_ns(absl::ToUnixNanos(request.time));
  return wire;
}

AnsweredRequest FromWire(const Request& wire) {
  return {.identity = wire.identity(),
          .request_id = wire.request_id(),
          .digest = wire.digest(),
          .resource = wire.resource(),
          .time = absl::FromUnixNanos(wire.time_ns())};
}

void Add(const OfJob& of_job, StoreBatch& batch) {
  const std::string& uid = of_job.uid();
  switch (of_job.what_case()) {
    case OfJob::kCheckpoint:
      batch.checkpoints.push_back({uid, of_job.checkpoint()});
      return;
    case OfJob::kReport:
      batch.reports.push_back({uid, of_job.report()});
      return;
    case OfJob::kDecision:
      batch.decisions.push_back({uid, of_job.decision()});
      return;
    case OfJob::kAccuracyPoint:
      batch.accuracy_points.push_back({uid, of_job.accuracy_point()});
      return;
    case OfJob::WHAT_NOT_SET:
      return;
  }
}

}  // namespace

v1::StoreChange ToChange(const StoreBatch& batch) {
  v1::StoreChange change;
  *change.mutable_deleted_jobs() = {batch.deleted_jobs.begin(),
                                    batch.deleted_jobs.end()};
  *change.mutable_jobs() = {batch.jobs.begin(), batch.jobs.end()};
  *change.mutable_deleted_checkpoints() = {batch.deleted_checkpoints.begin(),
                                           batch.deleted_checkpoints.end()};
  for (const auto& [uid, checkpoint] : batch.checkpoints) {
    *AddOfJob(uid, change).mutable_checkpoint() = checkpoint;
  }
  for (const auto& [uid, json] : batch.reports) {
    AddOfJob(uid, change).set_report(json);
  }
  for (const auto& [uid, decision] : batch.decisions) {
    *AddOfJob(uid, change).mutable_decision() = decision;
  }
  for (const auto& [uid, point] : batch.accuracy_points) {
    *AddOfJob(uid, change).mutable_accuracy_point() = point;
  }
  for (const auto& [identity, request_id] : batch.deleted_requests) {
    Request& request = *change.add_deleted_requests();
    request.set_identity(identity);
    request.set_request_id(request_id);
  }
  for (const AnsweredRequest& request : batch.requests) {
    *change.add_requests() = ToWire(request);
  }
  *change.mutable_audit_records() = {batch.audit_records.begin(),
                                     batch.audit_records.end()};
  return change;
}

StoreBatch FromChange(const v1::StoreChange& change) {
  StoreBatch batch;
  batch.deleted_jobs = {change.deleted_jobs().begin(),
                        change.deleted_jobs().end()};
  batch.jobs = {change.jobs().begin(), change.jobs().end()};
  batch.deleted_checkpoints = {change.deleted_checkpoints().begin(),
                               change.deleted_checkpoints().end()};
  for (const OfJob& of_job : change.of_jobs()) Add(of_job, batch);
  for (const Request& request : change.deleted_requests()) {
    batch.deleted_requests.push_back(
        {request.identity(), request.request_id()});
  }
  for (const Request& request : change.requests()) {
    batch.requests.push_back(FromWire(request));
  }
  batch.audit_records = {change.audit_records().begin(),
                         change.audit_records().end()};
  return batch;
}

}  // namespace paceline
