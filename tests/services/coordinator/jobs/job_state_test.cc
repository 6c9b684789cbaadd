#include "services/coordinator/jobs/job_state.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "services/coordinator/jobs/job_quota.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using State = v1::Job::State;

// Every pair of state and event; "-" is "cannot happen", "=" is "stays".
constexpr absl::string_view kTable = R"(
               PENDING   STARTING   RUNNING    PAUSING    PAUSED    CANCELLING SUCCEEDED FAILED  CANCELLED SAVING
pause          PAUSED    PAUSING    PAUSING    -          -         -          -         -       -         -
resume         -         -          -          RUNNING    PENDING   -          -         -       -         -
cancel         CANCELLED CANCELLING CANCELLING CANCELLING CANCELLED -          -         -       -         CANCELLING
restore        -         -          -          -          PENDING   -          PENDING   PENDING PENDING   -
delete         -         -          -          -          -         -          =         =       =         -
switch         =         =          =          -          =         -          -         -       -         -
update         =         =          =          -          =         -          -         -       -         -
checkpoint     -         -          =          =          -         -          -         -       -         =
assign         STARTING  -          -          -          -         -          -         -       -         -
interrupt      -         PENDING    PENDING    PAUSED     -         CANCELLED  -         -       -         PENDING
start          -         RUNNING    =          =          -         =          -         -       -         -
finish         -         -          SUCCEEDED  SUCCEEDED  -         CANCELLED  -         -       -         SUCCEEDED
fail           -         FAILED     FAILED     FAILED     -         CANCELLED  -         -       -         FAILED
fail_to_save   -         -          SAVING     =          -         =          -         -       -         =
be_saved       -         -          =          =          -         =          -         -       -         RUNNING
be_left_unsaved -         -          PAUSED     PAUSED     -         CANCELLED  -         -       -         PAUSED
come_back      =         PENDING    PAUSED     PAUSED     =         CANCELLED  =         =       =         PAUSED
)";

std::vector<std::string> Words(absl::string_view line) {
  return absl::StrSplit(line, ' ', absl::SkipWhitespace());
}

State StateNamed(const std::string& name) {
  State state = v1::Job::STATE_UNSPECIFIED;
  EXPECT_TRUE(v1::Job::State_Parse(name, &state)) << name;
  return state;
}

std::vector<JobEvent> AllJobEvents() {
  std::vector<JobEvent> events;
  for (uint8_t i = 0; i <= static_cast<uint8_t>(JobEvent::kRestarted); ++i) {
    events.push_back(static_cast<JobEvent>(i));
  }
  return events;
}

TEST(JobStateTest, EveryPairIsAsTheTableSays) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(kTable, '\n', absl::SkipWhitespace());
  const std::vector<std::string> states = Words(lines[0]);
  ASSERT_EQ(states.size(), v1::Job::State_ARRAYSIZE - 1);
  ASSERT_EQ(lines.size() - 1, AllJobEvents().size());
  for (size_t row = 0; row < AllJobEvents().size(); ++row) {
    const JobEvent event = AllJobEvents()[row];
    const std::vector<std::string> wanted = Words(lines[row + 1]);
    std::string name(JobEventName(event));
    std::replace(name.begin(), name.end(), ' ', '_');
    ASSERT_EQ(wanted[0], name);
    ASSERT_EQ(wanted.size(), states.size() + 1) << name;
    for (size_t i = 0; i < states.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(name, " of ", states[i]));
      const auto next = NextState(StateNamed(states[i]), event, "jobs/j");
      const std::string& want = wanted[i + 1];
      if (want == "-") {
        EXPECT_TRUE(absl::IsFailedPrecondition(next.status()));
        EXPECT_EQ(ReasonOf(next.status()), "WRONG_STATE");
        EXPECT_THAT(std::string(next.status().message()),
                    HasSubstr(absl::StrCat("is ", states[i])));
        continue;
      }
      ASSERT_TRUE(next.ok()) << next.status();
      EXPECT_EQ(*next, StateNamed(want == "=" ? states[i] : want));
    }
  }
}

TEST(JobStateTest, NothingHappensToAJobWithoutAState) {
  for (const JobEvent event : AllJobEvents()) {
    for (const int number : {0, 17, -1}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(
          NextState(static_cast<State>(number), event, "j").status()));
    }
  }
}

TEST(JobStateTest, TheErrorSaysWhatIsPossible) {
  EXPECT_EQ(NextState(v1::Job::RUNNING, JobEvent::kResume, "jobs/j")
                .status()
                .message(),
            "jobs/j: cannot resume a job that is RUNNING, only one that is "
            "PAUSED or PAUSING; now possible: pause, cancel, switch, update, "
            "checkpoint");
  EXPECT_EQ(NextState(v1::Job::CANCELLING, JobEvent::kDelete, "jobs/j")
                .status()
                .message(),
            "jobs/j: cannot delete a job that is CANCELLING, only one that is "
            "SUCCEEDED or FAILED or CANCELLED; wait until that is over");
}

// From any state, some way leads to an end.
TEST(JobStateTest, EveryJobCanEnd) {
  for (int number = 1; number < v1::Job::State_ARRAYSIZE; ++number) {
    std::set<State> reached = {static_cast<State>(number)};
    for (size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const State state : std::set<State>(reached)) {
        for (const JobEvent event : AllJobEvents()) {
          const auto next = NextState(state, event, "j");
          if (next.ok()) reached.insert(*next);
        }
      }
    }
    EXPECT_TRUE(reached.contains(v1::Job::CANCELLED)) << number;
    EXPECT_TRUE(reached.contains(v1::Job::SUCCEEDED) ||
                number == v1::Job::CANCELLING || HasEnded(State(number)))
        << number;
  }
}

TEST(JobStateTest, StatesHaveNames) {
  EXPECT_EQ(StateName(v1::Job::PAUSING), "PAUSING");
  EXPECT_EQ(StateName(static_cast<State>(17)), "17");
}

v1::Job JobOf(const std::string& id, v1::Job::State state,
              int64_t parameters = 0, uint32_t min = 1) {
  v1::Job job;
  job.set_name("namespaces/n/jobs/" + id);
  job.set_state(state);
  job.mutable_spec()->mutable_workers()->set_min(min);
  job.mutable_progress()->set_parameters(parameters);
  return job;
}

v1::Quota QuotaOf(uint32_t jobs, uint32_t workers, uint64_t bytes) {
  v1::Quota quota;
  quota.set_jobs(jobs);
  quota.set_workers(workers);
  quota.set_parameter_bytes(bytes);
  return quota;
}

struct QuotaCase {
  std::string name;
  v1::Quota quota;
  std::vector<v1::Job> others;
  v1::Job job;
  std::string says;  // Empty: it may.
};

TEST(JobQuotaTest, Cases) {
  const v1::Job pending = JobOf("new", v1::Job::PENDING);
  const std::vector<v1::Job> mixed = {
      JobOf("a", v1::Job::RUNNING, 1000), JobOf("b", v1::Job::PAUSED, 500),
      JobOf("c", v1::Job::SUCCEEDED, 9000), JobOf("d", v1::Job::CANCELLED)};
  for (const QuotaCase& c : std::vector<QuotaCase>{
           {"no limits", QuotaOf(0, 0, 0), mixed, pending, ""},
           {"room for one more", QuotaOf(3, 0, 0), mixed, pending, ""},
           {"no room", QuotaOf(2, 0, 0), mixed, pending,
            "2 jobs have not ended and 2 may be"},
           {"itself is not counted twice", QuotaOf(2, 0, 0), mixed, mixed[0],
            ""},
           {"restored, no room", QuotaOf(2, 0, 0), mixed, mixed[2],
            "2 jobs have not ended"},
           {"workers that fit", QuotaOf(0, 4, 0), mixed,
            JobOf("new", v1::Job::PENDING, 0, 4), ""},
           {"too many workers", QuotaOf(0, 4, 0), mixed,
            JobOf("new", v1::Job::PENDING, 0, 5),
            "the job needs 5 workers and 4 may be had"},
           {"bytes left", QuotaOf(0, 0, 6004), mixed, pending, ""},
           {"no bytes left", QuotaOf(0, 0, 6000), mixed, pending,
            "take 6000 of 6000 bytes"},
       }) {
    SCOPED_TRACE(c.name);
    std::vector<const v1::Job*> jobs;
    for (const v1::Job& other : c.others) jobs.push_back(&other);
    const absl::Status status = CheckJobQuota(c.quota, jobs, c.job);
    EXPECT_EQ(status.ok(), c.says.empty()) << status;
    if (c.says.empty()) continue;
    EXPECT_TRUE(absl::IsResourceExhausted(status));
    EXPECT_EQ(ReasonOf(status), "QUOTA_EXCEEDED");
    EXPECT_THAT(std::string(status.message()), HasSubstr("namespace:n: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says));
  }
}

TEST(ParameterQuotaTest, CountsTheOthersAndTheJob) {
  const v1::Job other = JobOf("a", v1::Job::RUNNING, 1000);
  const v1::Job job = JobOf("b", v1::Job::STARTING);
  const v1::Quota quota = QuotaOf(0, 0, 8000);
  EXPECT_TRUE(CheckParameterQuota(quota, {&other, &job}, job, 1000).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      CheckParameterQuota(quota, {&other, &job}, job, 1001)));
  EXPECT_TRUE(
      CheckParameterQuota(QuotaOf(1, 1, 0), {&other}, job, 1 << 30).ok());
}

TEST(ParameterQuotaTest, SaysWhetherWaitingHelps) {
  const v1::Job other = JobOf("a", v1::Job::RUNNING, 1000);
  const v1::Job job = JobOf("b", v1::Job::STARTING);
  const v1::Quota quota = QuotaOf(0, 0, 8000);
  EXPECT_EQ(CheckParameterQuota(quota, {&other, &job}, job, 1001).message(),
            "namespace:n: the job's parameters take 4004 bytes and those of "
            "other jobs 4000 of 8000; wait for one to end or cancel one");
  EXPECT_EQ(CheckParameterQuota(quota, {&other, &job}, job, 2001).message(),
            "namespace:n: the job's parameters take 8004 bytes and 8000 may be "
            "had; choose a smaller model");
}

TEST(WorkerQuotaTest, IsOfOneJob) {
  const v1::Quota quota = QuotaOf(0, 4, 0);
  EXPECT_TRUE(CheckWorkerQuota(quota, JobOf("a", v1::Job::PAUSED, 0, 4)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      CheckWorkerQuota(quota, JobOf("a", v1::Job::PAUSED, 0, 5))));
  EXPECT_TRUE(
      CheckWorkerQuota(QuotaOf(1, 0, 1), JobOf("a", v1::Job::PAUSED)).ok());
}

}  // namespace

}  // namespace paceline
