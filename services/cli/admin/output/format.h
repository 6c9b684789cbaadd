#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_FORMAT_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_FORMAT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "services/cli/admin/output/table.h"
#include "services/cli/json_fields.h"

namespace paceline {

// The proto JSON mapping of a message, indented, ended by a line feed, maps in
// the order of their keys. INTERNAL for what has none: a time that is out of
// range.
absl::StatusOr<std::string> MessageToJson(
    const google::protobuf::Message& message);

// As MessageToYaml(), with the names that fields have in job files:
// learning_rate for learningRate.
absl::StatusOr<std::string> MessageToJobYaml(
    const google::protobuf::Message& message);

// The tree of MessageToJson() as YAML: 64-bit integers are strings there too.
absl::StatusOr<std::string> MessageToYaml(
    const google::protobuf::Message& message);

// A JSON document as YAML in block style. A string that a YAML reader could
// take for anything else is quoted, so that reading it gives the same tree.
std::string YamlText(const Json& document);

// What `-o` chooses.
enum class OutputFormat { kTable, kWide, kJson, kYaml, kName, kCsv };

// INVALID_ARGUMENT, naming the choices, for what is none of them; csv is one
// where a command has numbers for other programs.
absl::StatusOr<OutputFormat> ParseOutputFormat(absl::string_view text,
                                               bool has_csv = false);

// What is to be printed: resources, or what a command has made of them. What it
// points to must outlive it.
struct Printable {
  std::vector<const google::protobuf::Message*> messages;
  // The list that they are in: what -o json and yaml print. Null: they are
  // printed one after the other.
  const google::protobuf::Message* whole = nullptr;
  // Asked for table and wide.
  std::function<Table(bool wide)> table;
  // Asked for csv, of commands that have it.
  std::function<Table()> csv = nullptr;
  // What json and yaml print in place of messages, and table and wide in place
  // of one table.
  const Json* document = nullptr;
  std::function<std::string(bool wide, bool headers)> text = nullptr;
};

// The text, each document ended by a line feed; YAML documents are separated
// by "---". `headers` is about tables and csv alone. INVALID_ARGUMENT for names
// of what has none.
absl::StatusOr<std::string> Render(const Printable& printable,
                                   OutputFormat format, bool headers);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_FORMAT_H_
