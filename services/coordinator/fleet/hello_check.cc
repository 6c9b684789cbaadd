#include "services/coordinator/fleet/hello_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "common/plain_name.h"
#include "common/security/loopback_address.h"
#include "common/status.h"
#include "common/status_details.h"

namespace paceline {
namespace {

// Far more than anybody has.
constexpr int kProgramsMax = 64;
// Of a name of DNS.
constexpr size_t kFailureDomainMax = 253;

absl::Status CheckPrograms(const v1::WorkerHello& hello) {
  if (hello.programs_size() > kProgramsMax) {
    return InvalidField(
        "hello.programs",
        absl::StrCat("are ", hello.programs_size(), "; at most ", kProgramsMax,
                     " are allowed"));
  }
  for (const std::string& program : hello.programs()) {
    PACELINE_RETURN_IF_ERROR(CheckPlainName("hello.programs", program));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckHello(const v1::WorkerHello& hello) {
  PACELINE_RETURN_IF_ERROR(CheckPlainName("hello.name", hello.name()));
  // One that says none is of the default pool.
  if (!hello.pool().empty()) {
    PACELINE_RETURN_IF_ERROR(CheckPlainName("hello.pool", hello.pool()));
  }
  return CheckPrograms(hello);
}

absl::Status CheckHello(const v1::ServerHello& hello) {
  PACELINE_RETURN_IF_ERROR(CheckPlainName("hello.name", hello.name()));
  if (hello.address().empty()) {
    return InvalidField("hello.address", "a server names its address");
  }
  if (IsWildcardAddress(hello.address())) {
    return InvalidField(
        "hello.address",
        absl::StrCat(hello.address(),
                     " is no address that workers can dial: start the server "
                     "with --advertise HOST:PORT"));
  }
  PACELINE_RETURN_IF_ERROR(
      Annotate(CheckPort(hello.address()), "hello.address"));
  if (hello.failure_domain().size() > kFailureDomainMax) {
    return InvalidField(
        "hello.failure_domain",
        absl::StrCat("has more than ", kFailureDomainMax, " characters"));
  }
  return absl::OkStatus();
}

}  // namespace paceline
