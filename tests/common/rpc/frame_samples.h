#ifndef PACELINE_TESTS_COMMON_RPC_FRAME_SAMPLES_H_
#define PACELINE_TESTS_COMMON_RPC_FRAME_SAMPLES_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/rng.h"
#include "common/tensor/payload.h"
#include "protos/paceline/v1/parameters.pb.h"

namespace paceline {

// One header of every kind of frame, with large and with default values.
std::vector<v1::Frame> SampleHeaders();

// Bytes drawn from `rng`.
std::string RandomBytes(size_t size, Rng& rng);

// `bytes` in slices cut at random, some of them empty; at most `longest` long.
std::vector<grpc::Slice> CutAtRandom(absl::string_view bytes, size_t longest,
                                     Rng& rng);

grpc::ByteBuffer BufferOf(const std::vector<grpc::Slice>& slices);
grpc::ByteBuffer BufferOf(absl::string_view bytes);  // In one slice.

// All bytes, one after the other.
std::string Flatten(const grpc::ByteBuffer& buffer);
std::string Flatten(const Payload& payload);

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_RPC_FRAME_SAMPLES_H_
