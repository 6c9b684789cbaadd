#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_LEDGER_SINK_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_LEDGER_SINK_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/mailbox.h"
#include "services/coordinator/engine.h"

namespace paceline {

// Books everything that an engine does and hands the grants and fences on to
// the threads that play workers and servers. Checks as it goes that the
// versions and closings add up and that no grant is answered twice.
//
// Perform() takes no lock on purpose: the engine promises to call it with its
// own one held, and ThreadSanitizer sees whether it does.
class LedgerSink : public OutputSink {
 public:
  // Workers have the numbers 1 to `workers`.
  LedgerSink(uint32_t workers, const SyncOptions& options);

  void Perform(const Output& output) override;

  // Closed when the job has finished.
  Mailbox<Grant>& GrantsOf(WorkerId worker);
  Mailbox<WorkerId>& fences() { return fences_; }
  Mailbox<Evicted>& evictions() { return evictions_; }

  bool AwaitFinished(absl::Duration timeout) {
    return finished_.WaitForNotificationWithTimeout(timeout);
  }

  // The books, to be read when nothing more happens.
  int grants() const { return grants_; }
  int counted() const { return counted_; }
  int returned() const { return returned_; }
  int finishes() const { return finishes_; }
  int64_t samples() const { return samples_; }
  Version version() const { return version_; }
  // How often each sample of each epoch was counted.
  const std::vector<int>& uses() const { return uses_; }
  bool any_open() const { return !open_.empty(); }

 private:
  void Book(const Grant& grant);
  void Book(const CloseCommand& close);
  void Book(const FenceCommand& fence);
  void Book(const SnapshotCommand& snapshot);
  void Book(const Evicted& evicted);
  void Book(const PushCounted& counted);
  template <class Other>
  void Book(const Other&) {}  // Not booked.
  void Book(const Recorded& recorded);
  void Book(const Finished& finished);

  const uint32_t train_samples_;
  std::vector<Mailbox<Grant>> grants_of_;  // By worker.
  Mailbox<WorkerId> fences_;
  Mailbox<Evicted> evictions_;
  absl::Notification finished_;

  std::map<WorkerId, Grant> open_;  // Of members, and of the fenced.
  int grants_ = 0;
  int counted_ = 0;
  int returned_ = 0;
  int finishes_ = 0;
  int64_t samples_ = 0;
  Version version_ = 0;
  Closing closing_ = 0;
  std::vector<int> uses_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_LEDGER_SINK_H_
