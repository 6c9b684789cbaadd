#include "services/coordinator/planner/worker_sample.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "common/check.h"
#include "common/overloaded.h"
#include "common/rng.h"
#include "services/coordinator/planner/tempo.h"

namespace paceline {
namespace {

// A number that is smaller than that cannot be divided without its rounding
// making another rule of it.
constexpr double kLeastNumber = 4;

// A pool's workers, from fast to slow.
using Pool = std::vector<size_t>;

std::vector<Pool> PoolsOf(const PlayedJob& job,
                          absl::Span<const MeasuredWorker> workers,
                          size_t most) {
  std::vector<double> seconds;
  std::map<std::string, Pool> by_name;
  seconds.reserve(workers.size());
  for (size_t i = 0; i < workers.size(); ++i) {
    seconds.push_back(SecondsOfBatch(job, workers[i]));
    by_name[workers[i].pool].push_back(i);
  }
  std::vector<Pool> pools;
  pools.reserve(by_name.size());
  for (auto& [name, pool] : by_name) pools.push_back(std::move(pool));
  if (pools.size() > most) {
    pools.assign(1, {});
    for (size_t i = 0; i < workers.size(); ++i) pools.front().push_back(i);
  }
  for (Pool& pool : pools) {
    std::ranges::stable_sort(
        pool, {}, [&seconds](size_t worker) { return seconds[worker]; });
  }
  return pools;
}

// How many strata each pool gets: one, and of the rest its share.
std::vector<size_t> SharesOf(const std::vector<Pool>& pools, size_t workers,
                             size_t most) {
  std::vector<size_t> shares;
  size_t given = 0;
  for (const Pool& pool : pools) {
    shares.push_back(1 + pool.size() * (most - pools.size()) / workers);
    given += shares.back();
  }
  // Rounding has left fewer than there are pools. The largest strata are cut.
  for (; given < most; ++given) {
    size_t largest = 0;
    for (size_t i = 1; i < pools.size(); ++i) {
      if (pools[i].size() * shares[largest] >
          pools[largest].size() * shares[i]) {
        largest = i;
      }
    }
    ++shares[largest];
  }
  return shares;
}

// Full batches of a worker, one after the other.
class Batches {
 public:
  // `worker` outlives it. Begins with its iteration `first`, modulo their
  // number.
  Batches(const PlayedJob& job, const MeasuredWorker& worker, size_t first)
      : job_(job),
        worker_(worker),
        cost_(job.micro_batch_cost *
              UncutBatch(job, TempoOf(worker.iterations))),
        next_(first % worker.iterations.size()) {}

  MeasuredIteration Next() {
    const uint32_t uncut =
        UncutMicroBatches(job_, worker_.wishes, job_.batch_size);
    MeasuredIteration batch = {.samples = job_.batch_size,
                               .micro_batches = uncut};
    double seconds = cost_ * (uncut - 1.0);
    for (double samples = job_.batch_size; samples > 0;) {
      if (left_ == 0) Turn();
      const double part = std::min(left_, samples);
      seconds += each_ * part;
      left_ -= part;
      samples -= part;
    }
    batch.compute = absl::Seconds(seconds);
    batch.push = latest_->push;
    batch.pull = latest_->pull;
    return batch;
  }

 private:
  void Turn() {
    latest_ = &worker_.iterations[next_];
    next_ = (next_ + 1) % worker_.iterations.size();
    left_ = latest_->samples;
    each_ = NetSeconds(*latest_, cost_) / left_;
  }

  const PlayedJob& job_;
  const MeasuredWorker& worker_;
  const double cost_;  // Of a cut, in seconds.
  size_t next_;
  const MeasuredIteration* latest_ = nullptr;
  double left_ = 0;  // Samples of it,
  double each_ = 0;  // and what each takes.
};

// `number` divided as the workers are, if it can be; true if it is.
bool Divide(int64_t& number, size_t some, size_t all) {
  const double less = static_cast<double>(number) * static_cast<double>(some) /
                      static_cast<double>(all);
  if (number != 0 && less < kLeastNumber) return false;
  number = std::llround(less);
  return true;
}

bool Divide(std::optional<int64_t>& number, size_t some, size_t all) {
  return !number.has_value() || Divide(*number, some, all);
}

}  // namespace

std::vector<Stratum> Stratify(const PlayedJob& job,
                              absl::Span<const MeasuredWorker> workers,
                              size_t most) {
  CHECK(most >= 1 && most <= workers.size());
  const std::vector<Pool> pools = PoolsOf(job, workers, most);
  const std::vector<size_t> shares = SharesOf(pools, workers.size(), most);
  std::vector<Stratum> strata;
  for (size_t i = 0; i < pools.size(); ++i) {
    const Pool& pool = pools[i];
    for (size_t k = 0; k < shares[i]; ++k) {
      const size_t from = pool.size() * k / shares[i];
      const size_t until = pool.size() * (k + 1) / shares[i];
      Stratum& stratum = strata.emplace_back();
      for (size_t at = from; at < until; ++at) {
        stratum.members.push_back(pool[at]);
      }
      stratum.pick = k + 1 == shares[i]
                         ? stratum.members.back()
                         : stratum.members[stratum.members.size() / 2];
    }
  }
  return strata;
}

Awaits AwaitsOf(const ParadigmSpec& paradigm) {
  const auto* const plain = std::get_if<PlainParadigm>(&paradigm.kind);
  if (plain == nullptr) return Awaits::kSome;
  return std::visit(
      Overloaded{[](const BspOptions& bsp) {
                   return bsp.steal ? Awaits::kSome : Awaits::kAll;
                 },
                 [](const AspOptions&) { return Awaits::kNobody; },
                 [](const KSyncOptions&) { return Awaits::kNobody; },
                 [](const KAsyncOptions&) { return Awaits::kNobody; },
                 [](const auto&) { return Awaits::kSome; }},
      plain->options);
}

MeasuredWorker LatestOf(const PlayedJob& job,
                        absl::Span<const MeasuredWorker> workers,
                        const Stratum& stratum) {
  MeasuredWorker latest = {.name = workers[stratum.pick].name,
                           .wishes = workers[stratum.pick].wishes};
  for (const size_t member : stratum.members) {
    // As if they had not begun together.
    Batches batches(job, workers[member], DeriveSeed(0, member));
    for (size_t k = 0; k < PaceHistory::kKept; ++k) {
      const MeasuredIteration next = batches.Next();
      if (k == latest.iterations.size()) {
        latest.iterations.push_back(next);
        continue;
      }
      MeasuredIteration& of = latest.iterations[k];
      if (next.compute + next.push > of.compute + of.push) of = next;
    }
  }
  return latest;
}

std::optional<ParadigmSpec> AmongSome(const ParadigmSpec& paradigm, size_t some,
                                      size_t all) {
  CHECK(some >= 1 && some <= all);
  const auto* const given = std::get_if<PlainParadigm>(&paradigm.kind);
  if (given == nullptr) return std::nullopt;  // It is one, then another.
  PlainParadigm plain = *given;
  const bool divided = std::visit(
      Overloaded{[&](KSyncOptions& k) {
                   return Divide(k.mode == KSyncMode::kBackup ? k.b : k.k.k,
                                 some, all);
                 },
                 [&](KAsyncOptions& k) { return Divide(k.k.k, some, all); },
                 [&](SapsOptions& saps) {
                   return Divide(saps.s, some, all) &&
                          Divide(saps.s_max, some, all) &&
                          Divide(saps.sync_every, some, all);
                 },
                 [](auto&) { return true; }},
      plain.options);
  if (!divided || !Divide(plain.staleness.cap, some, all)) return std::nullopt;
  return ParadigmSpec{plain};
}

}  // namespace paceline
