#ifndef PACELINE_SERVICES_COORDINATOR_STORE_STORE_SCHEMA_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_STORE_SCHEMA_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "services/coordinator/store/sqlite_database.h"

namespace paceline {

// The steps that make a store of version N (the database's user_version, from
// 0) one of version N + 1. A released step is never changed: files of its
// version exist.
absl::Span<const char* const> StoreMigrations();

// FAILED_PRECONDITION if it is of a newer version than the steps lead to, or of
// another program; else as SqliteStatus(). Changes nothing.
absl::Status CheckVersion(Database& database);

// Takes a database to the newest version, each step in a transaction of its
// own. Errors as SqliteStatus().  REQUIRES: CheckVersion() is OK.
absl::Status Migrate(Database& database,
                     absl::Span<const char* const> steps = StoreMigrations());

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STORE_STORE_SCHEMA_H_
