#ifndef PACELINE_COMMON_METRICS_SCRAPER_H_
#define PACELINE_COMMON_METRICS_SCRAPER_H_

#include <prometheus/collectable.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "common/work_queue.h"

namespace paceline {

// Collects what is measured and writes Prometheus' text of it, on a thread of
// its own, one at a time: those who ask while one is being written share the
// next. However many ask, it is the work of one thread. Thread-safe.
class Scraper {
 public:
  struct Text {
    std::string bytes;
    bool gzipped = false;
  };
  using Done = absl::AnyInvocable<void(Text) &&>;

  explicit Scraper(
      std::vector<std::shared_ptr<prometheus::Collectable>> sources);
  // Waits until all who asked have been answered.
  ~Scraper() = default;

  // Calls `done` soon, on the scraper's thread, with what is measured after
  // this call.
  void Ask(bool gzip, Done done);

 private:
  struct Asked {
    bool gzip;
    Done done;
  };

  void Write();

  const std::vector<std::shared_ptr<prometheus::Collectable>> sources_;
  absl::Mutex mu_;  // Comes before that of the queue.
  std::vector<Asked> asked_ ABSL_GUARDED_BY(mu_);
  WorkQueue queue_;  // Last: its thread uses the above.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_METRICS_SCRAPER_H_
