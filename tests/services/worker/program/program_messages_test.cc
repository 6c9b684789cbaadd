#include "services/worker/program/program_messages.h"

#include <cmath>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string Bytes(std::initializer_list<int> bytes) {
  return {bytes.begin(), bytes.end()};
}

std::string Message(const absl::Status& status) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(ProgramMessagesTest, AFrameIsItsLengthItsKindAndItsBody) {
  EXPECT_EQ(FrameBytes(FrameKind::kLot, "abc"),
            Bytes({3, 0, 0, 0, 67, 0, 0, 0}) + "abc");
  const auto header = ParseFrameHeader(Bytes({4, 1, 0, 0, 5, 0, 0, 0}));
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->length, 260u);
  EXPECT_EQ(header->kind, FrameKind::kDone);
}

TEST(ProgramMessagesTest, WhatIsNoFrameOfAProgram) {
  EXPECT_THAT(
      Message(ParseFrameHeader(Bytes({0, 0, 0, 0, 64, 0, 0, 0})).status()),
      HasSubstr("sends no `job`"));
  EXPECT_THAT(
      Message(ParseFrameHeader(Bytes({0, 0, 0, 0, 9, 0, 0, 0})).status()),
      HasSubstr("`frame 9`"));
  EXPECT_THAT(
      Message(ParseFrameHeader(Bytes({1, 0, 0, 1, 2, 0, 0, 0})).status()),
      HasSubstr("`attach`: has 16777217 bytes"));
}

TEST(ProgramMessagesTest, WhatTheAgentSays) {
  EXPECT_EQ(WeightsFrame({2, 5}),
            Bytes({8, 0, 0, 0, 66, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0}));
  EXPECT_EQ(LotFrame(1, {7, 256}),
            Bytes({16, 0, 0, 0, 67, 0, 0, 0, 1, 0, 0, 0,
                   2,  0, 0, 0, 7,  0, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(IterationFrame(FrameKind::kAbandon, -2),
            Bytes({8, 0, 0, 0, 71, 0, 0, 0, -2, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(EmptyFrame(FrameKind::kDrop), Bytes({0, 0, 0, 0, 68, 0, 0, 0}));
  const std::string step = StepFrame({.iteration = 1,
                                      .epoch = 2,
                                      .samples = 3,
                                      .micro_batch = 4,
                                      .flags = ProgramStep::kOverlap,
                                      .rate = 0.5,
                                      .version = 6,
                                      .trained = 7});
  EXPECT_EQ(step,
            Bytes({48,  0,  0, 0, 69, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0,
                   0,   3,  0, 0, 0,  4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                   -32, 63, 6, 0, 0,  0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(EvaluateFrame(1, 2).size(), 24u);
  EXPECT_EQ(StopFrame("enough").substr(8), R"({"reason":"enough"})");
  EXPECT_EQ(RefusedFrame(absl::InvalidArgumentError("no")).substr(8),
            R"({"code":"INVALID_ARGUMENT","message":"no"})");
  // What comes over a network may be anything.
  EXPECT_THAT(StopFrame("\xff"), HasSubstr("reason"));
}

TEST(ProgramMessagesTest, Attach) {
  const auto attach = ParseAttach(
      R"({"tensors": [{"name": "w", "shape": [2, 3], "rate_factor": 0.5,
                       "weight_decay": 0},
                      {"name": "m", "shape": [], "kind": "statistic",
                       "momentum": 0.25},
                      {"name": "f", "shape": [1], "kind": "frozen"},
                      {"name": "a", "shape": [7], "kind": "averaged"}],
          "train_samples": 4294967295, "lookahead": 8, "micro_batch": 4, "extends": true, "later": {},
          "optimizer": "sgd", "learning_rate": 0.1})",
      /*evaluator=*/false);
  ASSERT_TRUE(attach.ok()) << attach.status();
  EXPECT_EQ(attach->learning_rate, 0.1);
  EXPECT_EQ(attach->train_samples, 4294967295u);
  EXPECT_EQ(attach->lookahead, 8u);
  EXPECT_EQ(attach->micro_batch, 4u);
  EXPECT_TRUE(attach->extends);
  EXPECT_EQ(attach->optimizer, "sgd");
  ASSERT_EQ(attach->tensors.size(), 4u);
  EXPECT_THAT(attach->tensors[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(attach->tensors[0].size, 6);
  EXPECT_EQ(attach->tensors[0].rate_factor, 0.5);
  EXPECT_EQ(attach->tensors[0].weight_decay, 0);
  EXPECT_EQ(attach->tensors[0].momentum, std::nullopt);
  EXPECT_EQ(attach->tensors[1].kind, TensorKind::kStatistic);
  EXPECT_EQ(attach->tensors[1].size, 1);
  EXPECT_EQ(attach->tensors[1].momentum, 0.25);
  EXPECT_FALSE(attach->tensors[2].pushed());
  EXPECT_EQ(attach->tensors[3].kind, TensorKind::kAveraged);
}

std::string AttachWith(const std::string& tensor) {
  return R"({"train_samples": 1, "tensors": [)" + tensor + "]}";
}

TEST(ProgramMessagesTest, AnAttachThatCannotBe) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "is no JSON object"},
      {"[]", "is no JSON object"},
      {"{", "is no JSON object"},
      {std::string(200, '['), "is no JSON object"},
      {"{}", "\"train_samples\" is missing"},
      {R"({"train_samples": -1})", "\"train_samples\" is no whole number"},
      {R"({"train_samples": 4294967296})", "is no whole number in range"},
      {R"({"train_samples": 1.5})", "is no whole number"},
      {R"({"train_samples": 1, "lookahead": 1048577})",
       "\"lookahead\" is more than 1048576"},
      {R"({"train_samples": 1})", "\"tensors\" is no list"},
      {R"({"train_samples": 1, "tensors": {}})", "\"tensors\" is no list"},
      {AttachWith(""), "\"tensors\" is no list"},
      {AttachWith("7"), "tensor 0: is no JSON object"},
      {AttachWith("{}"), "tensor 0: \"name\" is missing"},
      {AttachWith(R"({"name": 7})"), "\"name\" is no text"},
      {AttachWith(R"({"name": "w"})"), "\"shape\" is no list"},
      {AttachWith(R"({"name": "w", "shape": [0]})"), "\"shape\" has what"},
      {AttachWith(R"({"name": "w", "shape": [-1]})"), "\"shape\" has what"},
      {AttachWith(R"({"name": "w", "shape": [274877906944, 2]})"),
       "more elements than a model may have"},
      {AttachWith(R"({"name": "w", "shape": [1], "kind": "cool"})"),
       "is none of trained"},
      {AttachWith(R"({"name": "w", "shape": [1], "rate_factor": -1})"),
       "\"rate_factor\" is -1, not 0 to"},
      {AttachWith(R"({"name": "w", "shape": [1], "momentum": 0})"),
       "\"momentum\" is 0"},
      {AttachWith(R"({"name": "w", "shape": [1], "weight_decay": "0"})"),
       "\"weight_decay\" is no number"},
      {AttachWith(
           R"({"name": "w", "shape": [1]}, {"name": "w", "shape": [1]})"),
       "two tensors are \"w\""},
      {AttachWith(R"({"name": "v", "shape": [200000000000]},
                     {"name": "w", "shape": [200000000000]})"),
       "the model has more than"},
      {AttachWith(R"({"name": "w", "shape": [1], "kind": "frozen"})"),
       "nothing to train"},
  };
  for (const auto& [body, why] : cases) {
    EXPECT_THAT(Message(ParseAttach(body, false).status()), HasSubstr(why))
        << body;
  }
  EXPECT_THAT(Message(ParseAttach("{}", /*evaluator=*/true).status()),
              HasSubstr("\"test_samples\" is missing"));
}

TEST(ProgramMessagesTest, Structs) {
  std::string done(40, '\0');
  done[0] = 5;
  done[16] = 7;
  done[20] = 1;
  // What a later version has behind it.
  for (const std::string& body : {done, done + "more"}) {
    const auto parsed = ParseDone(body);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->iteration, 5);
    EXPECT_EQ(parsed->samples, 7u);
    EXPECT_EQ(parsed->flags, ProgramDone::kNotFinite);
  }
  EXPECT_THAT(Message(ParseDone(done.substr(1)).status()),
              HasSubstr("`done`: has 39 bytes, not 40"));
  EXPECT_EQ(*ParseAbandoned(Bytes({9, 0, 0, 0, 0, 0, 0, 0})), 9);
  EXPECT_THAT(Message(ParseAbandoned("").status()), HasSubstr("`abandoned`"));
  const auto ready = ParseReady(Bytes({1, 0, 0, 0, 3, 0, 0, 0}), 3);
  ASSERT_TRUE(ready.ok());
  EXPECT_EQ(ready->first, 1u);
  EXPECT_EQ(ready->end, 3u);
  for (const auto& [first, end] : {std::pair{1, 4}, {2, 2}, {3, 1}}) {
    Message(ParseReady(Bytes({first, 0, 0, 0, end, 0, 0, 0}), 3).status());
  }
}

TEST(ProgramMessagesTest, Evaluated) {
  const auto evaluated =
      ParseEvaluated(R"({"snapshot": 3, "metrics": {"loss": 1, "top5": 0.5}})");
  ASSERT_TRUE(evaluated.ok());
  EXPECT_EQ(evaluated->snapshot, 3);
  EXPECT_THAT(evaluated->metrics,
              ElementsAre(Pair("loss", 1), Pair("top5", 0.5)));
  for (const char* body :
       {R"({"snapshot": 3})", R"({"metrics": []})",
        R"({"metrics": {"x": "1"}})", R"({"metrics": {"x": 1e999}})",
        R"({"metrics": {"": 1}})",
        R"({"snapshot": 3, "metrics": {"val/loss": 1}})",
        R"({"snapshot": "3", "metrics": {}})"}) {
    Message(ParseEvaluated(body).status());
  }
}

TEST(ProgramMessagesTest, Failed) {
  const auto failed = [](const char* body) {
    const auto parsed = ParseFailed(body);
    EXPECT_TRUE(parsed.ok());
    return parsed.ok() ? parsed->why : absl::OkStatus();
  };
  EXPECT_EQ(failed(R"({"code": "INVALID_ARGUMENT", "message": "no"})"),
            absl::InvalidArgumentError("no"));
  for (const char* code :
       {"OK", "WHAT", "INTERNAL", "CANCELLED", "UNAVAILABLE", ""}) {
    EXPECT_EQ(failed(("{\"code\": \"" + std::string(code) +
                      "\", \"message\": \"no\"}")
                         .c_str()),
              absl::UnknownError("no"));
  }
  EXPECT_FALSE(failed("{}").ok());
  const std::string endless(100'000, 'x');
  EXPECT_EQ(
      failed(("{\"message\": \"" + endless + "\"}").c_str()).message().size(),
      4096u);
  Message(ParseFailed("no").status());
}

TEST(ProgramMessagesTest, Hello) {
  const auto hello =
      ParseHello(R"({"protocol": 1, "pid": 7, "language": "python"})");
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->protocol, 1);
  EXPECT_EQ(hello->pid, 7);
  EXPECT_EQ(hello->language, "python");
  EXPECT_EQ(ParseHello("{}")->protocol, 0);
  Message(ParseHello(R"({"protocol": "1"})").status());
}

}  // namespace
}  // namespace paceline
