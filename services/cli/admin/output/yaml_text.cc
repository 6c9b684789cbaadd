#include "services/cli/admin/output/yaml_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

// What YAML 1.1 or 1.2 readers take for a boolean or nothing.
bool Reserved(absl::string_view text) {
  for (absl::string_view word : {"true", "false", "null", "yes", "no", "on",
                                 "off", "y", "n", "inf", "nan"}) {
    if (absl::EqualsIgnoreCase(text, word)) return true;
  }
  return false;
}

bool Plain(absl::string_view text) {
  if (text.empty() ||
      !absl::ascii_isalpha(static_cast<unsigned char>(text[0])) ||
      Reserved(text)) {
    return false;
  }
  for (char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        !absl::StrContains("_./-", absl::string_view(&c, 1))) {
      return false;
    }
  }
  return true;
}

// A JSON string is a double-quoted YAML string.
std::string Scalar(const Json& value) {
  if (value.is_string() && Plain(value.get_ref<const std::string&>())) {
    return value.get<std::string>();
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Append(const Json& value, int depth, std::string* text);

// What follows "key:" or "-".
void AppendValue(const Json& value, int depth, bool in_list,
                 std::string* text) {
  if (!value.is_structured() || value.empty()) {
    absl::StrAppend(text, " ",
                    value.is_structured() ? value.dump() : Scalar(value), "\n");
    return;
  }
  if (!in_list) {
    absl::StrAppend(text, "\n");
    Append(value, depth, text);
    return;
  }
  // The first line of what is in a list stands beside its dash.
  std::string inner;
  Append(value, depth, &inner);
  absl::StrAppend(text, " ", inner.substr(2 * static_cast<size_t>(depth)));
}

void Append(const Json& value, int depth, std::string* text) {
  const std::string indent(2 * static_cast<size_t>(depth), ' ');
  for (const auto& [key, element] : value.items()) {
    if (value.is_array()) {
      absl::StrAppend(text, indent, "-");
    } else {
      absl::StrAppend(text, indent, Scalar(Json(key)), ":");
    }
    AppendValue(element, depth + 1, value.is_array(), text);
  }
}

}  // namespace

std::string YamlText(const Json& document) {
  if (!document.is_structured()) return absl::StrCat(Scalar(document), "\n");
  if (document.empty()) return absl::StrCat(document.dump(), "\n");
  std::string text;
  Append(document, 0, &text);
  return text;
}

}  // namespace paceline
