// Tells ThreadSanitizer what the distribution's absl::Mutex, CondVar and
// Notification order: see absl_mutex.cmake. Each function stands in for the one
// whose mangled name follows __wrap_, and calls it as __real_.

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

// The interface of ThreadSanitizer's runtime (compiler-rt, tsan_interface.h).
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace {

// Around every call into the library, none of whose own accesses mean anything
// to ThreadSanitizer. Conditions of other threads are evaluated in there too,
// after the release that it was told of but before the real one.
class Inside {
 public:
  Inside() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~Inside() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};

class Acquiring {
 public:
  explicit Acquiring(void* lock) : lock_(lock) {}
  ~Acquiring() { __tsan_acquire(lock_); }

 private:
  void* const lock_;
  Inside inside_;
};

class Releasing {
 public:
  explicit Releasing(void* lock) { __tsan_release(lock); }

 private:
  Inside inside_;
};

// Gives the lock up for a while.
class Waiting {
 public:
  explicit Waiting(void* lock) : acquiring_(lock) { __tsan_release(lock); }

 private:
  Acquiring acquiring_;
};

}  // namespace

#define PACELINE_WRAP(result, symbol, ...)        \
  extern "C" result __real_##symbol(__VA_ARGS__); \
  extern "C" result __wrap_##symbol(__VA_ARGS__)

using absl::Condition;
using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using absl::Notification;
using absl::Time;

PACELINE_WRAP(void, _ZN4absl7debian35Mutex4LockEv, Mutex* mutex) {
  const Acquiring acquiring(mutex);
  __real__ZN4absl7debian35Mutex4LockEv(mutex);
}
PACELINE_WRAP(void, _ZN4absl7debian35Mutex6UnlockEv, Mutex* mutex) {
  const Releasing releasing(mutex);
  __real__ZN4absl7debian35Mutex6UnlockEv(mutex);
}
PACELINE_WRAP(bool, _ZN4absl7debian35Mutex7TryLockEv, Mutex* mutex) {
  const Inside inside;
  const bool locked = __real__ZN4absl7debian35Mutex7TryLockEv(mutex);
  if (locked) __tsan_acquire(mutex);
  return locked;
}
PACELINE_WRAP(void, _ZN4absl7debian35Mutex10ReaderLockEv, Mutex* mutex) {
  const Acquiring acquiring(mutex);
  __real__ZN4absl7debian35Mutex10ReaderLockEv(mutex);
}
PACELINE_WRAP(void, _ZN4absl7debian35Mutex12ReaderUnlockEv, Mutex* mutex) {
  const Releasing releasing(mutex);
  __real__ZN4absl7debian35Mutex12ReaderUnlockEv(mutex);
}
PACELINE_WRAP(void, _ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE,
              Mutex* mutex, const Condition& condition) {
  const Waiting waiting(mutex);
  __real__ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE(mutex, condition);
}
PACELINE_WRAP(
    bool,
    _ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE,
    Mutex* mutex, const Condition& condition, Duration timeout) {
  const Waiting waiting(mutex);
  return __real__ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE(
      mutex, condition, timeout);
}
PACELINE_WRAP(
    bool, _ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE,
    Mutex* mutex, const Condition& condition, Time deadline) {
  const Waiting waiting(mutex);
  return __real__ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE(
      mutex, condition, deadline);
}
PACELINE_WRAP(void, _ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE,
              Mutex* mutex, const Condition& condition) {
  const Waiting waiting(mutex);
  __real__ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE(mutex, condition);
}
PACELINE_WRAP(void, _ZN4absl7debian37CondVar4WaitEPNS0_5MutexE,
              CondVar* condvar, Mutex* mutex) {
  const Waiting waiting(mutex);
  __real__ZN4absl7debian37CondVar4WaitEPNS0_5MutexE(condvar, mutex);
}
PACELINE_WRAP(
    bool, _ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE,
    CondVar* condvar, Mutex* mutex, Duration timeout) {
  const Waiting waiting(mutex);
  return __real__ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE(
      condvar, mutex, timeout);
}
PACELINE_WRAP(bool,
              _ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE,
              CondVar* condvar, Mutex* mutex, Time deadline) {
  const Waiting waiting(mutex);
  return __real__ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE(
      condvar, mutex, deadline);
}
PACELINE_WRAP(void, _ZN4absl7debian312Notification6NotifyEv,
              Notification* notification) {
  const Releasing releasing(notification);
  __real__ZN4absl7debian312Notification6NotifyEv(notification);
}
PACELINE_WRAP(void, _ZNK4absl7debian312Notification19WaitForNotificationEv,
              Notification* notification) {
  const Acquiring acquiring(notification);
  __real__ZNK4absl7debian312Notification19WaitForNotificationEv(notification);
}
PACELINE_WRAP(
    bool,
    _ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE,
    Notification* notification, Duration timeout) {
  const Inside inside;
  const bool notified =
      __real__ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE(
          notification, timeout);
  if (notified) __tsan_acquire(notification);
  return notified;
}
