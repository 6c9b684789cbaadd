#include "tests/common/synced_files.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace paceline {
namespace {

// Longer than anything may take: ends only what would hang.
constexpr absl::Duration kSyncPatience = absl::Seconds(30);

struct Syncs {
  absl::Mutex mu;
  std::map<std::string, int> of ABSL_GUARDED_BY(mu);  // By path.
  bool hold ABSL_GUARDED_BY(mu) = false;
  int held ABSL_GUARDED_BY(mu) = 0;
  int error ABSL_GUARDED_BY(mu) = 0;
};

// Never destroyed: threads call it as long as the process lives.
Syncs& AllSyncs() {
  static auto& all = *new Syncs;
  return all;
}

std::string SyncedPath(int fd) {
  std::error_code error;
  return std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", fd),
                                       error)
      .string();
}

// With which `errno` it fails; 0: it does not.
int TakeSync(int fd) {
  const std::string path = SyncedPath(fd);
  Syncs& all = AllSyncs();
  const auto may_go_on = [&all]() ABSL_SHARED_LOCKS_REQUIRED(all.mu) {
    return !all.hold;
  };
  absl::MutexLock lock(&all.mu);
  ++all.of[path];
  ++all.held;
  all.mu.Await(absl::Condition(&may_go_on));
  --all.held;
  return all.error;
}

}  // namespace

SyncedFiles::SyncedFiles() {
  absl::MutexLock lock(&AllSyncs().mu);
  AllSyncs().of.clear();
}

SyncedFiles::~SyncedFiles() {
  absl::MutexLock lock(&AllSyncs().mu);
  AllSyncs().hold = false;
  AllSyncs().error = 0;
}

int SyncedFiles::CountOf(const std::string& path) const {
  const std::string whole = std::filesystem::weakly_canonical(path).string();
  absl::MutexLock lock(&AllSyncs().mu);
  const auto found = AllSyncs().of.find(whole);
  return found == AllSyncs().of.end() ? 0 : found->second;
}

void SyncedFiles::Hold() {
  absl::MutexLock lock(&AllSyncs().mu);
  AllSyncs().hold = true;
}

void SyncedFiles::Release() {
  absl::MutexLock lock(&AllSyncs().mu);
  AllSyncs().hold = false;
}

bool SyncedFiles::AwaitHeld() const {
  Syncs& all = AllSyncs();
  const auto is_held = [&all]() ABSL_SHARED_LOCKS_REQUIRED(all.mu) {
    return all.hold && all.held > 0;
  };
  absl::MutexLock lock(&all.mu);
  return all.mu.AwaitWithTimeout(absl::Condition(&is_held), kSyncPatience);
}

void SyncedFiles::Fail(int error) {
  absl::MutexLock lock(&AllSyncs().mu);
  AllSyncs().error = error;
}

}  // namespace paceline

extern "C" int fdatasync(int fd) {
  const int error = paceline::TakeSync(fd);
  if (error == 0) return static_cast<int>(syscall(SYS_fdatasync, fd));
  errno = error;
  return -1;
}
