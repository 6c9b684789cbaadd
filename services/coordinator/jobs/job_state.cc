#include "services/coordinator/jobs/job_state.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/status_details.h"

namespace paceline {
namespace {

using State = v1::Job::State;
using enum JobEvent;

constexpr State kStays = v1::Job::STATE_UNSPECIFIED;

struct Transition {
  JobEvent event;
  std::vector<State> from;
  State to;
};

// The state machine. What is not here cannot happen.
const std::vector<Transition>& Transitions() {
  using v1::Job;
  static const auto* const table = new std::vector<Transition>{
      {kPause, {Job::PENDING}, Job::PAUSED},
      {kPause, {Job::STARTING, Job::RUNNING}, Job::PAUSING},
      {kResume, {Job::PAUSED}, Job::PENDING},
      {kResume, {Job::PAUSING}, Job::RUNNING},
      {kCancel, {Job::PENDING, Job::PAUSED}, Job::CANCELLED},
      {kCancel,
       {Job::STARTING, Job::RUNNING, Job::PAUSING, Job::SAVING},
       Job::CANCELLING},
      {kRestore,
       {Job::PAUSED, Job::SUCCEEDED, Job::FAILED, Job::CANCELLED},
       Job::PENDING},
      {kDelete, {Job::SUCCEEDED, Job::FAILED, Job::CANCELLED}, kStays},
      {kSwitch,
       {Job::PENDING, Job::STARTING, Job::RUNNING, Job::PAUSED},
       kStays},
      {kUpdate,
       {Job::PENDING, Job::STARTING, Job::RUNNING, Job::PAUSED},
       kStays},
      {kCheckpoint, {Job::RUNNING, Job::PAUSING, Job::SAVING}, kStays},

      {kAssigned, {Job::PENDING}, Job::STARTING},
      {kInterrupted, {Job::STARTING, Job::RUNNING, Job::SAVING}, Job::PENDING},
      {kInterrupted, {Job::PAUSING}, Job::PAUSED},
      {kInterrupted, {Job::CANCELLING}, Job::CANCELLED},
      {kStarted, {Job::STARTING}, Job::RUNNING},
      // It had begun when it was told.
      {kStarted, {Job::RUNNING, Job::PAUSING, Job::CANCELLING}, kStays},
      // While it was told to pause: it was faster. While it was told to stop:
      // whoever cancelled it relies on that.
      {kFinished, {Job::RUNNING, Job::PAUSING, Job::SAVING}, Job::SUCCEEDED},
      {kFinished, {Job::CANCELLING}, Job::CANCELLED},
      {kFailed,
       {Job::STARTING, Job::RUNNING, Job::PAUSING, Job::SAVING},
       Job::FAILED},
      {kFailed, {Job::CANCELLING}, Job::CANCELLED},
      // One that is told to pause or to stop does not forget that.
      {kSavingFails, {Job::RUNNING}, Job::SAVING},
      {kSavingFails, {Job::PAUSING, Job::SAVING, Job::CANCELLING}, kStays},
      {kSaved, {Job::SAVING}, Job::RUNNING},
      {kSaved, {Job::RUNNING, Job::PAUSING, Job::CANCELLING}, kStays},
      {kLeftUnsaved, {Job::RUNNING, Job::PAUSING, Job::SAVING}, Job::PAUSED},
      {kLeftUnsaved, {Job::CANCELLING}, Job::CANCELLED},

      // It had trained nothing, and loads anew.
      {kRestarted, {Job::STARTING}, Job::PENDING},
      {kRestarted, {Job::RUNNING, Job::PAUSING, Job::SAVING}, Job::PAUSED},
      {kRestarted, {Job::CANCELLING}, Job::CANCELLED},
      {kRestarted,
       {Job::PENDING, Job::PAUSED, Job::SUCCEEDED, Job::FAILED, Job::CANCELLED},
       kStays},
  };
  return *table;
}

struct EventName {
  JobEvent event;
  absl::string_view name;
  bool by_callers;
};

constexpr EventName kEventNames[] = {
    {kPause, "pause", true},          {kResume, "resume", true},
    {kCancel, "cancel", true},        {kRestore, "restore", true},
    {kDelete, "delete", true},        {kSwitch, "switch", true},
    {kUpdate, "update", true},        {kCheckpoint, "checkpoint", true},
    {kAssigned, "assign", false},     {kInterrupted, "interrupt", false},
    {kStarted, "start", false},       {kFinished, "finish", false},
    {kFailed, "fail", false},         {kSavingFails, "fail to save", false},
    {kSaved, "be saved", false},      {kLeftUnsaved, "be left unsaved", false},
    {kRestarted, "come back", false},
};

const Transition* Find(State state, JobEvent event) {
  for (const Transition& transition : Transitions()) {
    if (transition.event != event) continue;
    const std::vector<State>& from = transition.from;
    if (std::find(from.begin(), from.end(), state) != from.end()) {
      return &transition;
    }
  }
  return nullptr;
}

// "cannot resume a job that is RUNNING, only one that is PAUSED; now possible:
// pause, cancel".
std::string WhyNot(State state, JobEvent event) {
  std::vector<std::string> in_states;
  for (const Transition& transition : Transitions()) {
    if (transition.event != event) continue;
    for (const State from : transition.from) {
      in_states.push_back(StateName(from));
    }
  }
  std::vector<absl::string_view> possible;
  for (const EventName& known : kEventNames) {
    if (known.by_callers && Find(state, known.event) != nullptr) {
      possible.push_back(known.name);
    }
  }
  return absl::StrCat(
      "cannot ", JobEventName(event), " a job that is ", StateName(state),
      ", only one that is ", absl::StrJoin(in_states, " or "),
      possible.empty() ? "; wait until that is over" : "; now possible: ",
      absl::StrJoin(possible, ", "));
}

}  // namespace

absl::string_view JobEventName(JobEvent event) {
  const auto index = static_cast<size_t>(event);
  CHECK(index < std::size(kEventNames) && kEventNames[index].event == event);
  return kEventNames[index].name;
}

absl::StatusOr<State> NextState(State state, JobEvent event,
                                absl::string_view resource) {
  const Transition* const transition = Find(state, event);
  if (transition == nullptr) {
    return WrongState(resource, WhyNot(state, event));
  }
  return transition->to == kStays ? state : transition->to;
}

bool HasEnded(State state) {
  return state == v1::Job::SUCCEEDED || state == v1::Job::FAILED ||
         state == v1::Job::CANCELLED;
}

std::string StateName(State state) {
  const std::string& name = v1::Job::State_Name(state);
  return name.empty() ? absl::StrCat(static_cast<int>(state)) : name;
}

}  // namespace paceline
