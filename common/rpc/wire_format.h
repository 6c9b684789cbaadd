#ifndef PACELINE_COMMON_RPC_WIRE_FORMAT_H_
#define PACELINE_COMMON_RPC_WIRE_FORMAT_H_

#include <algorithm>

#include "absl/status/statusor.h"
#include "common/sample_range.h"
#include "common/tensor/dtype.h"
#include "common/tensor/tensor_kind.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

inline v1::WireFormat ToWire(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return v1::BF16;
    case DType::kF16:
      return v1::FP16;
    case DType::kInt8:
      return v1::INT8;
    case DType::kF32:
      break;
  }
  return v1::FP32;
}

// INVALID_ARGUMENT for a format that this program does not know.
inline absl::StatusOr<DType> FromWire(v1::WireFormat format) {
  switch (format) {
    case v1::FP32:
      return DType::kF32;
    case v1::BF16:
      return DType::kBF16;
    case v1::FP16:
      return DType::kF16;
    case v1::INT8:
      return DType::kInt8;
    default:
      return absl::InvalidArgumentError("the wire format is not known");
  }
}

// Members of every release know it.
inline bool KnownToAll(v1::WireFormat format) {
  return format == v1::FP32 || format == v1::BF16 || format == v1::FP16;
}

// What a member says in its hello: the other formats that it knows.
template <class Hello>
void NameFormats(Hello& hello) {
  hello.add_formats(v1::INT8);
}

// Whether a member knows the format that has named these.
template <class Formats>
bool KnowsFormat(const Formats& named, v1::WireFormat format) {
  return KnownToAll(format) ||
         std::find(named.begin(), named.end(), format) != named.end();
}

// Of a job's wire format, what its weights travel as. Only gradients travel as
// int8: whoever sends those keeps what they lack, and adds it to the next ones.
inline DType PulledAs(DType wire) {
  return wire == DType::kInt8 ? DType::kBF16 : wire;
}

// And what its gradients are in the memory of whoever computes them.
inline DType HeldAs(DType wire) {
  return wire == DType::kInt8 ? DType::kF32 : wire;
}

inline v1::TensorSpec::Kind ToWire(TensorKind kind) {
  return static_cast<v1::TensorSpec::Kind>(kind);
}

// INVALID_ARGUMENT for a kind that this program does not know.
inline absl::StatusOr<TensorKind> FromWire(v1::TensorSpec::Kind kind) {
  if (v1::TensorSpec::Kind_IsValid(kind)) return static_cast<TensorKind>(kind);
  return absl::InvalidArgumentError("the kind of a tensor is not known");
}

inline v1::SampleRange ToWire(const SampleRange& range) {
  v1::SampleRange wire;
  wire.set_epoch(range.epoch);
  wire.set_begin(range.begin);
  wire.set_end(range.end);
  wire.set_parts(range.parts);
  return wire;
}

inline SampleRange FromWire(const v1::SampleRange& range) {
  return {range.epoch(), range.begin(), range.end(), range.parts()};
}

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_WIRE_FORMAT_H_
