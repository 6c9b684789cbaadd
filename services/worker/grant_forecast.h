#ifndef PACELINE_SERVICES_WORKER_GRANT_FORECAST_H_
#define PACELINE_SERVICES_WORKER_GRANT_FORECAST_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "common/sample_range.h"
#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// Foretells the worker's next grant, so that its weights are asked for, and
// maybe its step is begun, before it is there. Under the rules with rounds of
// all workers it names the next closing each time, and the front of what was
// reserved for the worker. Looks at the grants alone, so that it needs no word
// of any rule. Thread-compatible.
class GrantForecast {
 public:
  // The closing that the next grant will probably name; nothing while the
  // latest grants do not tell.
  std::optional<int64_t> Closing() const;

  // The next grant, as far as a step depends on it: all but what it reserves
  // newly, the round of its plan, and its rate, which is the last one's.
  std::optional<v1::Grant> Next() const;
  // Whether a step that was begun for what Next() said is that of the grant.
  static bool Fits(const v1::Grant& grant, const v1::Grant& foretold);

  // A grant has come. Returns whether weights after what Closing() said before
  // are what it asks for: it names that closing, and no update was counted
  // since the last grant but that closing.
  bool Take(const v1::Grant& grant);

  // What is reserved has been withdrawn.
  void DropReserved() { reserved_.clear(); }

 private:
  // What comes true twice in a row is believed. An error costs a transfer of
  // all weights, or a part of a step: it doubles what is needed, up to a limit.
  class Belief {
   public:
    bool believed() const { return came_true_ >= needed_; }
    void Count(bool came_true);

   private:
    int came_true_ = 0;  // In a row.
    int needed_ = 2;
  };

  // Whether or not it is believed.
  std::optional<v1::Grant> Foretell() const;
  void Reserve(const v1::Grant& grant);

  std::optional<v1::Grant> last_;
  std::deque<SampleRange> reserved_;  // And not granted yet.
  Belief closing_;
  Belief whole_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_GRANT_FORECAST_H_
