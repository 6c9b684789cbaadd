#ifndef PACELINE_SERVICES_WORKER_OPEN_PULL_H_
#define PACELINE_SERVICES_WORKER_OPEN_PULL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace paceline {

// One block: where its elements go when it is pulled.
struct BlockPlace {
  absl::Span<float> values;
  size_t server = 0;
  size_t tensor = 0;   // That it is a part of.
  bool pushed = true;  // Of a frozen tensor it is not.
};

// What one pull has brought, from all servers.
struct PullResult {
  uint64_t bytes = 0;     // Payload.
  absl::Duration parked;  // By the server that held it back the longest.
};

// Is told of a tensor all of whose weights have come.
using OnTensor = std::function<void(size_t)>;

// What an open pull still waits for, and what has come of it.
// Thread-compatible.
struct OpenPull {
  // A block that came before the pull was waited for, and its place.
  struct Early {
    absl::Span<float> place;
    size_t tensor;
    std::vector<float> values;
  };

  // Another block of the tensor lies where it belongs.
  void Copied(size_t tensor) {
    if (--left_in[tensor] == 0) arrived.push_back(tensor);
  }

  bool ahead = false;                         // Nobody wants it yet.
  bool delivered = false;                     // Somebody is told what comes,
  std::shared_ptr<const OnTensor> on_tensor;  // unless this is null.
  absl::flat_hash_set<uint32_t> pending;      // Blocks that have not come.
  absl::flat_hash_set<uint32_t> again;  // Had come, and may by a new stream.
  std::vector<size_t> left_in;          // Blocks, by tensor.
  std::vector<size_t> arrived;  // Complete tensors that nobody was told of.
  std::vector<Early> early;     // While it is ahead.
  PullResult result;
  absl::Status status;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_OPEN_PULL_H_
