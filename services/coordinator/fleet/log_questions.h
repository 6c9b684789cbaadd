#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_LOG_QUESTIONS_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_LOG_QUESTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "google/protobuf/repeated_field.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/types.pb.h"
#include "services/coordinator/fleet/gone_members.h"

namespace paceline {

// Who waits for which member to tell its log (fleet.proto). Every question is
// answered exactly once, by the member or by what keeps it from answering. No
// lock is held then; the answer must not call back. Thread-safe.
class LogQuestions {
 public:
  using Lines = google::protobuf::RepeatedPtrField<v1::LogLine>;
  using Answered = std::function<void(absl::StatusOr<Lines>)>;

  struct Options {
    absl::Duration patience = absl::Seconds(5);
    size_t open_max = 100;
  };

  LogQuestions() : LogQuestions(Options()) {}
  explicit LogQuestions(const Options& options);
  // As Close().
  ~LogQuestions();
  LogQuestions(const LogQuestions&) = delete;
  LogQuestions& operator=(const LogQuestions&) = delete;

  // The number of a question to the member, of the name "workers/w0", that is
  // to be sent to it now. None: it is answered already. Answers are
  //   DEADLINE_EXCEEDED   MEMBER_SILENT: the member did not say a word in time.
  //   UNAVAILABLE         MEMBER_ABSENT: it went meanwhile; or the coordinator
  //                       is stopping.
  //   RESOURCE_EXHAUSTED  TOO_MANY_QUESTIONS
  std::optional<uint64_t> Ask(uint64_t member, const std::string& name,
                              Answered answered);

  // The member's answer, of which no more is passed on than a member may tell:
  // 2,000 lines, with times that are some. One that nobody waits for, or that
  // another member has been asked for, is dropped.
  void Told(uint64_t member, v1::LogTold told);

  // The member, of the name "workers/w0", is gone: why; OK: it left.
  void Gone(uint64_t member, const std::string& name, const absl::Status& why);

  // What is known of members that are gone.
  const GoneMembers& gone() const { return gone_; }

  // Answers everything that is open, and whatever is asked later.
  void Close();

 private:
  struct Question {
    uint64_t member;
    std::string name;
    absl::Time deadline;
    Answered answered;
  };

  // Until Close(): answers what has waited too long.
  void KeepDeadlines();

  const Options options_;
  GoneMembers gone_;

  absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  // By number; so the first one has the earliest deadline.
  std::map<uint64_t, Question> open_ ABSL_GUARDED_BY(mu_);

  std::thread deadlines_;  // Last: it uses the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_LOG_QUESTIONS_H_
