#ifndef PACELINE_SERVICES_COORDINATOR_RUN_DRIVER_RUN_DRIVER_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_DRIVER_RUN_DRIVER_H_

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "services/coordinator/run/course/course.h"

namespace paceline {

// Drives one run: it turns the concurrency of streams and callers into one
// sequence of steps of a course, supplies the time, steps when a deadline of
// the course is reached, and does what is to be done about the outputs. No rule
// is in it; the class that derives from it knows what the outputs mean.
//
// One mutex guards all that belongs to a run, what derived classes add to it
// included; docs/locks.md has its place among the others. Thread-safe.
class RunDriver {
 public:
  // To be done without the lock.
  using Deed = absl::AnyInvocable<void()>;
  // Puts records where they last. True: they do. False: `safe` is called, once
  // they do, by any thread. Called without the lock, by one at a time.
  using WriteAhead = std::function<bool(absl::string_view records, Deed safe)>;

  RunDriver(const RunDriver&) = delete;
  RunDriver& operator=(const RunDriver&) = delete;

 protected:
  // `clock` outlives the driver. The course begins at `began`, by the run's
  // clock.
  RunDriver(const Clock* clock, absl::Time began, const CourseOptions& options,
            const RunSettings& settings);
  // REQUIRES: the threads do not run.
  virtual ~RunDriver();

  // From then on until StopThreads() deadlines are looked at, and deeds done.
  // Derived classes call both, at the end of their constructor and at the
  // beginning of their destructor: the threads call Perform().
  void StartThreads();
  // First does all that is to be done. Not to be called by a deed.
  void StopThreads() ABSL_LOCKS_EXCLUDED(mu_);

  // RunCourse::Step(), and again for each deadline that is reached by then. If
  // the first is OK, `accepted` is called with the lock held before the outputs
  // are performed; it is bound to what Perform() is.
  // `recorded` is called before it, whatever comes of it, with the time of the
  // step.
  absl::Status Step(
      const RunInput& input, absl::FunctionRef<void()> accepted = [] {},
      absl::FunctionRef<void(absl::Time)> recorded = [](absl::Time) {})
      ABSL_LOCKS_EXCLUDED(mu_);

  // A deadline of the course is reached: a step with TimePassed.
  virtual void OnDeadline() ABSL_LOCKS_EXCLUDED(mu_) {
    Step(TimePassed{}).IgnoreError();
  }

  // A deadline that is seen so late tells that this process did not run
  // meanwhile: it was stopped, or the machine was. What members have said since
  // lies unread, so that time passes for nobody. REQUIRES: the threads do not
  // run.
  void SetFrozenAfter(absl::Duration late) { frozen_after_ = late; }

  // The time by the run's clock: that of the machine, without what passed while
  // no life of the coordinator had the run, or none ran.
  absl::Time Now() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  // Until Go() steps are those of another life: at the times that this says,
  // and what they give out was sent and told, or never will be.
  void ReplayAt(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);
  // From now on the run's clock goes on.
  void Go() ABSL_LOCKS_EXCLUDED(mu_);
  bool replays() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return replayed_.has_value();
  }

  // What is recorded is written before anything that is sent later.
  void Record(absl::string_view record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    records_.append(record.data(), record.size());
  }
  // REQUIRES: the threads do not run.
  void SetWriteAhead(WriteAhead write) { write_ahead_ = std::move(write); }

  // All that one step of the course has given out, in order. Remembers what it
  // needs, and hands what is to be done to Send() and Tell(). A log line, a
  // write to a stream, a file, or a lock of somebody else has no place in it.
  virtual void Perform(absl::Time now, absl::Span<const RunOutput> outputs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  // For commands to members and servers: deeds done in order, one at a time, by
  // whoever stepped. They must only queue, never wait.
  void Send(Deed deed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!replays()) sends_.push_back(std::move(deed));
  }
  // For everything else: logs, news, files, questions to others. Deeds done in
  // order by a thread of the driver's own; they may wait.
  void Tell(Deed deed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same, after all that is to be sent so far.
  void TellOnceSent(Deed deed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A log or a disk hangs, and so much waits behind it that whatever can be
  // left out is not to be told.
  bool backlogged() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const Clock* const clock_;

  mutable absl::Mutex mu_;
  RunCourse course_ ABSL_GUARDED_BY(mu_);

 private:
  bool has_sends() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return !sends_.empty() || !records_.empty();
  }
  void PerformOutputs(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Does the sends, unless somebody does them already, without the lock.
  void DoSends() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Writes what is recorded, and puts aside what is to be sent after it. False:
  // OnRecordsSafe() goes on with that.
  bool WriteRecords() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnRecordsSafe() ABSL_LOCKS_EXCLUDED(mu_);
  // What was put aside.
  void DoHeldSends() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunTimer() ABSL_LOCKS_EXCLUDED(mu_);
  void RunTells() ABSL_LOCKS_EXCLUDED(mu_);

  // Now(), at the beginning of a step.
  absl::Time TakeTime() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  WriteAhead write_ahead_;
  absl::Duration frozen_after_ = absl::InfiniteDuration();
  std::optional<absl::Time> replayed_ ABSL_GUARDED_BY(mu_);
  absl::Duration behind_ ABSL_GUARDED_BY(mu_);  // The machine's clock.
  std::string records_ ABSL_GUARDED_BY(mu_);
  std::vector<RunOutput> outputs_ ABSL_GUARDED_BY(mu_);
  std::vector<Deed> sends_ ABSL_GUARDED_BY(mu_);
  // Of those, what waits for records that are not safe yet.
  std::vector<Deed> held_sends_ ABSL_GUARDED_BY(mu_);
  bool sending_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<Deed> tells_ ABSL_GUARDED_BY(mu_);
  absl::Time timer_due_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  absl::CondVar timer_moved_;
  absl::CondVar something_to_tell_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool all_told_ ABSL_GUARDED_BY(mu_) = false;

  std::thread timer_;
  std::thread teller_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_DRIVER_RUN_DRIVER_H_
