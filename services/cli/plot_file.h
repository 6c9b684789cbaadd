#ifndef PACELINE_SERVICES_CLI_PLOT_FILE_H_
#define PACELINE_SERVICES_CLI_PLOT_FILE_H_

#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/cli/json_fields.h"

namespace paceline {

// The page of --plot. It is written beside its place, and opened before the
// runs, so that none is in vain and an older page stays until there is a new
// one. Thread-compatible.
class PlotFile {
 public:
  PlotFile() = default;
  ~PlotFile();
  PlotFile(const PlotFile&) = delete;
  PlotFile& operator=(const PlotFile&) = delete;

  // Without a path it does nothing. FAILED_PRECONDITION: a page cannot be
  // drawn, or not be written there.
  absl::Status Open(const std::string& path);
  // `runs` as DrawnRun() gives them; `command`, as it was typed, stands on the
  // page. FAILED_PRECONDITION: it cannot be written.
  absl::Status Write(std::vector<Json> runs, const std::string& command);

 private:
  std::string PartPath() const;
  absl::Status NotWritten() const;

  std::string path_;
  std::ofstream file_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PLOT_FILE_H_
