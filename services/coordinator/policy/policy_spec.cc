#include "services/coordinator/policy/policy_spec.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/status.h"
#include "services/coordinator/policy/asp.h"
#include "services/coordinator/policy/barrier_specs.h"
#include "services/coordinator/policy/bsp.h"
#include "services/coordinator/policy/cgp_spec.h"
#include "services/coordinator/policy/dssp.h"
#include "services/coordinator/policy/saps.h"
#include "services/coordinator/policy/spec_reader.h"
#include "services/coordinator/policy/ssp.h"
#include "services/coordinator/policy/staleness_aware.h"

namespace paceline {
namespace {

using PolicyOr = absl::StatusOr<std::unique_ptr<SyncPolicy>>;

// A gap that no run reaches.
constexpr int64_t kMaxBound = 1'000'000'000;
// The controller's work grows with it: some ten microseconds at this range.
constexpr int64_t kMaxRange = 10'000;

PolicyOr MakeBsp(const SpecParameters& /*parameters*/) {
  return std::make_unique<Bsp>();
}

PolicyOr MakeAsp(const SpecParameters& /*parameters*/) {
  return std::make_unique<Asp>();
}

PolicyOr MakeSsp(const SpecParameters& parameters) {
  PACELINE_ASSIGN_OR_RETURN(const int64_t s,
                            parameters.Number("s", 3, kMaxBound));
  return std::make_unique<Ssp>(s);
}

// "max" is 0, "within:K" is K.
absl::StatusOr<int64_t> ParseFastest(absl::string_view text) {
  if (text == "max") return 0;
  if (!absl::ConsumePrefix(&text, "within:")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "fastest=", text, " is neither max nor within:K, as within:2"));
  }
  const absl::StatusOr<int64_t> k = ParseNumber("K", text, kMaxBound);
  if (k.ok()) return k;
  return Annotate(k.status(), "fastest=within:K");
}

absl::Status CheckRange(const DsspOptions& options) {
  if (options.lower > options.upper) {
    return absl::InvalidArgumentError(
        absl::StrCat("lower=", options.lower, " is above upper=", options.upper,
                     "; it must be at most that"));
  }
  if (options.upper - options.lower > kMaxRange) {
    return absl::InvalidArgumentError(absl::StrCat(
        "upper=", options.upper, " is more than ", kMaxRange, " above lower=",
        options.lower, "; asp is the paradigm without a bound"));
  }
  return absl::OkStatus();
}

PolicyOr MakeDssp(const SpecParameters& parameters) {
  DsspOptions options;
  PACELINE_ASSIGN_OR_RETURN(
      options.lower, parameters.Number("lower", options.lower, kMaxBound));
  PACELINE_ASSIGN_OR_RETURN(
      options.upper, parameters.Number("upper", options.upper, kMaxBound));
  PACELINE_RETURN_IF_ERROR(CheckRange(options));
  // In the order of the enums.
  PACELINE_ASSIGN_OR_RETURN(
      const size_t mode,
      parameters.Choice("mode", {"paper", "exact", "bounded"}));
  PACELINE_ASSIGN_OR_RETURN(const size_t interval,
                            parameters.Choice("interval", {"push", "busy"}));
  PACELINE_ASSIGN_OR_RETURN(const size_t rule,
                            parameters.Choice("rule", {"abs", "causal"}));
  PACELINE_ASSIGN_OR_RETURN(options.fastest_within,
                            ParseFastest(parameters.Text("fastest", "max")));
  options.mode = static_cast<DsspMode>(mode);
  options.interval = static_cast<IntervalKind>(interval);
  options.rule = static_cast<PairRule>(rule);
  return std::make_unique<Dssp>(options);
}

// Nothing for "auto".
absl::StatusOr<std::optional<int64_t>> NumberOrAuto(
    const SpecParameters& parameters, absl::string_view key) {
  const absl::string_view text = parameters.Text(key, "auto");
  if (text == "auto") return std::nullopt;
  const absl::StatusOr<int64_t> number = ParseNumber(key, text, kMaxBound);
  if (!number.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(number.status().message(), ", or auto"));
  }
  return *number;
}

PolicyOr MakeSaps(const SpecParameters& parameters) {
  SapsOptions options;
  PACELINE_ASSIGN_OR_RETURN(
      const size_t mode,
      parameters.Choice("mode", {"refresh", "damp", "drop"}));
  options.mode = static_cast<SapsMode>(mode);  // In the order of the enum.
  PACELINE_ASSIGN_OR_RETURN(options.s, NumberOrAuto(parameters, "s"));
  PACELINE_ASSIGN_OR_RETURN(options.s_max, NumberOrAuto(parameters, "s_max"));
  PACELINE_ASSIGN_OR_RETURN(
      const int64_t pieces,
      parameters.Positive("micro_batches", options.micro_batches, 1024));
  PACELINE_ASSIGN_OR_RETURN(
      options.starve_limit,
      parameters.Positive("starve_limit", options.starve_limit, kMaxBound));
  options.micro_batches = static_cast<int>(pieces);
  if (options.s == 0) {
    return absl::InvalidArgumentError("s must be at least 1, or auto");
  }
  const SapsMode mode_of[] = {SapsMode::kRefresh, SapsMode::kDamp,
                              SapsMode::kDrop};
  constexpr absl::string_view kOwn[] = {"micro_batches", "s_max",
                                        "starve_limit"};
  for (size_t i = 0; i < 3; ++i) {
    if (options.mode == mode_of[i] || !parameters.Has(kOwn[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(kOwn[i], " has no effect with this mode; leave it out"));
  }
  if (options.s_max.has_value() && *options.s_max < options.s.value_or(1)) {
    return absl::InvalidArgumentError("s_max must be at least s");
  }
  return std::make_unique<Saps>(options);
}

struct Paradigm {
  absl::string_view name;
  std::vector<absl::string_view> parameters;
  PolicyOr (*make)(const SpecParameters&);
  // Whether its pushes can be stale and it leaves their weights alone.
  bool weighable = false;
};

constexpr absl::string_view kStalenessParameters[] = {
    "staleness_weight", "decay", "lambda", "staleness_cap"};

absl::StatusOr<StalenessRule> ReadStalenessRule(
    const SpecParameters& parameters) {
  StalenessRule rule;
  PACELINE_ASSIGN_OR_RETURN(
      const size_t weight,
      parameters.Choice("staleness_weight", {"none", "inverse", "exponential",
                                             "delay_compensated"}));
  rule.weight = static_cast<StalenessWeight>(weight);  // The enum's order.
  if (rule.weight != StalenessWeight::kExponential && parameters.Has("decay")) {
    return absl::InvalidArgumentError(
        "decay needs staleness_weight=exponential");
  }
  if (rule.weight != StalenessWeight::kDelayCompensated &&
      parameters.Has("lambda")) {
    return absl::InvalidArgumentError(
        "lambda needs staleness_weight=delay_compensated");
  }
  PACELINE_ASSIGN_OR_RETURN(rule.decay,
                            parameters.Decimal("decay", rule.decay, 0, 100));
  PACELINE_ASSIGN_OR_RETURN(rule.lambda,
                            parameters.Decimal("lambda", rule.lambda, 0, 1000));
  const absl::string_view cap = parameters.Text("staleness_cap", "none");
  if (cap != "none") {
    PACELINE_ASSIGN_OR_RETURN(rule.cap,
                              ParseNumber("staleness_cap", cap, kMaxBound));
  }
  return rule;
}

const std::vector<Paradigm>& Paradigms() {
  static const auto* const kParadigms = new std::vector<Paradigm>{
      {"bsp", {}, MakeBsp},
      {"asp", {}, MakeAsp, /*weighable=*/true},
      {"ssp", {"s"}, MakeSsp, /*weighable=*/true},
      {"dssp",
       {"lower", "upper", "mode", "interval", "rule", "fastest"},
       MakeDssp,
       /*weighable=*/true},
      {"saps",
       {"mode", "s", "s_max", "micro_batches", "starve_limit"},
       MakeSaps},
      {"cgp",
       {"beta", "delta", "predictive", "patience", "warmup_rounds", "alpha",
        "regroup_every", "drift", "stale_weight", "s_max"},
       MakeCgp},
      {"ksync", {"k"}, MakeKSync},
      {"kbatchsync", {"k"}, MakeKBatchSync},
      {"backup", {"b"}, MakeBackup},
      {"kasync", {"k"}, MakeKAsync, /*weighable=*/true},
      {"kbatchasync", {"k"}, MakeKBatchAsync, /*weighable=*/true},
      {"psp", {"beta", "s", "seed"}, MakePsp, /*weighable=*/true},
      {"elastic", {"r"}, MakeElasticBsp, /*weighable=*/true},
      {"abs", {"pieces"}, MakeAbsSgd},
      {"syncswitch", {"first", "then", "at", "straggler"}, MakeSyncSwitch},
  };
  return *kParadigms;
}

PolicyOr Make(absl::string_view spec) {
  const absl::string_view name = SpecName(spec);
  for (const Paradigm& paradigm : Paradigms()) {
    if (paradigm.name != name) continue;
    std::vector<absl::string_view> known = paradigm.parameters;
    if (paradigm.weighable) {
      known.insert(known.end(), std::begin(kStalenessParameters),
                   std::end(kStalenessParameters));
    }
    PACELINE_ASSIGN_OR_RETURN(const SpecParameters parameters,
                              SpecParameters::Parse(spec, known));
    PACELINE_ASSIGN_OR_RETURN(const StalenessRule rule,
                              ReadStalenessRule(parameters));
    PolicyOr policy = paradigm.make(parameters);
    if (!policy.ok() || !rule.active()) return policy;
    return std::make_unique<StalenessAware>(*std::move(policy), rule);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown paradigm \"", name, "\"; known are ",
                   absl::StrJoin(Paradigms(), ", ",
                                 [](std::string* out, const Paradigm& known) {
                                   absl::StrAppend(out, known.name);
                                 })));
}

}  // namespace

PolicyOr MakePolicy(absl::string_view spec) {
  PolicyOr policy = Make(spec);
  if (policy.ok()) return policy;
  return Annotate(policy.status(), absl::StrCat("paradigm \"", spec, "\""));
}

}  // namespace paceline
