#include "services/cli/json_fields.h"

#include <cmath>

namespace paceline {

const Json* FindField(const Json& object, absl::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(std::string(name));
  return it == object.end() ? nullptr : &*it;
}

std::optional<double> NumberField(const Json& object, absl::string_view name) {
  const Json* field = FindField(object, name);
  if (field == nullptr || !field->is_number()) return std::nullopt;
  return field->get<double>();
}

int64_t IntegerField(const Json& object, absl::string_view name) {
  const Json* field = FindField(object, name);
  if (field == nullptr) return 0;
  if (field->is_number_integer()) return field->get<int64_t>();
  if (!field->is_number_float()) return 0;
  const double value = field->get<double>();
  return std::abs(value) < 0x1p62 ? static_cast<int64_t>(value) : 0;
}

std::string TextField(const Json& object, absl::string_view name) {
  const Json* field = FindField(object, name);
  return field != nullptr && field->is_string() ? field->get<std::string>()
                                                : std::string();
}

}  // namespace paceline
