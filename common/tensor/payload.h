#ifndef PACELINE_COMMON_TENSOR_PAYLOAD_H_
#define PACELINE_COMMON_TENSOR_PAYLOAD_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/check.h"
#include "common/tensor/dtype.h"

namespace paceline {

// The tensor bytes of one message as the transport holds them: slices one after
// the other, aligned by chance and cut anywhere, also inside an element. Refers
// to the bytes and does not own them. Thread-compatible.
class Payload {
 public:
  Payload() = default;
  explicit Payload(absl::string_view bytes) { Append(bytes); }

  // `floats` as a payload of fp32.
  static Payload OfFloats(const float* floats, size_t count) {
    return Payload(BytesOf({floats, count}));
  }

  // Adds the next slice. The bytes must stay until the payload has been read.
  void Append(absl::string_view slice) {
    if (slice.empty()) return;
    slices_.push_back(slice);
    size_ += slice.size();
  }

  // In bytes.
  size_t size() const { return size_; }
  // The bytes, piece by piece.
  absl::Span<const absl::string_view> slices() const { return slices_; }

  // Calls visit(first, bytes, count) for runs in order: the elements first to
  // first + count - 1 lie at `bytes`, unaligned, as an array of `dtype`.
  // Nothing is copied, except that a unit cut by a slice's end, or a short last
  // one, comes alone, out of a small buffer. `visit` returns whether to go on,
  // and so does this.  REQUIRES: EncodedCount(dtype, size()).
  template <class Visitor>
  bool VisitRuns(DType dtype, Visitor visit) const;

  // Calls visit(first, floats, count) with all elements as fp32 in the same
  // manner; `floats` is a const char* to unaligned fp32. Narrower elements are
  // widened by the kTile into a buffer that stays in the first-level cache.
  // REQUIRES: as VisitRuns.
  template <class Visitor>
  void VisitF32(DType dtype, Visitor visit) const;

  // Writes all elements to `out`, which has room for them.
  // REQUIRES: as VisitRuns.
  void CopyTo(DType dtype, float* out) const;

  // Whether no element is an infinity or a NaN.  REQUIRES: as VisitRuns.
  bool AllFinite(DType dtype) const;

  // The sum of the squares of all elements; nothing if AllFinite() is false.
  // REQUIRES: as VisitRuns.
  std::optional<double> SquareSum(DType dtype) const;

 private:
  static constexpr size_t kTile = 1024;  // Elements, in whole units.

  absl::InlinedVector<absl::string_view, 4> slices_;
  size_t size_ = 0;
};

template <class Visitor>
bool Payload::VisitRuns(DType dtype, Visitor visit) const {
  const DTypeUnit unit = UnitOf(dtype);
  const std::optional<size_t> count = EncodedCount(dtype, size_);
  CHECK(count.has_value());
  size_t first = 0;                    // Elements visited so far.
  std::array<char, kLargestUnit> cut;  // A unit begun in earlier slices.
  size_t cut_size = 0;
  for (absl::string_view slice : slices_) {
    if (cut_size > 0) {
      const size_t taken = std::min(unit.bytes - cut_size, slice.size());
      std::memcpy(cut.data() + cut_size, slice.data(), taken);
      slice.remove_prefix(taken);
      cut_size += taken;
      if (cut_size < unit.bytes) continue;
      if (!visit(first, static_cast<const char*>(cut.data()), unit.elements)) {
        return false;
      }
      first += unit.elements;
    }
    const size_t whole = slice.size() / unit.bytes;
    if (whole > 0 && !visit(first, slice.data(), whole * unit.elements)) {
      return false;
    }
    first += whole * unit.elements;
    cut_size = slice.size() - whole * unit.bytes;
    if (cut_size > 0) {
      std::memcpy(cut.data(), slice.data() + whole * unit.bytes, cut_size);
    }
  }
  return first == *count ||
         visit(first, static_cast<const char*>(cut.data()), *count - first);
}

template <class Visitor>
void Payload::VisitF32(DType dtype, Visitor visit) const {
  if (dtype == DType::kF32) {
    VisitRuns(dtype, [&](size_t first, const char* bytes, size_t count) {
      visit(first, bytes, count);
      return true;
    });
    return;
  }
  static_assert(kTile % kInt8Group == 0);
  alignas(64) std::array<float, kTile> tile;
  VisitRuns(dtype, [&](size_t first, const char* bytes, size_t count) {
    for (size_t done = 0; done < count; done += kTile) {
      const size_t now = std::min(kTile, count - done);
      ConvertToF32(dtype, bytes + EncodedSize(dtype, done), now, tile.data());
      visit(first + done, reinterpret_cast<const char*>(tile.data()), now);
    }
    return true;
  });
}

}  // namespace paceline

#endif  // PACELINE_COMMON_TENSOR_PAYLOAD_H_
