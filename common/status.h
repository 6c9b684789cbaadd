#ifndef PACELINE_COMMON_STATUS_H_
#define PACELINE_COMMON_STATUS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

// Returns from the enclosing function with `expr`'s status unless it is OK.
#define PACELINE_RETURN_IF_ERROR(expr)                 \
  do {                                                 \
    absl::Status paceline_status = (expr);             \
    if (!paceline_status.ok()) return paceline_status; \
  } while (false)

#define PACELINE_STATUS_CONCAT_(a, b) a##b
#define PACELINE_STATUS_CONCAT(a, b) PACELINE_STATUS_CONCAT_(a, b)
#define PACELINE_ASSIGN_OR_RETURN_(value, target, expr) \
  auto value = (expr);                                  \
  if (!value.ok()) return std::move(value).status();    \
  target = *std::move(value)

// Assigns the value of `expr`, a StatusOr, to `target` (which may declare a
// variable), or returns its status from the enclosing function.
#define PACELINE_ASSIGN_OR_RETURN(target, expr)                              \
  PACELINE_ASSIGN_OR_RETURN_(PACELINE_STATUS_CONCAT(paceline_or_, __LINE__), \
                             target, expr)

namespace paceline {

// Says what was being done: "block 3: read checkpoint: file is truncated". The
// code stays as it was: callers decide by the code, people read the text.
inline absl::Status Annotate(const absl::Status& status,
                             absl::string_view doing) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(doing, ": ", status.message()));
}

// The same of what may be a value, which stays as it is.
template <class T>
absl::StatusOr<T> Annotate(absl::StatusOr<T> value, absl::string_view doing) {
  if (value.ok()) return value;
  return Annotate(value.status(), doing);
}

// "CODE: message", for logs: without the details, which only programs read.
inline std::string Summary(const absl::Status& status) {
  return status.ToString(absl::StatusToStringMode::kWithNoExtraData);
}

}  // namespace paceline

#endif  // PACELINE_COMMON_STATUS_H_
