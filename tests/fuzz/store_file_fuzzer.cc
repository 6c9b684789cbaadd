// The coordinator's SQLite file, damaged in places: the input is a list of
// places and bytes, because few mutations of a whole file are a database still.

#include <fstream>
#include <iterator>

#include "services/coordinator/store/job_store.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

constexpr absl::string_view kName = "store.db";

// The files of a sound store.
struct Template {
  ScratchFolder folder;
  std::string bytes;

  Template() {
    const std::string path = folder.path() + "/sound.db";
    {
      const auto store = *JobStore::Open(path);
      v1::Job job;
      job.set_name("namespaces/a/jobs/j");
      job.set_uid("uid");
      v1::Decision decision;
      decision.set_sequence(1);
      decision.set_text(std::string(2000, 'x'));
      CHECK(store->Write({.jobs = {job}}).ok());
      CHECK(store->Write({.decisions = {{"uid", decision}}}).ok());
      CHECK(store->Write({.reports = {{"uid", "{}"}}}).ok());
    }  // Closing moves everything from the log into the file.
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    CHECK(!bytes.empty());
  }
};

std::string Damaged(std::string bytes, FuzzInput& fuzz) {
  if (fuzz.Byte() == 1) bytes.resize(fuzz.Number<uint16_t>() % bytes.size());
  while (!fuzz.empty() && !bytes.empty()) {
    const size_t at = fuzz.Number<uint32_t>() % bytes.size();
    const std::string patch(fuzz.Bytes(1 + fuzz.Byte() % 8));
    bytes.replace(at, patch.size(), patch, 0, bytes.size() - at);
  }
  return bytes;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {std::string(1, '\0'), std::string("\0\x12\0\0\0\1\2\2", 8),
          std::string("\0\x64\0\0\0\7\0\0\0\0\0\0\0\0", 14),
          std::string("\1\0\x20", 3)};
}

void FuzzOne(absl::string_view input) {
  static const Template sound;
  FuzzInput fuzz(input);
  sound.folder.Remove("store.db-wal");
  sound.folder.Remove("store.db-shm");
  sound.folder.Remove("store.db-journal");
  const std::string path =
      sound.folder.Write(kName, Damaged(sound.bytes, fuzz));
  const auto store = JobStore::Open(path);
  ExpectCode(store.status(), {absl::StatusCode::kDataLoss,
                              absl::StatusCode::kFailedPrecondition});
  if (!store.ok()) return;
  ExpectDataLoss((*store)->LoadJobs().status());
  ExpectDataLoss((*store)->ListDecisions("uid", 0, 10).status());
  ExpectDataLoss((*store)->ListCheckpoints("uid").status());
  ExpectDataLoss((*store)->GetReport("uid").status());
  ExpectDataLoss((*store)->ListAuditRecords(0, 10).status());
}

}  // namespace paceline
