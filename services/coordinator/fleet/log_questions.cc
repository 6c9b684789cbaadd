#include "services/coordinator/fleet/log_questions.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_details.h"

namespace paceline {
namespace {

absl::Status Stopping() {
  return absl::UnavailableError("the coordinator is stopping");
}

absl::Status Silent(const std::string& name, absl::Duration patience) {
  return WithReason(
      absl::DeadlineExceededError(absl::StrCat(
          name, " is connected and has not answered within ",
          absl::FormatDuration(patience),
          ": it is stopped, or its machine swaps. Ask again, or read its "
          "standard error where it runs")),
      "MEMBER_SILENT", {{"name", name}});
}

absl::Status WentAway(const std::string& name) {
  return WithReason(
      absl::UnavailableError(absl::StrCat(
          name, " went before it had answered. Ask again once it is back")),
      "MEMBER_ABSENT", {{"name", name}});
}

constexpr int kLinesMax = 2'000;

// Years 1 to 9999, which is what the JSON of a Timestamp can say.
bool IsTime(const google::protobuf::Timestamp& time) {
  return time.seconds() >= -62'135'596'800 &&
         time.seconds() <= 253'402'300'799 && time.nanos() >= 0 &&
         time.nanos() < 1'000'000'000;
}

void Mend(LogQuestions::Lines& lines) {
  if (lines.size() > kLinesMax) {
    lines.DeleteSubrange(0, lines.size() - kLinesMax);
  }
  for (v1::LogLine& line : lines) {
    if (!IsTime(line.time())) line.clear_time();
  }
}

}  // namespace

LogQuestions::LogQuestions(const Options& options)
    : options_(options), deadlines_([this] { KeepDeadlines(); }) {}

LogQuestions::~LogQuestions() {
  Close();
  deadlines_.join();
}

std::optional<uint64_t> LogQuestions::Ask(uint64_t member,
                                          const std::string& name,
                                          Answered answered) {
  absl::Status refused;
  {
    absl::MutexLock lock(&mu_);
    if (closed_) {
      refused = Stopping();
    } else if (open_.size() >= options_.open_max) {
      refused = WithReason(
          absl::ResourceExhaustedError(absl::StrCat(
              "too many questions wait for members to tell their logs: ",
              open_.size(), "; ask again later")),
          "TOO_MANY_QUESTIONS");
    } else {
      open_.emplace(++last_,
                    Question{member, name, absl::Now() + options_.patience,
                             std::move(answered)});
      return last_;
    }
  }
  answered(RetryLater(refused, absl::Seconds(1)));
  return std::nullopt;
}

void LogQuestions::Told(uint64_t member, v1::LogTold told) {
  Answered answered;
  {
    absl::MutexLock lock(&mu_);
    const auto it = open_.find(told.question());
    if (it == open_.end() || it->second.member != member) return;
    answered = std::move(it->second.answered);
    open_.erase(it);
  }
  Mend(*told.mutable_lines());
  answered(std::move(*told.mutable_lines()));
}

void LogQuestions::Gone(uint64_t member, const std::string& name,
                        const absl::Status& why) {
  gone_.Note(name, absl::Now(), why);
  std::vector<Question> lost;
  {
    absl::MutexLock lock(&mu_);
    for (auto it = open_.begin(); it != open_.end();) {
      if (it->second.member != member) {
        ++it;
        continue;
      }
      lost.push_back(std::move(it->second));
      it = open_.erase(it);
    }
  }
  for (const Question& question : lost) {
    question.answered(WentAway(question.name));
  }
}

void LogQuestions::Close() {
  std::map<uint64_t, Question> left;
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    left.swap(open_);
  }
  for (const auto& [number, question] : left) question.answered(Stopping());
}

void LogQuestions::KeepDeadlines() {
  const auto may_look = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return closed_ || !open_.empty();
  };
  while (true) {
    std::vector<Question> late;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&may_look));
      if (closed_) return;
      const absl::Duration left = open_.begin()->second.deadline - absl::Now();
      mu_.AwaitWithTimeout(absl::Condition(&closed_), left);
      const absl::Time now = absl::Now();
      while (!open_.empty() && open_.begin()->second.deadline <= now) {
        late.push_back(std::move(open_.begin()->second));
        open_.erase(open_.begin());
      }
    }
    for (const Question& question : late) {
      question.answered(Silent(question.name, options_.patience));
    }
  }
}

}  // namespace paceline
