#ifndef PACELINE_COMMON_IN_FLIGHT_H_
#define PACELINE_COMMON_IN_FLIGHT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paceline {

// A worker may have several iterations in flight: while one is computed,
// gradients and weights of the others are under way. At most so many.
inline constexpr int kMostInFlight = 4;

// Each of them is a member of its own, and the first has the worker's name:
// "w0", "w0.2", "w0.3". `index` is from 0. A name that becomes too long for a
// member (plain_name.h) loses its beginning, for names differ at their ends.
std::string NameInFlight(absl::string_view name, int index);

}  // namespace paceline

#endif  // PACELINE_COMMON_IN_FLIGHT_H_
