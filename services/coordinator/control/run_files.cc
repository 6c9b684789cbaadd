#include "services/coordinator/control/run_files.h"

#include <filesystem>
#include <system_error>

namespace paceline {

void RemoveOtherJournals(const std::string& folder,
                         const std::set<std::string>& uids) {
  if (folder.empty()) return;
  std::set<std::string> kept;
  for (const std::string& uid : uids) kept.insert(JournalFile(folder, uid));
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = file.path().string();
    const bool is_journal = path.find(".journal") != std::string::npos;
    if (is_journal && !kept.contains(path)) {
      std::filesystem::remove(path, error);
    }
  }
}

}  // namespace paceline
