#include "services/parameter_server/replica_wire.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"

namespace paceline {
namespace {

using Messages = std::vector<grpc::ByteBuffer>;

grpc::Slice Floats(const float* floats, size_t count,
                   const std::shared_ptr<const void>& owner) {
  return BorrowSlice(BytesOf({floats, count}), owner);
}

v1::ReplicaFenced ToWire(uint64_t incarnation, const FencedPush& answer) {
  v1::ReplicaFenced wire;
  wire.set_incarnation(incarnation);
  wire.set_iteration(answer.iteration);
  wire.set_blocks_taken(answer.blocks_taken);
  wire.set_samples(answer.samples);
  return wire;
}

// Of a shard of which so many blocks are pushed.
FencedPush FromWire(const v1::ReplicaFenced& wire, uint32_t blocks) {
  return {.iteration = wire.iteration(),
          .blocks_taken = wire.blocks_taken(),
          .blocks = blocks,
          .samples = wire.samples()};
}

v1::ReplicaEntry ToHeader(const BaseEntry& base) {
  v1::ReplicaEntry header;
  v1::ReplicaBase& wire = *header.mutable_base();
  wire.set_sequence(base.sequence);
  wire.set_closing(base.closing);
  wire.set_snapshot(base.snapshot);
  for (const auto& [incarnation, answer] : base.fenced) {
    *wire.add_fenced() = ToWire(incarnation, answer);
  }
  return header;
}

Messages ToMessages(const StateEntry& entry, bool acknowledge) {
  Messages messages;
  const BlockState& state = *entry.state;
  for (int array = 0; array <= state.slots(); ++array) {
    v1::ReplicaEntry header;
    v1::ReplicaState& wire = *header.mutable_state();
    wire.set_block(entry.block);
    wire.set_array(static_cast<uint32_t>(array));
    wire.set_more(array < state.slots());
    if (!wire.more()) {
      wire.set_steps(state.steps());
      for (const TakenBlock& taken : entry.taken) {
        v1::ReplicaTaken& by = *wire.add_taken();
        by.set_incarnation(taken.incarnation);
        by.set_iteration(taken.iteration);
        by.set_samples(taken.samples);
        by.set_refused(taken.refused);
      }
      header.set_acknowledge(acknowledge);
    }
    const float* const floats =
        array == 0 ? state.weights() : state.slot(array - 1);
    messages.push_back(
        EncodeFrame(header, Floats(floats, state.size(), entry.state)));
  }
  return messages;
}

v1::ReplicaEntry ToHeader(const PushEntry& push) {
  v1::ReplicaEntry header;
  v1::ReplicaPush& wire = *header.mutable_push();
  wire.set_incarnation(push.incarnation);
  wire.set_iteration(push.iteration);
  wire.set_block(push.block);
  wire.set_samples(push.samples);
  wire.set_weight(push.weight);
  if (push.round_plan) {
    wire.set_round(push.round);
  } else {
    wire.set_immediate_rate(push.rate);
  }
  if (push.momentum.has_value()) wire.set_momentum(*push.momentum);
  wire.set_format(ToWire(push.dtype));
  wire.set_refused(push.refused);
  return header;
}

v1::ReplicaEntry ToHeader(const DrainEntry& drain) {
  v1::ReplicaEntry header;
  v1::ReplicaDrain& wire = *header.mutable_drain();
  wire.set_block(drain.block);
  for (const uint64_t round : drain.rounds) wire.add_rounds(round);
  wire.set_rate(drain.rate);
  if (drain.momentum.has_value()) wire.set_momentum(*drain.momentum);
  return header;
}

v1::ReplicaEntry ToHeader(const CommandEntry& command) {
  v1::ReplicaEntry header;
  v1::ReplicaCommand& wire = *header.mutable_command();
  wire.set_sequence(command.sequence);
  std::visit(
      Overloaded{
          [](const std::monostate&) {},
          [&](const ClosingDone& done) { wire.set_closing(done.closing); },
          [&](const FenceDone& done) {
            *wire.mutable_fenced() = ToWire(done.incarnation, done.answer);
          },
          [&](const SnapshotDone& done) {
            wire.set_snapshot(static_cast<int64_t>(done.snapshot));
          },
          [&](const SnapshotReleased& done) {
            wire.set_released_snapshot(static_cast<int64_t>(done.snapshot));
          }},
      command.what);
  return header;
}

Messages One(v1::ReplicaEntry header, bool acknowledge,
             std::vector<grpc::Slice> payload = {}) {
  header.set_acknowledge(acknowledge);
  return {EncodeFrame(header, std::move(payload))};
}

CommandEntry FromWire(const v1::ReplicaCommand& wire, uint32_t blocks) {
  CommandEntry command{.sequence = wire.sequence()};
  switch (wire.what_case()) {
    case v1::ReplicaCommand::kClosing:
      command.what = ClosingDone{wire.closing()};
      break;
    case v1::ReplicaCommand::kFenced:
      command.what = FenceDone{wire.fenced().incarnation(),
                               FromWire(wire.fenced(), blocks)};
      break;
    case v1::ReplicaCommand::kSnapshot:
      command.what = SnapshotDone{static_cast<uint64_t>(wire.snapshot())};
      break;
    case v1::ReplicaCommand::kReleasedSnapshot:
      command.what =
          SnapshotReleased{static_cast<uint64_t>(wire.released_snapshot())};
      break;
    case v1::ReplicaCommand::WHAT_NOT_SET:
      break;
  }
  return command;
}

BaseEntry FromWire(const v1::ReplicaBase& wire, uint32_t blocks) {
  BaseEntry base{.sequence = wire.sequence(),
                 .closing = wire.closing(),
                 .snapshot = wire.snapshot(),
                 .fenced = {}};
  for (const v1::ReplicaFenced& fenced : wire.fenced()) {
    base.fenced.emplace_back(fenced.incarnation(), FromWire(fenced, blocks));
  }
  return base;
}

absl::StatusOr<PushEntry> FromWire(const v1::ReplicaPush& wire,
                                   const Payload& payload) {
  PushEntry push{.incarnation = wire.incarnation(),
                 .iteration = wire.iteration(),
                 .block = wire.block(),
                 .samples = wire.samples(),
                 .weight = wire.weight(),
                 .rate = wire.immediate_rate(),
                 .round_plan = wire.has_round(),
                 .round = wire.round(),
                 .refused = wire.refused(),
                 .payload = payload,
                 .owner = nullptr};
  if (wire.has_momentum()) push.momentum = wire.momentum();
  PACELINE_ASSIGN_OR_RETURN(push.dtype, paceline::FromWire(wire.format()));
  return push;
}

DrainEntry FromWire(const v1::ReplicaDrain& wire) {
  DrainEntry drain{.block = wire.block(),
                   .rounds = {wire.rounds().begin(), wire.rounds().end()},
                   .rate = wire.rate()};
  if (wire.has_momentum()) drain.momentum = wire.momentum();
  return drain;
}

absl::StatusOr<SumEntry> FromWire(const v1::ReplicaSum& wire,
                                  const Payload& payload) {
  SumEntry sum{.block = wire.block(),
               .round = wire.round(),
               .samples = wire.samples(),
               .size = payload.size() / sizeof(float),
               .sum = nullptr};
  if (payload.size() % sizeof(float) != 0 || sum.size > kBlockElementsMax) {
    return absl::InvalidArgumentError("a sum has an impossible size");
  }
  FloatBuffer floats = MakeFloatBuffer(sum.size);
  payload.CopyTo(DType::kF32, floats.get());
  sum.sum = std::move(floats);
  return sum;
}

}  // namespace

std::vector<grpc::ByteBuffer> ToWire(const ReplicaEntry& entry,
                                     bool acknowledge) {
  return std::visit(
      Overloaded{
          [&](const StateEntry& state) {
            return ToMessages(state, acknowledge);
          },
          [&](const SumEntry& sum) {
            v1::ReplicaEntry header;
            header.mutable_sum()->set_block(sum.block);
            header.mutable_sum()->set_round(sum.round);
            header.mutable_sum()->set_samples(sum.samples);
            return One(std::move(header), acknowledge,
                       {Floats(sum.sum.get(), sum.size, sum.sum)});
          },
          [&](const FilledEntry&) {
            v1::ReplicaEntry header;
            header.mutable_filled();
            return One(std::move(header), acknowledge);
          },
          [&](const PushEntry& push) {
            std::vector<grpc::Slice> pieces;
            for (const absl::string_view piece : push.payload.slices()) {
              pieces.push_back(BorrowSlice(piece, push.owner));
            }
            return One(ToHeader(push), acknowledge, std::move(pieces));
          },
          [&](const MarkEntry&) {
            return One(v1::ReplicaEntry(), acknowledge);
          },
          [&](const auto& other) { return One(ToHeader(other), acknowledge); }},
      entry);
}

absl::StatusOr<std::optional<ReplicaEntry>> ReplicaReader::Read(
    const Received<v1::ReplicaEntry>& message) {
  const v1::ReplicaEntry& header = message.header;
  if (state_ != nullptr && !header.has_state()) {
    return absl::InvalidArgumentError("arrays of a block are missing");
  }
  const auto blocks = static_cast<uint32_t>(shard_->pushed_blocks());
  switch (header.kind_case()) {
    case v1::ReplicaEntry::kBase:
      return ReplicaEntry(FromWire(header.base(), blocks));
    case v1::ReplicaEntry::kState:
      return ReadState(header.state(), message.payload);
    case v1::ReplicaEntry::kSum: {
      PACELINE_ASSIGN_OR_RETURN(SumEntry sum,
                                FromWire(header.sum(), message.payload));
      return ReplicaEntry(std::move(sum));
    }
    case v1::ReplicaEntry::kFilled:
      return ReplicaEntry(FilledEntry{});
    case v1::ReplicaEntry::kPush: {
      PACELINE_ASSIGN_OR_RETURN(PushEntry push,
                                FromWire(header.push(), message.payload));
      return ReplicaEntry(std::move(push));
    }
    case v1::ReplicaEntry::kDrain:
      return ReplicaEntry(FromWire(header.drain()));
    case v1::ReplicaEntry::kCommand:
      return ReplicaEntry(FromWire(header.command(), blocks));
    case v1::ReplicaEntry::kHello:
      return absl::InvalidArgumentError("`hello` comes once");
    case v1::ReplicaEntry::KIND_NOT_SET:
      break;
  }
  return ReplicaEntry(MarkEntry{});
}

absl::StatusOr<std::optional<ReplicaEntry>> ReplicaReader::ReadState(
    const v1::ReplicaState& wire, const Payload& payload) {
  PACELINE_ASSIGN_OR_RETURN(const JobShard::BlockShape shape,
                            shard_->ShapeOf(wire.block()));
  if (state_ == nullptr) {
    state_ = std::make_shared<BlockState>(shape.size, shape.slots);
    block_ = wire.block();
    next_array_ = 0;
  }
  const int array = next_array_++;
  if (wire.block() != block_ || static_cast<int>(wire.array()) != array ||
      wire.more() != (array < shape.slots) ||
      payload.size() != shape.size * sizeof(float)) {
    state_ = nullptr;  // Whoever reads on begins with another block.
    return absl::InvalidArgumentError(
        absl::StrCat("block ", wire.block(), ", array ", wire.array(), " with ",
                     payload.size(), " bytes does not fit the shard"));
  }
  payload.CopyTo(DType::kF32,
                 array == 0 ? state_->weights() : state_->slot(array - 1));
  if (wire.more()) return std::nullopt;
  state_->set_steps(wire.steps());
  StateEntry entry{wire.block(), std::exchange(state_, nullptr), {}};
  for (const v1::ReplicaTaken& taken : wire.taken()) {
    entry.taken.push_back({taken.incarnation(), taken.iteration(),
                           taken.samples(), taken.refused()});
  }
  return ReplicaEntry(std::move(entry));
}

}  // namespace paceline
