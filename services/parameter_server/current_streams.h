#ifndef PACELINE_SERVICES_PARAMETER_SERVER_CURRENT_STREAMS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_CURRENT_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/link_connections.h"
#include "common/rpc/stream_registry.h"

namespace paceline {

// The streams of each incarnation to a shard that count: one, or those of one
// group. A worker whose streams have broken opens others, and its server may
// not know yet that the old ones have. Thread-safe.
class CurrentStreams {
 public:
  using Streams = std::vector<std::shared_ptr<OpenStream>>;

  struct Key {
    uint64_t run = 0;
    uint32_t shard = 0;
    uint64_t incarnation = 0;

    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.run, a.shard, a.incarnation) <
             std::tie(b.run, b.shard, b.incarnation);
    }
  };

  // `stream` counts from now on, beside those of the same group; 0: alone.
  // Gives those whose place it takes. INVALID_ARGUMENT: the group is as large
  // as any may be.
  absl::StatusOr<Streams> Join(const Key& key, uint64_t group,
                               const std::shared_ptr<OpenStream>& stream) {
    Streams replaced;
    absl::MutexLock lock(&mu_);
    Group& current = groups_[key];
    if (group == 0 || group != current.number) {
      for (const Place& place : current.places) {
        if (auto open = place.stream.lock()) replaced.push_back(open);
      }
      current = {group, {}};
    }
    if (current.places.size() >= kMostConnections) {
      return absl::InvalidArgumentError(
          absl::StrCat("a worker has ", kMostConnections,
                       " streams to a server at most; open a new group"));
    }
    current.places.push_back({stream.get(), stream});
    return replaced;
  }

  // It has ended.
  void Remove(const Key& key, const OpenStream* stream) {
    absl::MutexLock lock(&mu_);
    const auto found = groups_.find(key);
    if (found == groups_.end()) return;
    std::erase_if(found->second.places, [stream](const Place& place) {
      return place.name == stream;
    });
    if (found->second.places.empty()) groups_.erase(found);
  }

 private:
  struct Place {
    const OpenStream* name = nullptr;
    std::weak_ptr<OpenStream> stream;
  };
  struct Group {
    uint64_t number = 0;
    std::vector<Place> places;
  };

  absl::Mutex mu_;
  std::map<Key, Group> groups_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_CURRENT_STREAMS_H_
