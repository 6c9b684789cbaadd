#include "services/cli/admin/output/member_view.h"

#include <algorithm>
#include <map>
#include <vector>

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

std::string Programs(const v1::Worker& worker) {
  return absl::StrJoin(worker.programs(), ",");
}

// Where nobody has any, the column is in the way.
bool AnyPrograms(const std::vector<const v1::Worker*>& workers) {
  return std::any_of(
      workers.begin(), workers.end(),
      [](const v1::Worker* worker) { return worker->programs_size() > 0; });
}

std::string CodeText(int code) {
  if (code < 0 || code > static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return absl::StrCat(code);
  }
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

}  // namespace

Table CoordinatorTable(const std::vector<const v1::Coordinator*>& coordinators,
                       bool wide) {
  using Coordinator = const v1::Coordinator&;
  return TableOf<v1::Coordinator>(
      coordinators,
      {{"NAME", [](Coordinator one) { return one.name(); }},
       {"ROLE",
        [](Coordinator one) { return v1::Coordinator::Role_Name(one.role()); }},
       {"READY", [](Coordinator one) { return one.ready() ? "yes" : "no"; }},
       {"BEHIND",
        [](Coordinator one) { return absl::StrCat(one.entries_behind()); }},
       {"TERM", [](Coordinator one) { return absl::StrCat(one.term()); }},
       {"ADDRESS", [](Coordinator one) { return one.address(); }},
       {"VERSION", [](Coordinator one) { return one.version(); }},
       {"TROUBLE", [](Coordinator one) { return one.trouble(); }, true}},
      wide);
}

std::string StateText(const v1::Worker& worker) {
  const bool leaves =
      worker.draining() && worker.state() != v1::Worker::DRAINED;
  return absl::StrCat(StateText(worker.state()), leaves ? ",DRAINING" : "");
}

Table WorkerTable(const std::vector<const v1::Worker*>& workers, bool wide,
                  absl::Time now) {
  using Worker = const v1::Worker&;
  return TableOf<v1::Worker>(
      workers,
      {{"NAME",
        [](Worker worker) { return std::string(LastPart(worker.name())); }},
       {"POOL", [](Worker worker) { return worker.pool(); }},
       {"GPU", [](Worker worker) { return worker.gpu_model(); }},
       {"STATE", [](Worker worker) { return StateText(worker); }},
       {"JOB", [](Worker worker) { return ShortJob(worker.job()); }},
       {"SAMPLES/S",
        [](Worker worker) { return Known(worker.samples_per_second(), 0); }},
       {"SCORE",
        [](Worker worker) { return Known(worker.straggler_score(), 2); }},
       {"AGE",
        [&](Worker worker) { return ShortAge(worker.connect_time(), now); }},
       {"ROLE", &Role, true},
       {"PROGRAMS", &Programs, !AnyPrograms(workers)},
       {"DEVICE", [](Worker worker) { return worker.device(); }, true},
       {"MEMORY", &Memory, true},
       {"STRAGGLER",
        [](Worker worker) { return worker.straggler() ? "yes" : "no"; }, true},
       {"VERSION", [](Worker worker) { return worker.version(); }, true}},
      wide);
}

std::string DescribeWorker(const v1::Worker& worker, absl::Time now) {
  FieldLines lines;
  lines.Add("Name", LastPart(worker.name()));
  lines.Add("Role", Role(worker));
  lines.Add("Programs", Programs(worker));
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

namespace {

const char* RoleText(v1::HostedShard::Role role) {
  return role == v1::HostedShard::PRIMARY  ? "primary"
         : role == v1::HostedShard::BACKUP ? "backup"
                                           : "filling";
}

// How many of each role; or, in full, which: "mnist/0 primary".
std::string ShardsText(const v1::Server& server, bool in_full) {
  std::map<v1::HostedShard::Role, int> roles;
  std::vector<std::string> all;
  for (const v1::HostedShard& shard : server.shards()) {
    ++roles[shard.role()];
    all.push_back(absl::StrCat(ShortJob(shard.job()), "/", shard.shard(), " ",
                               RoleText(shard.role())));
  }
  if (in_full) return absl::StrJoin(all, ", ");
  std::vector<std::string> counts;
  counts.reserve(roles.size() + 1);
  for (const auto& [role, count] : roles) {
    counts.push_back(absl::StrCat(count, " ", RoleText(role)));
  }
  if (server.draining()) counts.push_back("draining");
  return absl::StrJoin(counts, ", ");
}

}  // namespace

Table ServerTable(const std::vector<const v1::Server*>& servers, bool wide,
                  absl::Time now) {
  using Server = const v1::Server&;
  return TableOf<v1::Server>(
      servers,
      {{"NAME",
        [](Server server) { return std::string(LastPart(server.name())); }},
       {"ADDRESS", [](Server server) { return server.address(); }},
       {"JOBS", [](Server server) { return absl::StrCat(server.jobs_size()); }},
       {"PARAMETERS",
        [](Server server) { return BytesText(server.parameter_bytes()); }},
       {"AGE",
        [&](Server server) { return ShortAge(server.connect_time(), now); }},
       {"SHARDS", [](Server server) { return ShardsText(server, false); }},
       {"LAG",
        [](Server server) { return absl::StrCat(server.replica_lag()); }},
       {"HOSTS",
        [](Server server) {
          return absl::StrJoin(server.jobs(), ",",
                               [](std::string* out, const std::string& job) {
                                 absl::StrAppend(out, ShortJob(job));
                               });
        },
        true},
       {"HAS", [](Server server) { return ShardsText(server, true); }, true},
       {"DOMAIN", [](Server server) { return server.failure_domain(); }, true},
       {"VERSION", [](Server server) { return server.version(); }, true},
       {"FOLDER TROUBLE", [](Server server) { return server.folder_trouble(); },
        true}},
      wide);
}

Table AuditTable(const std::vector<const v1::AuditRecord*>& records,
                 bool wide) {
  using Record = const v1::AuditRecord&;
  return TableOf<v1::AuditRecord>(
      records,
      {{"TIME", [](Record record) { return TimeText(record.time()); }},
       {"IDENTITY", [](Record record) { return record.identity(); }},
       {"ROLE",
        [](Record record) {
          return record.role() != v1::ROLE_UNSPECIFIED
                     ? v1::Role_Name(record.role())
                     : "";
        }},
       {"METHOD",
        [](Record record) { return std::string(LastPart(record.method())); }},
       {"RESOURCE", [](Record record) { return record.resource(); }},
       {"CODE", [](Record record) { return CodeText(record.code()); }},
       {"PEER", [](Record record) { return record.peer(); }, true},
       {"SEQUENCE",
        [](Record record) { return absl::StrCat(record.sequence()); }, true},
       {"MESSAGE", [](Record record) { return record.message(); }, true}},
      wide);
}

}  // namespace paceline
