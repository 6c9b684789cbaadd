#include "tests/services/coordinator/store/store_testing.h"

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "gtest/gtest.h"

namespace paceline {

std::unique_ptr<JobStore> OpenStore(const std::string& path,
                                    const StoreOptions& options) {
  auto store = JobStore::Open(path, options);
  EXPECT_TRUE(store.ok()) << store.status();
  CHECK(store.ok());
  return *std::move(store);
}

v1::Job JobNamed(const std::string& id) {
  v1::Job job;
  job.set_name(absl::StrCat("namespaces/n/jobs/", id));
  job.set_uid(absl::StrCat("uid-", id));
  job.mutable_spec()->set_model("mlp");
  job.set_state(v1::Job::PENDING);
  return job;
}

v1::Decision DecisionNumbered(int64_t sequence) {
  v1::Decision decision;
  decision.set_sequence(sequence);
  decision.set_kind("switch");
  decision.set_text(absl::StrCat("number ", sequence));
  return decision;
}

}  // namespace paceline
