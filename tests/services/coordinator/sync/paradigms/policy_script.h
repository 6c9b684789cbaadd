#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SCRIPT_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SCRIPT_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/sync_policy.h"
#include "tests/services/coordinator/sync/core/script_files.h"

namespace paceline {

// Runs commands on a policy. One command a line:
//
//   policy SPEC                   makes the policy anew, at time 0
//   adopt w0 w1=computing@2s w2=idle [round=7]
//                                 hands it the members; those without a phase
//                                 wait; of w1 it is known that a batch takes it
//                                 2 s; round ids are free from 1 if not said
//   push w0 [discarded|part], join w3, leave w0, idle w1, resume w1, ready w0,
//   abandoned w0, flag w0, clear w0, tick
//                                 events; "at 1.5s" before one sets the time;
//                                 a part is a quarter of the worker's range
//   push w0 loss 0.5              the same, of that training loss
//   counted 500 1000              so many samples of so many are counted
//
// An event must fit what its worker does: only who computes pushes or becomes
// idle. Versions and staleness are counted as the core does. Lines that begin
// with '#' are comments. Thread-compatible.
class PolicyScript {
 public:
  // What the policy did, one line for each action with its time, "2s release
  // w0"; "nothing" if that is all. A malformed command is answered by a line
  // that begins with "error:".
  std::string Run(absl::string_view commands);

 private:
  // Returns an error's text, or an empty one.
  std::string Execute(Words words);
  std::string SetTime(absl::string_view text);
  std::string MakePolicyOf(absl::string_view spec);
  std::string Adopt(const Words& words);
  std::string Apply(absl::string_view verb, absl::string_view name);

  void TakeOver();

  struct Verb;
  struct Worker {
    PushPlan plan;
    bool planned = false;  // `plan` was issued here and has not ended.
    Version base = 0;
    uint32_t samples = 0;
  };

  static const Verb* FindVerb(absl::string_view name);
  // Keeps the books about a worker's event and completes it. Returns an error's
  // text, or an empty one.
  std::string Note(WorkerId worker, const Verb& verb, Event& event);
  void Perform(std::vector<Action> actions);
  void SetProgress();

  std::unique_ptr<SyncPolicy> policy_;
  std::unique_ptr<SyncView> view_;
  std::map<WorkerId, Worker> workers_;
  absl::Duration now_;
  Version version_ = 0;
  int64_t samples_counted_ = 0;
  int64_t samples_total_ = 0;
  std::optional<double> loss_;  // Of the push that comes next.
  std::vector<Action> performed_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SCRIPT_H_
