#ifndef PACELINE_SERVICES_CLI_JSON_FIELDS_H_
#define PACELINE_SERVICES_CLI_JSON_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace paceline {

// JSON as it was written: fields keep their order.
using Json = nlohmann::ordered_json;

// Readers of one field of an object that another process wrote. A field that
// is absent, null or of another type is no error: the reader gets nothing.

// The field itself; nullptr when it is absent or `object` is no object.
const Json* FindField(const Json& object, absl::string_view name);

std::optional<double> NumberField(const Json& object, absl::string_view name);

// 0 when there is none; a fraction is cut off.
int64_t IntegerField(const Json& object, absl::string_view name);

// Empty when there is none.
std::string TextField(const Json& object, absl::string_view name);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_JSON_FIELDS_H_
