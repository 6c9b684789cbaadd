#ifndef PACELINE_TESTS_SERVICES_CLI_ADMIN_SAMPLES_H_
#define PACELINE_TESTS_SERVICES_CLI_ADMIN_SAMPLES_H_

#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// Resources as a coordinator might give them, with something in every field
// that is shown. "Now" is CommandRunner's.

inline constexpr int64_t kSampleNow = 1'800'000'000;  // Unix seconds.

v1::Job RunningJob();         // "namespaces/default/jobs/mnist".
v1::Job PendingJob();         // "namespaces/team/jobs/waiting", of few fields.
v1::Worker AssignedWorker();  // "w2", a straggler.
v1::Worker DrainingWorker();  // "w10".
v1::Server SampleServer();    // "s0".
v1::Checkpoint ReadyCheckpoint();  // "c1" of mnist.
v1::Decision SampleDecision(int64_t sequence);
v1::AuditRecord SampleRecord();
// Of a worker with a program, with all that a line may have.
v1::ReadWorkerLogResponse SampleLog();

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_CLI_ADMIN_SAMPLES_H_
