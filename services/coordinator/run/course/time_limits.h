#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_TIME_LIMITS_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_TIME_LIMITS_H_

#include "absl/time/time.h"

namespace paceline {

// The deadlines of a run that do not follow from its lease: they end only what
// hangs, and are far above what anything takes that goes on.

// Data that must be read and models that must be built before a job begins:
// large data may take long; who is silent meanwhile is not waited for.
inline constexpr absl::Duration kLoadingTimeout = absl::Hours(1);

// For members to come to another life of the coordinator, where a lease is
// shorter: for workers before the lease begins in which one has to be there
// (one that has just begun pauses longer), for servers before they are lost.
inline constexpr absl::Duration kReturnTime = absl::Seconds(10);
// For a worker that goes on with its session, where a lease is shorter: it
// dials twice a second.
inline constexpr absl::Duration kRedialTime = absl::Seconds(2);

// For the servers to host a model, and a worker to write its starting weights.
inline constexpr absl::Duration kAssemblyTimeout = absl::Minutes(5);

// For all servers to write or read their parts of a checkpoint, and for a run
// to read what it says of itself: whoever fails says so sooner.
inline constexpr absl::Duration kCheckpointTimeout = absl::Minutes(30);

// From one attempt to save what a run has trained to the next, twice as long
// each time: at first as soon as a person who frees space would want it, later
// so rarely that a disk in trouble is not kept busy with whole models, and
// still often enough for a grace or for somebody who waits.
inline constexpr absl::Duration kSavingRetryMin = absl::Seconds(1);
inline constexpr absl::Duration kSavingRetryMax = absl::Seconds(30);

// For one snapshot.
inline constexpr absl::Duration kEvaluationTimeout = absl::Minutes(30);

// How often a run looks at what no input tells it, and says how far it has
// come.
inline constexpr absl::Duration kProgressInterval = absl::Milliseconds(500);

// A server may go so many leases without having carried out a command; the same
// as for a worker whose heartbeats go on while its iteration does not.
inline constexpr int kServerStuckLeases = 10;

// The primary of a shard that has a backup is replaced once its link has been
// broken for this part of a lease, a second at most.
inline constexpr int kServerPatiencePart = 10;
inline constexpr absl::Duration kServerPatienceMax = absl::Seconds(1);

// A server that could not be a shard's backup is asked again after so many.
inline constexpr int kBackupRetryLeases = 3;

// A shard that was lost is given up after so many. Workers, whose copies it
// needs, wait for three in all, of which the loss of the server took one.
inline constexpr int kRebuildingLeases = 2;

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_TIME_LIMITS_H_
