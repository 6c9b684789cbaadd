#ifndef PACELINE_TESTS_COMMON_SYNCED_FILES_H_
#define PACELINE_TESTS_COMMON_SYNCED_FILES_H_

#include <string>

namespace paceline {

// What becomes of fdatasync() in a program that has synced_files.cc among its
// sources: its calls, and those of the libraries that it loads, come here in
// place of the C library. Only one lives at a time; without one nothing is
// different. Thread-safe.
class SyncedFiles {
 public:
  SyncedFiles();
  ~SyncedFiles();
  SyncedFiles(const SyncedFiles&) = delete;
  SyncedFiles& operator=(const SyncedFiles&) = delete;

  // So often this file was to be synced.
  int CountOf(const std::string& path) const;

  // From now on none returns before Release().
  void Hold();
  void Release();
  // Until one is held up so. False: none came.
  bool AwaitHeld() const;

  // From now on they fail with that `errno`.
  void Fail(int error);
};

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SYNCED_FILES_H_
