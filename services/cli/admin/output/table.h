#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TABLE_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/generated_enum_reflection.h"
#include "google/protobuf/map.h"
#include "google/protobuf/timestamp.pb.h"

namespace paceline {

// "45s", "5m", "3h20m", "2d3h", "40d". Less than nothing is "0s".
std::string ShortDuration(absl::Duration duration);

// From then until `now`; empty if `then` is not set.
std::string ShortAge(const google::protobuf::Timestamp& then, absl::Time now);

// "2026-11-21T10:00:00Z"; empty if it is not set.
std::string TimeText(const google::protobuf::Timestamp& time);

absl::Time ToTime(const google::protobuf::Timestamp& time);

// "640 B", "1.5 KiB", "80.0 GiB".
std::string BytesText(uint64_t bytes);

// "PENDING"; a number for a state that this program does not know.
template <class State>
std::string StateText(State state) {
  const google::protobuf::EnumValueDescriptor* const known =
      google::protobuf::GetEnumDescriptor<State>()->FindValueByNumber(state);
  return known == nullptr ? absl::StrCat(static_cast<int>(state))
                          : known->name();
}

// Columns under names in upper case.  REQUIRES: every row has as many cells as
// there are headers.
struct Table {
  std::vector<std::string> headers;
  std::vector<std::vector<std::string>> rows;
};

// One column of a table of resources; one that is `wide` only where that is
// asked for.
template <class Resource>
struct Column {
  const char* header;
  std::function<std::string(const Resource&)> cell;
  bool wide = false;
};

template <class Resource>
Table TableOf(const std::vector<const Resource*>& resources,
              const std::vector<Column<Resource>>& columns, bool wide) {
  Table table;
  table.rows.resize(resources.size());
  for (const Column<Resource>& column : columns) {
    if (column.wide && !wide) continue;
    table.headers.emplace_back(column.header);
    for (size_t i = 0; i < resources.size(); ++i) {
      table.rows[i].push_back(column.cell(*resources[i]));
    }
  }
  return table;
}

// Lines with all columns to the left, three blanks apart, as kubectl has them;
// nothing at the end of a line. An empty cell is shown as "<none>", and what
// others wrote cannot break a line or move the cursor. Without rows: empty,
// headers included.
std::string RenderTable(const Table& table, bool headers);

// The table for other programs (RFC 4180, with line feeds): cells between
// commas, in quotes where they need them; an empty cell is empty.
std::string CsvText(const Table& table, bool headers);

// The table without some of the columns `dispensable`, the first of them first,
// so that no line is wider than `width`, if that is possible.
Table FitTable(Table table, size_t width,
               const std::vector<absl::string_view>& dispensable);

// Less than `right` in the order of people: "w2" before "w10".
bool NaturalLess(absl::string_view left, absl::string_view right);

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

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TABLE_H_
