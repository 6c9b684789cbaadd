#ifndef PACELINE_SERVICES_WORKER_DEVICE_TURNS_H_
#define PACELINE_SERVICES_WORKER_DEVICE_TURNS_H_

#include <cstdint>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// One device, or one set of them, that several iterations of a process use in
// turn: whoever has asked first computes first. Thread-safe.
class DeviceTurns {
 public:
  // Waits for a turn. False if `over`, which is asked ten times a second, said
  // so before.
  bool Take(absl::FunctionRef<bool()> over);
  // REQUIRES: the caller has the turn.
  void Release();

 private:
  absl::Mutex mu_;
  bool taken_ ABSL_GUARDED_BY(mu_) = false;
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  std::set<int64_t> waiting_ ABSL_GUARDED_BY(mu_);  // The first is the next.
};

// A turn while it lasts; without `turns` there is nothing to wait for.
// Thread-compatible.
class DeviceTurn {
 public:
  explicit DeviceTurn(DeviceTurns* turns) : turns_(turns) {}
  ~DeviceTurn() { End(); }
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

  // Of DeviceTurns::Take(); true at once if it goes on.
  bool Begin(absl::FunctionRef<bool()> over);
  void End();

 private:
  DeviceTurns* const turns_;
  bool goes_on_ = false;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DEVICE_TURNS_H_
