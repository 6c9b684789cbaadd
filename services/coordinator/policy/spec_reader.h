#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_SPEC_READER_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_SPEC_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paceline {

// Reads specs of the form NAME or NAME:KEY=VALUE,KEY=VALUE, where a value may
// contain ':' and '='. All errors are INVALID_ARGUMENT and say what is wrong
// and what would be right; Annotate() them with the spec.

// What stands before the first ':'; it may be empty.
absl::string_view SpecName(absl::string_view spec);

// The parameters of one spec. Holds views into it. Thread-compatible.
class SpecParameters {
 public:
  // An error for a parameter that is not in `known`, that comes twice, or that
  // is not KEY=VALUE with both there.
  static absl::StatusOr<SpecParameters> Parse(
      absl::string_view spec, absl::Span<const absl::string_view> known);

  // Whether the parameter is given.
  bool Has(absl::string_view key) const { return values_.contains(key); }

  // The parameter's value, or `fallback` if it is not given.
  absl::string_view Text(absl::string_view key,
                         absl::string_view fallback) const;

  // An error unless the value is a whole number in [0, max].
  absl::StatusOr<int64_t> Number(absl::string_view key, int64_t fallback,
                                 int64_t max) const;

  // The same, but at least 1.
  absl::StatusOr<int64_t> Positive(absl::string_view key, int64_t fallback,
                                   int64_t max) const;

  // An error unless the value is a decimal number in [min, max].
  absl::StatusOr<double> Decimal(absl::string_view key, double fallback,
                                 double min, double max) const;

  // The index of the value in `choices`, 0 if it is not given. An error if it
  // is none of them.
  absl::StatusOr<size_t> Choice(
      absl::string_view key, absl::Span<const absl::string_view> choices) const;

 private:
  std::map<absl::string_view, absl::string_view> values_;
};

// `text` as a whole number in [0, max]; `what` names it in the error.
absl::StatusOr<int64_t> ParseNumber(absl::string_view what,
                                    absl::string_view text, int64_t max);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_SPEC_READER_H_
