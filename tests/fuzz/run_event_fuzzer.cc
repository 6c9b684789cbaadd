// The journal of a run, read and taken again by another life of the
// coordinator.

#include <prometheus/registry.h>
#include <spdlog/spdlog.h>

#include "services/coordinator/run/job_run.h"
#include "services/coordinator/run/journal/run_events.h"
#include "services/coordinator/run/journal/run_journal.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/services/coordinator/run/manual_clock.h"
#include "tests/services/coordinator/run/silent_observer.h"

namespace paceline {
namespace {

using journal::RunEvent;

constexpr char kUid[] = "uid-a";
constexpr char kVersion[] = "1";
constexpr size_t kEventsMax = 500;

const ScratchFolder& Folder() {
  static const ScratchFolder folder;
  return folder;
}

// Up to the first push: one worker, two servers, a part of the model on each
// that is to have a backup on the other one.
constexpr const char* kTraining[] = {
    R"(at_ns: 1000000000 begun {
         run: 77 job_name: 'namespaces/a/jobs/j' job_uid: 'uid-a' version: '1'
         job { model: 'logreg' data: 'synthetic:shapes' paradigm: 'asp'
               optimizer: 'sgd' learning_rate: 0.1 schedule: 'constant'
               batch_size: 10 batching: 'even' servers: 2 workers { min: 1 }
               stop { epochs: 3 } }
         servers { name: 's0' address: 's0:1' replicates: true }
         servers { name: 's1' address: 's1:1' replicates: true }
         replicas: 1 lease_ns: 10000000000 checkpoint_root: '/none' })",
    "opened {}",
    R"(came { worker: 1 incarnation: 5 hello { name: 'w0' }
              session { id: 7 sent: 1 received: 1 } })",
    R"(said { worker: 1 message { number: 2 ready { train_samples: 40
         tensors { name: 'a' shape: [10, 4] size: 40 }
         tensors { name: 'b' shape: 10 size: 10 } } } })",
    "admitted {}",
    "server_said { message { done { sequence: 1 } } }",
    "server_said { server: 1 shard: 1 message { done { sequence: 1 } } }",
    "said { worker: 1 message { number: 3 initialized {} } }",
    R"(said { worker: 1 message { number: 4 acknowledged: 2
         push_done { iteration: 1 samples: 10 blocks: 2 loss: 0.5 } } })"};

std::vector<RunEvent> Training() {
  std::vector<RunEvent> events;
  for (const char* const text : kTraining) {
    CHECK(google::protobuf::TextFormat::ParseFromString(
        text, &events.emplace_back()));
  }
  return events;
}

std::string FileOf(const std::vector<RunEvent>& events) {
  std::string bytes;
  for (const RunEvent& event : events) AppendRecord(event, bytes);
  return bytes;
}

// What becomes of a run with that journal.
absl::Status GoOn(const std::vector<RunEvent>& events) {
  static const ManualClock clock;
  static prometheus::Registry registry;
  static const auto metrics =
      std::make_shared<JobMetrics>(registry, "namespaces/a/jobs/j");
  RunSetup setup;
  setup.job_uid = kUid;
  setup.version = kVersion;
  setup.journal_file = Folder().Write("run.journal", FileOf(events));
  const auto run = JobRun::FromJournal(
      std::move(setup), &clock, std::make_shared<SilentObserver>(), metrics);
  if (!run.ok()) return run.status();
  (*run)->Progress().SerializeAsString();
  (*run)->Report();
  return absl::OkStatus();
}

// Takes all of it and goes on with nothing: what the bytes say of checkpoints
// would be done to files.
void TakeAgain(std::vector<RunEvent> events) {
  RunEvent otherwise;
  otherwise.mutable_time_passed()->set_samples(-1);
  events.push_back(otherwise);
  const absl::Status taken = GoOn(events);
  CHECK(absl::IsFailedPrecondition(taken));
}

std::vector<RunEvent> EventsIn(RunJournalReader& reader) {
  std::vector<RunEvent> events;
  while (true) {
    auto event = reader.Next();
    CHECK(event.ok());
    if (!event->has_value()) return events;
    events.push_back(**std::move(event));
  }
}

// As a file that a crash, or a bad disk, has left.
void ReadFile(absl::string_view input) {
  const std::string path = Folder().Write("bytes", input);
  auto reader = RunJournalReader::Open(path);
  CHECK(reader.ok());
  const std::vector<RunEvent> events = EventsIn(*reader);
  CHECK(reader->bytes() >= 0);
  CHECK(static_cast<size_t>(reader->bytes()) <= input.size());
  // What is gone on with is behind all that was whole.
  auto more = RunJournal::GoOn(path, reader->bytes());
  CHECK(more.ok() && (*more)->Write(FileOf(events)).ok());
  auto again = RunJournalReader::Open(path);
  CHECK(again.ok());
  const std::vector<RunEvent> twice = EventsIn(*again);
  CHECK(twice.size() == 2 * events.size());
  for (size_t i = 0; i < twice.size(); ++i) {
    CHECK(BytesOf(twice[i]) == BytesOf(events[i % events.size()]));
  }
  if (events.empty() || events.size() > kEventsMax) return;
  TakeAgain(events);
}

bool IsAnswer(const RunEvent& event) {
  return event.has_opened() || event.has_admitted() || event.has_evaluator() ||
         event.has_manifest() || event.kind_case() == RunEvent::kFilesRemoved;
}

// An answer is the same however often it is written down.
void ReadEvent(const RunEvent& event) {
  const auto name_of = [](int) { return std::string("s"); };
  const auto input = ToInput(event, name_of);
  ExpectInvalidArgument(input.status());
  if (!input.ok() || !IsAnswer(event)) return;
  const RunEvent written = ToEvent(*input);
  const auto again = ToInput(written, name_of);
  CHECK(again.ok());
  CHECK(BytesOf(ToEvent(*again)) == BytesOf(written));
}

std::string Seed(std::initializer_list<const char*> texts) {
  std::string seed;
  for (const char* const text : texts) {
    seed += FuzzText(MessageSeed<RunEvent>(text));
  }
  return seed;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string file = FileOf(Training());
  return {
      file,
      file.substr(0, file.size() - 3),
      Seed({"said { worker: 1 message { push_done { iteration: 2 samples: 10 "
            "blocks: 2 } } }",
            "said { worker: 1 message { heartbeat {} number: 9 } }",
            "paradigm { paradigm: 'bsp' reason: 'asked' }",
            "came { worker: 2 incarnation: 6 hello { name: 'w1' } }",
            "came { worker: 3 hello { name: 'e0' evaluator: true } }",
            "released { worker: 1 stop { reason: 'drained' } }",
            "said { worker: 1 message { leaving {} } }", "gone: 2"}),
      Seed({"server_said { server: 1 message { backup { epoch: 2 } } }",
            "server_said { message { backup { epoch: 2 } } }",
            "server_lost { why { code: 14 message: 'gone' } }",
            "server_said { server: 1 message { promoted { epoch: 3 "
            "sequence: 1 } } }",
            "server_came { name: 's2' address: 's2:1' replicates: true }",
            "server_leaves { server: 2 leaving: true }",
            "server_linked { server: 1 link: 1 }",
            "server_linked { server: 1 link: 2 connected: true }"}),
      Seed({"restarted { awaited: 1 }",
            "server_returned { as { name: 's0' replicates: true } "
            "held { epoch: 1 } }",
            "server_returned { server: 1 as { name: 's1' } }",
            "checkpoint { id: 'c' folder: '/none' }",
            "server_said { message { checkpoint_written { snapshot: 1 "
            "file: 'x' bytes: 7 } } }",
            "manifest { id: 'c' status { code: 8 } }",
            "files_removed: '/none/c'", "pause_ns: -1", "resume: true",
            "at_ns: 2000000000 time_passed { samples: 10 }"}),
      Seed({"at_ns: 900000000000 time_passed { samples: 10 }",
            "evaluator { exists: true why_none: 'none' }",
            "said { worker: 1 message { evaluated { snapshot: 1 "
            "accuracy: 0.5 } } }",
            "cancel { code: 1 message: 'enough' }"}),
      Seed({kTraining[0],
            "opened { version: 3 seconds: 4 position { next_epoch: 1 "
            "next_begin: 20 open { begin: 3 end: 9 } } "
            "tensors { name: 'a' shape: [10, 4] size: 40 } }",
            kTraining[2],
            "said { worker: 1 message { ready { train_samples: 40 "
            "tensors { name: 'a' shape: [10, 4] size: 40 } } } }",
            kTraining[4], kTraining[5], kTraining[6], kTraining[7],
            "update { model: 'logreg' data: 'synthetic:shapes' "
            "learning_rate: 0.5 stop { samples: 70 } workers { min: 1 } }"})};
}

void FuzzOne(absl::string_view input) {
  static const bool quiet = (spdlog::set_level(spdlog::level::off), true);
  // Else hardly anything would ever be taken.
  static const bool sound = GoOn(Training()).ok();
  CHECK(quiet && sound);
  ReadFile(input);
  // Or as events, which no checksum protects, of a run that trains, or of the
  // run that they begin themselves.
  std::vector<RunEvent> events;
  for (FuzzInput texts(input); !texts.empty() && events.size() < kEventsMax;) {
    auto event = ParseMessage<RunEvent>(texts.Text());
    if (event.has_value()) events.push_back(*std::move(event));
  }
  if (events.empty()) return;
  for (const RunEvent& event : events) ReadEvent(event);
  if (events.front().has_begun()) {
    events.front().mutable_begun()->set_job_uid(kUid);
    events.front().mutable_begun()->set_version(kVersion);
  } else {
    const std::vector<RunEvent> training = Training();
    events.insert(events.begin(), training.begin(), training.end());
  }
  TakeAgain(std::move(events));
}

}  // namespace paceline
