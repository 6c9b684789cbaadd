#ifndef PACELINE_SERVICES_CLI_UI_PAGE_FILES_H_
#define PACELINE_SERVICES_CLI_UI_PAGE_FILES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "services/cli/plot/embedded_text.h"

namespace paceline {

EmbeddedText UiPage();    // page.html
EmbeddedText UiStyle();   // ../plot/page.css and ui.css
EmbeddedText UiScript();  // ../plot/drawing.js and the .js files beside this.

struct PageFile {
  std::string content_type;
  std::string text;
};

// What a browser loads for the page, by its path, "/page.css"; nothing for any
// other path. None of it says anything of jobs.
std::optional<PageFile> FindPageFile(absl::string_view path);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_UI_PAGE_FILES_H_
