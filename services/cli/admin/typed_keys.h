#ifndef PACELINE_SERVICES_CLI_ADMIN_TYPED_KEYS_H_
#define PACELINE_SERVICES_CLI_ADMIN_TYPED_KEYS_H_

#include <termios.h>

#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "services/cli/admin/interruption.h"

namespace paceline {

// What somebody types at a terminal, key by key and without an echo, for as
// long as it lives; then the terminal is as it was. Signals from the keyboard
// still come, but for the one that would end the process at once and leave the
// terminal so. Used by one thread.
class TypedKeys {
 public:
  // Null if the descriptor is no terminal that this process may read: it is in
  // the background, say. Does not own it.
  static std::unique_ptr<TypedKeys> Open(int fd);

  TypedKeys(const TypedKeys&) = delete;
  TypedKeys& operator=(const TypedKeys&) = delete;
  ~TypedKeys();

  // The next key; none at `until`, or once it is interrupted.
  std::optional<char> Next(absl::Time until, const Interruption& interruption);

 private:
  TypedKeys(int fd, const termios& before) : fd_(fd), before_(before) {}

  // Again after each stop: whoever continues a stopped process does not.
  void TakeKeys() const;

  const int fd_;
  const termios before_;
  bool at_end_ = false;  // The terminal has gone.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_TYPED_KEYS_H_
