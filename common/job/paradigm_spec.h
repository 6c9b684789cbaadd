#ifndef PACELINE_COMMON_JOB_PARADIGM_SPEC_H_
#define PACELINE_COMMON_JOB_PARADIGM_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// The parameters of each paradigm. What they do is said where the paradigm is
// written, in services/coordinator/sync/paradigms/.

struct BspOptions {
  // Whoever has finished takes what others have not begun.
  bool steal = false;
  int pieces = 16;  // With `steal`: of a batch, as little as one takes.
  // With `steal`: whoever finds nothing to take begins with the next round.
  bool fill = false;
  // With `steal`, without `fill`: what is much too late is computed by those
  // who wait.
  bool redo = true;
};

struct AspOptions {};

struct SspOptions {
  int64_t s = 3;  // At least 0.
};

// Says what is done with an allowance r of the controller.
enum class DsspMode : uint8_t {
  // Follows the pseudo-code as it is printed: the release that comes with a
  // grant uses nothing of it, so r + 1 iterations follow. *Does not enforce the
  // upper bound*: a fastest worker that has used its allowance may get another
  // one, whatever its gap. Under lasting differences in speed it behaves like
  // ASP.
  kPrinted,
  // Follows the prose and the figures: r iterations follow. It enforces no
  // upper bound either.
  kExact,
  // Is kExact with the upper bound enforced: at a push the gap is at most
  // upper + 1. It is the only mode that the paper's theorem covers.
  kBounded,
};

// Says when a worker that the controller has stopped goes on
// (algorithms.md 2.4, D11).
enum class DsspRelease : uint8_t {
  // At the next push of the worker that was the slowest, as Figure 2 has it:
  // that is what the controller has predicted.
  kNext,
  // Once its gap is `lower` again, as line 17 of Algorithm 1 has it: that may
  // take many pushes of the slowest.
  kGap,
};

// Says what is measured as a worker's interval (algorithms.md 2.4, D9).
enum class IntervalKind : uint8_t {
  kPush,  // Between two pushes, as in the paper: includes waiting at the gate.
  kBusy,  // From the release to its push.
};

// Says which pairs of predicted pushes may be compared.
enum class PairRule : uint8_t {
  kAbsolute,  // All, as the paper has it: it may stop just after a slow push.
  kCausal,    // Those whose slow push does not come before the fast one.
};

struct DsspOptions {
  int64_t lower = 3;   // s_L: at this gap or less everybody may go on.
  int64_t upper = 15;  // s_U: allowances reach up to upper - lower.
  DsspMode mode = DsspMode::kExact;
  DsspRelease release = DsspRelease::kNext;  // kPrinted: kGap if not said.
  IntervalKind interval = IntervalKind::kPush;
  PairRule rule = PairRule::kAbsolute;
  // The controller is called for workers whose clock is at most this far below
  // the largest: 0 as in the paper, and with kPrinted if not said; more lets
  // equal fast workers go on that noise has driven apart.
  int64_t fastest_within = 3;
};

// Says how the staleness of a worker's parameters is limited.
enum class SapsMode : uint8_t {
  // A computing worker that is `s` updates behind is told to push what it has
  // at the next boundary of its micro-batches, and pulls anew: no waiting, and
  // no computation lost.
  kRefresh,
  // A push of staleness sigma weighs 1 up to s, s / sigma up to s_max, and is
  // discarded beyond.
  kDamp,
  // A push beyond s is discarded. Of a worker that is always late one push in
  // `starve_limit` + 1 is taken after all, at s / sigma.
  kDrop,
};

struct SapsOptions {
  SapsMode mode = SapsMode::kRefresh;
  std::optional<int64_t> s;      // Nothing: 2 * (live workers - 1).
  std::optional<int64_t> s_max;  // kDamp. Nothing: 3 * s.
  int micro_batches = 8;         // kRefresh: boundaries of a full batch.
  int64_t starve_limit = 10;     // kDrop.
  // A barrier after so many updates, at least 1; nothing: there is none.
  std::optional<int64_t> sync_every = std::nullopt;
};

// These are the parameters of algorithms.md 3.3.
struct CgpOptions {
  // Speed guarantee: predicted samples a second are at least this share of
  // ASP's. In [0, 1].
  double beta = 0.9;
  // How long a ready group waits for others at most, as a share of its period;
  // 0: only for those that are ready at the same instant. In [0, 10].
  double delta = 0.25;
  // Wait only if another group is predicted to be ready in that time.
  bool predictive = true;
  // A member is late so many periods after its round began; nothing: never. At
  // least 1.
  std::optional<double> patience = 1.5;
  int64_t warmup_rounds = 5;   // Of BSP, to measure. At least 1.
  double alpha = 0.3;          // BusyTimes.
  int64_t regroup_every = 50;  // Updates of groups; at least 1.
  // Regroup when a member is off its group's median by more; at least 0.
  double drift = 0.25;
  // A push counts 1 / (1 + staleness).
  bool inverse_weight = false;
  // No group's gradients are staler than that; nothing: no bound. At least 0.
  std::optional<int64_t> s_max = std::nullopt;
};

// How many gradients an update takes.
struct GradientCount {
  int64_t k = 2;  // At least 1. If it adapts: at first, and never less.
  // It grows as the training loss falls (AdaSync).
  bool adaptive = false;
  // With `adaptive`: the loss at which k is right, above 0; nothing: that of
  // the first k pushes.
  std::optional<double> first_loss = std::nullopt;
};

// Says what a round takes.
enum class KSyncMode : uint8_t {
  kWorkers,  // The first K workers; all, if fewer take part.
  kBatches,  // The first K mini-batches, also several of one worker.
  kBackup,   // All workers but the slowest b, at least one.
};

struct KSyncOptions {
  KSyncMode mode = KSyncMode::kWorkers;
  GradientCount k = {};
  int64_t b = 1;  // kBackup. At least 0.
};

// Says of what a round takes K.
enum class KAsyncMode : uint8_t {
  kWorkers,  // Gradients of K workers, who wait until it is closed.
  kBatches,  // Any K gradients; their workers go on right after the push.
};

struct KAsyncOptions {
  KAsyncMode mode = KAsyncMode::kWorkers;
  GradientCount k = {};
};

struct PspOptions {
  int64_t beta = 2;   // Workers that are sampled at a push.
  int64_t s = 3;      // Iterations that they may be behind.
  uint64_t seed = 1;  // Of the samples.
};

struct ElasticBspOptions {
  int64_t r = 15;  // Iterations that are looked ahead; at least 1.
};

struct AbsSgdOptions {
  int pieces = 8;  // Micro-batches of a batch; at least 1.
};

enum class StalenessWeight : uint8_t {
  kNone,
  // 1 / (staleness + 1): DynSGD (Jiang et al., SIGMOD 2017) in the form of
  // dist-keras, algorithms.md 5.6.
  kInverse,
  kExponential,  // exp(-decay * staleness)
  // Full weight, but the servers correct the gradient for what the weights have
  // moved since it was taken: DC-ASGD (Zheng et al., ICML 2017), 5.8.
  kDelayCompensated,
};

// Says how much a stale push counts under an asynchronous paradigm that leaves
// the weight of a push alone.
struct StalenessRule {
  StalenessWeight weight = StalenessWeight::kNone;
  double decay = 0.1;  // Of kExponential; at least 0.
  // Of kDelayCompensated; at least 0. With a mean_square: 2 if not said. Both
  // are the paper's for CIFAR-10, in its variants DC-ASGD-c and DC-ASGD-a.
  double lambda = 0.04;
  // Of kDelayCompensated: lambda is divided, element by element, by the root of
  // a running mean of the gradients' squares, of which each new square gets the
  // share 1 - mean_square (DC-ASGD-a); nothing: it is not. In [0, 1).
  std::optional<double> mean_square = std::nullopt;
  std::optional<int64_t> cap;  // A push beyond this staleness is discarded.

  // Whether it changes anything.
  bool active() const {
    return weight != StalenessWeight::kNone || cap.has_value();
  }
};

// A paradigm that is not made of two others.
struct PlainParadigm {
  std::variant<BspOptions, AspOptions, SspOptions, DsspOptions, SapsOptions,
               CgpOptions, KSyncOptions, KAsyncOptions, PspOptions,
               ElasticBspOptions, AbsSgdOptions>
      options;
  StalenessRule staleness = {};
};

// One of the two paradigms of a syncswitch.
struct InnerParadigm {
  PlainParadigm paradigm;
  // This is its spec in full, unless that has a ',', which cannot stand within
  // another spec: then it is the spec as it was written.
  std::string text;
};

// Says what Sync-Switch does about stragglers while its first paradigm has not
// had its share.
enum class SwitchForStragglers : uint8_t {
  kLeave,  // The second paradigm takes over while there is one.
  kStay,   // Nothing.
  kDrop,   // Rounds do without as many workers as there are stragglers.
};

struct SyncSwitchOptions {
  InnerParadigm first = {{BspOptions{}}, "bsp"};
  InnerParadigm then = {{AspOptions{}}, "asp"};
  int64_t at_millionths = 50'000;  // Share of the samples under `first`.
  // kDrop needs the first to be BSP.
  SwitchForStragglers stragglers = SwitchForStragglers::kStay;
};

// Which paradigm a job uses, and its parameters: what ParseParadigm() made of a
// spec, so that it cannot be wrong.
struct ParadigmSpec {
  std::variant<PlainParadigm, SyncSwitchOptions> kind;
};

// Whether workers take samples of other workers' batches under it, or under one
// of the two paradigms that it is made of.
bool Steals(const ParadigmSpec& paradigm);

// A paradigm that takes over once so many samples are counted.
struct ScheduledSwitch {
  int64_t samples = 0;
  ParadigmSpec paradigm;
};

// Reads a spec:
//
//   bsp
//   bsp:steal=true,pieces=16,fill=false|true
//   asp
//   ssp:s=3
//   dssp:lower=3,upper=15,mode=exact|bounded|printed,release=next|gap,
//        interval=push|busy,rule=abs|causal,fastest=max|within:K
//   saps:mode=refresh|damp|drop,s=auto,s_max=auto,micro_batches=8,
//        starve_limit=10,sync_every=none
//   cgp:beta=0.9,delta=0.25,predictive=true|false,patience=1.5,
//       warmup_rounds=5,alpha=0.3,regroup_every=50,drift=0.25,
//       stale_weight=none|inverse,s_max=none
//   ksync:k=2            kbatchsync:k=2      backup:b=1
//   kasync:k=2           kbatchasync:k=2     each k: 2|auto,k0=2,loss0=first
//   psp:beta=2,s=3,seed=1
//   elastic:r=15
//   abs:pieces=8
//   syncswitch:first=bsp,then=asp,at=0.05,straggler=stay|leave|drop
//
// The asynchronous ones that leave the weight of a push alone (asp, ssp, dssp,
// psp, elastic, kasync, kbatchasync) also take
//
//   staleness_weight=none|inverse|exponential|delay_compensated,decay=0.1,
//   lambda=0.04,mean_square=none,staleness_cap=none
//
// The two specs within a syncswitch have no ','. Parameters left out take the
// values shown first. INVALID_ARGUMENT, with what is wrong and what would be
// right, for an unknown name or parameter, a parameter given twice, a value
// that is no number or out of its range, or lower > upper.
absl::StatusOr<ParadigmSpec> ParseParadigm(absl::string_view text);

// Where a job's paradigm may stand: the coordinator chooses it while the job
// trains, which begins with this one.
inline constexpr absl::string_view kAutoParadigm = "auto";
inline constexpr absl::string_view kAutoBegins = "bsp";

// What a job's paradigm, or what it is to be switched to, may say.
struct ParadigmChoice {
  bool automatic = false;
  ParadigmSpec paradigm;  // If it is automatic, the first.
};
// Reads a spec or "auto". The errors are ParseParadigm()'s.
absl::StatusOr<ParadigmChoice> ParseParadigmChoice(absl::string_view text);

// All names that a spec may begin with. Each is a spec, too.
std::vector<absl::string_view> ParadigmNames();

// The spec with every parameter written out: ParseParadigm() reads it back.
std::string FormatParadigm(const ParadigmSpec& spec);

std::string FormatParadigm(PlainParadigm plain);
std::string FormatParadigm(SyncSwitchOptions options);

// `text`, a paradigm's spec in full, with an active rule for stale pushes.
std::string AddStaleness(std::string text, StalenessRule rule);

enum class Batching : uint8_t {
  kEven,      // Every worker computes B samples an iteration.
  kBalanced,  // Each computes in proportion to its measured rate.
};

// "even", "balanced"; INVALID_ARGUMENT for any other text.
absl::StatusOr<Batching> ParseBatching(absl::string_view name);

// Which samples a worker computes (docs/concepts.md, "Samples").
enum class DataAssignment : uint8_t {
  kDynamic,  // What comes next when it asks.
  kStatic,   // Its own part of the data, in every epoch.
};

// "dynamic", "static"; INVALID_ARGUMENT for any other text.
absl::StatusOr<DataAssignment> ParseDataAssignment(absl::string_view name);

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_PARADIGM_SPEC_H_
