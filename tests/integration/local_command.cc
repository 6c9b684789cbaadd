#include "tests/integration/local_command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/check.h"
#include "tests/common/test_paths.h"

namespace paceline {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

LocalCommand::LocalCommand(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {ProgramPath("paceline"), "local"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--run-dir", folder_.Path("runs")});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  pid_ = fork();
  CHECK(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = open(out_path_.c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  err_fd_ = ends[0];
}

LocalCommand::~LocalCommand() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(err_fd_);
}

bool LocalCommand::AwaitLine(const std::string& text) {
  char buffer[4096];
  while (true) {
    size_t end;
    while ((end = err_.find('\n', err_read_)) != std::string::npos) {
      const std::string line = err_.substr(err_read_, end - err_read_);
      err_read_ = end + 1;
      if (line.find(text) != std::string::npos) return true;
    }
    const ssize_t got = read(err_fd_, buffer, sizeof(buffer));
    if (got <= 0) return false;
    err_.append(buffer, got);
  }
}

nlohmann::json LocalCommand::Processes() const {
  std::string newest;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder_.Path("runs"))) {
    if (entry.path().filename() == "processes.json" && entry.path() > newest) {
      newest = entry.path();
    }
  }
  return newest.empty() ? nlohmann::json::object()
                        : nlohmann::json::parse(ReadFile(newest));
}

pid_t LocalCommand::PidOf(const std::string& name) const {
  return Processes().value(name, 0);
}

std::vector<pid_t> LocalCommand::Pids() const {
  std::vector<pid_t> pids;
  const nlohmann::json processes = Processes();
  for (const auto& [name, pid] : processes.items()) pids.push_back(pid);
  return pids;
}

int LocalCommand::Wait() {
  AwaitLine("\n");  // No line has one: reads to the end.
  int status = 0;
  CHECK(waitpid(pid_, &status, 0) == pid_);
  pid_ = -1;
  out_ = ReadFile(out_path_);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool Gone(pid_t pid) {
  const std::string stat = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.substr(name_end + 2, 1) == "Z";
}

}  // namespace paceline
