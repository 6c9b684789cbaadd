#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_TRAINER_TROUBLES_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_TRAINER_TROUBLES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"

namespace paceline {

// What trainers have said that could not begin, or went: the reason, should
// the job end for want of them. Thread-compatible.
class TrainerTroubles {
 public:
  // It cannot prepare the job. The first one's reason stays until that one can.
  void Unfit(const std::string& name, const absl::Status& why) {
    any_unfit_ = true;
    if (!unfit_.ok()) return;
    unfit_ = Annotate(why, name);
    unfit_name_ = name;
  }
  void Ready(absl::string_view name) {
    if (name == unfit_name_) unfit_ = absl::OkStatus();
  }
  // It goes, and says why.
  void Goes(absl::string_view name, const absl::Status& why) {
    last_words_ = absl::StrCat(name, ": ", why.message());
  }
  // One that trained is lost; then, if it failed, of what.
  void Lost() { failure_ = absl::OkStatus(); }
  void Failed(const std::string& name, const absl::Status& why) {
    // A machine's own trouble: another may do what it could not.
    if (absl::IsInternal(why) || absl::IsUnavailable(why)) return;
    failure_ = Annotate(why, name);
  }

  const absl::Status& unfit() const { return unfit_; }
  bool any_unfit() const { return any_unfit_; }  // Now or before.
  // Of the trainer that went last, if it failed.
  const absl::Status& failure() const { return failure_; }
  // Empty if none has said anything.
  const std::string& last_words() const { return last_words_; }

 private:
  absl::Status unfit_;
  std::string unfit_name_;
  bool any_unfit_ = false;
  std::string last_words_;
  absl::Status failure_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_TRAINER_TROUBLES_H_
