#ifndef PACELINE_SERVICES_PARAMETER_SERVER_DISK_LANES_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_DISK_LANES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "services/parameter_server/disk_worker.h"

namespace paceline {

// A DiskWorker for each folder that checkpoints lie below, made when it is
// first needed: so a disk or a mount that hangs holds nobody up who saves
// elsewhere. Thread-safe.
class DiskLanes {
 public:
  // At most `max_waiting` tasks wait in each.
  explicit DiskLanes(size_t max_waiting) : max_waiting_(max_waiting) {}

  // The errors of DiskWorker::Put(), and RESOURCE_EXHAUSTED if too many other
  // folders are in use.
  absl::Status Put(const std::string& folder, uint64_t run,
                   DiskWorker::Task task);
  // As those of DiskWorker, in all folders.
  void Cancel(uint64_t run);
  void CancelAll();
  bool idle() const;

 private:
  const size_t max_waiting_;
  mutable absl::Mutex mu_;
  std::map<std::string, std::unique_ptr<DiskWorker>> lanes_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_DISK_LANES_H_
