#ifndef PACELINE_COMMON_JOB_SPEC_READER_H_
#define PACELINE_COMMON_JOB_SPEC_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace paceline {

// Reads specs of the form NAME or NAME:KEY=VALUE,KEY=VALUE, where a value may
// contain ':' and '='. All errors are INVALID_ARGUMENT and say what is wrong
// and what would be right; Annotate() them with the spec.

// Returns what stands before the first ':'; it may be empty.
absl::string_view SpecName(absl::string_view spec);

// The parameters of one spec. Holds views into it. Thread-compatible.
class SpecParameters {
 public:
  // An error for a parameter that is not in `known`, that comes twice, or that
  // is not KEY=VALUE with both there.
  static absl::StatusOr<SpecParameters> Parse(
      absl::string_view spec, absl::Span<const absl::string_view> known);

  // Reads parameters that have no name before them, KEY=VALUE,KEY=VALUE; `what`
  // names them in errors.
  static absl::StatusOr<SpecParameters> ParseList(
      absl::string_view what, absl::string_view list,
      absl::Span<const absl::string_view> known);

  // Whether the parameter is given.
  bool Has(absl::string_view key) const { return values_.contains(key); }

  // The parameter's value, or `fallback` if it is not given.
  absl::string_view Text(absl::string_view key,
                         absl::string_view fallback) const;

  // An error unless the value is a whole number from `least`, 0 or 1, to `max`.
  absl::StatusOr<int64_t> Whole(absl::string_view key, int64_t fallback,
                                int64_t least, int64_t max) const;

  // An error unless the value is a decimal number in [min, max].
  absl::StatusOr<double> Decimal(absl::string_view key, double fallback,
                                 double min, double max) const;

  // An error unless the parameter is given as a duration in [0, most]
  // (duration.h).
  absl::StatusOr<absl::Duration> Duration(absl::string_view key,
                                          absl::Duration most) const;

  // The index of the value in `choices`, 0 if it is not given. An error if it
  // is none of them.
  absl::StatusOr<size_t> Choice(
      absl::string_view key, absl::Span<const absl::string_view> choices) const;

 private:
  std::map<absl::string_view, absl::string_view> values_;
};

// Reads `text` as a whole number in [0, max]; `what` names it in the error.
absl::StatusOr<int64_t> ParseNumber(absl::string_view what,
                                    absl::string_view text, int64_t max);

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_SPEC_READER_H_
