// What a leader tells the coordinator that stands by, written down there.

#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "services/coordinator/standby/standby_store.h"
#include "services/coordinator/store/job_store.h"
#include "services/coordinator/store/store_change.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

const ScratchFolder& Folder() {
  static const ScratchFolder folder;
  return folder;
}

// The store of a leader with one job.
const std::string& LeadersStore() {
  static const std::string bytes = [] {
    const std::string path = Folder().Path("leader.db");
    {
      v1::Job job;
      job.set_uid("uid-a");
      job.set_name("namespaces/n/jobs/a");
      CHECK((*JobStore::Open(path))->Write({.jobs = {job}}).ok());
    }
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return bytes;
}

std::string Message(const char* text) {
  return FuzzText(MessageSeed<v1::LeaderMessage>(text));
}

std::string StoreMessage() {
  v1::LeaderMessage message;
  message.mutable_file()->set_first(true);
  message.mutable_file()->set_last(true);
  message.mutable_file()->set_piece(LeadersStore());
  return FuzzText(message.SerializeAsString());
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string filled =
      StoreMessage() +
      Message("file { job_uid: 'uid-a' first: true last: true piece: 'one' }");
  const std::string changes =
      Message("store { jobs { uid: 'uid-b' name: 'namespaces/n/jobs/b' } }") +
      Message(
          "store { of_jobs { uid: 'uid-b' decision { sequence: 1 } }"
          " of_jobs { uid: 'uid-b' accuracy_point { accuracy: 0.5 } }"
          " of_jobs { uid: 'uid-b' checkpoint { name: 'c' } }"
          " of_jobs { uid: 'uid-b' report: '{}' }"
          " requests { identity: 'i' request_id: 'r' time_ns: 7 }"
          " audit_records { message: 'm' } deleted_jobs: 'uid-a' }") +
      Message("journal { job_uid: 'uid-a' records: 'two' }") +
      Message("journal { job_uid: 'uid-a' begun: true }") +
      Message("journal { job_uid: 'uid-a' removed: true }");
  return {filled + Message("filled: true") + changes,
          filled + changes + Message("filled: true"),
          Message("journal { job_uid: '../../x' begun: true }"),
          Message("mark: true acknowledge: true")};
}

void FuzzOne(absl::string_view input) {
  static const bool quiet = (spdlog::set_level(spdlog::level::off), true);
  CHECK(quiet);
  const std::string home = Folder().Path("home");
  fs::remove_all(home);
  CHECK(fs::create_directory(home));
  uint64_t completed = 0;
  StandbyStore store(home + "/s.db", home + "/s.db.runs", {},
                     [&completed](uint64_t term) {
                       completed = term;
                       return absl::OkStatus();
                     });
  CHECK(store.Begin(7).ok());
  for (FuzzInput messages(input); !messages.empty();) {
    const auto message = ParseMessage<v1::LeaderMessage>(messages.Text());
    if (!message.has_value()) continue;
    if (message->has_store()) {
      // Nothing of a change is lost on its way.
      const v1::StoreChange change = ToChange(FromChange(message->store()));
      CHECK(BytesOf(ToChange(FromChange(change))) == BytesOf(change));
    }
    const absl::Status taken = store.Take(*message);
    ExpectCode(
        taken,
        {absl::StatusCode::kInvalidArgument, absl::StatusCode::kDataLoss,
         absl::StatusCode::kAlreadyExists,
         absl::StatusCode::kFailedPrecondition, absl::StatusCode::kUnavailable,
         absl::StatusCode::kInternal, absl::StatusCode::kNotFound});
    if (!taken.ok()) break;
  }
  CHECK(store.complete() == (completed == 7));
  // Nothing is written elsewhere.
  for (const auto& entry : fs::directory_iterator(Folder().path())) {
    const std::string name = entry.path().filename();
    CHECK(name == "home" || name.rfind("leader.db", 0) == 0);
  }
}

}  // namespace paceline
