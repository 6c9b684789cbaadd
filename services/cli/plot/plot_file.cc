#include "services/cli/plot/plot_file.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {

PlotFile::~PlotFile() {
  if (!path_.empty()) std::remove(PartPath().c_str());
}

absl::Status PlotFile::Open(const std::string& flag, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  PACELINE_RETURN_IF_ERROR(PlotPage(Json::object(), {}).status());
  flag_ = flag;
  path_ = path;
  file_.open(PartPath());
  return file_.good() ? absl::OkStatus() : NotWritten();
}

absl::Status PlotFile::Write(std::vector<Json> runs, const PageTitle& title,
                             const std::string& left_out) {
  if (path_.empty()) return absl::OkStatus();
  Json document;
  document["runs"] = std::move(runs);
  document["left_out"] = left_out;
  PACELINE_ASSIGN_OR_RETURN(const std::string page, PlotPage(document, title));
  file_ << page;
  file_.close();
  if (!file_.good()) return NotWritten();
  const bool renamed = std::rename(PartPath().c_str(), path_.c_str()) == 0;
  return renamed ? absl::OkStatus() : NotWritten();
}

std::string PlotFile::PartPath() const { return absl::StrCat(path_, ".part"); }

absl::Status PlotFile::NotWritten() const {
  return absl::FailedPreconditionError(
      absl::StrCat(flag_, " ", path_, ": the file cannot be written"));
}

}  // namespace paceline
