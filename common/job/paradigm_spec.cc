#include "common/job/paradigm_spec.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/job/job_defaults.h"
#include "common/job/spec_reader.h"
#include "common/overloaded.h"
#include "common/status.h"

namespace paceline {
namespace {

// More workers, iterations, rounds or updates than any job has.
constexpr int64_t kMostCount = 1'000'000'000;
// The work of DSSP's controller grows with it: some ten microseconds at this
// range.
constexpr int64_t kMostRange = 10'000;
// A push of PSP may take time in proportion to the sample.
constexpr int64_t kMostSampled = 1'000;
// ElasticBSP's paper looks 240 iterations ahead at most. A barrier takes time
// in proportion.
constexpr int64_t kMostAhead = 1'000;
constexpr int64_t kMostPieces = 1'024;
// A window of ten periods is one for all groups; ten times the mean, or more,
// no member is late by chance.
constexpr double kMostDelta = 10;
constexpr double kMostPatience = 1'000;
constexpr double kMostDrift = 1'000;
// Below, the first measurement would be the last.
constexpr double kLeastAlpha = 0.001;

// Of a training loss.
constexpr double kLeastLoss = 0.000001;
constexpr double kMostLoss = 1'000'000;

constexpr double kMostLambda = 1'000;
// A mean of the latest million squares.
constexpr double kMostMeanSquare = 0.999999;
// Of DC-ASGD-a (Zheng et al., ICML 2017), on CIFAR-10.
constexpr double kAdaptiveLambda = 2;

constexpr absl::string_view kSyncSwitch = "syncswitch";

using Names = std::initializer_list<absl::string_view>;

// Goes through the parameters of a paradigm, each of which a List() below names
// once: reads them from a spec, or writes them, and knows their keys.
class Parameters {
 public:
  // Writes the values that the options have.
  Parameters() = default;
  // Replaces the values that `given` has; the others stay as they are.
  explicit Parameters(const SpecParameters* given) : given_(given) {}

  bool reads() const { return given_ != nullptr; }
  // Whether a spec that is read says it.
  bool Gives(absl::string_view key) const {
    return reads() && given_->Has(key);
  }
  const std::vector<absl::string_view>& keys() const { return keys_; }
  // Says what is wrong with the first wrong one.
  const absl::Status& status() const { return status_; }
  // "key=value,key=value".
  std::string text() const { return absl::StrJoin(written_, ","); }

  // A whole number from `least`, which is 0 or 1, to `most`.
  template <class Int>
  void Whole(absl::string_view key, Int& value, int64_t least = 0,
             int64_t most = kMostCount) {
    if (!Reads(key, absl::StrCat(value))) return;
    const auto number = given_->Whole(key, least, least, most);
    if (Take(number.status())) value = static_cast<Int>(*number);
  }

  // A whole number from `least`, which is 0 or 1, or nothing for the word
  // `none`.
  void WholeOr(absl::string_view none, absl::string_view key,
               std::optional<int64_t>& value, int64_t least = 0) {
    if (!Reads(key, value.has_value() ? absl::StrCat(*value) : none)) return;
    value.reset();
    if (given_->Text(key, none) == none) return;
    const auto number = given_->Whole(key, least, least, kMostCount);
    if (Take(number.status(), none)) value = *number;
  }

  // A number, rounded to millionths, which ten digits give back.
  void Decimal(absl::string_view key, double& value, double least,
               double most) {
    if (!Reads(key, absl::StrFormat("%.10g", value))) return;
    const auto number = given_->Decimal(key, 0, least, most);
    if (Take(number.status())) value = std::round(*number * 1e6) / 1e6;
  }

  // Such a number, or nothing for the word `none`.
  void DecimalOr(absl::string_view none, absl::string_view key,
                 std::optional<double>& value, double least, double most) {
    if (!Reads(key, value.has_value() ? absl::StrFormat("%.10g", *value)
                                      : std::string(none))) {
      return;
    }
    value.reset();
    if (given_->Text(key, none) == none) return;
    const auto number = given_->Decimal(key, 0, least, most);
    if (Take(number.status(), none)) value = std::round(*number * 1e6) / 1e6;
  }

  // One of `names`, which are in the order of the enum.
  template <class Enum>
  void Choice(absl::string_view key, Enum& value, Names names) {
    if (!Reads(key, names.begin()[static_cast<size_t>(value)])) return;
    const auto index = given_->Choice(key, names);
    if (Take(index.status())) value = static_cast<Enum>(*index);
  }

  void Flag(absl::string_view key, bool& value, absl::string_view if_true,
            absl::string_view if_false) {
    bool other = !value;
    Choice(key, other, {if_true, if_false});
    value = !other;
  }

  // A value that `read` takes from its text and judges.
  template <class Read>
  void Text(absl::string_view key, absl::string_view written, Read read) {
    if (Reads(key, written)) Take(read(given_->Text(key, "")));
  }

  // The next parameter is written only if that holds. If it does not, and there
  // is a reason why it must, it may not be given either.
  void Only(bool applies, absl::string_view why) {
    applies_ = applies;
    why_ = why;
  }

  // `message` says what is wrong if `holds` is false.
  void Require(bool holds, absl::string_view message) {
    if (!holds) Take(absl::InvalidArgumentError(message));
  }

 private:
  // Whether the parameter is to be read; if not, it is written.
  bool Reads(absl::string_view key, absl::string_view written) {
    const bool applies = std::exchange(applies_, true);
    keys_.push_back(key);
    if (given_ == nullptr) {
      if (applies) written_.push_back(absl::StrCat(key, "=", written));
      return false;
    }
    if (!given_->Has(key)) return false;
    Require(applies || why_.empty(), absl::StrCat(key, " ", why_));
    return true;
  }

  // Whether it was right. `none` is what else would have been.
  bool Take(const absl::Status& status, absl::string_view none = "") {
    status_.Update(none.empty() || status.ok()
                       ? status
                       : absl::InvalidArgumentError(
                             absl::StrCat(status.message(), ", or ", none)));
    return status.ok();
  }

  const SpecParameters* const given_ = nullptr;  // Null: writes.
  std::vector<absl::string_view> keys_;
  std::vector<std::string> written_;
  absl::Status status_;
  bool applies_ = true;
  absl::string_view why_;
};

void List(BspOptions& options, Parameters& parameters) {
  parameters.Only(options.steal, "");
  parameters.Flag("steal", options.steal, "true", "false");
  parameters.Only(options.steal, "needs steal=true");
  parameters.Whole("pieces", options.pieces, 1, kMostPieces);
  // Written only where it is wanted: clients of before do not know it.
  parameters.Only(options.steal && (parameters.reads() || options.fill),
                  "needs steal=true");
  parameters.Flag("fill", options.fill, "true", "false");
  if (parameters.reads() && options.fill) options.redo = false;
  parameters.Only(
      options.steal && !options.fill && (parameters.reads() || !options.redo),
      "needs steal=true, without fill=true");
  parameters.Flag("redo", options.redo, "true", "false");
}

void List(AspOptions& /*options*/, Parameters& /*parameters*/) {}

void List(SspOptions& options, Parameters& parameters) {
  parameters.Whole("s", options.s);
}

// "max" is 0, "within:K" is K.
absl::Status ReadFastest(absl::string_view text, int64_t& within) {
  within = 0;
  if (text == "max") return absl::OkStatus();
  if (!absl::ConsumePrefix(&text, "within:")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "fastest=", text, " is neither max nor within:K, as within:2"));
  }
  const absl::StatusOr<int64_t> k = ParseNumber("K", text, kMostCount);
  if (k.ok()) within = *k;
  return Annotate(k.status(), "fastest=within:K");
}

// "paper" was the name of "printed".
absl::Status ReadDsspMode(absl::string_view text, DsspMode& mode) {
  if (text == "printed" || text == "paper") {
    mode = DsspMode::kPrinted;
  } else if (text == "exact") {
    mode = DsspMode::kExact;
  } else if (text == "bounded") {
    mode = DsspMode::kBounded;
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "mode=", text, " is neither exact nor bounded nor printed"));
  }
  return absl::OkStatus();
}

void List(DsspOptions& options, Parameters& parameters) {
  parameters.Whole("lower", options.lower);
  parameters.Whole("upper", options.upper);
  parameters.Require(options.lower <= options.upper,
                     absl::StrCat("lower=", options.lower, " is above upper=",
                                  options.upper, "; it must be at most that"));
  parameters.Require(options.upper - options.lower <= kMostRange,
                     absl::StrCat("upper=", options.upper, " is more than ",
                                  kMostRange, " above lower=", options.lower,
                                  "; asp is the paradigm without a bound"));
  const absl::string_view modes[] = {"printed", "exact", "bounded"};
  parameters.Text(
      "mode", modes[static_cast<size_t>(options.mode)],
      [&](absl::string_view text) { return ReadDsspMode(text, options.mode); });
  if (parameters.reads() && options.mode == DsspMode::kPrinted) {
    options.release = DsspRelease::kGap;
    options.fastest_within = 0;
  }
  parameters.Choice("release", options.release, {"next", "gap"});
  parameters.Choice("interval", options.interval, {"push", "busy"});
  parameters.Choice("rule", options.rule, {"abs", "causal"});
  parameters.Text("fastest",
                  options.fastest_within == 0
                      ? "max"
                      : absl::StrCat("within:", options.fastest_within),
                  [&](absl::string_view text) {
                    return ReadFastest(text, options.fastest_within);
                  });
}

void List(SapsOptions& options, Parameters& parameters) {
  constexpr absl::string_view kWhy =
      "has no effect with this mode; leave it out";
  parameters.Choice("mode", options.mode, {"refresh", "damp", "drop"});
  parameters.WholeOr("auto", "s", options.s);
  parameters.Require(options.s != 0, "s must be at least 1, or auto");
  parameters.Only(options.mode == SapsMode::kDamp, kWhy);
  parameters.WholeOr("auto", "s_max", options.s_max);
  parameters.Require(
      !options.s_max.has_value() || *options.s_max >= options.s.value_or(1),
      "s_max must be at least s");
  parameters.Only(options.mode == SapsMode::kRefresh, kWhy);
  parameters.Whole("micro_batches", options.micro_batches, 1, kMostPieces);
  parameters.Only(options.mode == SapsMode::kDrop, kWhy);
  parameters.Whole("starve_limit", options.starve_limit, 1);
  parameters.Only(options.sync_every.has_value(), "");
  parameters.WholeOr("none", "sync_every", options.sync_every);
  parameters.Require(options.sync_every != 0,
                     "sync_every must be at least 1, or none");
}

void List(CgpOptions& options, Parameters& parameters) {
  parameters.Decimal("beta", options.beta, 0, 1);
  parameters.Decimal("delta", options.delta, 0, kMostDelta);
  parameters.Flag("predictive", options.predictive, "true", "false");
  parameters.DecimalOr("inf", "patience", options.patience, 1, kMostPatience);
  parameters.Whole("warmup_rounds", options.warmup_rounds, 1);
  parameters.Decimal("alpha", options.alpha, kLeastAlpha, 1);
  parameters.Whole("regroup_every", options.regroup_every, 1);
  parameters.Decimal("drift", options.drift, 0, kMostDrift);
  parameters.Choice("stale_weight", options.inverse_weight,
                    {"none", "inverse"});
  parameters.WholeOr("none", "s_max", options.s_max);
}

void List(GradientCount& count, Parameters& parameters) {
  std::optional<int64_t> fixed;
  if (!count.adaptive) fixed = count.k;
  parameters.WholeOr("auto", "k", fixed, 1);
  count.adaptive = !fixed.has_value();
  count.k = fixed.value_or(count.k);
  constexpr absl::string_view kWhy = "needs k=auto";
  parameters.Only(count.adaptive, kWhy);
  parameters.Whole("k0", count.k, 1);
  parameters.Only(
      count.adaptive && (parameters.reads() || count.first_loss.has_value()),
      kWhy);
  parameters.DecimalOr("first", "loss0", count.first_loss, kLeastLoss,
                       kMostLoss);
}

void List(KSyncOptions& options, Parameters& parameters) {
  if (options.mode == KSyncMode::kBackup) {
    parameters.Whole("b", options.b);
  } else {
    List(options.k, parameters);
  }
}

void List(KAsyncOptions& options, Parameters& parameters) {
  List(options.k, parameters);
}

void List(PspOptions& options, Parameters& parameters) {
  parameters.Whole("beta", options.beta, 0, kMostSampled);
  parameters.Whole("s", options.s);
  parameters.Whole("seed", options.seed, 0,
                   std::numeric_limits<int64_t>::max());
}

void List(ElasticBspOptions& options, Parameters& parameters) {
  parameters.Whole("r", options.r, 1, kMostAhead);
}

void List(AbsSgdOptions& options, Parameters& parameters) {
  parameters.Whole("pieces", options.pieces, 1, kMostPieces);
}

void List(StalenessRule& rule, Parameters& parameters) {
  parameters.Choice("staleness_weight", rule.weight,
                    {"none", "inverse", "exponential", "delay_compensated"});
  parameters.Only(rule.weight == StalenessWeight::kExponential,
                  "needs staleness_weight=exponential");
  parameters.Decimal("decay", rule.decay, 0, 100);
  const bool compensates = rule.weight == StalenessWeight::kDelayCompensated;
  constexpr absl::string_view kWhy = "needs staleness_weight=delay_compensated";
  parameters.Only(compensates, kWhy);
  parameters.Decimal("lambda", rule.lambda, 0, kMostLambda);
  parameters.Only(
      compensates && (parameters.reads() || rule.mean_square.has_value()),
      kWhy);
  parameters.DecimalOr("none", "mean_square", rule.mean_square, 0,
                       kMostMeanSquare);
  if (parameters.reads() && rule.mean_square.has_value() &&
      !parameters.Gives("lambda")) {
    rule.lambda = kAdaptiveLambda;
  }
  parameters.Only(rule.cap.has_value(), "");
  parameters.WholeOr("none", "staleness_cap", rule.cap);
}

struct Paradigm {
  absl::string_view name;
  PlainParadigm standard;  // With the parameters that are left out.
  // Whether its pushes can be stale and it leaves their weights alone.
  bool weighable = false;
};

const std::vector<Paradigm>& Paradigms() {
  static const auto* const kParadigms = new std::vector<Paradigm>{
      {"bsp", {BspOptions()}},
      {"asp", {AspOptions()}, /*weighable=*/true},
      {"ssp", {SspOptions()}, /*weighable=*/true},
      {"dssp", {DsspOptions()}, /*weighable=*/true},
      {"saps", {SapsOptions()}},
      {"cgp", {CgpOptions()}},
      {"ksync", {KSyncOptions{KSyncMode::kWorkers}}},
      {"kbatchsync", {KSyncOptions{KSyncMode::kBatches}}},
      {"backup", {KSyncOptions{KSyncMode::kBackup}}},
      {"kasync", {KAsyncOptions{KAsyncMode::kWorkers}}, /*weighable=*/true},
      {"kbatchasync",
       {KAsyncOptions{KAsyncMode::kBatches}},
       /*weighable=*/true},
      {"psp", {PspOptions()}, /*weighable=*/true},
      {"elastic", {ElasticBspOptions()}, /*weighable=*/true},
      {"abs", {AbsSgdOptions()}},
  };
  return *kParadigms;
}

void List(PlainParadigm& plain, bool weighable, Parameters& parameters) {
  std::visit([&](auto& options) { List(options, parameters); }, plain.options);
  if (weighable) List(plain.staleness, parameters);
}

// Reads the parameters of a spec; `list` goes through them.
template <class GoThrough>
absl::Status ReadParameters(absl::string_view text, GoThrough list) {
  Parameters known;
  list(known);
  PACELINE_ASSIGN_OR_RETURN(const SpecParameters given,
                            SpecParameters::Parse(text, known.keys()));
  Parameters read(&given);
  list(read);
  return read.status();
}

absl::StatusOr<PlainParadigm> ReadPlain(absl::string_view text) {
  for (const Paradigm& paradigm : Paradigms()) {
    if (paradigm.name != SpecName(text)) continue;
    PlainParadigm plain = paradigm.standard;
    PACELINE_RETURN_IF_ERROR(ReadParameters(text, [&](Parameters& parameters) {
      List(plain, paradigm.weighable, parameters);
    }));
    return plain;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown paradigm \"", SpecName(text), "\"; known are ",
                   absl::StrJoin(ParadigmNames(), ", ")));
}

// What an error of the spec begins with.
std::string TitleOf(absl::string_view text) {
  return absl::StrCat("paradigm \"", text, "\"");
}

// A spec within the spec.
absl::Status ReadInner(absl::string_view key, absl::string_view text,
                       InnerParadigm& inner) {
  if (SpecName(text) == kSyncSwitch) {
    return absl::InvalidArgumentError(absl::StrCat(
        key, "=", text, " is made of two itself; it must be another paradigm"));
  }
  PACELINE_ASSIGN_OR_RETURN(
      const PlainParadigm plain,
      Annotate(ReadPlain(text), absl::StrCat(key, ": ", TitleOf(text))));
  std::string full = FormatParadigm(plain);
  if (absl::StrContains(full, ',')) full = std::string(text);
  inner = {plain, std::move(full)};
  return absl::OkStatus();
}

void List(SyncSwitchOptions& options, Parameters& parameters) {
  parameters.Text("first", options.first.text, [&](absl::string_view text) {
    return ReadInner("first", text, options.first);
  });
  parameters.Text("then", options.then.text, [&](absl::string_view text) {
    return ReadInner("then", text, options.then);
  });
  double at = static_cast<double>(options.at_millionths) * 1e-6;
  parameters.Decimal("at", at, 0, 1);
  options.at_millionths = std::llround(at * 1e6);
  parameters.Choice("straggler", options.stragglers, {"leave", "stay", "drop"});
  const auto* const first =
      std::get_if<BspOptions>(&options.first.paradigm.options);
  parameters.Require(options.stragglers != SwitchForStragglers::kDrop ||
                         (first != nullptr && !first->steal),
                     "straggler=drop needs first=bsp");
}

absl::StatusOr<ParadigmSpec> ReadParadigm(absl::string_view text) {
  if (SpecName(text) != kSyncSwitch) {
    PACELINE_ASSIGN_OR_RETURN(PlainParadigm plain, ReadPlain(text));
    return ParadigmSpec{plain};
  }
  SyncSwitchOptions options;
  PACELINE_RETURN_IF_ERROR(ReadParameters(
      text, [&](Parameters& parameters) { List(options, parameters); }));
  return ParadigmSpec{std::move(options)};
}

// Tells the paradigms of one kind of options apart.
int ModeOf(const PlainParadigm& plain) {
  return std::visit(
      Overloaded{
          [](const KSyncOptions& o) { return static_cast<int>(o.mode); },
          [](const KAsyncOptions& o) { return static_cast<int>(o.mode); },
          [](const auto&) { return 0; }},
      plain.options);
}

absl::string_view NameOf(const PlainParadigm& plain) {
  for (const Paradigm& paradigm : Paradigms()) {
    if (paradigm.standard.options.index() == plain.options.index() &&
        ModeOf(paradigm.standard) == ModeOf(plain)) {
      return paradigm.name;
    }
  }
  return "";
}

}  // namespace

std::vector<absl::string_view> ParadigmNames() {
  std::vector<absl::string_view> names;
  for (const Paradigm& paradigm : Paradigms()) names.push_back(paradigm.name);
  names.push_back(kSyncSwitch);
  return names;
}

absl::StatusOr<ParadigmSpec> ParseParadigm(absl::string_view text) {
  return Annotate(ReadParadigm(text), TitleOf(text));
}

absl::StatusOr<ParadigmChoice> ParseParadigmChoice(absl::string_view text) {
  ParadigmChoice choice;
  choice.automatic = text == kAutoParadigm;
  PACELINE_ASSIGN_OR_RETURN(
      choice.paradigm, ParseParadigm(choice.automatic ? kAutoBegins : text));
  return choice;
}

std::string FormatParadigm(PlainParadigm plain) {
  Parameters written;
  List(plain, /*weighable=*/false, written);
  std::string text(NameOf(plain));
  if (!written.text().empty()) absl::StrAppend(&text, ":", written.text());
  return plain.staleness.active()
             ? AddStaleness(std::move(text), plain.staleness)
             : text;
}

std::string FormatParadigm(SyncSwitchOptions options) {
  Parameters written;
  List(options, written);
  return absl::StrCat(kSyncSwitch, ":", written.text());
}

std::string FormatParadigm(const ParadigmSpec& spec) {
  return std::visit([](const auto& kind) { return FormatParadigm(kind); },
                    spec.kind);
}

bool Steals(const ParadigmSpec& paradigm) {
  const auto steals = [](const PlainParadigm& plain) {
    const auto* const bsp = std::get_if<BspOptions>(&plain.options);
    return bsp != nullptr && bsp->steal;
  };
  const auto* const both = std::get_if<SyncSwitchOptions>(&paradigm.kind);
  if (both == nullptr) return steals(std::get<PlainParadigm>(paradigm.kind));
  return steals(both->first.paradigm) || steals(both->then.paradigm);
}

std::string AddStaleness(std::string text, StalenessRule rule) {
  Parameters written;
  List(rule, written);
  absl::StrAppend(&text, absl::StrContains(text, ':') ? "," : ":",
                  written.text());
  return text;
}

absl::StatusOr<Batching> ParseBatching(absl::string_view name) {
  if (name == "even") return Batching::kEven;
  if (name == "balanced") return Batching::kBalanced;
  return absl::InvalidArgumentError(
      absl::StrCat("is \"", name, "\"; use even or balanced"));
}

absl::StatusOr<DataAssignment> ParseDataAssignment(absl::string_view name) {
  if (name == kDefaultDataAssignment) return DataAssignment::kDynamic;
  if (name == kStaticDataAssignment) return DataAssignment::kStatic;
  return absl::InvalidArgumentError(
      absl::StrCat("is \"", name, "\"; use dynamic or static"));
}

}  // namespace paceline
