#ifndef PACELINE_SERVICES_CLI_FLAG_VALUES_H_
#define PACELINE_SERVICES_CLI_FLAG_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// What the help of a flag for data says of augments (common/job/names.h).
inline constexpr absl::string_view kAugmentHelp =
    "Behind the DIR of CIFAR, ,augment=crop_flip crops and mirrors training "
    "images at random. crop28_flip leaves windows of 28x28.";

// What the help of --in-flight says (common/in_flight.h).
inline constexpr char kInFlightHelp[] =
    "Iterations that each worker has in hand at once: while one is computed, "
    "gradients and weights of the others are under way. Each is a member of "
    "its own: w0, w0.2, ...";

// What the help of a flag for a built-in model says of those that there are.
std::string ModelsHelp();

// Readers of the values of flags. All errors are INVALID_ARGUMENT, name the
// flag, and say what would be right.

absl::Status CheckInRange(absl::string_view flag, int64_t value, int64_t lowest,
                          int64_t highest);
absl::Status CheckOneOf(absl::string_view flag, absl::string_view value,
                        const std::vector<absl::string_view>& choices);

// Reads what ParseDuration() (common/job/duration.h) reads, in nanoseconds from
// `lowest` to `highest`.
absl::StatusOr<int64_t> ParseNanos(absl::string_view flag,
                                   absl::string_view text, int64_t lowest,
                                   int64_t highest);

// Reads one or more of these, separated by commas.
absl::StatusOr<std::vector<int64_t>> ParseNanosList(absl::string_view flag,
                                                    absl::string_view text,
                                                    int64_t lowest,
                                                    int64_t highest);

// "1.25G", "100M", "64k", "512": decimal multiples of bytes, 0 to 1e18.
absl::StatusOr<double> ParseBytes(absl::string_view flag,
                                  absl::string_view text);
// The same, at least 1: bytes a second.
absl::StatusOr<double> ParseBytesPerSecond(absl::string_view flag,
                                           absl::string_view text);

// A flag that is given once for all workers, or once per worker: one value per
// worker. `standard` if it is not given.
absl::StatusOr<std::vector<std::string>> PerWorker(
    absl::string_view flag, const std::vector<std::string>& values,
    const std::string& standard, int64_t workers);

// A whole number from 0 to 2^64 - 1.
absl::StatusOr<uint64_t> ParseSeedFlag(absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_FLAG_VALUES_H_
