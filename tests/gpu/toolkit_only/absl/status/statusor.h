#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_STATUSOR_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_STATUSOR_H_

#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"

namespace absl {

template <class T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr() : status_(StatusCode::kInternal, "there is no value") {}
  StatusOr(const Status& status) : status_(status) {}  // NOLINT
  template <class U>
  requires std::is_convertible_v<U&&, T> StatusOr(U&& value)
      : value_(std::forward<U>(value)) {}  // NOLINT
  template <class U>
  StatusOr(StatusOr<U>&& other) : status_(other.status()) {  // NOLINT
    if (other.ok()) value_.emplace(*std::move(other));
  }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace absl

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_STATUSOR_H_
