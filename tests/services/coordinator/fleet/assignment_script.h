#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_FLEET_ASSIGNMENT_SCRIPT_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_FLEET_ASSIGNMENT_SCRIPT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tests/services/coordinator/fleet/small_cluster.h"
#include "tests/services/coordinator/sync/core/script_files.h"

namespace paceline {

// Runs commands on a SmallCluster. One command a line:
//
//   cluster [quota=0]      makes it anew, at time 0; workers and jobs get
//                          numbers from 1
//   workers N [pool=default] [gpu=] [programs="a|b"] [in_flight=0]
//   evaluators N [programs=]
//   worker N [draining|leaving=0|1] [unfit=JOB]
//   lose N                 the worker is gone
//   job [KEY=VALUE]...     one that waits: min (1), max, pools and gpus
//                          ("a|b"), program, namespace, running, evaluates
//                          (something waits for it), trainers=yes|no_more|none
//   change N [KEY=VALUE]...  a job that is there
//   end N                  the job is gone
//   wait 2s
//   leave                  who was told to leave has left
//   step                   plans once, and does it
//   settle                 steps and leaves until nothing more happens
//
// Lines that begin with '#' are comments. Thread-compatible.
class AssignmentScript {
 public:
  // What each `step` did, who has which job after each `settle`, and why jobs
  // wait then; "nothing" if that is all. A malformed command is answered by a
  // line that begins with "error:".
  std::string Run(absl::string_view commands);

 private:
  absl::Status Execute(Words words);
  absl::Status AddWorkers(int number, Words words);
  absl::Status SetWorker(uint64_t id, Words words);
  absl::Status SetJob(JobNumber number, Words words);
  void Show(const std::string& what);

  SmallCluster cluster_;
  std::string text_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_FLEET_ASSIGNMENT_SCRIPT_H_
