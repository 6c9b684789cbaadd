#include "common/checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/rng.h"
#include "tests/common/checkpoint/checkpoint_samples.h"
#include "tests/common/seed_count.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using absl::StatusCode;
using nlohmann::json;
using testing::HasSubstr;

TEST(ManifestTest, IsReadAsItWasWritten) {
  const ScratchFolder folder;
  const CheckpointManifest written = WriteSample(folder.path());
  const auto read = ReadManifest(folder.path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, written);
}

TEST(ManifestTest, EarlierVersionsWroteNoEvaluation) {
  CheckpointManifest manifest = SampleManifest();
  manifest.evaluation_json = R"({"accuracy":0.5,"samples":320})";
  json document = json::parse(*FormatManifest(manifest));
  EXPECT_EQ(*ParseManifest(document.dump()), manifest);
  document.erase("evaluation");
  EXPECT_EQ(*ParseManifest(document.dump()), SampleManifest());
}

TEST(ManifestTest, UnknownFieldsAreLeftToLaterVersions) {
  json document = json::parse(*FormatManifest(SampleManifest()));
  document["compression"] = {{"kind", "none"}};
  document["blocks"][0]["replica"] = 1;
  const auto read = ParseManifest(document.dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, SampleManifest());
}

// Who knows two kinds takes the others for statistics, which have no slots.
TEST(ManifestTest, EveryKindOfATensor) {
  CheckpointManifest manifest = SampleManifest();
  const std::string before = *FormatManifest(manifest);
  EXPECT_EQ(before.find("kind"), std::string::npos)
      << "manifests of the two kinds stay as they were";
  for (const TensorKind kind : {TensorKind::kTrained, TensorKind::kStatistic,
                                TensorKind::kAveraged, TensorKind::kFrozen}) {
    manifest.tensors[1].kind = kind;
    const std::string text = *FormatManifest(manifest);
    const auto read = ParseManifest(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, manifest);
    EXPECT_EQ(json::parse(text)["tensors"][1]["statistic"],
              kind != TensorKind::kTrained);
  }
  json document = json::parse(before);
  document["tensors"][1]["kind"] = "sparse";
  const auto unknown = ParseManifest(document.dump());
  EXPECT_EQ(unknown.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(unknown.status().message()),
              HasSubstr("tensors[1].kind is no kind of a tensor"));
}

using M = CheckpointManifest;
struct WrongField {
  std::function<void(M&)> spoil;
  const char* message;
};

std::vector<WrongField> WrongNumbersAndTensors() {
  return {
      {[](M& m) { m.seconds = -1; }, "seconds is no time"},
      {[](M& m) { m.seconds = std::numeric_limits<double>::quiet_NaN(); },
       "seconds is no time"},
      {[](M& m) { m.version = -1; }, "version is negative"},
      {[](M& m) { m.version_at_completion = 39; },
       "version_at_completion is before version"},
      {[](M& m) { m.samples = -1; }, "samples is negative"},
      {[](M& m) { m.create_time = absl::InfiniteFuture(); },
       "create_time is no time"},
      {[](M& m) { m.spec_json = "[]"; }, "spec is not a JSON object"},
      {[](M& m) { m.spec_json = std::string(100'000, '['); },
       "spec is not a JSON object"},
      {[](M& m) { m.position_json = "{"; }, "position is not a JSON object"},
      {[](M& m) { m.evaluation_json = "3"; },
       "evaluation is not a JSON object"},
      {[](M& m) {
         m.optimizer_slots = {"m", "m"};
       },
       "optimizer_slots[1] is taken"},
      {[](M& m) { m.optimizer_slots = {"steps"}; },
       "optimizer_slots[0] is taken"},
      {[](M& m) { m.optimizer_slots = {"7"}; },
       "optimizer_slots[0] is not made of"},
      {[](M& m) { m.tensors[1].name = "a"; }, "tensors[1].name is another"},
      {[](M& m) { m.tensors[1].name = ""; },
       "tensors[1].name has 0 characters"},
      {[](M& m) {
         m.tensors[0].shape = {2, 0};
       },
       "tensors[0].shape is impossible"},
      {[](M& m) {
         m.tensors[0].shape = {-2, -6};
       },
       "tensors[0].shape is impossible"},
      {[](M& m) {
         m.tensors[0].shape = {int64_t{1} << 62, 4};
       },
       "tensors[0].shape is impossible"},
  };
}

std::vector<WrongField> WrongBlocksAndFiles() {
  return {
      {[](M& m) {
         m.tensors[0].shape = {2, 7};
       },
       "do not cover the tensor \"a\" exactly: at element 12"},
      {[](M& m) { m.blocks.erase(m.blocks.begin() + 1); },
       "do not cover the tensor \"a\" exactly: at element 4"},
      {[](M& m) { m.blocks.pop_back(); },
       "do not cover the tensor \"s\" exactly: at element 0"},
      {[](M& m) { m.blocks[1].offset = 3; },
       "do not cover the tensor \"a\" exactly: at element 4"},
      {[](M& m) {
         m.blocks.push_back(
             {.id = 9, .tensor = 1, .offset = 2, .size = 1, .file = 0});
       },
       "blocks overlap at block 9"},
      {[](M& m) { m.blocks[1].id = 0; }, "blocks[1].id is another block's"},
      {[](M& m) { m.blocks[1].tensor = 2; }, "blocks[1].tensor is not the"},
      {[](M& m) { m.blocks[1].file = 2; }, "blocks[1].file is not the index"},
      {[](M& m) { m.blocks[2].size = 6; },
       "blocks[2] does not lie within its tensor"},
      {[](M& m) { m.blocks[2].offset = ~uint64_t{0}; },
       "blocks[2] does not lie within its tensor"},
      {[](M& m) { m.blocks[2].size = 0; },
       "blocks[2] does not lie within its tensor"},
      {[](M& m) { m.files[1].name = m.files[0].name; },
       "files[1].name is another file's"},
      {[](M& m) { m.files[1].name = "../x.safetensors"; },
       "files[1].name: a checkpoint's file needs a plain name"},
      {[](M& m) { m.files[1].sha256 = "abc"; },
       "files[1].sha256 is not 64 hexadecimal digits"},
  };
}

void ExpectRefused(const std::vector<WrongField>& cases) {
  for (const WrongField& c : cases) {
    CheckpointManifest manifest = SampleManifest();
    c.spoil(manifest);
    const absl::Status status = FormatManifest(manifest).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

TEST(ManifestTest, SaysWhichFieldIsWrong) {
  ExpectRefused(WrongNumbersAndTensors());
  ExpectRefused(WrongBlocksAndFiles());
}

TEST(ManifestTest, RefusesWhatItCannotRead) {
  struct Case {
    std::function<void(json&)> spoil;
    StatusCode code;
    const char* message;
  };
  const std::vector<Case> kCases = {
      {[](json& j) { j["format"] = "zip"; }, StatusCode::kDataLoss,
       "format is not \"paceline-checkpoint\""},
      {[](json& j) { j.erase("format"); }, StatusCode::kDataLoss,
       "format is missing"},
      {[](json& j) { j["format_version"] = 0; }, StatusCode::kDataLoss,
       "format_version is not above 0"},
      {[](json& j) { j["format_version"] = 2; },
       StatusCode::kFailedPrecondition,
       "has format version 2; this program knows 1: use a newer paceline"},
      {[](json& j) { j.erase("spec"); }, StatusCode::kDataLoss,
       "spec is missing"},
      {[](json& j) { j["exact"] = 1; }, StatusCode::kDataLoss,
       "exact is neither true nor false"},
      {[](json& j) { j["version"] = 1.5; }, StatusCode::kDataLoss,
       "version is not a whole number in range"},
      {[](json& j) { j["version"] = -1; }, StatusCode::kDataLoss,
       "version is not a whole number in range"},
      {[](json& j) { j["create_time"] = "yesterday"; }, StatusCode::kDataLoss,
       "create_time is not a time"},
      {[](json& j) { j["tensors"] = 7; }, StatusCode::kDataLoss,
       "tensors is not an array"},
      {[](json& j) { j["tensors"][0] = 7; }, StatusCode::kDataLoss,
       "tensors[0]. is not an object"},
      {[](json& j) {
         j["tensors"][0]["shape"] = {2, "x"};
       },
       StatusCode::kDataLoss, "tensors[0].shape is not a whole number"},
      {[](json& j) { j["blocks"][3]["file"] = uint64_t{1} << 32; },
       StatusCode::kDataLoss, "blocks[3].file is not a whole number in range"},
      {[](json& j) { j["blocks"][3].erase("size"); }, StatusCode::kDataLoss,
       "blocks[3].size is missing"},
      {[](json& j) { j["blocks"][3]["size"] = 2; }, StatusCode::kDataLoss,
       "do not cover the tensor \"s\""},
      {[](json& j) { j["optimizer_slots"] = {1}; }, StatusCode::kDataLoss,
       "optimizer_slots has what is not a text"},
  };
  for (const Case& c : kCases) {
    json document = json::parse(*FormatManifest(SampleManifest()));
    c.spoil(document);
    const absl::Status status = ParseManifest(document.dump()).status();
    EXPECT_EQ(status.code(), c.code) << c.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
  for (const std::string text : {"", "{", "[]", "null", "\xFF"}) {
    EXPECT_EQ(ParseManifest(text).status().code(), StatusCode::kDataLoss);
  }
  EXPECT_EQ(ParseManifest(std::string(1'000'000, '[')).status().code(),
            StatusCode::kDataLoss);
}

TEST(ManifestTest, IsWrittenLastAndOnlyWhereAllFilesAre) {
  const ScratchFolder folder;
  EXPECT_EQ(ReadManifest(folder.path()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadManifest("/nowhere").status().code(), StatusCode::kNotFound);
  CheckpointManifest manifest = WriteSample(folder.path());
  manifest.files[1].bytes += 1;
  const absl::Status status = WriteManifest(folder.path(), manifest);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not whole"));
  folder.Remove("server-1-of-2.safetensors");
  EXPECT_EQ(WriteManifest(folder.path(), manifest).code(),
            StatusCode::kFailedPrecondition);
}

TEST(ManifestTest, FilesHavePlainNames) {
  for (const char* good : {"server-0-of-1.safetensors", "a_B.2.safetensors"}) {
    EXPECT_TRUE(CheckFileName(good).ok()) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."),
        std::string("a/b.safetensors"), std::string("/a.safetensors"),
        std::string("..\\a.safetensors"), std::string(".safetensors"),
        std::string("manifest.json"), std::string("a b.safetensors"),
        std::string("a\0.safetensors", 14), std::string("a.safetensors.tmp-1"),
        std::string(200, 'a') + ".safetensors"}) {
    EXPECT_EQ(CheckFileName(bad).code(), StatusCode::kInvalidArgument) << bad;
  }
}

// Whatever the bytes: an error, or a manifest that is sound and can be written
// again.
TEST(ManifestFuzzTest, DamagedManifestsAreRefusedOrSound) {
  const std::string text = *FormatManifest(SampleManifest());
  const std::vector<std::string> pieces = {"[",  "]", "{",   "}",    "\"",  ",",
                                           "-1", "0", "1e9", "null", "true"};
  int sound = 0;
  for (uint64_t seed = 0; seed < SeedCount(25'000); ++seed) {
    Rng rng(seed);
    std::string damaged = text;
    for (uint64_t i = 0; i <= rng.Below(3); ++i) {
      const size_t at = rng.Below(damaged.size());
      switch (rng.Below(3)) {
        case 0:
          damaged[at] = static_cast<char>(rng.Below(256));
          break;
        case 1:
          damaged.erase(at, 1 + rng.Below(9));
          break;
        default:
          damaged.insert(at, pieces[rng.Below(pieces.size())]);
      }
    }
    const auto parsed = ParseManifest(damaged);
    if (!parsed.ok()) {
      ASSERT_TRUE(absl::IsDataLoss(parsed.status()) ||
                  absl::IsFailedPrecondition(parsed.status()))
          << parsed.status();
      continue;
    }
    ++sound;
    const auto again = FormatManifest(*parsed);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(*ParseManifest(*again), *parsed);
  }
  EXPECT_GT(sound, 0) << "or the mutations are too coarse";
}

}  // namespace

}  // namespace paceline
