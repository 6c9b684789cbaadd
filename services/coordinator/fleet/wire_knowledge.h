#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_WIRE_KNOWLEDGE_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_WIRE_KNOWLEDGE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// Why a member has no part in a job: "does not know the wire format INT8: its
// program is of version 0.1.0".
inline std::string WhyNotKnown(absl::string_view version,
                               v1::WireFormat format) {
  return absl::StrCat(
      "does not know the wire format ", v1::WireFormat_Name(format),
      ": its program is of version ", version.empty() ? "unknown" : version);
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_WIRE_KNOWLEDGE_H_
