#include "tests/bench/wire_ceilings.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/tensor/payload.h"
#include "services/parameter_server/shard_config.h"

namespace paceline {
namespace {

constexpr size_t kPieceFloats = size_t{1} << 16;

// The floats as they are sent; converted, into `buffer`.
absl::string_view Encode(DType format, absl::Span<const float> floats,
                         std::vector<char>& buffer) {
  if (format == DType::kF32) return BytesOf(floats);
  const size_t size = EncodedSize(format, floats.size());
  ConvertFromF32(format, floats.data(), floats.size(), buffer.data());
  return {buffer.data(), size};
}

}  // namespace

WireCeilings::WireCeilings(size_t floats)
    : rule_(ShardConfig().optimizer, 1, ShardConfig().round_strength),
      sent_(EncodedSize(DType::kF32, kPieceFloats)),
      received_(sent_.size()) {
  CHECK(floats % kPieceFloats == 0);
  const int slots = rule_.Slots(TensorKind::kTrained);
  for (size_t i = 0; i < floats / kPieceFloats; ++i) {
    pieces_.push_back(std::make_unique<BlockState>(kPieceFloats, slots));
    std::fill_n(pieces_[i]->weights(), kPieceFloats, 0.0f);
    for (int slot = 0; slot < slots; ++slot) {
      std::fill_n(pieces_[i]->slot(slot), kPieceFloats, 0.0f);
    }
  }
}

void WireCeilings::Push(DType format, absl::Span<const float> gradient) {
  const size_t size = EncodedSize(format, kPieceFloats);
  const Contribution contribution = rule_.Immediate(1, 1, 1e-6);
  stream_.Send(
      pieces_.size(),
      {.give =
           [&](size_t i) {
             return Encode(format,
                           gradient.subspan(i * kPieceFloats, kPieceFloats),
                           sent_);
           },
       .room = [&](size_t) { return absl::MakeSpan(received_.data(), size); },
       .take =
           [&](size_t i) {
             const Payload payload({received_.data(), size});
             CHECK(payload.AllFinite(format));
             rule_.ApplyGradient({}, contribution, payload, format, *pieces_[i],
                                 *pieces_[i]);
           }});
}

void WireCeilings::Pull(DType format, absl::Span<float> weights) {
  const size_t size = EncodedSize(format, kPieceFloats);
  stream_.Send(
      pieces_.size(),
      {.give =
           [&](size_t i) {
             return Encode(format, {pieces_[i]->weights(), kPieceFloats},
                           sent_);
           },
       .room = [&](size_t) { return absl::MakeSpan(received_.data(), size); },
       .take =
           [&](size_t i) {
             Payload({received_.data(), size})
                 .CopyTo(format, weights.data() + i * kPieceFloats);
           }});
}

void WireCeilings::Copy(absl::Span<const float> gradient,
                        absl::Span<float> weights) {
  stream_.Send(
      pieces_.size(),
      {.give =
           [&](size_t i) {
             return BytesOf(gradient.subspan(i * kPieceFloats, kPieceFloats));
           },
       .room =
           [&](size_t i) {
             return absl::MakeSpan(
                 reinterpret_cast<char*>(weights.data() + i * kPieceFloats),
                 kPieceFloats * sizeof(float));
           },
       .take = [](size_t) {}});
}

}  // namespace paceline
