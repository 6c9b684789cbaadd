#ifndef PACELINE_SERVICES_CLI_PLOT_PLOT_FILE_H_
#define PACELINE_SERVICES_CLI_PLOT_PLOT_FILE_H_

#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/cli/json_fields.h"
#include "services/cli/plot/plot_page.h"

namespace paceline {

// The page of a flag as --plot. It is written beside its place, and opened
// before the runs, so that none is in vain and an older page stays until there
// is a new one. Thread-compatible.
class PlotFile {
 public:
  PlotFile() = default;
  ~PlotFile();
  PlotFile(const PlotFile&) = delete;
  PlotFile& operator=(const PlotFile&) = delete;

  // Without a path it does nothing. FAILED_PRECONDITION: a page cannot be
  // drawn, or not be written there, which is told of `flag`.
  absl::Status Open(const std::string& flag, const std::string& path);
  // `runs` and `left_out` as PlotPage() takes them.  FAILED_PRECONDITION: it
  // cannot be written.
  absl::Status Write(std::vector<Json> runs, const PageTitle& title,
                     const std::string& left_out = "");
  const std::string& path() const { return path_; }

 private:
  std::string PartPath() const;
  absl::Status NotWritten() const;

  std::string flag_;
  std::string path_;
  std::ofstream file_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PLOT_PLOT_FILE_H_
