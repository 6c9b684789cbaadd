#include "common/job/batched_paradigm.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr absl::string_view kBatchingKey = ",batching=";

}  // namespace

absl::StatusOr<BatchedParadigm> ParseBatchedParadigm(absl::string_view text) {
  BatchedParadigm of;
  const size_t behind = text.rfind(kBatchingKey);
  PACELINE_ASSIGN_OR_RETURN(of.paradigm, ParseParadigm(text.substr(0, behind)));
  if (behind == absl::string_view::npos) return of;
  const absl::string_view name = text.substr(behind + kBatchingKey.size());
  PACELINE_ASSIGN_OR_RETURN(of.batching,
                            Annotate(ParseBatching(name), "batching"));
  return of;
}

std::string FormatBatchedParadigm(const BatchedParadigm& of) {
  const std::string paradigm = FormatParadigm(of.paradigm);
  return of.batching == Batching::kEven
             ? paradigm
             : absl::StrCat(paradigm, kBatchingKey, "balanced");
}

}  // namespace paceline
