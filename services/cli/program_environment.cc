#include "services/cli/program_environment.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/worker/device_choice.h"

namespace paceline {
namespace {

// The card of that number among those that are visible now.
std::string CardOf(int number, const std::vector<std::string>& visible) {
  // One that is not there: CUDA says so better than we could.
  const auto card = static_cast<size_t>(number);
  return card < visible.size() ? visible[card] : absl::StrCat(number);
}

// What CUDA_VISIBLE_DEVICES is to be; nothing where it may stay as it is.
// `visible` is what it says now: cards are counted among those.
std::optional<std::string> VisibleCards(absl::string_view device,
                                        absl::string_view visible) {
  using Kind = DeviceChoice::Kind;
  const absl::StatusOr<DeviceChoice> choice = ParseDeviceChoice(device);
  // "cuda" is any of them.
  if (!choice.ok() || choice->kind == Kind::kAuto || device == "cuda") {
    return std::nullopt;
  }
  if (choice->kind == Kind::kCpu) return "";
  const std::vector<std::string> known =
      absl::StrSplit(visible, ',', absl::SkipEmpty());
  std::vector<std::string> cards;
  for (const int card : choice->devices) cards.push_back(CardOf(card, known));
  return absl::StrJoin(cards, ",");
}

// `path` with `folder` behind what it has.
std::string WithFolder(absl::string_view path, const std::string& folder) {
  if (path.empty()) return folder;
  const std::vector<absl::string_view> there = absl::StrSplit(path, ':');
  if (std::find(there.begin(), there.end(), folder) != there.end()) {
    return std::string(path);
  }
  return absl::StrCat(path, ":", folder);
}

}  // namespace

Environment ProgramEnvironment(
    const ProgramPlace& place,
    const std::function<const char*(const char*)>& inherited) {
  const auto value = [&](const char* name) {
    return absl::NullSafeStringView(inherited(name));
  };
  Environment environment;
  if (place.threads.has_value()) {
    environment["OMP_NUM_THREADS"] = absl::StrCat(*place.threads);
  } else if (value("OMP_NUM_THREADS").empty()) {
    environment["OMP_NUM_THREADS"] = "1";
  }
  const auto cards = VisibleCards(place.device, value("CUDA_VISIBLE_DEVICES"));
  if (cards.has_value()) environment["CUDA_VISIBLE_DEVICES"] = *cards;
  if (!place.python_folder.empty()) {
    environment["PYTHONPATH"] =
        WithFolder(value("PYTHONPATH"), place.python_folder);
  }
  if (value("PYTHONUNBUFFERED").empty()) environment["PYTHONUNBUFFERED"] = "1";
  return environment;
}

std::string PythonFolderOf(absl::string_view bin_dir) {
  namespace fs = std::filesystem;
  // build/PRESET/bin
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(
      fs::path(std::string(bin_dir)) / "../../../services/worker/python",
      error);
  if (error || !fs::exists(folder / "paceline" / "__init__.py", error)) {
    return "";
  }
  return folder.string();
}

}  // namespace paceline
