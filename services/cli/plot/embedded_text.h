#ifndef PACELINE_SERVICES_CLI_PLOT_EMBEDDED_TEXT_H_
#define PACELINE_SERVICES_CLI_PLOT_EMBEDDED_TEXT_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paceline {

// Files that are compiled in, each in pieces, for compilers limit the length of
// a literal. embed_text.cmake writes these functions.
using EmbeddedText = absl::Span<const absl::string_view>;

EmbeddedText PageTemplate();  // page.html
EmbeddedText PageStyle();     // page.css
EmbeddedText PageScript();    // The .js files beside this one.

// Apache ECharts. Empty when this was built where it could not be had.
EmbeddedText EChartsScript();

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PLOT_EMBEDDED_TEXT_H_
