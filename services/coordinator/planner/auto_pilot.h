#ifndef PACELINE_SERVICES_COORDINATOR_PLANNER_AUTO_PILOT_H_
#define PACELINE_SERVICES_COORDINATOR_PLANNER_AUTO_PILOT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/job/batched_paradigm.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/planner/forecast.h"
#include "services/coordinator/run/training_paces.h"

namespace paceline {

// Chooses the paradigm of one job while it trains, and how its batches are
// divided under it, from what was measured of its workers: the paradigms that
// could be used are played on that, and the one of the highest value (Forecast)
// is advised. A job that is to be steered is switched to it, on these
// conditions:
//
//   * its value is at least kLeastGain above that of the present paradigm, with
//     each of kLucks ways in which the measured times may follow each other;
//   * what is gained until the end is more than kSwitchesPaidBy times what a
//     switch costs, which is about an iteration of the slowest worker.
//
// Before it has ever looked in full: as soon as all have a few iterations and
// these say that kAutoBegins waits for somebody, a job that is to be steered
// goes over to rounds of the first batches (kbatchsync). They need nobody, cut
// nothing, and do not rely on a past pace. This is no choice yet: from there a
// switch needs kGainOfFirst only. If somebody never finishes an iteration
// there, the job goes back to kAutoBegins, which waits for all.
//
// Every prediction is checked. The measured speed of the present paradigm over
// the predicted one is its bias, which corrects its predictions from then on;
// what was never used is taken to have the bias of the one that is not on
// trial. A paradigm that was switched to and is, so corrected, worth clearly
// less than the one before is left again and locked out, each time for twice as
// long: for the one before, or for what now is foreseen to be better than that,
// since the trial may have shown what a cut costs. After that, what was never
// measured is tried only as long as all time that was spent in failed trials is
// at most kMostTrials of the whole.
//
// Whoever begins to steer a job in the middle, after a pause or a restart, say,
// has not seen its paradigm begin: that is on trial, too. If it cuts batches,
// and what a cut costs is not known, the job first goes back to kAutoBegins. So
// does a job whose rate follows the noise of its gradients, until that is
// known.
//
// What it looks at is of the last minute or so, the same for all workers. As
// long as nothing changes it plays more and more rarely.
// Pure and deterministic: the same calls have the same answers, in a real run
// and in a simulated one. Thread-compatible.
class AutoPilot {
 public:
  static constexpr double kLeastGain = 1.10;
  static constexpr double kGainOfFirst = 1.03;
  static constexpr uint64_t kLucks = 3;
  static constexpr double kSwitchesPaidBy = 5;
  static constexpr double kMostTrials = 0.03;

  using Seen = TrainingPaces;

  struct Option {
    BatchedParadigm paradigm;
    std::string text;   // It, in full.
    Forecast forecast;  // Corrected.
    double value = 0;
    std::string excluded;  // Why it is not chosen; mostly empty.
  };

  struct Look {
    // The best first; empty: somebody is not measured yet.
    std::vector<Option> options;
    // The one that is advised, by its text; the present one: stay.
    std::string advised;
    double gain = 1;  // Its value over that of the present one.
    std::string why;  // For people.
    // To be switched to now.
    std::optional<BatchedParadigm> to;
    // When to look again, in seconds of training from now.
    double again_after = 1;
  };

  // `acts`: whether `to` may be set. What a cut costs the pilot finds out
  // itself (PlayedJob::micro_batch_cost).
  Look LookAt(Seen seen, bool acts);
  // The switch that the last look wanted was not possible: `why`. It is not
  // wanted again for so many seconds.
  void Refused(const BatchedParadigm& present, double now,
               const std::string& why, double seconds);

 private:
  // A paradigm that was switched to, until its prediction is checked.
  struct Trial {
    std::string from;
    double began = 0;
  };
  struct Lock {
    bool active = false;
    double until = 0;
    double seconds = 0;   // Of the last one that a failed trial has brought.
    bool failed = false;  // It was one.
    std::string why = {};
  };

  // Notices when the workers or the paradigm are others than before.
  void TakeStock(const Seen& seen, const std::string& present);
  // Looks of one who has not seen enough. The early one plays what can be
  // switched to without knowing more.
  Look LookInVain(Seen seen, bool acts, std::string why);
  void LookEarly(Seen seen, Look& look);
  // Whether somebody is faster or slower than at the last full look.
  bool HasChanged(const Seen& seen) const;
  // All that a look is about; LookAt() answers as the last time in between.
  Look LookFully(const Seen& seen, bool acts, double slowest);
  // Each of them, and the present one, as it is foreseen.
  std::vector<Option> PlayAll(const Seen& seen,
                              std::vector<std::string> texts) const;
  // The present paradigm's bias, if it is used for long enough.
  void Measure(const Seen& seen, const std::vector<Option>& played);
  double BiasOf(const std::string& text) const;
  // What was locked out may be tried anew, as if nothing were known of it.
  void Unlock(double now);
  // By their biases; then the best comes first.
  void Correct(size_t workers, std::vector<Option>& options) const;
  // How much better than the present one a paradigm has to be.
  double LeastGain() const { return chose_early_ ? kGainOfFirst : kLeastGain; }
  // Whether it keeps its lead over the present one whatever the luck.
  bool LeadIsSure(const Seen& seen, const Option& option,
                  const Option& present) const;
  // Why a switch to it is not worth while or not allowed; empty: it is.
  std::string Objection(const Seen& seen, const Option& option,
                        const Option& present, double slowest) const;
  // Goes back to kAutoBegins. False: that is the present one.
  bool BeginAnew(const Seen& seen, Look& look);
  // The first look at a job that is to be steered. True: it goes back to
  // kAutoBegins first.
  bool TakesOver(const Seen& seen, Look& look);
  void Decide(const Seen& seen, bool acts, double slowest, Look& look);
  void SwitchTo(const Seen& seen, const Option& option, Look& look);
  // Leaves a paradigm whose prediction was wrong. False: the one before would
  // not be better.
  bool GiveUp(const Seen& seen, const Option& present, double slowest,
              Look& look);

  std::optional<double> micro_batch_cost_;  // As far as it was measured.
  std::map<std::string, double> bias_;
  std::map<std::string, Lock> locks_;
  bool steers_ = false;
  bool looked_ = false;       // In full, once.
  size_t looked_early_ = 0;   // With so many iterations.
  bool chose_early_ = false;  // And has not decided anything since.
  std::optional<Trial> trial_;
  double usual_bias_ = 1;  // The latest of a paradigm that was not on trial.
  double reverted_ = 0;    // Seconds in paradigms that were left again.

  // The present paradigm and the workers are the same since then.
  std::string present_;
  std::vector<std::string> names_;
  double since_ = 0;

  std::optional<Look> last_;             // The full one,
  double next_ = 0;                      // and when the next one is due,
  double interval_ = 0;                  // after so many seconds.
  std::map<std::string, double> paces_;  // Then, of the workers by name.
  double noise_ = 0;                     // And PlayedJob's.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PLANNER_AUTO_PILOT_H_
