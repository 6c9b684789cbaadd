#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_STORE_STORE_TESTING_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_STORE_STORE_TESTING_H_

#include <memory>
#include <string>

#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {

// Fails the test if it cannot be opened.
std::unique_ptr<JobStore> OpenStore(const std::string& path,
                                    const StoreOptions& options = {});

// A job "namespaces/n/jobs/ID" with the uid "uid-ID".
v1::Job JobNamed(const std::string& id);

v1::Decision DecisionNumbered(int64_t sequence);

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_STORE_STORE_TESTING_H_
