#ifndef PACELINE_COMMON_SECURITY_NAMESPACES_H_
#define PACELINE_COMMON_SECURITY_NAMESPACES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// The namespaces in which somebody has a role. Immutable.
class Namespaces {
 public:
  // Of one role: the names stand in certificates and audit records.
  static constexpr size_t kMost = 16;

  // All of them, also those that will be.
  Namespaces() = default;

  // "vision", "speech+vision". INVALID_ARGUMENT for what is no namespace, for
  // one that is named twice, and for more than kMost.
  static absl::StatusOr<Namespaces> Parse(absl::string_view text);

  bool all() const { return some_.empty(); }
  bool Has(absl::string_view name_space) const;
  // Whether a resource is in one of them, as "namespaces/vision/jobs/mnist" is
  // in vision. What is in no namespace is there for `all` alone.
  bool HasResource(absl::string_view name) const;

  // As Parse() takes it, in order; empty for all.
  std::string Text() const;

  friend bool operator==(const Namespaces&, const Namespaces&) = default;

 private:
  std::vector<std::string> some_;  // In order.
};

// "vision" of "namespaces/vision/jobs/mnist" and of "namespaces/vision"; empty
// for what does not begin so. Whether it is a namespace is not looked at.
absl::string_view NamespaceOfResource(absl::string_view name);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_NAMESPACES_H_
