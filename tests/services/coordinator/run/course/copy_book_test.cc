#include "services/coordinator/run/course/copy_book.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr WorkerId kFirst{1};
constexpr WorkerId kSecond{2};
constexpr int64_t kBatch = 10;

class CopyBookTest : public ::testing::Test {
 protected:
  void Grant(WorkerId worker, Version base, const PushPlan& plan) {
    paceline::Grant grant;
    grant.worker = worker;
    grant.range = {.epoch = 0, .begin = 0, .end = kBatch};
    grant.base_version = base;
    grant.plan = plan;
    book_.Granted(grant);
  }
  void Count(WorkerId worker) {
    book_.Counted({.worker = worker, .samples = kBatch});
  }
  int64_t MissingIn(WorkerId worker) const {
    const CopyBook::Pushes missing = book_.MissingIn(worker);
    EXPECT_EQ(missing.samples, kBatch * missing.pushes);
    return missing.pushes;
  }

  CopyBook book_;
};

TEST_F(CopyBookTest, NobodyHasACopyBeforeTheFirstPush) {
  EXPECT_EQ(book_.Freshest(), std::nullopt);
  Grant(kFirst, 0, PushPlan::Immediate());
  EXPECT_EQ(book_.Freshest(), std::nullopt);
  EXPECT_EQ(book_.OnTheWay().pushes, 1);
  Count(kFirst);
  EXPECT_EQ(book_.Freshest(), kFirst);
  // It has pulled before it pushed.
  EXPECT_EQ(MissingIn(kFirst), 1);
}

TEST_F(CopyBookTest, WhoWasGrantedLastAndHasPushedHasTheFreshestCopy) {
  Grant(kFirst, 0, PushPlan::Immediate());
  Grant(kSecond, 0, PushPlan::Immediate());
  Count(kFirst);
  Grant(kFirst, 1, PushPlan::Immediate());
  Count(kSecond);
  EXPECT_EQ(book_.VersionOf(*book_.Freshest()), 0);
  Grant(kSecond, 2, PushPlan::Immediate());
  // What it pulls for this iteration is not known to be there yet.
  EXPECT_EQ(MissingIn(kSecond), 4);
  Count(kSecond);
  EXPECT_EQ(book_.Freshest(), kSecond);
  EXPECT_EQ(book_.VersionOf(kSecond), 2);
  // The push after that copy, and the one that is on its way.
  EXPECT_EQ(MissingIn(kSecond), 2);
  EXPECT_EQ(book_.All().pushes, 4);
}

TEST_F(CopyBookTest, AWorkerSaysThatItHasPulledMore) {
  Grant(kFirst, 0, PushPlan::Immediate());
  Count(kFirst);
  Grant(kFirst, 1, PushPlan::Immediate());
  book_.Has(kFirst, 0);
  EXPECT_EQ(MissingIn(kFirst), 2);
  book_.Has(kFirst, 1);
  EXPECT_EQ(book_.VersionOf(kFirst), 1);
  EXPECT_EQ(MissingIn(kFirst), 1);
}

TEST_F(CopyBookTest, ARoundIsInACopyOnceItWasClosedBeforeTheGrant) {
  const RoundId first{1};
  Grant(kFirst, 0, PushPlan::Round(first));
  Grant(kSecond, 0, PushPlan::Ask());
  book_.Planned({.worker = kSecond, .plan = PushPlan::Round(first)});
  Count(kFirst);
  Count(kSecond);
  EXPECT_EQ(MissingIn(kFirst), 2);
  book_.Closed({first});
  Grant(kFirst, 1, PushPlan::Round(RoundId{2}));
  Count(kFirst);
  EXPECT_EQ(book_.Freshest(), kFirst);
  // What the open round has gathered is lost with its server.
  EXPECT_EQ(MissingIn(kFirst), 1);
}

TEST_F(CopyBookTest, ARoundThatIsOpenAtTheGrantIsNotInTheCopy) {
  const RoundId round{1};
  Grant(kFirst, 0, PushPlan::Round(round));
  Count(kFirst);
  Grant(kSecond, 0, PushPlan::Round(round));
  Count(kSecond);
  EXPECT_EQ(MissingIn(kSecond), 2);
}

TEST_F(CopyBookTest, WhatIsDiscardedIsMissedByNobody) {
  Grant(kFirst, 0, PushPlan::Ask());
  book_.Planned({.worker = kFirst, .plan = PushPlan::Discard()});
  Count(kFirst);
  EXPECT_EQ(MissingIn(kFirst), 0);
}

TEST_F(CopyBookTest, WhoIsGoneTakesItsCopyAlong) {
  Grant(kFirst, 0, PushPlan::Immediate());
  Count(kFirst);
  book_.Gone(kFirst);
  EXPECT_EQ(book_.Freshest(), std::nullopt);
  EXPECT_EQ(book_.All().pushes, 1);
}

}  // namespace
}  // namespace paceline
