#ifndef PACELINE_TESTS_COMMON_SANITIZED_H_
#define PACELINE_TESTS_COMMON_SANITIZED_H_

namespace paceline {

// Whether a sanitizer slows this build down and reserves memory for itself. GCC
// says so by macros, clang by features.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SANITIZED_H_
