#include "tests/services/cli/fake_programs.h"

#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/check.h"
#include "services/cli/json_fields.h"

namespace paceline {

FakePrograms::FakePrograms() {
  std::filesystem::create_directories(run_dir());
  Coordinator(kSleep);
  Server(kSleep);
  Worker(kSleep);
}

void FakePrograms::Coordinator(const std::string& script) {
  Write("paceline-coordinator", script);
}
void FakePrograms::Server(const std::string& script) {
  Write("paceline-server", script);
}
void FakePrograms::Worker(const std::string& script) {
  Write("paceline-worker", script);
}

void FakePrograms::Write(const std::string& name, const std::string& script) {
  const std::string path = folder_.Path(name);
  std::ofstream(path) << "#!/bin/sh\n" << script;
  CHECK(chmod(path.c_str(), 0755) == 0);
}

std::map<std::string, pid_t> FakePrograms::Pids(const std::string& run) const {
  std::map<std::string, pid_t> pids;
  const std::string text = File(run, "processes.json");
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return pids;
  for (const auto& [name, pid] : json.items()) pids[name] = pid.get<pid_t>();
  return pids;
}

bool FakePrograms::AllGone(const std::string& run) const {
  for (const auto& [name, pid] : Pids(run)) {
    if (kill(pid, 0) == 0) return false;
  }
  return true;
}

std::string FakePrograms::File(const std::string& run,
                               const std::string& name) const {
  std::ifstream file(run_dir() + "/" + run + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace paceline
