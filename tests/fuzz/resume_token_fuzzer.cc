// Where a watcher says that it stands.

#include "services/coordinator/watch/event_log.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {FormatResumeToken({"job-1:abc", 2}), FormatResumeToken({"x", 0}),
          FormatResumeToken({"job-1:abc", ~uint64_t{0}}), "OjE="};
}

void FuzzOne(absl::string_view input) {
  const auto place = ParseResumeToken(input);
  ExpectInvalidArgument(place.status());
  if (place.ok()) CHECK(FormatResumeToken(*place) == input);

  EventLog<int> log("job-1:abc", 0);
  for (int event = 1; event <= 3; ++event) log.Append(event);
  // The input as a token, and within one that this log could have given.
  const std::string mine =
      FormatResumeToken({"job-1:abc", input.empty() ? 0u : input[0] % 5u});
  for (const absl::string_view token : {input, absl::string_view(mine)}) {
    auto cursor = log.Open(token);
    ExpectInvalidArgument(cursor.status());
    if (!cursor.ok()) continue;
    int readings = 0;
    while (log.Next(*cursor).has_value()) CHECK(++readings <= 4);
  }
}

}  // namespace paceline
