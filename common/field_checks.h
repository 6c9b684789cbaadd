#ifndef PACELINE_COMMON_FIELD_CHECKS_H_
#define PACELINE_COMMON_FIELD_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/status_details.h"

namespace paceline {

// The most bytes of a text whose own rules set no length, as a paradigm's.
inline constexpr size_t kTextMax = 4096;

// Collects everything that is wrong with a request, so that its sender mends
// all of it at once. Fields are named as in the request, "job.spec.seed".
// Thread-compatible.
class FieldChecks {
 public:
  void Add(absl::string_view field, absl::string_view description);

  // Adds the status' text unless it is OK, cut where it gets long.
  void Take(absl::string_view field, const absl::Status& status);

  // Adds the violations that an InvalidFields() carries.
  void TakeAll(const absl::Status& status);

  // Each adds a violation if the value is none of what its name says.
  void NotEmpty(absl::string_view field, absl::string_view text);
  void NotLonger(absl::string_view field, absl::string_view text,
                 size_t bytes_max);
  void NoMoreCharacters(absl::string_view field, absl::string_view text,
                        size_t characters_max);
  void InRange(absl::string_view field, int64_t value, int64_t least,
               int64_t most);
  // A NaN is in no range.
  void InRange(absl::string_view field, double value, double least,
               double most);

  bool ok() const { return violations_.empty(); }

  // InvalidFields() of what was added, OK if nothing was.
  absl::Status status() const { return InvalidFields(violations_); }

 private:
  std::vector<FieldViolation> violations_;
};

// The characters of a UTF-8 text.
size_t Characters(absl::string_view text);

// What a caller sent, for an error's text: in quotes, unprintable bytes
// escaped, and cut where it gets long.
std::string Quoted(absl::string_view text);

// "parent" and "child" make "parent.child"; an empty parent "child".
std::string FieldPath(absl::string_view parent, absl::string_view child);

}  // namespace paceline

#endif  // PACELINE_COMMON_FIELD_CHECKS_H_
