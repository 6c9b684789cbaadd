#include "services/cli/worker_paces.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/worker/pace/pace_spec.h"

namespace paceline {
namespace {

// "none" is none.
absl::StatusOr<std::vector<std::string>> NonePerWorker(
    absl::string_view flag, const std::vector<std::string>& values,
    int64_t workers) {
  PACELINE_ASSIGN_OR_RETURN(std::vector<std::string> each,
                            PerWorker(flag, values, "none", workers));
  std::replace(each.begin(), each.end(), std::string("none"), std::string());
  return each;
}

absl::StatusOr<std::vector<std::string>> SplitSlowdown(const std::string& text,
                                                       size_t workers) {
  if (text.empty()) return std::vector<std::string>(workers);
  std::vector<std::string> factors = absl::StrSplit(text, ',');
  if (factors.size() != workers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--slowdown ", text, ": lists ", factors.size(), " factors for ",
        workers, " workers; give one per worker"));
  }
  for (const std::string& factor : factors) {
    // Empty would pass for "not given".
    PACELINE_RETURN_IF_ERROR(Annotate(ParseSlowdown(factor).status(),
                                      absl::StrCat("--slowdown ", text)));
  }
  return factors;
}

// One flag after the other, so that the message can name it.
absl::Status CheckPace(const WorkerPace& pace) {
  PACELINE_RETURN_IF_ERROR(
      Annotate(ParsePace({.step_time = pace.step_time}).status(),
               absl::StrCat("--step-time ", pace.step_time)));
  PACELINE_RETURN_IF_ERROR(Annotate(ParsePace({.delay = pace.delay}).status(),
                                    absl::StrCat("--delay ", pace.delay)));
  PACELINE_RETURN_IF_ERROR(Annotate(ParsePace({.pause = pace.pause}).status(),
                                    absl::StrCat("--pause ", pace.pause)));
  // Which factors are possible depends on whether there is a step time.
  return Annotate(
      ParsePace({.slowdown = pace.slowdown, .step_time = pace.step_time})
          .status(),
      absl::StrCat("--slowdown ", pace.slowdown));
}

}  // namespace

absl::StatusOr<std::vector<WorkerPace>> ParseWorkerPaces(
    const LocalFlags& flags) {
  const size_t count = static_cast<size_t>(flags.workers);
  PACELINE_ASSIGN_OR_RETURN(const std::vector<std::string> slowdown,
                            SplitSlowdown(flags.slowdown, count));
  PACELINE_ASSIGN_OR_RETURN(
      const std::vector<std::string> delay,
      NonePerWorker("--delay", flags.delay, flags.workers));
  PACELINE_ASSIGN_OR_RETURN(
      const std::vector<std::string> pause,
      NonePerWorker("--pause", flags.pause, flags.workers));
  std::vector<WorkerPace> paces;
  for (size_t i = 0; i < count; ++i) {
    paces.push_back({.slowdown = slowdown[i],
                     .step_time = flags.step_time,
                     .delay = delay[i],
                     .pause = pause[i]});
    PACELINE_RETURN_IF_ERROR(CheckPace(paces.back()));
  }
  return paces;
}

}  // namespace paceline
