#include "services/worker/program/program_messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/bounded_json.h"
#include "common/check.h"
#include "common/job/optimizer_spec.h"
#include "common/plain_name.h"
#include "common/status.h"
#include "common/utf8.h"

namespace paceline {
namespace {

using Json = nlohmann::json;

// The limits of a checkpoint's manifest.
constexpr size_t kNameMax = 1024;
constexpr int64_t kElementsMax = int64_t{1} << 38;

constexpr size_t kDimensionsMax = 32;
// Beside accuracy and loss: what a coordinator takes.
constexpr size_t kMetricsMax = 16;
constexpr size_t kTextMax = 4096;

// Of WorkerReady.
constexpr uint32_t kLookaheadMax = 1 << 20;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the protocol is little-endian, and so is what is copied");

constexpr auto kNames = std::to_array<std::pair<FrameKind, const char*>>({
    {FrameKind::kHello, "hello"},
    {FrameKind::kAttach, "attach"},
    {FrameKind::kInitialized, "initialized"},
    {FrameKind::kReady, "ready"},
    {FrameKind::kDone, "done"},
    {FrameKind::kAbandoned, "abandoned"},
    {FrameKind::kEvaluated, "evaluated"},
    {FrameKind::kFailed, "failed"},
    {FrameKind::kJob, "job"},
    {FrameKind::kBegin, "begin"},
    {FrameKind::kWeights, "weights"},
    {FrameKind::kLot, "lot"},
    {FrameKind::kDrop, "drop"},
    {FrameKind::kStep, "step"},
    {FrameKind::kRefresh, "refresh"},
    {FrameKind::kAbandon, "abandon"},
    {FrameKind::kEvaluate, "evaluate"},
    {FrameKind::kStop, "stop"},
    {FrameKind::kRefused, "refused"},
});

absl::Status Wrong(FrameKind kind, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("`", FrameName(kind), "`: ", what));
}

// Reads the numbers of a struct, which is packed, one after the other.
class Numbers {
 public:
  explicit Numbers(absl::string_view bytes) : left_(bytes) {}

  template <class Number>
  Number Next() {
    Number number;
    std::memcpy(&number, left_.data(), sizeof(number));
    left_.remove_prefix(sizeof(number));
    return number;
  }

 private:
  absl::string_view left_;
};

template <class... Number>
std::string Packed(const Number&... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers)), ...);
  return bytes;
}

// What is behind `size` is of a later version.
absl::Status CheckSize(FrameKind kind, absl::string_view body, size_t size) {
  if (body.size() >= size) return absl::OkStatus();
  return Wrong(kind, absl::StrCat("has ", body.size(), " bytes, not ", size));
}

absl::StatusOr<Json> ParseObject(FrameKind kind, absl::string_view body) {
  Json object = ParseBoundedJson(body);
  if (!object.is_object()) return Wrong(kind, "is no JSON object");
  return object;
}

// Reads the fields of one object; the first error is kept. A field that is
// missing leaves what the caller has.
class Fields {
 public:
  Fields(FrameKind kind, const Json& object, std::string where)
      : kind_(kind), object_(object), where_(std::move(where)) {}

  const absl::Status& status() const { return status_; }

  const Json* Find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  void Text(const char* key, std::string& out, size_t most) {
    const Json* const field = Find(key);
    if (field == nullptr) return;
    if (!field->is_string()) return Fail(key, "is no text");
    out = field->get<std::string>();
    if (out.size() > most) {
      Fail(key, absl::StrCat("has more than ", most, " bytes"));
    }
  }

  template <class Integer>
  void Whole(const char* key, Integer& out) {
    const Json* const field = Find(key);
    if (field == nullptr) return;
    const bool fits =
        field->is_number_unsigned()
            ? field->get<uint64_t>() <=
                  static_cast<uint64_t>(std::numeric_limits<Integer>::max())
            : field->is_number_integer() &&
                  field->get<int64_t>() >=
                      static_cast<int64_t>(
                          std::numeric_limits<Integer>::min()) &&
                  std::numeric_limits<Integer>::is_signed;
    if (!fits) return Fail(key, "is no whole number in range");
    out = field->get<Integer>();
  }

  void Flag(const char* key, bool& out) {
    const Json* const field = Find(key);
    if (field == nullptr) return;
    if (!field->is_boolean()) return Fail(key, "is neither true nor false");
    out = field->get<bool>();
  }

  void Number(const char* key, double least, double most,
              std::optional<double>& out) {
    const Json* const field = Find(key);
    if (field == nullptr) return;
    if (!field->is_number()) return Fail(key, "is no number");
    out = field->get<double>();
    if (*out >= least && *out <= most) return;
    Fail(key, absl::StrCat("is ", *out, ", not ", least, " to ", most));
  }

  void Fail(const char* key, absl::string_view what) {
    status_.Update(Wrong(kind_, absl::StrCat(where_, "\"", key, "\" ", what)));
  }

 private:
  const FrameKind kind_;
  const Json& object_;
  const std::string where_;
  absl::Status status_;
};

void ReadShape(Fields& fields, ProgramTensor& tensor) {
  const Json* const shape = fields.Find("shape");
  if (shape == nullptr || !shape->is_array() ||
      shape->size() > kDimensionsMax) {
    return fields.Fail("shape", "is no list of whole numbers");
  }
  for (const Json& extent : *shape) {
    const bool whole = extent.is_number_unsigned();
    const uint64_t value = whole ? extent.get<uint64_t>() : 0;
    if (value < 1 || value > static_cast<uint64_t>(kElementsMax) ||
        static_cast<int64_t>(value) > kElementsMax / tensor.size) {
      return fields.Fail("shape",
                         "has what is no whole number from 1 on, or comes to "
                         "more elements than a model may have");
    }
    tensor.shape.push_back(static_cast<int64_t>(value));
    tensor.size *= tensor.shape.back();
  }
}

void ReadKind(Fields& fields, ProgramTensor& tensor) {
  std::string name(TensorKindName(TensorKind::kTrained));
  fields.Text("kind", name, kNameMax);
  const std::optional<TensorKind> kind = TensorKindOf(name);
  if (kind.has_value()) {
    tensor.kind = *kind;
  } else {
    fields.Fail("kind", absl::StrCat("is none of ",
                                     absl::StrJoin(kTensorKindNames, ", ")));
  }
}

absl::StatusOr<ProgramTensor> ReadTensor(const Json& object, size_t index) {
  const std::string where = absl::StrCat("tensor ", index, ": ");
  if (!object.is_object()) {
    return Wrong(FrameKind::kAttach, absl::StrCat(where, "is no JSON object"));
  }
  ProgramTensor tensor;
  Fields fields(FrameKind::kAttach, object, where);
  fields.Text("name", tensor.name, kNameMax);
  if (tensor.name.empty()) fields.Fail("name", "is missing");
  ReadShape(fields, tensor);
  ReadKind(fields, tensor);
  fields.Number("rate_factor", 0, kRateMax, tensor.rate_factor);
  fields.Number("weight_decay", 0, 1, tensor.weight_decay);
  fields.Number("momentum", std::numeric_limits<float>::min(), 1,
                tensor.momentum);
  PACELINE_RETURN_IF_ERROR(fields.status());
  return tensor;
}

absl::StatusOr<std::vector<ProgramTensor>> ReadTensors(const Json* list) {
  if (list == nullptr || !list->is_array() || list->empty()) {
    return Wrong(FrameKind::kAttach, "\"tensors\" is no list of tensors");
  }
  std::vector<ProgramTensor> tensors;
  std::set<std::string> names;
  int64_t left = kElementsMax;
  for (const Json& object : *list) {
    PACELINE_ASSIGN_OR_RETURN(ProgramTensor tensor,
                              ReadTensor(object, tensors.size()));
    if (!names.insert(tensor.name).second) {
      return Wrong(FrameKind::kAttach,
                   absl::StrCat("two tensors are \"", tensor.name, "\""));
    }
    left -= tensor.size;
    if (left < 0) {
      return Wrong(FrameKind::kAttach, absl::StrCat("the model has more than ",
                                                    kElementsMax, " elements"));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::string Dump(const Json& object) {
  // Names that came in over gRPC are UTF-8; whatever is not is replaced.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string JsonFrame(FrameKind kind, const Json& object) {
  return FrameBytes(kind, Dump(object));
}

// The name of gRPC.
absl::StatusCode CodeOf(absl::string_view name) {
  for (int code = 1; code <= 16; ++code) {
    const auto known = static_cast<absl::StatusCode>(code);
    if (absl::StatusCodeToString(known) == name) return known;
  }
  return absl::StatusCode::kUnknown;
}

}  // namespace

std::string FrameName(FrameKind kind) {
  const auto found = std::ranges::find(
      kNames, kind, &std::pair<FrameKind, const char*>::first);
  if (found != kNames.end()) return found->second;
  return absl::StrCat("frame ", static_cast<uint32_t>(kind));
}

absl::StatusOr<FrameHeader> ParseFrameHeader(absl::string_view bytes) {
  CHECK(bytes.size() == kFrameHeaderBytes);
  Numbers numbers(bytes);
  FrameHeader header;
  header.length = numbers.Next<uint32_t>();
  const auto kind = numbers.Next<uint32_t>();
  header.kind = static_cast<FrameKind>(kind);
  if (kind < static_cast<uint32_t>(FrameKind::kHello) ||
      kind > static_cast<uint32_t>(FrameKind::kFailed)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a program sends no `", FrameName(header.kind), "`"));
  }
  if (header.length > kFrameBodyMax) {
    return Wrong(header.kind,
                 absl::StrCat("has ", header.length, " bytes, more than the ",
                              kFrameBodyMax, " of a frame"));
  }
  return header;
}

std::string FrameBytes(FrameKind kind, absl::string_view body) {
  CHECK(body.size() <= kFrameBodyMax);
  std::string bytes =
      Packed(static_cast<uint32_t>(body.size()), static_cast<uint32_t>(kind));
  bytes.append(body.data(), body.size());
  return bytes;
}

absl::StatusOr<ProgramHello> ParseHello(absl::string_view body) {
  PACELINE_ASSIGN_OR_RETURN(const Json object,
                            ParseObject(FrameKind::kHello, body));
  ProgramHello hello;
  Fields fields(FrameKind::kHello, object, "");
  fields.Whole("protocol", hello.protocol);
  fields.Whole("pid", hello.pid);
  fields.Text("language", hello.language, kTextMax);
  PACELINE_RETURN_IF_ERROR(fields.status());
  return hello;
}

absl::StatusOr<ProgramAttach> ParseAttach(absl::string_view body,
                                          bool evaluator) {
  PACELINE_ASSIGN_OR_RETURN(const Json object,
                            ParseObject(FrameKind::kAttach, body));
  ProgramAttach attach;
  Fields fields(FrameKind::kAttach, object, "");
  fields.Whole("train_samples", attach.train_samples);
  fields.Whole("test_samples", attach.test_samples);
  fields.Whole("lookahead", attach.lookahead);
  fields.Whole("micro_batch", attach.micro_batch);
  fields.Flag("extends", attach.extends);
  if (attach.lookahead > kLookaheadMax) {
    fields.Fail("lookahead", absl::StrCat("is more than ", kLookaheadMax));
  }
  std::string optimizer;
  fields.Text("optimizer", optimizer, kTextMax);
  if (!optimizer.empty()) attach.optimizer = std::move(optimizer);
  fields.Number("learning_rate", std::numeric_limits<float>::min(), kRateMax,
                attach.learning_rate);
  if (!evaluator && attach.train_samples == 0) {
    fields.Fail("train_samples",
                "is missing: a trainer says how many an "
                "epoch has");
  }
  if (evaluator && attach.test_samples == 0) {
    fields.Fail("test_samples",
                "is missing: an evaluator says how many an "
                "evaluation has");
  }
  PACELINE_RETURN_IF_ERROR(fields.status());
  PACELINE_ASSIGN_OR_RETURN(attach.tensors,
                            ReadTensors(fields.Find("tensors")));
  if (!evaluator &&
      std::ranges::none_of(attach.tensors, &ProgramTensor::pushed)) {
    return Wrong(FrameKind::kAttach,
                 "all tensors are frozen: there is nothing to train");
  }
  return attach;
}

absl::StatusOr<TensorRun> ParseReady(absl::string_view body, size_t tensors) {
  PACELINE_RETURN_IF_ERROR(CheckSize(FrameKind::kReady, body, 8));
  Numbers numbers(body);
  TensorRun run;
  run.first = numbers.Next<uint32_t>();
  run.end = numbers.Next<uint32_t>();
  if (run.first < run.end && run.end <= tensors) return run;
  return Wrong(FrameKind::kReady,
               absl::StrCat("[", run.first, ", ", run.end,
                            ") are no tensors of the ", tensors));
}

absl::StatusOr<ProgramDone> ParseDone(absl::string_view body) {
  PACELINE_RETURN_IF_ERROR(CheckSize(FrameKind::kDone, body, 40));
  Numbers numbers(body);
  ProgramDone done;
  done.iteration = numbers.Next<int64_t>();
  done.loss_sum = numbers.Next<double>();
  done.samples = numbers.Next<uint32_t>();
  done.flags = numbers.Next<uint32_t>();
  done.load_ns = numbers.Next<uint64_t>();
  done.compute_ns = numbers.Next<uint64_t>();
  return done;
}

absl::StatusOr<int64_t> ParseAbandoned(absl::string_view body) {
  PACELINE_RETURN_IF_ERROR(CheckSize(FrameKind::kAbandoned, body, 8));
  return Numbers(body).Next<int64_t>();
}

absl::StatusOr<ProgramEvaluated> ParseEvaluated(absl::string_view body) {
  PACELINE_ASSIGN_OR_RETURN(const Json object,
                            ParseObject(FrameKind::kEvaluated, body));
  ProgramEvaluated evaluated;
  Fields fields(FrameKind::kEvaluated, object, "");
  fields.Whole("snapshot", evaluated.snapshot);
  const Json* const metrics = fields.Find("metrics");
  if (metrics == nullptr || !metrics->is_object()) {
    fields.Fail("metrics", "is no object");
  }
  PACELINE_RETURN_IF_ERROR(fields.status());
  for (const auto& [name, value] : metrics->items()) {
    const absl::Status named = CheckPlainName("a metric's name", name);
    if (!named.ok()) {
      return Wrong(FrameKind::kEvaluated, std::string(named.message()));
    }
    const double number = value.is_number() ? value.get<double>() : NAN;
    if (!std::isfinite(number)) {
      return Wrong(
          FrameKind::kEvaluated,
          absl::StrCat("the metric \"", name, "\" is no finite number"));
    }
    evaluated.metrics.emplace(name, number);
  }
  const size_t usual =
      evaluated.metrics.count("accuracy") + evaluated.metrics.count("loss");
  if (evaluated.metrics.size() - usual > kMetricsMax) {
    return Wrong(FrameKind::kEvaluated,
                 absl::StrCat(evaluated.metrics.size() - usual,
                              " metrics beside accuracy and loss; at most ",
                              kMetricsMax, " can be shown"));
  }
  return evaluated;
}

absl::StatusOr<ProgramFailed> ParseFailed(absl::string_view body) {
  PACELINE_ASSIGN_OR_RETURN(const Json object,
                            ParseObject(FrameKind::kFailed, body));
  std::string code;
  std::string message;
  Fields fields(FrameKind::kFailed, object, "");
  fields.Text("code", code, kTextMax);
  fields.Text("message", message, kFrameBodyMax);
  PACELINE_RETURN_IF_ERROR(fields.status());
  absl::StatusCode known = CodeOf(code);
  // These say what an agent has seen itself, not what a program may say.
  if (known == absl::StatusCode::kInternal ||
      known == absl::StatusCode::kUnavailable ||
      known == absl::StatusCode::kCancelled ||
      known == absl::StatusCode::kDeadlineExceeded) {
    known = absl::StatusCode::kUnknown;
  }
  if (message.empty()) message = "the program failed and did not say why";
  return ProgramFailed{absl::Status(known, CutUtf8(message, kTextMax))};
}

std::string JobFrame(const ProgramJob& job) {
  return JsonFrame(FrameKind::kJob,
                   {{"protocol", kProgramProtocol},
                    {"job", job.job},
                    {"worker", job.worker},
                    {"role", job.evaluator ? "evaluator" : "trainer"},
                    {"arguments", job.arguments},
                    {"seed", job.seed},
                    {"batch_size", job.batch_size},
                    {"micro_batch", job.micro_batch},
                    {"wire", job.wire},
                    {"optimizer", job.optimizer},
                    {"learning_rate", job.learning_rate},
                    {"data", job.data}});
}

std::string BeginFrame(bool initialize, uint64_t weights_bytes,
                       uint64_t gradients_bytes) {
  return JsonFrame(FrameKind::kBegin, {{"initialize", initialize},
                                       {"weights_bytes", weights_bytes},
                                       {"gradients_bytes", gradients_bytes}});
}

std::string WeightsFrame(const TensorRun& tensors) {
  return FrameBytes(FrameKind::kWeights, Packed(tensors.first, tensors.end));
}

std::string LotFrame(uint32_t epoch, absl::Span<const uint32_t> samples) {
  CHECK(samples.size() <= kLotSamplesMax);
  std::string body = Packed(epoch, static_cast<uint32_t>(samples.size()));
  body.append(reinterpret_cast<const char*>(samples.data()),
              samples.size() * sizeof(uint32_t));
  return FrameBytes(FrameKind::kLot, body);
}

std::string StepFrame(const ProgramStep& step) {
  return FrameBytes(
      FrameKind::kStep,
      Packed(step.iteration, step.epoch, step.samples, step.micro_batch,
             step.flags, step.rate, step.version, step.trained));
}

std::string IterationFrame(FrameKind kind, int64_t iteration) {
  return FrameBytes(kind, Packed(iteration));
}

std::string EvaluateFrame(int64_t snapshot, uint64_t samples) {
  return FrameBytes(FrameKind::kEvaluate, Packed(snapshot, samples));
}

std::string StopFrame(absl::string_view reason) {
  return JsonFrame(FrameKind::kStop, {{"reason", std::string(reason)}});
}

std::string RefusedFrame(const absl::Status& status) {
  return JsonFrame(FrameKind::kRefused,
                   {{"code", absl::StatusCodeToString(status.code())},
                    {"message", std::string(status.message())}});
}

std::string EmptyFrame(FrameKind kind) { return FrameBytes(kind, ""); }

}  // namespace paceline
