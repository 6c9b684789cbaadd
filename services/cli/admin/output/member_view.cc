#include "services/cli/admin/output/member_view.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/cli/admin/output/table.h"
#include "services/cli/admin/resource_name.h"

namespace paceline {
namespace {

// "team/mnist" of a job's full name.
std::string ShortJob(absl::string_view job) {
  return job.empty() ? "" : absl::StrCat(NamespaceOf(job), "/", LastPart(job));
}

// 0 stands for what is not known.
std::string Known(double value, int digits) {
  return value > 0 ? absl::StrFormat("%.*f", digits, value) : "";
}

std::string Memory(const v1::Worker& worker) {
  return worker.memory_bytes() > 0 ? BytesText(worker.memory_bytes()) : "";
}

std::string Role(const v1::Worker& worker) {
  return worker.evaluator() ? "evaluator" : "worker";
}

std::string CodeText(int code) {
  if (code < 0 || code > static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return absl::StrCat(code);
  }
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

}  // namespace

std::string StateText(const v1::Worker& worker) {
  const std::string& name = v1::Worker::State_Name(worker.state());
  const bool leaves =
      worker.draining() && worker.state() != v1::Worker::DRAINED;
  return absl::StrCat(
      name.empty() ? absl::StrCat(static_cast<int>(worker.state())) : name,
      leaves ? ",DRAINING" : "");
}

Table WorkerTable(const std::vector<const v1::Worker*>& workers, bool wide,
                  absl::Time now) {
  Table table;
  table.headers = {"NAME", "POOL",      "GPU",   "STATE",
                   "JOB",  "SAMPLES/S", "SCORE", "AGE"};
  if (wide) {
    for (const char* header :
         {"ROLE", "DEVICE", "MEMORY", "STRAGGLER", "VERSION"}) {
      table.headers.emplace_back(header);
    }
  }
  for (const v1::Worker* worker : workers) {
    std::vector<std::string> row = {std::string(LastPart(worker->name())),
                                    worker->pool(),
                                    worker->gpu_model(),
                                    StateText(*worker),
                                    ShortJob(worker->job()),
                                    Known(worker->samples_per_second(), 0),
                                    Known(worker->straggler_score(), 2),
                                    ShortAge(worker->connect_time(), now)};
    if (wide) {
      row.push_back(Role(*worker));
      row.push_back(worker->device());
      row.push_back(Memory(*worker));
      row.emplace_back(worker->straggler() ? "yes" : "no");
      row.push_back(worker->version());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string DescribeWorker(const v1::Worker& worker, absl::Time now) {
  FieldLines lines;
  lines.Add("Name", LastPart(worker.name()));
  lines.Add("Role", Role(worker));
  lines.Add("Pool", worker.pool());
  lines.AddMap("Labels", worker.labels());
  lines.Add("State", StateText(worker));
  lines.Add("Job", worker.job());
  lines.Add("Device", worker.device());
  lines.Add("GPU", worker.gpu_model());
  lines.Add("Capability", worker.compute_capability());
  lines.Add("UUID", worker.gpu_uuid());
  lines.Add("Memory", Memory(worker));
  lines.Add("Speed", worker.samples_per_second() > 0
                         ? absl::StrCat(Known(worker.samples_per_second(), 0),
                                        " samples/s")
                         : "");
  lines.Add("Score", Known(worker.straggler_score(), 2));
  lines.Add("Straggler", worker.straggler() ? "yes" : "no");
  lines.AddTime("Connected", worker.connect_time(), now);
  lines.Add("Version", worker.version());
  return lines.text();
}

Table ServerTable(const std::vector<const v1::Server*>& servers, bool wide,
                  absl::Time now) {
  Table table;
  table.headers = {"NAME", "ADDRESS", "JOBS", "PARAMETERS", "AGE"};
  if (wide) {
    table.headers.emplace_back("HOSTS");
    table.headers.emplace_back("VERSION");
  }
  for (const v1::Server* server : servers) {
    std::vector<std::string> row = {
        std::string(LastPart(server->name())), server->address(),
        absl::StrCat(server->jobs_size()), BytesText(server->parameter_bytes()),
        ShortAge(server->connect_time(), now)};
    if (wide) {
      std::vector<std::string> jobs;
      jobs.reserve(static_cast<size_t>(server->jobs_size()));
      for (const std::string& job : server->jobs()) {
        jobs.push_back(ShortJob(job));
      }
      row.push_back(absl::StrJoin(jobs, ","));
      row.push_back(server->version());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table AuditTable(const std::vector<const v1::AuditRecord*>& records,
                 bool wide) {
  Table table;
  table.headers = {"TIME", "IDENTITY", "ROLE", "METHOD", "RESOURCE", "CODE"};
  if (wide) {
    for (const char* header : {"PEER", "SEQUENCE", "MESSAGE"}) {
      table.headers.emplace_back(header);
    }
  }
  for (const v1::AuditRecord* record : records) {
    const bool has_role = record->role() != v1::ROLE_UNSPECIFIED;
    std::vector<std::string> row = {
        TimeText(record->time()),
        record->identity(),
        has_role ? v1::Role_Name(record->role()) : "",
        std::string(LastPart(record->method())),
        record->resource(),
        CodeText(record->code())};
    if (wide) {
      row.push_back(record->peer());
      row.push_back(absl::StrCat(record->sequence()));
      row.push_back(record->message());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace paceline
