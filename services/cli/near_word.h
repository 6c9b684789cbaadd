#ifndef PACELINE_SERVICES_CLI_NEAR_WORD_H_
#define PACELINE_SERVICES_CLI_NEAR_WORD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paceline {

// The word that somebody probably meant who typed `typed`; empty if none is
// near: more than two letters wrong, or a third of them, is no slip of the
// finger.
std::string NearWord(absl::string_view typed,
                     const std::vector<std::string>& words);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_NEAR_WORD_H_
