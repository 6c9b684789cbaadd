# Tells ThreadSanitizer what absl::Mutex orders. The distribution's Abseil is
# not instrumented, so without this every access under an absl::Mutex looks like
# a race. paceline::tsan_mutex redirects the calls of whatever links it (--wrap);
# it is empty in builds without ThreadSanitizer.
add_library(paceline_tsan_mutex INTERFACE)
add_library(paceline::tsan_mutex ALIAS paceline_tsan_mutex)
if(PACELINE_SANITIZE MATCHES "thread")
  add_library(paceline_tsan_mutex_impl OBJECT
              ${CMAKE_CURRENT_LIST_DIR}/absl_mutex.cc)
  target_link_libraries(paceline_tsan_mutex_impl PRIVATE absl::synchronization)
  # Also for tests that have no mutex themselves.
  target_link_libraries(paceline_tsan_mutex INTERFACE absl::synchronization)
  target_sources(paceline_tsan_mutex INTERFACE
                 $<TARGET_OBJECTS:paceline_tsan_mutex_impl>)
  foreach(symbol
      5Mutex4LockEv
      5Mutex6UnlockEv
      5Mutex7TryLockEv
      5Mutex10ReaderLockEv
      5Mutex12ReaderUnlockEv
      5Mutex5AwaitERKNS0_9ConditionE
      5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE
      5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE
      5Mutex8LockWhenERKNS0_9ConditionE
      7CondVar4WaitEPNS0_5MutexE
      7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE
      7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE
      12Notification6NotifyEv)
    target_link_options(paceline_tsan_mutex INTERFACE
                        LINKER:--wrap=_ZN4absl7debian3${symbol})
  endforeach()
  foreach(symbol
      12Notification19WaitForNotificationEv
      12Notification30WaitForNotificationWithTimeoutENS0_8DurationE)
    target_link_options(paceline_tsan_mutex INTERFACE
                        LINKER:--wrap=_ZNK4absl7debian3${symbol})
  endforeach()
endif()
