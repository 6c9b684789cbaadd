#include "tests/services/cli/admin/samples.h"

#include "common/check.h"
#include "google/protobuf/text_format.h"

namespace paceline {
namespace {

template <class Message>
Message Read(const std::string& text) {
  Message message;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

v1::JobProgress Training() {
  return Read<v1::JobProgress>(R"pb(
    phase: "training"
    seconds: 12.5
    samples: 129999
    samples_total: 300000
    samples_per_second: 10400.4
    version: 4062
    loss: 0.31
    accuracy: 0.9123
    paradigm: "dssp:lower=3,upper=15"
    workers {
      worker: "w0"
      state: "computing"
      clock: 1000
      gap: 1
      wait_seconds: 0.12
      iterations: 1000
      samples: 32000
      samples_per_second: 2600
      straggler_score: 1
    }
    workers {
      worker: "w2"
      state: "waiting"
      clock: 998
      gap: -1
      wait_seconds: 75.25
      iterations: 998
      samples: 31936
      samples_per_second: 650
      straggler_score: 4.02
      straggler: true
    }
    seconds_left: 16.3
    parameters: 61706
    train_samples: 60000
    metrics { key: "top5" value: 0.9871 }
    metrics { key: "perplexity" value: 20.314159 }
  )pb");
}

}  // namespace

v1::Job RunningJob() {
  v1::Job job = Read<v1::Job>(R"pb(
    name: "namespaces/default/jobs/mnist"
    uid: "8f0c"
    display_name: "LeNet-5 on MNIST"
    labels { key: "team" value: "vision" }
    labels { key: "cost-centre" value: "12" }
    spec {
      model: "lenet5"
      data: "mnist:/data/mnist"
      paradigm: "dssp:lower=3,upper=15"
      learning_rate: 0.005
      workers { min: 2 max: 6 }
      stop { samples: 300000 }
      checkpoints { interval { seconds: 30 } }
    }
    state: RUNNING
    create_time { seconds: 1799988000 }
    update_time { seconds: 1799999995 }
    start_time { seconds: 1799999700 }
    etag: "7"
  )pb");
  *job.mutable_progress() = Training();
  return job;
}

v1::Job PendingJob() {
  return Read<v1::Job>(R"pb(
    name: "namespaces/team/jobs/waiting"
    spec { model: "mlp" data: "synthetic:shapes" }
    state: PENDING
    state_reason: "waits for 2 more workers\nof pool \"gpu\""
    create_time { seconds: 1799999958 }
  )pb");
}

v1::Worker AssignedWorker() {
  return Read<v1::Worker>(R"pb(
    name: "workers/w2"
    pool: "gpu"
    device: "cuda"
    gpu_model: "NVIDIA H100 PCIe"
    memory_bytes: 85899345920
    state: ASSIGNED
    job: "namespaces/default/jobs/mnist"
    samples_per_second: 650
    straggler_score: 4.02
    straggler: true
    connect_time { seconds: 1799740800 }
    labels { key: "rack" value: "7" }
    version: "0.1.0"
  )pb");
}

v1::Worker DrainingWorker() {
  return Read<v1::Worker>(R"pb(
    name: "workers/w10"
    pool: "default"
    device: "cpu"
    state: LEAVING
    draining: true
    connect_time { seconds: 1799999940 }
    programs: "resnet-cifar"
    programs: "char-gpt"
  )pb");
}

v1::Server SampleServer() {
  return Read<v1::Server>(R"pb(
    name: "servers/s0"
    address: "10.0.0.7:7001"
    jobs: "namespaces/default/jobs/mnist"
    jobs: "namespaces/team/jobs/waiting"
    parameter_bytes: 246824
    connect_time { seconds: 1799990000 }
    version: "0.1.0"
    shards { job: "namespaces/default/jobs/mnist" role: PRIMARY epoch: 3 }
    shards { job: "namespaces/team/jobs/waiting" shard: 1 role: BACKUP }
    failure_domain: "node-a"
    replica_lag: 12
  )pb");
}

v1::Checkpoint ReadyCheckpoint() {
  return Read<v1::Checkpoint>(R"pb(
    name: "namespaces/default/jobs/mnist/checkpoints/c1"
    state: READY
    create_time { seconds: 1799999880 }
    write_seconds: 0.42
    bytes: 493648
    version: 4000
    version_at_completion: 4011
    samples: 128000
    directory: "/var/lib/paceline/checkpoints/mnist/c1"
    servers: 2
  )pb");
}

v1::Decision SampleDecision(int64_t sequence) {
  v1::Decision decision = Read<v1::Decision>(R"pb(
    time { seconds: 1799999999 }
    seconds: 12
    worker: "w2"
    kind: "straggler"
    text: "takes 4.02 times as long as the median"
    omitted: 3
  )pb");
  decision.set_sequence(sequence);
  return decision;
}

v1::AuditRecord SampleRecord() {
  return Read<v1::AuditRecord>(R"pb(
    sequence: 17
    time { seconds: 1799999999 }
    identity: "alice"
    role: ADMIN
    peer: "ipv4:10.0.0.3:41234"
    method: "/paceline.v1.JobService/CancelJob"
    resource: "namespaces/default/jobs/mnist"
    code: 9
    message: "it has ended"
  )pb");
}

v1::ReadWorkerLogResponse SampleLog() {
  return Read<v1::ReadWorkerLogResponse>(R"pb(
    lines {
      time { seconds: 1799999990 nanos: 125000000 }
      severity: INFO
      message: "assigned"
      fields { key: "job" value: "namespaces/default/jobs/mnist" }
      fields { key: "attempt" value: "2" }
      source: PROCESS
    }
    lines {
      time { seconds: 1799999991 }
      message: "Traceback (most recent \033[31mcall last):"
      source: PROGRAM
      cut: true
    }
    lines {
      time { seconds: 1799999992 nanos: 5000000 }
      severity: WARNING
      message: "registering anew"
      fields { key: "reason" value: "the lease ended" }
      fields { key: "pause" value: "" }
      source: PROCESS
    }
    lines { message: "of a later version" severity: 17 }
  )pb");
}

}  // namespace paceline
