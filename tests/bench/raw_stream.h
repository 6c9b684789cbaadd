#ifndef PACELINE_TESTS_BENCH_RAW_STREAM_H_
#define PACELINE_TESTS_BENCH_RAW_STREAM_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/unique_fd.h"

namespace paceline {

// One connection of two sockets on this machine: what it gives to a stream that
// does nothing else. It is kept, as a stream of gRPC is. Thread-compatible.
class RawStream {
 public:
  static RawStream Tcp();  // By loopback.
  static RawStream Unix();

  // Sends `bytes` from one buffer of 1 MiB to another, which both stay in the
  // caches: the kindest case.
  void SendHot(size_t bytes);

  // What becomes of each piece, by its number: where its bytes are, asked by
  // the thread that sends; where there is room for them, and what is done with
  // them once all are there, asked by the one that receives.
  struct Work {
    absl::FunctionRef<absl::string_view(size_t piece)> give;
    absl::FunctionRef<absl::Span<char>(size_t piece)> room;
    absl::FunctionRef<void(size_t piece)> take;
  };
  // Sends `pieces`, of which each is as large as its room. Returns when the
  // last one is taken.
  void Send(size_t pieces, const Work& work);

 private:
  RawStream(int sender, int receiver) : sender_(sender), receiver_(receiver) {}

  UniqueFd sender_;
  UniqueFd receiver_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_BENCH_RAW_STREAM_H_
