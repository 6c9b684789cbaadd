#ifndef PACELINE_SERVICES_PARAMETER_SERVER_CURRENT_STREAMS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_CURRENT_STREAMS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/stream_registry.h"

namespace paceline {

// The one stream of each incarnation to a shard that counts. A worker whose
// stream has broken opens another, and its server may not know yet that the old
// one has. Thread-safe.
class CurrentStreams {
 public:
  struct Key {
    uint64_t run = 0;
    uint32_t shard = 0;
    uint64_t incarnation = 0;

    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.run, a.shard, a.incarnation) <
             std::tie(b.run, b.shard, b.incarnation);
    }
  };

  // `stream` takes the place of the one returned; null: of none.
  std::shared_ptr<OpenStream> Replace(
      const Key& key, const std::shared_ptr<OpenStream>& stream) {
    absl::MutexLock lock(&mu_);
    Place& place = places_[key];
    const std::shared_ptr<OpenStream> replaced = place.stream.lock();
    place = {stream.get(), stream};
    return replaced;
  }

  // It has ended.
  void Remove(const Key& key, const OpenStream* stream) {
    absl::MutexLock lock(&mu_);
    const auto found = places_.find(key);
    if (found == places_.end() || found->second.name != stream) return;
    places_.erase(found);
  }

 private:
  struct Place {
    const OpenStream* name = nullptr;
    std::weak_ptr<OpenStream> stream;
  };

  absl::Mutex mu_;
  std::map<Key, Place> places_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_CURRENT_STREAMS_H_
