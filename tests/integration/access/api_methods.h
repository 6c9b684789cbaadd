#ifndef PACELINE_TESTS_INTEGRATION_ACCESS_API_METHODS_H_
#define PACELINE_TESTS_INTEGRATION_ACCESS_API_METHODS_H_

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

namespace paceline {

// A method as its proto declares it.
struct ApiMethod {
  std::string name;   // "/paceline.v1.JobService/GetJob"
  std::string roles;  // Those of its option, sorted: "admin viewer".
  std::string reach;  // "ONE_NAMESPACE"
};

std::vector<ApiMethod> MethodsOf(const google::protobuf::FileDescriptor& file);

// Those of all services of protos/paceline/v1, as the folder is now: a file
// that is added there without this program being linked with it ends the test.
std::vector<ApiMethod> AllApiMethods();

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_ACCESS_API_METHODS_H_
