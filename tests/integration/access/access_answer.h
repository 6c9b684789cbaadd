#ifndef PACELINE_TESTS_INTEGRATION_ACCESS_ACCESS_ANSWER_H_
#define PACELINE_TESTS_INTEGRATION_ACCESS_ACCESS_ANSWER_H_

#include <string>

#include "absl/status/status.h"
#include "tests/integration/access/access_callers.h"
#include "tests/integration/access/access_table.h"

namespace paceline {

// A process that is called.
struct AccessPlace {
  std::string name;
  bool coordinator = true;  // Else a parameter server.
  bool reflection = false;
  bool requires_certificate = false;
};

// What the caller must get from the method there, in one line:
//   "no connection"
//   "UNIMPLEMENTED": the process does not serve the method.
//   "OK", "INVALID_ARGUMENT": what the row says of those who may call it.
//   "UNAUTHENTICATED NO_CREDENTIALS of /paceline.v1.JobService/GetJob": code,
//   reason, and the method that the details name.
//   "PERMISSION_DENIED ROLE_NOT_ALLOWED of ... to viewer": the role too.
std::string ExpectedAnswer(const AccessPlace& place, const AccessCaller& caller,
                           const AccessRow& row);

// The same of what has come back. `connected`: the channel was ready.
std::string AnswerText(const absl::Status& status, bool connected);

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_ACCESS_ACCESS_ANSWER_H_
