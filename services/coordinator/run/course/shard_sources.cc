#include "services/coordinator/run/course/shard_sources.h"

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

std::string Lacks(const std::string& pushes, int64_t samples) {
  return absl::StrCat(": it lacks ", pushes, samples, " samples at most");
}

std::string Lacks(const CopyBook::Pushes& missing) {
  return Lacks(absl::StrCat(missing.pushes, " pushes of "), missing.samples);
}

}  // namespace

std::optional<std::string> ShardSources::Choose(int shard,
                                                const Checkpoint& saved) {
  fillers_.erase(shard);
  const std::optional<WorkerId> worker = copies_.Freshest();
  if (saved.has_value() &&
      (!worker.has_value() ||
       saved->point.version >= copies_.VersionOf(*worker))) {
    return saved->directory;
  }
  if (worker.has_value()) {
    fillers_.emplace(shard, *worker);
    return "";
  }
  if (began_from_.empty()) return std::nullopt;
  return began_from_;
}

bool ShardSources::ChooseNext(int shard) {
  fillers_.erase(shard);
  const std::optional<WorkerId> worker = copies_.Freshest();
  if (worker.has_value()) fillers_.emplace(shard, *worker);
  return worker.has_value();
}

std::optional<WorkerId> ShardSources::FillerOf(int shard) const {
  const auto found = fillers_.find(shard);
  if (found == fillers_.end()) return std::nullopt;
  return found->second;
}

std::vector<int> ShardSources::FilledBy(WorkerId worker) const {
  std::vector<int> shards;
  for (const auto& [shard, filler] : fillers_) {
    if (filler == worker) shards.push_back(shard);
  }
  return shards;
}

std::string ShardSources::TextOf(WorkerId worker,
                                 const std::string& name) const {
  return absl::StrCat("what ", name, " had pulled, version ",
                      copies_.VersionOf(worker),
                      Lacks(copies_.MissingIn(worker)));
}

std::string ShardSources::TextOf(const Checkpoint& saved,
                                 int64_t counted) const {
  if (!saved.has_value()) {
    return absl::StrCat("the checkpoint from which the run began",
                        Lacks(copies_.All()));
  }
  return absl::StrCat(
      "checkpoint ", saved->id,
      Lacks("", counted - saved->point.samples + copies_.OnTheWay().samples));
}

}  // namespace paceline
