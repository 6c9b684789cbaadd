#include "services/coordinator/fleet/job_trouble.h"

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paceline {
namespace {

// What another attempt would come to as well.
bool WouldFailAgain(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kPermissionDenied:
      return true;
    default:
      return false;
  }
}

}  // namespace

void JobTrouble::MakeUnfit(absl::string_view why) {
  unfit_ = true;
  why_ = std::string(CutUtf8(why, kWhyMax));
}

void JobTrouble::ProgramFailed(uint64_t run, int64_t done,
                               const absl::Status& why) {
  const int64_t before = run == run_ ? done_ : 0;
  in_a_row_ = done > before ? 1 : in_a_row_ + 1;
  run_ = run;
  done_ = done;
  why_ = std::string(CutUtf8(why.message(), kWhyMax));
  if (WouldFailAgain(why)) return MakeUnfit(why.message());
  if (in_a_row_ < kInARow) return;
  MakeUnfit(absl::StrCat("its program has failed ", in_a_row_,
                         " times in a row and done nothing in between; "
                         "the last time: ",
                         why_));
}

std::map<std::string, std::string> UnfitFor(
    const std::map<std::string, JobTrouble>& troubles) {
  std::map<std::string, std::string> unfit;
  for (const auto& [job, trouble] : troubles) {
    if (trouble.unfit()) unfit.emplace(job, trouble.why());
  }
  return unfit;
}

}  // namespace paceline
