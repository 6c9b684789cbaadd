#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/fleet/fleet_entries.h"
#include "services/coordinator/fleet/log_questions.h"
#include "services/coordinator/fleet/member_session.h"
#include "services/coordinator/fleet/seen_folders.h"
#include "services/coordinator/run/job_run.h"

namespace paceline {

// A worker or evaluator, as its caller needs it to decide.
struct FleetMember {
  uint64_t id = 0;
  v1::Worker worker;     // But for what is measured of it.
  uint64_t run = 0;      // Takes part in it; 0: in none.
  bool leaving = false;  // `run`, or one behind it; or absent without one.
  absl::Time since;      // In `run`, by the fleet's clock.
  // Jobs that it was given to and could not take part in, and why not.
  std::map<std::string, std::string> unfit_for;
  std::vector<v1::WireFormat> formats = {};  // As it has named them.
  uint32_t in_flight = 0;                    // WorkerHello::in_flight
};

struct FleetOptions {
  absl::Duration lease;
  // In which the coordinator leads: members that know of a later one do not
  // listen to it; 0: there is no other one.
  uint64_t term = 0;
  // Called, without any lock, when a member has come, gone or become free, or
  // is about to go; it must only note that.
  std::function<void()> changed;
  // A member knows of a later term; null: nobody cares. The same.
  std::function<void(uint64_t term)> later_term = nullptr;
};

// Who is connected: workers, evaluators and parameter servers, and in which run
// each worker takes part. What members say goes on to their runs. It decides
// nothing: who works for whom is up to its caller.
//
// Thread-safe. Its lock comes before those of the runs, which it asks how large
// they are; a run calls it, by its `find_evaluator`, without holding any.
// Nothing is logged, and no stream is written to, under it.
class Fleet {
 public:
  Fleet(const Clock* clock, FleetOptions options);

  // UNAVAILABLE if the member knows of a later term.
  absl::Status CheckTerm(const v1::SessionHello& hello) const;
  // The streams of Fleet (fleet.proto); the codes are those.
  absl::StatusOr<uint64_t> OnWorkerConnected(const v1::WorkerHello& hello,
                                             std::weak_ptr<WorkerPeer> stream);
  // `part`: its part in its run, as this left it the last time, so that what
  // comes with every iteration needs no lock of the fleet's.
  absl::Status OnWorkerMessage(
      uint64_t member, const v1::WorkerMessage& message,
      std::shared_ptr<const RunSession>* part = nullptr);
  std::shared_ptr<const RunSession> SessionOf(uint64_t member) const;
  void OnWorkerDisconnected(uint64_t member);
  // The worker's part in a run that goes on from its journal: it is absent, and
  // expected to take its session up again. Null: another one has its name.
  std::shared_ptr<const RunSession> RestoreWorker(
      const std::shared_ptr<JobRun>& run, WorkerId worker,
      const ReplayedSession& session);
  // Restored since the last call, by their numbers: somebody has to carry them.
  std::map<uint64_t, std::shared_ptr<WorkerSession>> TakeRestored();
  absl::StatusOr<uint64_t> OnServerConnected(const v1::ServerHello& hello,
                                             std::weak_ptr<ServerPeer> stream);
  absl::Status OnServerMessage(uint64_t member,
                               const v1::ServerMessage& message);
  // Its link broke, or is whole again (MemberSession::Handlers).
  void OnServerLink(uint64_t member, uint64_t link, bool connected);
  void OnServerDisconnected(uint64_t member);

  // From now on members can take part in the run, and its servers are heard.
  void AddRun(const std::shared_ptr<JobRun>& run);
  // The run has told everybody to stop.
  void RemoveRun(uint64_t run);

  // FAILED_PRECONDITION if the worker is gone or not free, or the run is over.
  absl::Status Assign(uint64_t member, uint64_t run_number);
  // Asks it to finish its iteration and leave; not kOk: it is of no use there.
  void Release(uint64_t member, absl::string_view why, absl::StatusCode code);

  // The worker of that name gets no run, not when it registers anew either, or
  // can get one again. NOT_FOUND if none is connected; it can then get one when
  // it comes, whatever was asked.
  absl::Status SetDraining(const std::string& name, bool draining);
  // The same of a server, and what it has goes to others where that can be.
  absl::Status SetServerDraining(const std::string& name, bool draining);
  // Nobody is unfit for the job any more: the job of that name is another one
  // now, or is to be tried again.
  void ForgetJob(absl::string_view job);
  // Where checkpoints are kept: servers that do not see that are not picked.
  void SetFolders(v1::CheckpointFolders folders);
  // `count` parameter servers that stay and know the format, those with the
  // fewest bytes, by name; 0: all. UNAVAILABLE if there are not so many.
  absl::StatusOr<std::vector<ServerLink>> PickServers(
      uint32_t count, v1::WireFormat format = v1::FP32) const;
  // FAILED_PRECONDITION (WIRE_FORMAT_NOT_KNOWN) if a member that such a job
  // could get, and that is not drained, does not know its format.
  absl::Status CheckFormat(const v1::JobSpec& spec) const;
  // RESOURCE_EXHAUSTED if a server that the run uses has no room for what the
  // paradigm would make it hold, as far as servers say how much that is.
  absl::Status CheckRoom(const JobRun& run, const ParadigmSpec& paradigm) const;
  // The last lines that the member of that name has logged, of ReadWorkerLog
  // and ReadServerLog (cluster.proto): the codes are those.
  void AskWorkerForLog(const std::string& worker, uint32_t lines,
                       LogQuestions::Answered answered);
  void AskServerForLog(const std::string& server, uint32_t lines,
                       LogQuestions::Answered answered);
  LogQuestions& logs() { return logs_; }
  std::vector<FleetMember> Members() const;  // By name.
  std::vector<v1::Server> Servers() const;   // By name.
  // Whether any is connected that can evaluate the job, whose model is that
  // program's, or a built-in one where that is empty.
  EvaluatorKnown FindEvaluator(const std::string& job,
                               absl::string_view program,
                               v1::WireFormat format = v1::FP32) const;

  // So much time passes for nobody: what they have said lies unread.
  void Forgive(absl::Duration time);
  // Ends the streams of silent members that no run sees to (after a lease; a
  // server that stalls under a run has three), and of those who do not leave.
  void EndSilent();

 private:
  void FoldersSeen(uint64_t member, const v1::FoldersSeen& seen);
  absl::Status ServerLeaves(uint64_t member);  // It is about to.
  void Detach(uint64_t member);                // It is free.
  // Its run has no use for it, by that status: it leaves, and may fit another.
  absl::Status Answered(uint64_t member, const JobRun& run,
                        const v1::WorkerMessage& message,
                        const absl::Status& status);
  // It has failed in the run: it is unfit for the job, or may try again.
  void NoteFailure(uint64_t member, const JobRun& run, const v1::Failed& why);
  bool Draining(const WorkerEntry& entry) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  uint64_t BytesOn(uint64_t server) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // Whether it may get something of a run.
  bool TakesJobs(uint64_t id, const ServerEntry& entry) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void Offer(uint64_t member);  // To all runs, if it may and can.
  // Logs of each run whose wire format it does not know that it has no part.
  template <class Hello>
  void TellLeftOut(absl::string_view role, const Hello& hello) const;
  // Tells the runs what it has of them; of others it is to have nothing.
  void ReturnToRuns(const ServerLink& link, const v1::ServerHello& hello);

  const Clock* const clock_;
  const FleetOptions options_;
  LogQuestions logs_;

  mutable absl::Mutex mu_;
  uint64_t next_member_ ABSL_GUARDED_BY(mu_) = 1;
  std::map<uint64_t, WorkerEntry> workers_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, std::shared_ptr<WorkerSession>> restored_
      ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<std::string> drained_ ABSL_GUARDED_BY(mu_);  // By name.
  std::map<uint64_t, ServerEntry> servers_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<std::string> drained_servers_ ABSL_GUARDED_BY(mu_);
  SeenFolders folders_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, std::shared_ptr<JobRun>> runs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_H_
