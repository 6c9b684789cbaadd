#ifndef PACELINE_SERVICES_COORDINATOR_STORE_STORE_CHANGE_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_STORE_CHANGE_H_

#include "protos/paceline/v1/standby.pb.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {

// A batch as it goes to a standby, and back.
v1::StoreChange ToChange(const StoreBatch& batch);
StoreBatch FromChange(const v1::StoreChange& change);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STORE_STORE_CHANGE_H_
