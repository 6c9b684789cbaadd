#ifndef PACELINE_TESTS_INTEGRATION_ACCESS_ACCESS_TABLE_H_
#define PACELINE_TESTS_INTEGRATION_ACCESS_ACCESS_TABLE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "protos/paceline/v1/access.pb.h"
#include "tests/integration/access/api_methods.h"

namespace paceline {

// Which of the processes serve a method.
enum class ServedBy {
  kCoordinator,
  kParameterServer,
  kBoth,
  kReflectingCoordinator,  // One with --reflection.
};

// Who may call a method: agreed upon here, apart from the protos, so that
// nobody opens one without meaning to.
struct AccessRow {
  const char* method;
  // "admin viewer"; "everybody": asks for no role, nor for credentials.
  const char* roles;
  ServedBy served_by;
  // What those who may call it get for an empty message: none changes anything.
  const char* empty;
  // What it reaches, which decides for callers that are bound to namespaces.
  v1::Reach reach = v1::REACH_UNSPECIFIED;
};

inline constexpr char kEverybody[] = "everybody";

// Every method that a process of paceline serves.
absl::Span<const AccessRow> AccessTable();

// How the table and the protos differ, a line each; none if they agree. A
// method of gRPC itself has no proto of ours.
std::vector<std::string> DifferencesOf(absl::Span<const AccessRow> table,
                                       absl::Span<const ApiMethod> methods);

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_ACCESS_ACCESS_TABLE_H_
