#include "common/in_flight.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/plain_name.h"

namespace paceline {

std::string NameInFlight(absl::string_view name, int index) {
  if (index == 0) return std::string(name);
  const std::string end = absl::StrCat(".", index + 1);
  if (name.size() + end.size() > kPlainNameMax) {
    name.remove_prefix(name.size() + end.size() - kPlainNameMax);
    while (!name.empty() &&
           !absl::ascii_isalnum(static_cast<unsigned char>(name.front()))) {
      name.remove_prefix(1);
    }
  }
  return absl::StrCat(name, end);
}

}  // namespace paceline
