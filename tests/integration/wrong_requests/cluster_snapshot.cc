#include "tests/integration/wrong_requests/cluster_snapshot.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/log/log.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "tests/integration/generic_call.h"

namespace paceline {
namespace {

constexpr size_t kLinesShown = 6;

template <class Response, class Request>
Response Get(const PreparedCluster& cluster, const std::string& method,
             const Request& request) {
  const auto bytes =
      CallGenerically(cluster.channel(), absl::StrCat("/paceline.v1.", method),
                      request.SerializeAsString());
  if (!bytes.ok()) {
    LogError(absl::StrCat(method, ": ", bytes.status().ToString()));
  }
  Response response;
  CHECK(bytes.ok() && response.ParseFromString(*bytes));
  return response;
}

void Append(const std::string& what, const google::protobuf::Message& message,
            std::string& text) {
  absl::StrAppend(&text, what, " ", message.ShortDebugString(), "\n");
}

// `Request` lists what belongs to a job.
template <class Response, class Request>
void AppendOfJob(const PreparedCluster& cluster, const std::string& what,
                 const std::string& job, std::string& text) {
  Request request;
  request.set_parent(job);
  Append(absl::StrCat(job, " ", what),
         Get<Response>(cluster, absl::StrCat("JobService/List", what), request),
         text);
}

void AppendJobs(const PreparedCluster& cluster, std::string& text) {
  v1::ListJobsRequest request;
  request.set_parent("namespaces/-");
  request.set_order_by("name");
  const auto response =
      Get<v1::ListJobsResponse>(cluster, "JobService/ListJobs", request);
  for (v1::Job job : response.jobs()) {
    job.clear_progress();
    const std::string& name = job.name();
    Append("job", job, text);
    AppendOfJob<v1::ListDecisionsResponse, v1::ListDecisionsRequest>(
        cluster, "Decisions", name, text);
    AppendOfJob<v1::ListAccuracyPointsResponse, v1::ListAccuracyPointsRequest>(
        cluster, "AccuracyPoints", name, text);
    AppendOfJob<v1::ListCheckpointsResponse, v1::ListCheckpointsRequest>(
        cluster, "Checkpoints", name, text);
  }
}

void AppendMembers(const PreparedCluster& cluster, std::string& text) {
  const auto workers = Get<v1::ListWorkersResponse>(
      cluster, "ClusterService/ListWorkers", v1::ListWorkersRequest());
  for (v1::Worker worker : workers.workers()) {
    worker.clear_samples_per_second();
    worker.clear_straggler_score();
    worker.clear_straggler();
    Append("worker", worker, text);
  }
  Append("servers",
         Get<v1::ListServersResponse>(cluster, "ClusterService/ListServers",
                                      v1::ListServersRequest()),
         text);
  Append("cluster",
         Get<v1::Cluster>(cluster, "ClusterService/GetCluster",
                          v1::GetClusterRequest()),
         text);
}

// The first column of every row.
std::vector<std::string> Rows(sqlite3* database, const std::string& query) {
  sqlite3_stmt* statement = nullptr;
  CHECK(sqlite3_prepare_v2(database, query.c_str(), -1, &statement, nullptr) ==
        SQLITE_OK);
  std::vector<std::string> rows;
  int result;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
    rows.emplace_back(
        reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)));
  }
  CHECK(result == SQLITE_DONE);
  sqlite3_finalize(statement);
  return rows;
}

// Beside the coordinator, which has it open: SQLite allows readers.
void AppendStore(const std::string& path, std::string& text) {
  sqlite3* database = nullptr;
  CHECK(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE,
                        nullptr) == SQLITE_OK);
  sqlite3_busy_timeout(database, 30'000);
  const auto tables = Rows(database,
                           "SELECT name FROM sqlite_master WHERE type = 'table'"
                           " AND name NOT LIKE 'sqlite_%'"
                           " AND name != 'audit_records' ORDER BY name");
  CHECK(tables.size() >= 6);
  for (const std::string& table : tables) {
    const auto columns = Rows(
        database,
        absl::StrCat("SELECT 'quote(' || name || ')' FROM pragma_table_info('",
                     table, "')"));
    auto rows = Rows(database,
                     absl::StrCat("SELECT ", absl::StrJoin(columns, "||','||"),
                                  " FROM ", table));
    std::sort(rows.begin(), rows.end());
    for (const std::string& row : rows) {
      absl::StrAppend(&text, "row of ", table, " ", row, "\n");
    }
  }
  sqlite3_close(database);
}

void AppendFiles(const std::string& folder, std::string& text) {
  std::set<std::string> lines;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    lines.insert(absl::StrCat("file ", entry.path().string(), " ",
                              entry.file_size(), "\n"));
  }
  absl::StrAppend(&text, absl::StrJoin(lines, ""));
}

}  // namespace

std::string SnapshotOf(const PreparedCluster& cluster) {
  std::string text;
  AppendJobs(cluster, text);  // Flushes the journal, too.
  AppendMembers(cluster, text);
  AppendStore(cluster.processes().StorePath(), text);
  AppendFiles(cluster.processes().CheckpointPath(), text);
  return text;
}

std::string SnapshotDifference(const std::string& before,
                               const std::string& after) {
  const std::multiset<std::string> was = absl::StrSplit(before, '\n');
  const std::multiset<std::string> is = absl::StrSplit(after, '\n');
  std::vector<std::string> lines;
  std::set_difference(was.begin(), was.end(), is.begin(), is.end(),
                      std::back_inserter(lines));
  for (std::string& line : lines) line = absl::StrCat("- ", line);
  std::vector<std::string> added;
  std::set_difference(is.begin(), is.end(), was.begin(), was.end(),
                      std::back_inserter(added));
  for (const std::string& line : added) {
    lines.push_back(absl::StrCat("+ ", line));
  }
  if (lines.size() > kLinesShown) lines.resize(kLinesShown);
  return absl::StrJoin(lines, "\n");
}

}  // namespace paceline
