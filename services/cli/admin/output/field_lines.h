#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_FIELD_LINES_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_FIELD_LINES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/map.h"
#include "google/protobuf/timestamp.pb.h"

namespace paceline {

// The lines of a description: "State:         RUNNING". What is empty is left
// out.
class FieldLines {
 public:
  void Add(absl::string_view field, absl::string_view value);

  // One line per entry, in the order of the keys.
  void AddMap(absl::string_view field,
              const google::protobuf::Map<std::string, std::string>& map);

  // "2026-11-21T10:00:00Z (5m ago)".
  void AddTime(absl::string_view field, const google::protobuf::Timestamp& time,
               absl::Time now);

  // What follows, until End(), is indented below this heading.
  void Begin(absl::string_view heading);
  void End() { indent_ = 0; }

  // Lines below a heading, indented by two.
  void Block(absl::string_view heading, absl::string_view lines);

  // Lines below a heading as they are.
  void Rows(absl::string_view heading, absl::string_view lines);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  size_t indent_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_FIELD_LINES_H_
