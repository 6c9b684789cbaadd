#ifndef PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_STORE_H_
#define PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "protos/paceline/v1/standby.pb.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {

// A standby's copy of what the leader writes down: its store, and the journals
// of its runs. While it is filled it lies beside what was there before, which
// it replaces once it is complete; the first that was replaced stays, as
// FILE.replaced. Whoever opens the store
// then finds what a coordinator that was killed would have left.
// Thread-compatible.
class StandbyStore {
 public:
  // `path`: the store's file; the journals are in `journals`. `completed` is
  // called once everything of that term is there, before anybody is told; an
  // error of it is one of Take().
  StandbyStore(std::string path, std::string journals, StoreOptions options,
               std::function<absl::Status(uint64_t term)> completed);

  // A leader in that term, or the same one anew: everything comes again.
  absl::Status Begin(uint64_t term);
  // The next entry. What it says is written down when this returns. The errors
  // are those of files and of the store; then only Begin() makes sense.
  absl::Status Take(const v1::LeaderMessage& message);

  // It has everything.
  bool complete() const { return complete_; }

 private:
  absl::Status TakeFile(const v1::FilePiece& piece);
  absl::Status TakeJournal(const v1::JournalChange& change);
  absl::Status TakeStore(const v1::StoreChange& change);
  absl::Status PutInPlace();
  absl::Status PutAside();  // What is there now.

  std::string StorePath() const;  // Where it is now.
  std::string Journals() const;
  std::string JournalPath(const std::string& uid) const;
  // Where what comes is put until it is complete.
  std::string Incoming(const std::string& path) const;

  const std::string path_;
  const std::string journals_;
  const StoreOptions options_;
  const std::function<absl::Status(uint64_t term)> completed_;
  uint64_t term_ = 0;
  bool complete_ = false;
  std::unique_ptr<JobStore> store_;  // Once its file is here.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_STORE_H_
