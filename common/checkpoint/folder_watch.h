#ifndef PACELINE_COMMON_CHECKPOINT_FOLDER_WATCH_H_
#define PACELINE_COMMON_CHECKPOINT_FOLDER_WATCH_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace paceline {

// What was found of a folder.
struct FolderState {
  std::string path;
  std::string id;  // Of shared_folder.h; empty: not known.
  absl::Status status;
  // It was looked at, or that takes too long; else `status` says nothing yet.
  bool known = false;
  bool been_usable = false;  // At some time since the process began.
  absl::Time looked_at = absl::InfinitePast();
};

// Looks at a folder again and again, on a thread of its own, so that nobody
// else waits for a disk or a mount that hangs. Thread-safe.
class FolderWatch {
 public:
  // Fills `id` and `status`. It may hang.
  using Probe = std::function<void(FolderState& state)>;

  // Begins at once. The probe and `clock` outlive the watch, the probe itself
  // if it hangs also the process' last breath: it must own what it uses.
  FolderWatch(std::string path, Probe probe, const Clock* clock);
  // Waits for a probe for a moment at most; one that hangs is left behind.
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // The last that was found: DEADLINE_EXCEEDED while a probe hangs, and before
  // the first time UNAVAILABLE, for who does not ask whether it is known. Does
  // not block.
  FolderState Get() const;

 private:
  struct Shared {
    absl::Mutex mu;  // A leaf.
    absl::CondVar moved;
    bool stopping ABSL_GUARDED_BY(mu) = false;
    bool ended ABSL_GUARDED_BY(mu) = false;
    FolderState state ABSL_GUARDED_BY(mu);
    absl::Time probing_since ABSL_GUARDED_BY(mu) = absl::InfiniteFuture();
  };

  static void Run(const std::shared_ptr<Shared>& shared, const Probe& probe,
                  const Clock* clock);

  const Clock* const clock_;
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_FOLDER_WATCH_H_
