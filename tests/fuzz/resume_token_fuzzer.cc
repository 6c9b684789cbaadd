// Where a watcher says that it stands.

#include "services/coordinator/watch/job_events.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {FormatResumeToken({"job-1:abc", 2}), FormatResumeToken({"x", 0}),
          FormatResumeToken({"job-1:abc", ~uint64_t{0}}),
          FormatResumeToken({"-", 0, {7, 8}}), "OjE="};
}

void FuzzOne(absl::string_view input) {
  const auto place = ParseResumeToken(input);
  ExpectInvalidArgument(place.status());
  if (place.ok()) CHECK(FormatResumeToken(*place) == input);

  JobEvents events({}, 0xabc);
  for (int event = 1; event <= 3; ++event) {
    v1::WatchJobResponse decision;
    decision.mutable_decision()->set_sequence(event);
    events.Append(decision);
  }
  const auto history = [](const HistoryPlace& after, const HistoryPlace& until,
                          int64_t limit) {
    CHECK(after.decisions >= 0 && after.points >= 0 && limit > 0);
    CHECK(until == HistoryPlace());
    return std::vector<v1::WatchJobResponse>(2);
  };
  // The input as a token, and within one that this log could have given.
  const std::string mine =
      FormatResumeToken({"abc", input.empty() ? 0u : input[0] % 5u});
  for (const absl::string_view token : {input, absl::string_view(mine)}) {
    auto cursor = events.Place(token, history);
    ExpectInvalidArgument(cursor.status());
    if (!cursor.ok()) continue;
    int readings = 0;
    while (events.Next(*cursor).has_value()) CHECK(++readings <= 6);
  }
}

}  // namespace paceline
