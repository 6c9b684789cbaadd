#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_JOB_FILTER_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_JOB_FILTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// Which jobs a list shows (AIP-160, with AND alone):
//
//   state = RUNNING AND labels.team = "vision" AND create_time > 2026-01-31
//
//   name, display_name, spec.model, spec.paradigm, labels.KEY   =  !=  :
//   labels                                                      :
//   state                                                       =  !=
//   create_time                                = != < <= > >=
//
// `:` is "contains"; `labels:KEY` and `labels.KEY:*` are "has the label". A job
// without the label differs from every value of it. `spec.paradigm = ssp` means
// what "ssp" means in a job, "ssp:s=3". A value is a word or stands in double
// quotes, where \" and \\ are what they usually are; so is a label's KEY. Times
// are as "2026-01-31T12:00:00Z" or "2026-01-31" (UTC). Thread-compatible.
class JobFilter {
 public:
  // INVALID_ARGUMENT (field "filter"), with what is wrong and where, for
  // anything else, and for more than 4096 bytes or 32 terms.
  static absl::StatusOr<JobFilter> Parse(absl::string_view text);

  bool Matches(const v1::Job& job) const;

 private:
  enum class Field : uint8_t {
    kName,
    kDisplayName,
    kModel,
    kParadigm,
    kLabel,
    kLabels,
    kState,
    kCreateTime,
  };
  enum class Operator : uint8_t {
    kEqual,
    kNotEqual,
    kHas,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
  };
  struct Term {
    Field field = Field::kName;
    Operator op = Operator::kEqual;
    std::string key;  // The label's.
    std::string value;
    v1::Job::State state = v1::Job::STATE_UNSPECIFIED;
    absl::Time time;
  };
  friend class JobFilterParser;

  // Whether `op` is true of two values, the first of which is less (`order`
  // below 0), equal (0) or greater.
  static bool Holds(Operator op, int order);
  static bool TextMatches(const Term& term, const std::string& text);
  static bool LabelMatches(const Term& term, const v1::Job& job);
  static bool Matches(const Term& term, const v1::Job& job);

  std::vector<Term> terms_;  // All must hold.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_JOB_FILTER_H_
