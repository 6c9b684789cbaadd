#include "services/cli/help_format.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace paceline {
namespace {

// Columns of flags with their placeholders, and of what they mean.
constexpr size_t kFlagColumns = 30;
constexpr size_t kMeaningColumns = 68;

class BrokenLines : public CLI::Formatter {
 public:
  // Two blanks at least stand before what it means.
  std::string make_option_opts(const CLI::Option* option) const override {
    return CLI::Formatter::make_option_opts(option) + " ";
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::string lines;
    size_t column = 0;
    for (const absl::string_view word :
         absl::StrSplit(option->get_description(), ' ', absl::SkipEmpty())) {
      if (column > 0 && column + 1 + word.size() > kMeaningColumns) {
        lines += '\n';
        column = 0;
      }
      if (column > 0) {
        lines += ' ';
        ++column;
      }
      lines.append(word.data(), word.size());
      column += word.size();
    }
    return lines;
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> MakeHelpFormat() {
  auto format = std::make_shared<BrokenLines>();
  format->column_width(kFlagColumns);
  return format;
}

}  // namespace paceline
