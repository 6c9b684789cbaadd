#include "tests/gpu/twins.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/gpu/device_memory.h"

namespace paceline {
namespace {

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

// What lies before and behind an output and must stay as it is.
constexpr int64_t kGuard = 64;
constexpr float kGuardValue = -12345.5f;

std::vector<float> Magnitudes(std::vector<float> values) {
  for (float& value : values) value = std::abs(value);
  return values;
}

// Outputs of one backend: guard, poison, guard.
std::vector<std::vector<float>> RunOn(Backend& backend,
                                      const TwinCase& twin_case,
                                      bool magnitudes) {
  std::vector<std::unique_ptr<DeviceArray>> arrays;
  std::vector<DeviceView> inputs;
  for (const std::vector<float>& input : twin_case.inputs) {
    arrays.push_back(std::make_unique<DeviceArray>(
        backend, magnitudes ? Magnitudes(input) : input));
    inputs.push_back(arrays.back()->span());
  }
  std::vector<DeviceArray*> guarded;
  std::vector<DeviceSpan> outputs;
  for (const int64_t size : twin_case.outputs) {
    std::vector<float> values(static_cast<size_t>(size + 2 * kGuard),
                              kGuardValue);
    std::fill(values.begin() + kGuard, values.end() - kGuard, kPoison);
    arrays.push_back(std::make_unique<DeviceArray>(backend, values));
    guarded.push_back(arrays.back().get());
    outputs.push_back(guarded.back()->span().Sub(kGuard, size));
  }
  twin_case.run(backend, inputs, outputs);
  std::vector<std::vector<float>> results;
  results.reserve(guarded.size());
  for (DeviceArray* array : guarded) results.push_back(array->Host());
  return results;
}

std::vector<float> Inner(const std::vector<float>& guarded) {
  return {guarded.begin() + kGuard, guarded.end() - kGuard};
}

bool GuardsStay(const std::vector<float>& guarded) {
  for (int64_t i = 0; i < kGuard; ++i) {
    if (guarded[i] != kGuardValue ||
        guarded[guarded.size() - 1 - i] != kGuardValue) {
      return false;
    }
  }
  return true;
}

// Bit by bit: NaN equals NaN.
bool Same(const std::vector<std::vector<float>>& a,
          const std::vector<std::vector<float>>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) !=
        0) {
      return false;
    }
  }
  return true;
}

}  // namespace

double RelativeError(const std::vector<float>& a, const std::vector<float>& b) {
  double apart = 0;
  double whole = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    apart += std::pow(double{a[i]} - b[i], 2);
    whole += std::pow(double{b[i]}, 2);
  }
  if (apart == 0) return 0;
  return std::sqrt(apart / whole);
}

double ToleranceOf(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      break;
    case Precision::kTf32:
      return 3e-3;
    case Precision::kBf16:
      return 1e-2;
  }
  return 1e-5;
}

std::string Differs(Backend& tried, Backend& reference,
                    const TwinCase& twin_case, double tolerance) {
  const auto got = RunOn(tried, twin_case, /*magnitudes=*/false);
  const auto want = RunOn(reference, twin_case, /*magnitudes=*/false);
  const auto terms = twin_case.linear
                         ? RunOn(reference, twin_case, /*magnitudes=*/true)
                         : want;
  for (size_t output = 0; output < got.size(); ++output) {
    const std::string where =
        absl::StrCat(twin_case.name, ", output ", output, ": ");
    if (!GuardsStay(got[output])) {
      return absl::StrCat(where, "something is written beside it");
    }
    const std::vector<float> a = Inner(got[output]);
    const std::vector<float> b = Inner(want[output]);
    const std::vector<float> term = Inner(terms[output]);
    if (twin_case.exact) {
      if (!Same({a}, {b})) return absl::StrCat(where, "other bits");
      continue;
    }
    const double error = RelativeError(a, b);
    // Written so that NaN differs.
    if (!(error <= tolerance)) return absl::StrCat(where, "error ", error);
    if (!twin_case.linear) continue;
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) <= tolerance * std::abs(term[i])) continue;
      return absl::StrCat(where, "element ", i, " is ", a[i], ", not ", b[i],
                          ", of terms ", term[i]);
    }
  }
  if (Same(got, RunOn(tried, twin_case, /*magnitudes=*/false))) return "";
  return absl::StrCat(twin_case.name, ": another run gives other bits");
}

}  // namespace paceline
