#ifndef PACELINE_SERVICES_COORDINATOR_STORE_STORE_CHECK_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_STORE_CHECK_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/coordinator/store/sqlite_database.h"

namespace paceline {

// A check by a pragma of SQLite, which says "ok". DATA_LOSS, with its own words
// on the first damage.
absl::Status CheckPages(Database& database, const char* pragma);
// DATA_LOSS, with what is wrong: SQLite's own words on the first damage, or a
// row that belongs to no job.
absl::Status CheckIntegrity(Database& database);

// What to do about an error of the store `path`, in its message.
absl::Status WithAdvice(const absl::Status& status, const std::string& path);

// What a store has.
struct StoreContents {
  int64_t version = 0;                  // Of its schema.
  std::map<std::string, int64_t> jobs;  // How many, by the names of states.
  int64_t checkpoints = 0;
  std::string Describe() const;
};

// Reads all of a store, also while a coordinator has it, and changes nothing.
// NOT_FOUND if there is none; FAILED_PRECONDITION: it is of another program or
// a newer version; DATA_LOSS: it is damaged; all with what to do.
absl::StatusOr<StoreContents> CheckStore(const std::string& path);

// Writes a copy of one moment to a file that is not there yet, also while a
// coordinator has the store, and checks it. As CheckStore() for the store;
// ALREADY_EXISTS, RESOURCE_EXHAUSTED for a full disk.
absl::StatusOr<StoreContents> BackUpStore(const std::string& path,
                                          const std::string& copy);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STORE_STORE_CHECK_H_
