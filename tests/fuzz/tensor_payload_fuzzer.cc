// The elements of a pushed or pulled block, in slices cut anywhere.

#include <bit>
#include <cmath>

#include "common/tensor/half.h"
#include "common/tensor/payload.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

// Each slice in memory of its own, so that AddressSanitizer sees its ends.
std::vector<std::string> Cut(absl::string_view bytes, uint8_t most) {
  std::vector<std::string> slices;
  const size_t size = size_t{most} % 61 + 1;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
    slices.emplace_back(bytes.substr(0, size));
  }
  return slices;
}

// As half.h and int8_groups.h specify the conversion.
float Expected(DType dtype, absl::string_view bytes, size_t i) {
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, bytes.data() + i * 4, 4);
    return value;
  }
  if (dtype == DType::kInt8) {
    const char* const group = bytes.data() + i / 256 * 260;
    float scale;
    std::memcpy(&scale, group, 4);
    return scale * static_cast<float>(static_cast<int8_t>(group[4 + i % 256]));
  }
  uint16_t bits;
  std::memcpy(&bits, bytes.data() + i * 2, 2);
  return dtype == DType::kBF16 ? F32FromBF16(bits) : F32FromF16(bits);
}

bool Same(float a, float b) {
  // A signalling NaN may have become quiet.
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// Narrowed and widened again, what was an element is the same, but for NaNs;
// what was one of int8 has another scale, and stays finite.
void CheckThereAndBack(DType dtype, const std::vector<float>& floats,
                       bool finite) {
  std::string back(EncodedSize(dtype, floats.size()), '\0');
  ConvertFromF32(dtype, floats.data(), floats.size(), back.data());
  if (dtype == DType::kInt8) {
    CHECK(!finite || AllFinite(dtype, back.data(), floats.size()));
    return;
  }
  for (size_t i = 0; i < floats.size(); ++i) {
    CHECK(Same(Expected(dtype, back, i), floats[i]));
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const char dtype : {'\0', '\1', '\2'}) {
    seeds.push_back(std::string(1, dtype) + "\x07" + std::string(64, '\x3f'));
    seeds.push_back(std::string(1, dtype) + "\x01" +
                    std::string("\0\0\x80\x7f\x01\0\x80\xff\0\x7c\0\xfc", 12));
  }
  const std::string group =
      std::string("\0\0\x80\x3f", 4) + std::string(256, '\x81');
  seeds.push_back("\x03\x3c" + group + group.substr(0, 9));
  seeds.push_back("\x03\x07" + std::string("\0\0\xc0\x7f\x01", 5));
  return seeds;
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  const auto dtype = static_cast<DType>(fuzz.Byte() % 4);
  const uint8_t slice_bytes = fuzz.Byte();
  const absl::string_view rest = fuzz.Rest();
  // The longest array that there is room for.
  size_t size = rest.size();
  while (!EncodedCount(dtype, size).has_value()) --size;
  const size_t count = *EncodedCount(dtype, size);
  const absl::string_view bytes = rest.substr(0, size);
  const std::vector<std::string> slices = Cut(bytes, slice_bytes);
  Payload payload;
  for (const std::string& slice : slices) payload.Append(slice);
  CHECK(payload.size() == bytes.size());

  std::vector<float> floats(count);
  payload.CopyTo(dtype, floats.data());
  bool finite = true;
  for (size_t i = 0; i < count; ++i) {
    CHECK(Same(floats[i], Expected(dtype, bytes, i)));
    finite = finite && std::isfinite(floats[i]);
  }
  // A scale may be too large for integers that are not there.
  const bool said_finite = payload.AllFinite(dtype);
  CHECK(said_finite == finite || (dtype == DType::kInt8 && !said_finite));
  CheckThereAndBack(dtype, floats, said_finite);
}

}  // namespace paceline
