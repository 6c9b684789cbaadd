#include "services/coordinator/jobs/job_state.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_details.h"
#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using State = v1::Job::State;

// Every pair of state and event; "-" is "cannot happen", "=" is "stays".
constexpr absl::string_view kTable = R"(
               PENDING   STARTING   RUNNING    PAUSING    PAUSED    CANCELLING SUCCEEDED FAILED  CANCELLED
pause          PAUSED    PAUSING    PAUSING    -          -         -          -         -       -
resume         -         -          -          -          PENDING   -          -         -       -
cancel         CANCELLED CANCELLING CANCELLING CANCELLING CANCELLED -          -         -       -
restore        -         -          -          -          PENDING   -          PENDING   PENDING PENDING
delete         -         -          -          -          -         -          =         =       =
switch         =         =          =          -          =         -          -         -       -
update         =         =          =          -          =         -          -         -       -
checkpoint     -         -          =          -          -         -          -         -       -
assign         STARTING  -          -          -          -         -          -         -       -
interrupt      -         PENDING    PENDING    PAUSED     -         CANCELLED  -         -       -
start          -         RUNNING    -          =          -         =          -         -       -
finish         -         -          SUCCEEDED  SUCCEEDED  -         CANCELLED  -         -       -
fail           -         FAILED     FAILED     FAILED     -         CANCELLED  -         -       -
come_back      =         PAUSED     PAUSED     PAUSED     =         CANCELLED  =         =       =
)";

std::vector<std::string> Words(absl::string_view line) {
  return absl::StrSplit(line, ' ', absl::SkipWhitespace());
}

State StateNamed(const std::string& name) {
  State state = v1::Job::STATE_UNSPECIFIED;
  EXPECT_TRUE(v1::Job::State_Parse(name, &state)) << name;
  return state;
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
            "PAUSED; now possible: pause, cancel, switch, update, checkpoint");
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

}  // namespace
}  // namespace paceline
