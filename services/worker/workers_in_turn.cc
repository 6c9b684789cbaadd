#include "services/worker/workers_in_turn.h"

#include <algorithm>
#include <thread>

#include "common/in_flight.h"

namespace paceline {

WorkersInTurn::WorkersInTurn(const Worker::Options& options,
                             const std::vector<ComputationSource*>& sources,
                             WorkerMetrics* metrics)
    : registration_(options.registration),
      registered_(sources.size(),
                  absl::UnavailableError("it has not registered yet")) {
  for (size_t i = 0; i < sources.size(); ++i) {
    Worker::Options own = options;
    own.hello.set_name(NameInFlight(options.hello.name(), static_cast<int>(i)));
    own.source = sources[i];
    own.hello.set_in_flight(static_cast<uint32_t>(i));
    if (sources.size() > 1) own.turns = &turns_;
    own.registration = [this, i](const absl::Status& status) {
      TellRegistration(i, status);
    };
    workers_.push_back(std::make_unique<Worker>(own, metrics));
  }
}

absl::Status WorkersInTurn::Run() {
  absl::Mutex mu;
  absl::Status first_error;
  std::vector<std::thread> threads;
  threads.reserve(workers_.size());
  for (const auto& worker : workers_) {
    threads.emplace_back([&, worker = worker.get()] {
      const absl::Status ended = worker->Run();
      if (ended.ok()) return;
      {
        absl::MutexLock lock(&mu);
        first_error.Update(ended);
      }
      Leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return first_error;
}

void WorkersInTurn::Leave() {
  for (const auto& worker : workers_) worker->Leave();
}

void WorkersInTurn::Drop() {
  for (const auto& worker : workers_) worker->Drop();
}

void WorkersInTurn::TellRegistration(size_t index, const absl::Status& status) {
  absl::MutexLock lock(&mu_);
  registered_[index] = status;
  const auto bad = std::ranges::find_if(
      registered_, [](const absl::Status& of) { return !of.ok(); });
  registration_(bad == registered_.end() ? absl::OkStatus() : *bad);
}

}  // namespace paceline
