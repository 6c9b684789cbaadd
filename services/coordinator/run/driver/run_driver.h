#ifndef PACELINE_SERVICES_COORDINATOR_RUN_DRIVER_RUN_DRIVER_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_DRIVER_RUN_DRIVER_H_

#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "services/coordinator/run/course/course.h"

namespace paceline {

// What is to be done about the outputs of a course, without the driver's lock.
struct Outbox {
  using Deed = absl::AnyInvocable<void()>;

  // Commands to members and servers: done in order, one at a time, by whoever
  // stepped. They must only queue, never wait.
  std::vector<Deed> sends;
  // Everything else: logs, news, files, questions to others. Done in order by
  // the driver's own thread, and may wait.
  std::vector<Deed> tells;
};

// Knows how the outputs of a course are performed.
class OutputPerformer {
 public:
  virtual ~OutputPerformer() = default;

  // Both are called with the driver's lock held, in the order of the outputs:
  // they remember what they need, and put what is to be done into `outbox`. A
  // log line, a write to a stream, a file, or a lock of somebody else has no
  // place in them.
  virtual void Take(absl::Time now, const RunOutput& output,
                    Outbox& outbox) = 0;
  // All outputs of one step are taken.
  virtual void StepTaken() {}
};

// Drives one run: it turns the concurrency of streams and callers into one
// sequence of steps of a course, supplies the time, steps when a deadline of
// the course is reached, and has the outputs performed. No rule is in it.
//
// One mutex guards all that belongs to a run; docs/locks.md has its place among
// the others. Thread-safe.
class RunDriver {
 public:
  // `clock` and `performer` outlive the driver.
  RunDriver(const Clock* clock, const CourseOptions& options,
            const RunSettings& settings, OutputPerformer* performer);
  // Everything in the outbox is done before it returns. Not to be called by
  // a deed.
  ~RunDriver();
  RunDriver(const RunDriver&) = delete;
  RunDriver& operator=(const RunDriver&) = delete;

  // RunCourse::Step(). If that is OK, `accepted` is called with the lock held,
  // before the outputs are taken; it is bound to what OutputPerformer is.
  absl::Status Step(
      const RunInput& input, absl::FunctionRef<void(Outbox&)> accepted =
                                 [](Outbox&) {}) ABSL_LOCKS_EXCLUDED(mu_);

  // Adds to what the driver's thread has to do.
  void Tell(Outbox::Deed deed) ABSL_LOCKS_EXCLUDED(mu_);

  // Waits until all sends so far are done. For deeds among the tells.
  void AwaitSent() ABSL_LOCKS_EXCLUDED(mu_);

  absl::Mutex& mu() const ABSL_LOCK_RETURNED(mu_) { return mu_; }
  const RunCourse& course() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return course_;
  }

 private:
  // Does the sends, unless somebody does them already, without the lock.
  void Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunTimer();
  void RunTells();

  const Clock* const clock_;
  OutputPerformer* const performer_;

  mutable absl::Mutex mu_;
  RunCourse course_ ABSL_GUARDED_BY(mu_);
  std::vector<RunOutput> outputs_ ABSL_GUARDED_BY(mu_);
  Outbox outbox_ ABSL_GUARDED_BY(mu_);
  bool sending_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time timer_due_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  absl::CondVar timer_moved_;
  absl::CondVar something_to_tell_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  // Last: they use everything above.
  std::thread timer_;
  std::thread teller_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_DRIVER_RUN_DRIVER_H_
