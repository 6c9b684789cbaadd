#include "services/simulator/jitter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/job/spec_reader.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr double kMostSigma = 3;
constexpr double kMostFactor = 1000;
constexpr absl::Duration kLongest = absl::Hours(1000);
constexpr Nanos kLeastEvery = 1'000'000;

absl::StatusOr<Nanos> ReadDuration(const SpecParameters& parameters,
                                   absl::string_view key) {
  PACELINE_ASSIGN_OR_RETURN(const absl::Duration duration,
                            parameters.Duration(key, kLongest));
  return absl::ToInt64Nanoseconds(duration);
}

absl::StatusOr<Bursts> ReadBursts(absl::string_view spec) {
  PACELINE_ASSIGN_OR_RETURN(
      const SpecParameters parameters,
      SpecParameters::Parse(spec, {"every", "for", "factor", "first"}));
  Bursts bursts;
  PACELINE_ASSIGN_OR_RETURN(bursts.every, ReadDuration(parameters, "every"));
  PACELINE_ASSIGN_OR_RETURN(bursts.length, ReadDuration(parameters, "for"));
  PACELINE_ASSIGN_OR_RETURN(bursts.factor,
                            parameters.Decimal("factor", 4, 1, kMostFactor));
  if (parameters.Has("first")) {
    PACELINE_ASSIGN_OR_RETURN(bursts.first, ReadDuration(parameters, "first"));
  }
  if (bursts.every < kLeastEvery) {
    return absl::InvalidArgumentError("every must be 1ms or more");
  }
  if (bursts.length > 0 && bursts.length < bursts.every) return bursts;
  return absl::InvalidArgumentError("for must be above 0 and below every");
}

absl::Status ReadPart(absl::string_view spec, Jitter& jitter) {
  const absl::string_view name = SpecName(spec);
  if (name == "bursts") {
    PACELINE_ASSIGN_OR_RETURN(jitter.bursts, ReadBursts(spec));
    return absl::OkStatus();
  }
  absl::string_view key;
  double most = 0;
  if (name == "normal") {
    jitter.kind = Jitter::Kind::kNormal;
    key = "sd";
    most = 1;
  } else if (name == "lognormal") {
    jitter.kind = Jitter::Kind::kLognormal;
    key = "sigma";
    most = kMostSigma;
  } else if (name == "exponential") {
    jitter.kind = Jitter::Kind::kExponential;
  } else if (name != "none") {
    return absl::InvalidArgumentError(
        "want none, normal:sd=0.1, lognormal:sigma=0.3, exponential or "
        "bursts:every=60s,for=5s,factor=4");
  }
  if (key.empty()) return SpecParameters::Parse(spec, {}).status();
  PACELINE_ASSIGN_OR_RETURN(const SpecParameters parameters,
                            SpecParameters::Parse(spec, {key}));
  if (parameters.Text(key, "").empty()) {
    return absl::InvalidArgumentError(absl::StrCat(key, "=... is missing"));
  }
  PACELINE_ASSIGN_OR_RETURN(jitter.spread, parameters.Decimal(key, 0, 0, most));
  return absl::OkStatus();
}

absl::StatusOr<Jitter> Read(absl::string_view text) {
  Jitter jitter;
  int bursts = 0;
  int others = 0;
  for (const absl::string_view part : absl::StrSplit(text, '+')) {
    ++(SpecName(part) == "bursts" ? bursts : others);
    PACELINE_RETURN_IF_ERROR(ReadPart(part, jitter));
  }
  if (bursts <= 1 && others <= 1) return jitter;
  return absl::InvalidArgumentError(
      "'+' joins one distribution and one bursts:...");
}

}  // namespace

absl::StatusOr<Jitter> ParseJitter(absl::string_view text) {
  return Annotate(Read(text), absl::StrCat("jitter \"", text, "\""));
}

}  // namespace paceline
