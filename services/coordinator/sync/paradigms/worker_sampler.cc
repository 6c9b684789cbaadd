#include "services/coordinator/sync/paradigms/worker_sampler.h"

#include <algorithm>
#include <utility>

namespace paceline {

void WorkerSampler::Add(WorkerId worker) {
  if (places_.try_emplace(worker, workers_.size()).second) {
    workers_.push_back(worker);
  }
}

void WorkerSampler::Remove(WorkerId worker) {
  const auto place = places_.find(worker);
  if (place == places_.end()) return;
  Swap(place->second, workers_.size() - 1);
  workers_.pop_back();
  places_.erase(worker);
}

std::vector<WorkerId> WorkerSampler::DrawOthers(WorkerId self, int64_t count) {
  size_t others = workers_.size();
  if (const auto place = places_.find(self); place != places_.end()) {
    Swap(place->second, --others);
  }
  const size_t drawn = std::min(others, static_cast<size_t>(count));
  // The first steps of a shuffle (Fisher and Yates). All of them need none.
  for (size_t i = 0; drawn < others && i < drawn; ++i) {
    Swap(i, i + static_cast<size_t>(rng_.Below(others - i)));
  }
  return {workers_.begin(), workers_.begin() + static_cast<int64_t>(drawn)};
}

void WorkerSampler::Swap(size_t i, size_t j) {
  std::swap(workers_[i], workers_[j]);
  places_[workers_[i]] = i;
  places_[workers_[j]] = j;
}

}  // namespace paceline
