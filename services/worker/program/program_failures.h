#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_FAILURES_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_FAILURES_H_

#include <cctype>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace paceline {

// Whether a program that has failed would fail in the same way again. A
// coordinator gives a worker whose program has failed to the job again, as long
// as its lives bring something about; but a script with a mistake in its loop
// may do so in each life, and is to fail clearly. The agent alone hears its
// words. Pure. Thread-compatible.
class ProgramFailures {
 public:
  static constexpr int kInARow = 3;

  // What the coordinator is told of the failure `why` of a life in this run:
  // that, or FAILED_PRECONDITION, which ends the worker's part in the job, if
  // so many lives have said the same, numbers aside. UNAVAILABLE, which is a
  // death without a word of the program's, is not counted.
  absl::Status Ended(uint64_t run, const absl::Status& why) {
    if (absl::IsUnavailable(why)) return why;
    std::string words = WithoutNumbers(why.message());
    in_a_row_ = run == run_ && words == words_ ? in_a_row_ + 1 : 1;
    run_ = run;
    words_ = std::move(words);
    if (in_a_row_ < kInARow) return why;
    return absl::FailedPreconditionError(
        absl::StrCat(why.message(), "; it has failed in this way ", in_a_row_,
                     " times in a row"));
  }

 private:
  // Hexadecimal digits too: messages have addresses.
  static std::string WithoutNumbers(absl::string_view text) {
    std::string rest;
    for (const char c : text) {
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) rest += c;
    }
    return rest;
  }

  uint64_t run_ = 0;
  std::string words_;
  int in_a_row_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_FAILURES_H_
