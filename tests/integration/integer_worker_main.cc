// A process that a test may kill or stop: an IntegerWorker.
//
//   integer_worker ADDRESS NAME TRAIN_SAMPLES STEP TENSOR_SIZE...

#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "absl/time/time.h"
#include "common/log/log.h"
#include "tests/integration/integer_worker.h"

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  // Ends with the test, whatever ends the test.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  paceline::IntegerWorker worker;
  worker.coordinator = argv[1];
  worker.name = argv[2];
  worker.train_samples = std::atoi(argv[3]);
  if (!absl::ParseDuration(argv[4], &worker.step)) return 2;
  for (int i = 5; i < argc; ++i) worker.tensors.push_back(std::atoll(argv[i]));
  const absl::Status status = worker.Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
