#ifndef PACELINE_TESTS_BENCH_WIRE_CEILINGS_H_
#define PACELINE_TESTS_BENCH_WIRE_CEILINGS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/tensor/dtype.h"
#include "services/parameter_server/block_state.h"
#include "services/parameter_server/update_rule.h"
#include "tests/bench/raw_stream.h"

namespace paceline {

// What a push and a pull of a model could reach by one TCP connection of this
// machine: the same bytes, piece by piece, from one thread to another that also
// does to them what has to be done, by the same loops, and nothing else. Pieces
// of another format than fp32 are converted by the thread that sends them. They
// are of the size that is best here: what the receiver works on is still in its
// caches.
// Thread-compatible.
class WireCeilings {
 public:
  // REQUIRES: `floats` is a multiple of 65,536.
  explicit WireCeilings(size_t floats);

  // `gradient` and `weights` are the model's, all of them.
  // The gradients are checked, and applied to weights of its own.
  void Push(DType format, absl::Span<const float> gradient);
  // Those weights come into the model's.
  void Pull(DType format, absl::Span<float> weights);
  // As fp32, received where they are to be.
  void Copy(absl::Span<const float> gradient, absl::Span<float> weights);

 private:
  const UpdateRule rule_;
  RawStream stream_ = RawStream::Tcp();
  std::vector<std::unique_ptr<BlockState>> pieces_;
  std::vector<char> sent_;      // A piece, converted.
  std::vector<char> received_;  // And one that came.
};

}  // namespace paceline

#endif  // PACELINE_TESTS_BENCH_WIRE_CEILINGS_H_
