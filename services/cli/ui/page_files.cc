#include "services/cli/ui/page_files.h"

#include "absl/strings/str_join.h"

namespace paceline {
namespace {

struct Row {
  absl::string_view path;
  absl::string_view content_type;
  EmbeddedText (*text)();
};

constexpr Row kFiles[] = {
    {"/", "text/html; charset=utf-8", &UiPage},
    {"/page.css", "text/css; charset=utf-8", &UiStyle},
    {"/echarts.js", "text/javascript; charset=utf-8", &EChartsScript},
    {"/page.js", "text/javascript; charset=utf-8", &UiScript},
};

}  // namespace

std::optional<PageFile> FindPageFile(absl::string_view path) {
  for (const Row& file : kFiles) {
    if (file.path != path) continue;
    return PageFile{std::string(file.content_type),
                    absl::StrJoin(file.text(), "")};
  }
  return std::nullopt;
}

}  // namespace paceline
