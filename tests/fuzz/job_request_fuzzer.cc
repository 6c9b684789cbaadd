// Requests of the admin API: the first byte chooses which.

#include "services/coordinator/jobs/job_check.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/jobs/request_check.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

v1::Job PresentJob() {
  v1::Job job;
  job.set_name("namespaces/a/jobs/j");
  job.set_state(v1::Job::RUNNING);
  job.mutable_spec()->set_model("mlp");
  job.mutable_spec()->set_data("synthetic:tiny");
  (*job.mutable_labels())["team"] = "vision";
  return job;
}

void Create(const v1::CreateJobRequest& request) {
  Rng ids(1);
  const auto job = CheckCreate(request, ids);
  ExpectInvalidFields(job.status());
  if (!job.ok()) return;
  FieldChecks checks;
  CheckJob("job", *job, checks);
  CHECK(checks.ok());
  CHECK(ParseJobName("name", job->name()).ok());
  CHECK(job->state() == v1::Job::PENDING);
}

void Update(const v1::UpdateJobRequest& request) {
  ExpectInvalidFields(CheckUpdate(request).status());
  const auto updated = ApplyUpdate(PresentJob(), request);
  ExpectCode(updated.status(),
             {absl::StatusCode::kInvalidArgument, absl::StatusCode::kAborted,
              absl::StatusCode::kFailedPrecondition});
  if (!updated.ok()) return;
  FieldChecks checks;
  CheckJob("job", *updated, checks);
  CHECK(checks.ok());
  CHECK(updated->name() == PresentJob().name());
}

// Calls `check` with the request that the bytes are.
template <class Request, class Check>
void With(absl::string_view bytes, Check check) {
  const auto request = ParseMessage<Request>(bytes);
  if (request.has_value()) check(*request);
}

template <class Request>
void ExpectChecked(absl::string_view bytes) {
  With<Request>(bytes, [](const Request& request) {
    ExpectInvalidFields(CheckList(request).status());
  });
}

template <class Request>
void ExpectVerb(absl::string_view bytes) {
  With<Request>(bytes, [](const Request& request) {
    ExpectInvalidFields(CheckVerb(request).status());
  });
}

constexpr int kKinds = 17;

void CheckOther(int kind, absl::string_view bytes) {
  switch (kind) {
    case 2:
      return ExpectVerb<v1::PauseJobRequest>(bytes);
    case 3:
      return ExpectVerb<v1::ResumeJobRequest>(bytes);
    case 4:
      return ExpectVerb<v1::CancelJobRequest>(bytes);
    case 5:
      return ExpectChecked<v1::ListDecisionsRequest>(bytes);
    case 6:
      return ExpectChecked<v1::ListAccuracyPointsRequest>(bytes);
    case 7:
      return ExpectChecked<v1::ListCheckpointsRequest>(bytes);
    case 8:
      return ExpectChecked<v1::ListWorkersRequest>(bytes);
    case 9:
      return ExpectChecked<v1::ListServersRequest>(bytes);
    case 10:
      return ExpectChecked<v1::ListAuditRecordsRequest>(bytes);
    case 11:
      return With<v1::SwitchParadigmRequest>(bytes, [](const auto& request) {
        ExpectInvalidFields(CheckSwitch(request).status());
      });
    case 12:
      return With<v1::RestoreJobRequest>(bytes, [](const auto& request) {
        ExpectInvalidFields(CheckRestore(request).status());
      });
    case 13:
      return With<v1::CreateCheckpointRequest>(bytes, [](const auto& request) {
        Rng ids(1);
        const auto name = CheckCreateCheckpoint(request, ids);
        ExpectInvalidFields(name.status());
        if (name.ok()) CHECK(ParseCheckpointName("", name->Format()).ok());
      });
    case 16:
      return ExpectChecked<v1::ListIterationsRequest>(bytes);
    case 14:
      return With<v1::DeleteJobRequest>(bytes, [](const auto& request) {
        ExpectInvalidFields(
            CheckJobRequest(request.name(), request.etag(), "").status());
      });
    default:
      return With<v1::WatchJobRequest>(bytes, [](const auto& request) {
        ExpectInvalidFields(CheckWatch(request).status());
      });
  }
}

template <class Request>
std::string Seed(int kind, const char* text) {
  return std::string(1, static_cast<char>(kind)) + MessageSeed<Request>(text);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds = {
      Seed<v1::CreateJobRequest>(0, R"(
        parent: 'namespaces/a' job_id: 'j'
        request_id: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
        job { display_name: 'J' labels { key: 'team' value: 'vision' }
              annotations { key: 'x/y' value: 'z' }
              spec { model: 'mlp' data: 'synthetic:tiny' } })"),
      Seed<v1::UpdateJobRequest>(1, R"(
        job { name: 'namespaces/a/jobs/j' labels { key: 'a' value: 'b' }
              spec { learning_rate: 0.1 stop { epochs: 4 } } }
        update_mask { paths: 'labels' paths: 'spec.learning_rate'
                      paths: 'spec.stop.epochs' })"),
      Seed<v1::SwitchParadigmRequest>(
          11, "name: 'namespaces/a/jobs/j' paradigm: 'ssp'"),
      Seed<v1::RestoreJobRequest>(12, R"(name: 'namespaces/a/jobs/j'
        checkpoint: 'namespaces/a/jobs/j/checkpoints/c')"),
      Seed<v1::CreateCheckpointRequest>(
          13, "parent: 'namespaces/a/jobs/j' checkpoint_id: 'c'")};
  for (int kind = 2; kind < kKinds; ++kind) {
    // Names are the first field of all of them.
    seeds.push_back(Seed<v1::PauseJobRequest>(
        kind, "name: 'namespaces/a/jobs/j' etag: 'x'"));
  }
  return seeds;
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  const int kind = fuzz.Byte() % kKinds;
  const absl::string_view bytes = fuzz.Rest();
  if (kind == 0) return With<v1::CreateJobRequest>(bytes, Create);
  if (kind == 1) return With<v1::UpdateJobRequest>(bytes, Update);
  CheckOther(kind, bytes);
}

}  // namespace paceline
