#include "common/lane/lane_door.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "common/mailbox.h"
#include "gtest/gtest.h"
#include "tests/common/open_descriptors.h"

namespace paceline {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);

using Lanes = Mailbox<std::unique_ptr<MemoryLane>>;

LaneDoor::Taken Into(Lanes& lanes) {
  return [&lanes](std::unique_ptr<MemoryLane> lane) {
    lanes.Put(std::move(lane));
  };
}

class LaneDoorTest : public testing::Test {
 protected:
  LaneDoorTest() {
    auto opened = LaneDoor::Open();
    EXPECT_TRUE(opened.ok()) << opened.status();
    door_ = *std::move(opened);
  }

  // The door has dealt with everybody who called before.
  void CatchUp() {
    Lanes last;
    const LaneInvitation invitation = door_->Invite(Into(last));
    EXPECT_TRUE(HandOverLane(invitation, 1).ok());
    EXPECT_TRUE(last.Take(kLong).ok());
  }

  std::unique_ptr<LaneDoor> door_;
};

TEST_F(LaneDoorTest, BothEndsHaveTheSameLane) {
  Lanes lanes;
  const auto mine = HandOverLane(door_->Invite(Into(lanes)), 1000);
  ASSERT_TRUE(mine.ok()) << mine.status();
  const auto theirs = lanes.Take(kLong);
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  const auto there = (*mine)->Lend({"there"});
  const auto back = (*theirs)->Lend({"back"});
  ASSERT_TRUE(there.has_value() && back.has_value());
  EXPECT_EQ(*(*theirs)->Look(*there), "there");
  EXPECT_EQ(*(*mine)->Look(*back), "back");
}

TEST_F(LaneDoorTest, TheMakersMemoryComesWithTheLane) {
  Lanes lanes;
  const size_t before = OpenDescriptors();
  {
    const std::shared_ptr<SharedMemory> own =
        *SharedMemory::Create("test", 1000);
    const auto mine = HandOverLane(door_->Invite(Into(lanes)), 1000, own.get());
    ASSERT_TRUE(mine.ok()) << mine.status();
    const auto theirs = lanes.Take(kLong);
    ASSERT_TRUE(theirs.ok()) << theirs.status();
    EXPECT_TRUE((*theirs)->has_theirs());
    (*mine)->ReferTo(own);
    memcpy(own->data() + 990, "gradient", 8);
    const auto referred = (*mine)->Refer({own->data() + 990, 8});
    ASSERT_TRUE(referred.has_value());
    EXPECT_EQ(*(*theirs)->Look(*referred), "gradient");
    EXPECT_EQ(AwaitDescriptors(before + 1), before + 1) << "its maker's";
  }
  EXPECT_EQ(AwaitDescriptors(before), before);
}

TEST_F(LaneDoorTest, TheTakersMemoryComesBack) {
  Lanes lanes;
  const size_t before = OpenDescriptors();
  {
    const std::shared_ptr<SharedMemory> own =
        *SharedMemory::Reserve("test", 1000);
    for (const bool wanted : {true, false}) {
      const auto mine = HandOverLane(door_->Invite(Into(lanes), own), 1000,
                                     /*own=*/nullptr, wanted);
      ASSERT_TRUE(mine.ok()) << mine.status();
      EXPECT_EQ((*mine)->has_theirs(), wanted);
      const auto theirs = lanes.Take(kLong);
      ASSERT_TRUE(theirs.ok()) << theirs.status();
      EXPECT_FALSE((*theirs)->has_theirs());
      memcpy(own->data(), "weights", 7);
      const auto referred = (*theirs)->Refer({own->data(), 7});
      if (!wanted) continue;
      ASSERT_TRUE(referred.has_value());
      EXPECT_EQ(*(*mine)->Look(*referred), "weights");
      EXPECT_TRUE((*mine)->Stood(*referred));
      (*theirs)->Withdraw();
      EXPECT_FALSE((*mine)->Stood(*referred));
    }
    EXPECT_EQ(AwaitDescriptors(before + 1), before + 1) << "its maker's";
  }
  EXPECT_EQ(AwaitDescriptors(before), before);
}

// Who has none to give does not say so: the lane is there without.
TEST_F(LaneDoorTest, NoMemoryComesBackWithoutAny) {
  Lanes lanes;
  const auto mine = HandOverLane(door_->Invite(Into(lanes)), 1000,
                                 /*own=*/nullptr, /*theirs=*/true);
  // The door may come later, and `lanes` has to be there.
  EXPECT_TRUE(lanes.Take(kLong).ok());
  ASSERT_TRUE(mine.ok()) << mine.status();
  EXPECT_FALSE((*mine)->has_theirs());
}

void ExpectConnected(int here, int there) {
  ASSERT_EQ(write(here, "hello", 5), 5);
  char read_there[5];
  ASSERT_EQ(read(there, read_there, 5), 5);
  EXPECT_EQ(memcmp(read_there, "hello", 5), 0);
}

TEST_F(LaneDoorTest, ASocketComesWithTheLaneIfOneIsWanted) {
  Lanes lanes;
  const size_t before = OpenDescriptors();
  const std::shared_ptr<SharedMemory> own = *SharedMemory::Create("test", 1000);
  for (const auto& [memory, wanted] :
       {std::pair{false, true}, {true, true}, {true, false}}) {
    const auto mine = HandOverLane(door_->Invite(Into(lanes)), 1000,
                                   memory ? own.get() : nullptr,
                                   /*theirs=*/false, wanted);
    ASSERT_TRUE(mine.ok()) << mine.status();
    const auto theirs = lanes.Take(kLong);
    ASSERT_TRUE(theirs.ok()) << theirs.status();
    EXPECT_EQ((*theirs)->has_theirs(), memory);
    EXPECT_EQ((*mine)->has_socket(), wanted);
    EXPECT_EQ((*theirs)->has_socket(), wanted);
    if (!wanted) continue;
    const UniqueFd here = (*mine)->TakeSocket().end;
    const UniqueFd there = (*theirs)->TakeSocket().end;
    EXPECT_FALSE((*mine)->has_socket());
    ExpectConnected(here.get(), there.get());
  }
  EXPECT_EQ(AwaitDescriptors(before + 1), before + 1) << "the memory's";
}

TEST_F(LaneDoorTest, ASocketMayComeAlone) {
  Mailbox<MessageSocket::Parts> sockets;
  const size_t before = OpenDescriptors();
  {
    const auto mine = HandOverSocket(door_->InviteSocket(
        [&](MessageSocket::Parts socket) { sockets.Put(std::move(socket)); }));
    ASSERT_TRUE(mine.ok()) << mine.status();
    const auto theirs = sockets.Take(kLong);
    ASSERT_TRUE(theirs.ok()) << theirs.status();
    ExpectConnected(mine->end.get(), theirs->end.get());
  }
  EXPECT_EQ(AwaitDescriptors(before), before);
}

TEST_F(LaneDoorTest, WhatIsNotInvitedIsNotTaken) {
  Lanes lanes;
  Mailbox<MessageSocket::Parts> sockets;
  const size_t before = OpenDescriptors();
  const LaneInvitation for_socket = door_->InviteSocket(
      [&](MessageSocket::Parts socket) { sockets.Put(std::move(socket)); });
  HandOverLane(for_socket, 1).IgnoreError();
  HandOverSocket(door_->Invite(Into(lanes))).IgnoreError();
  CatchUp();
  EXPECT_FALSE(lanes.Take(absl::ZeroDuration()).ok());
  EXPECT_FALSE(sockets.Take(absl::ZeroDuration()).ok());
  EXPECT_EQ(AwaitDescriptors(before), before);
}

TEST_F(LaneDoorTest, AnInvitationIsGoodForOneLane) {
  Lanes lanes;
  const LaneInvitation invitation = door_->Invite(Into(lanes));
  EXPECT_TRUE(HandOverLane(invitation, 1).ok());
  EXPECT_TRUE(lanes.Take(kLong).ok());
  // Nobody says no: who called without a right notices that nothing comes.
  HandOverLane(invitation, 1).IgnoreError();
  CatchUp();
  EXPECT_FALSE(lanes.Take(absl::ZeroDuration()).ok());
}

TEST_F(LaneDoorTest, NobodyElseComesIn) {
  Lanes lanes;
  const LaneInvitation invitation = door_->Invite(Into(lanes));
  std::string other = invitation.token;
  other.back() = other.back() == '0' ? '1' : '0';
  HandOverLane({invitation.address, other}, 1).IgnoreError();
  CatchUp();
  EXPECT_FALSE(HandOverLane({invitation.address, "short"}, 1).ok());
  EXPECT_FALSE(HandOverLane({"nobody-listens-here", other}, 1).ok());
  EXPECT_FALSE(HandOverLane({std::string(200, 'x'), other}, 1).ok());
  EXPECT_FALSE(HandOverLane({"", other}, 1).ok());
  door_->Withdraw(invitation.token);
  HandOverLane(invitation, 1).IgnoreError();
  CatchUp();
  EXPECT_FALSE(lanes.Take(absl::ZeroDuration()).ok());
}

void SendWithTwo(int caller, absl::string_view bytes,
                 const std::array<int, 2>& descriptors) {
  iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(descriptors))> control =
      {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(descriptors));
  memcpy(CMSG_DATA(header), descriptors.data(), sizeof(descriptors));
  EXPECT_EQ(sendmsg(caller, &message, 0), static_cast<ssize_t>(bytes.size()));
}

// Connects and sends that, without a descriptor.
int CallerWith(const LaneInvitation& invitation, absl::string_view bytes) {
  const int caller = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  memcpy(name.sun_path + 1, invitation.address.data(),
         invitation.address.size());
  EXPECT_EQ(connect(caller, reinterpret_cast<const sockaddr*>(&name),
                    static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                           invitation.address.size())),
            0);
  if (!bytes.empty()) {
    EXPECT_EQ(send(caller, bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  return caller;
}

TEST_F(LaneDoorTest, StrangeCallersHoldNobodyUpForLong) {
  Lanes lanes;
  const size_t before = OpenDescriptors();
  const LaneInvitation invitation = door_->Invite(Into(lanes));
  const int silent = CallerWith(invitation, "");
  const int foreign = CallerWith(invitation, "GET / HTTP/1.1\r\n\r\n");
  const int bare = CallerWith(invitation, invitation.token);
  const int generous = CallerWith(invitation, "");
  SendWithTwo(generous, "not a token of thirty-two bytes.", {0, 1});
  const int gone = CallerWith(invitation, "");
  close(gone);
  CatchUp();
  EXPECT_FALSE(lanes.Take(absl::ZeroDuration()).ok());
  for (const int caller : {silent, foreign, bare, generous}) close(caller);
  EXPECT_EQ(AwaitDescriptors(before), before);
}

// The lane is taken all the same.
TEST_F(LaneDoorTest, MemoryThatCouldShrinkIsNotMapped) {
  Lanes lanes;
  const LaneInvitation invitation = door_->Invite(Into(lanes));
  const auto lane = MemoryLane::Make(1);
  ASSERT_TRUE(lane.ok());
  const UniqueFd unsealed(memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
  const UniqueFd caller(CallerWith(invitation, ""));
  SendWithTwo(caller.get(), invitation.token, {(*lane)->fd(), unsealed.get()});
  const auto taken = lanes.Take(kLong);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_FALSE((*taken)->has_theirs());
}

TEST(HostKeyTest, IsTheSameForAllOfThisUser) {
  EXPECT_FALSE(HostKey().empty());
  EXPECT_EQ(HostKey(), HostKey());
}

}  // namespace
}  // namespace paceline
