#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SYNC_CORE_SCRIPT_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SYNC_CORE_SCRIPT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/sync_core.h"
#include "tests/services/coordinator/sync/core/script_files.h"

namespace paceline {

// Runs commands on a SyncCore. One command a line:
//
//   core POLICY [samples=96] [epochs=1] [batch=32] [micro=0] [servers=1]
//        [momentum=TOTAL] [assignment=dynamic|static]
//        [rate=0.1] [schedule=SPEC] [eval=0] [lease=10s] [max=0]
//        [version=0] [from=EPOCH/SAMPLE] [open=EPOCH/BEGIN/END]
//                          makes the core anew, at time 0; it goes on from
//                          there, with that range not counted before
//   start w0 w1+64         begins with these; w1 wants 64 samples reserved
//   push w0 [samples=N] [iteration=N] [discarded] [refused=K/N]
//                          the open iteration's whole range, if not said
//   ready w0               its gradient is, and waits for a plan
//   join w3 or w3+64, heard w0, seal, tick
//   leave w0 stream|lease|stuck|departed
//   fenced w0 server=0 iteration=1 taken=K/N [samples=N]
//   abandoned w0           its open iteration, as it was told
//   switch POLICY, limit SAMPLES, rate 0.1, batching even|balanced
//   switch-with-closing POLICY
//   point                  what a checkpoint of now would hold
//
// "at 1.5s" before a command sets the time. Lines that begin with '#' are
// comments. Thread-compatible.
class SyncCoreScript {
 public:
  // What the core did, one line for each output; "nothing" if that is all. What
  // the policy reports is left out: that is in its own scripts. A PushDone that
  // is refused is answered by the code of its error, and a malformed command by
  // a line that begins with "error:".
  std::string Run(absl::string_view commands);

 private:
  // A malformed command is INVALID_ARGUMENT.
  absl::Status Execute(Words words);
  absl::Status MakeCore(const Words& words);
  absl::Status Start(const Words& words);
  absl::Status Push(WorkerId worker, const Words& words);
  absl::Status Leave(WorkerId worker, const Words& words);
  absl::Status Fenced(WorkerId worker, const Words& words);
  // Whatever names no worker.
  absl::Status Order(absl::string_view verb, const Words& words);
  std::string TakePoint();

  std::unique_ptr<SyncCore> core_;
  absl::Time now_ = absl::UnixEpoch();
  std::vector<Output> outputs_;
  std::map<WorkerId, Grant> grants_;  // The latest of each worker.
  std::string answer_;                // Of what is no output.
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SYNC_CORE_SCRIPT_H_
