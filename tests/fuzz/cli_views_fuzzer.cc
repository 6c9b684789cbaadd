// A coordinator's responses as the command shows them.

#include "services/cli/admin/output/format.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/output/member_view.h"
#include "services/cli/admin/output/top_view.h"
#include "services/cli/progress_view.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/quiet_protobuf.h"

namespace paceline {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'790'000'000);

void CheckLine(const std::string& line) {
  for (const char c : line) CHECK(static_cast<uint8_t>(c) >= ' ');
}

void ShowTable(const Table& table) {
  const std::string text = RenderTable(table, /*headers=*/true);
  // What others wrote moves no cursor.
  for (const char c : text) CHECK(c == '\n' || static_cast<uint8_t>(c) >= ' ');
}

void ShowMessage(const google::protobuf::Message& message) {
  ExpectCode(MessageToJson(message).status(), {absl::StatusCode::kInternal});
  ExpectCode(MessageToYaml(message).status(), {absl::StatusCode::kInternal});
}

void ShowJob(const v1::Job& job) {
  ShowMessage(job);
  for (const bool wide : {false, true}) {
    ShowTable(JobTable({&job}, {.wide = wide, .namespaces = wide}, kNow));
  }
  DescribeJob(job, {}, {}, kNow);
  StateLine(job);
  ClusterTop({job}, {}, kNow);
  FitTop(JobTop(job), {.width = 40, .height = 10, .color = true});
}

void ShowProgress(const v1::JobProgress& progress) {
  ShowMessage(progress);
  CheckLine(PlainProgress(progress, /*max_seconds=*/60));
  for (const std::string& line :
       TerminalProgress(progress, "j", {.width = 40, .height = 5})) {
    CheckLine(line);
  }
}

void ShowEvent(const v1::WatchJobResponse& event) {
  if (event.has_job()) ShowJob(event.job());
  if (event.has_progress()) ShowProgress(event.progress());
  if (event.has_accuracy()) CheckLine(EvaluatedLine(event.accuracy()));
  if (event.has_decision()) {
    CheckLine(DecisionLine(event.decision()));
    DecisionText(event.decision());
    DescribeJob(v1::Job(), {event.decision()}, {}, kNow);
  }
  if (event.has_checkpoint()) {
    ShowMessage(event.checkpoint());
    CheckpointLine(event.checkpoint());
    ShowTable(CheckpointTable({&event.checkpoint()}, true, kNow));
    DescribeJob(v1::Job(), {}, {event.checkpoint()}, kNow);
  }
}

void ShowMembers(absl::string_view bytes) {
  if (const auto worker = ParseMessage<v1::Worker>(bytes)) {
    ShowMessage(*worker);
    ShowTable(WorkerTable({&*worker}, true, kNow));
    DescribeWorker(*worker, kNow);
    ClusterTop({}, {*worker}, kNow);
  }
  if (const auto server = ParseMessage<v1::Server>(bytes)) {
    ShowMessage(*server);
    ShowTable(ServerTable({&*server}, true, kNow));
  }
  if (const auto record = ParseMessage<v1::AuditRecord>(bytes)) {
    ShowMessage(*record);
    ShowTable(AuditTable({&*record}, true));
  }
}

std::string Event(const char* text) {
  return '\0' + MessageSeed<v1::WatchJobResponse>(text);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {Event(R"(resume_token: 'x' job {
        name: 'namespaces/a/jobs/j' display_name: "a\nb" state: RUNNING
        labels { key: 'a' value: 'b' } create_time { seconds: 1789999000 }
        spec { model: 'mlp' data: 'd' paradigm: 'ssp:s=3'
               checkpoints { interval { seconds: 60 } } }
        progress { phase: 'training' seconds: 5 samples: 3 samples_total: 9
                   seconds_left: 1e300
                   workers { worker: 'w0' state: 'computing' clock: 3
                             straggler: true samples_per_second: nan } } })"),
          Event("progress { seconds: -1 samples: -9223372036854775808 "
                "samples_total: 9223372036854775807 loss: inf }"),
          Event("accuracy { seconds: 1 accuracy: 0.5 loss: 2 }"),
          Event("decision { sequence: 1 time { seconds: 253402300800 } "
                "worker: 'w' kind: 'worker-lost' text: 't' omitted: 3 }"),
          Event("checkpoint { name: 'namespaces/a/jobs/j/checkpoints/c' state: "
                "READY bytes: 18446744073709551615 write_seconds: 0.4 }"),
          '\1' + MessageSeed<v1::Worker>(
                     "name: 'workers/w0' state: ASSIGNED job: 'x' "
                     "connect_time { seconds: 1 }"),
          '\1' + MessageSeed<v1::Server>("name: 'servers/s0' jobs: 'j'")};
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  if (fuzz.Byte() % 2 == 1) return ShowMembers(fuzz.Rest());
  const auto event = ParseMessage<v1::WatchJobResponse>(fuzz.Rest());
  if (event.has_value()) ShowEvent(*event);
}

}  // namespace paceline
