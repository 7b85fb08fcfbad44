// SPDX-License-Identifier: Apache-2.0
// Tests the turns of fetches of lists, and that they do not wait without bound.
#include "starling/stream/events/snapshot_fetch.hpp"

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/manual_executor.hpp"

namespace starling::stream {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SnapshotFetches : public testing::Test {
 protected:
  using Result = SnapshotFetch::Result;

  static ListsReader reader(std::uint64_t owner) {
    return {.sender = {.payer = {.owner = {.number = owner}}}};
  }
  /// Fetches the lists of a stream that does not exist.
  void fetch(const ListsReader& by, const std::string& stream) {
    snapshots.fetch(by, stream, {}, [this, stream](const Result& result) {
      done.push_back(stream + " " + std::string(to_string(result.problem->code)));
    });
  }
  void answer_oldest() {
    const auto take = std::move(takes.front());
    takes.pop_front();
    take(protocol::ErrorReply{{protocol::ErrorCode::unknown_stream, "No.", {}}});
  }

  boost::asio::io_context loop;
  ManualExecutor beside;
  const ListForm list_form;
  std::deque<WireGateway::Take> takes;  // of the requests without a reply
  std::vector<std::string> sent;
  std::vector<std::string> done;
  SnapshotFetch snapshots{{.loop = loop,
                           .beside = beside,
                           .send =
                               [this](auto, const auto& make, const auto& take, const auto&) {
                                 sent.emplace_back(std::get<protocol::GetSnapshot>(make()).stream);
                                 takes.push_back(take);
                               },
                           .reply_owner = [] { return nullptr; },
                           .form = list_form,
                           .bytes_max = 1}};
};

TEST_F(SnapshotFetches, BeyondTheLimitAreRefusedAtOnce) {
  for (int i = 0; i < 300; ++i) fetch(reader(1), "cars");
  EXPECT_THAT(done, IsEmpty()) << "the refusal comes in a later turn of the loop";
  loop.run();
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_EQ(done.size(), 300u - 2 - 256);
  EXPECT_THAT(done, Each("cars busy"));
}

TEST_F(SnapshotFetches, OfOneOwnerDelayThoseOfAnotherByTwo) {
  for (const char* stream : {"a", "b", "c", "d", "e"}) fetch(reader(1), stream);
  fetch(reader(2), "other");
  answer_oldest();
  EXPECT_THAT(sent, ElementsAre("a", "b", "other"));
}

TEST_F(SnapshotFetches, OfTheOwnerWithTheMostGiveWay) {
  for (int i = 0; i < 258; ++i) fetch(reader(1), "cars");
  fetch(reader(2), "other");
  loop.run();
  EXPECT_THAT(done, ElementsAre("cars busy"));
}

TEST_F(SnapshotFetches, OfAClientThatHasLeftAreDropped) {
  for (const char* stream : {"a", "b"}) fetch(reader(1), stream);
  ListsReader left = reader(1);
  const auto wait = std::make_shared<HttpWait>();
  left.sender.wait = wait;
  fetch(left, "left");
  fetch(reader(1), "c");
  wait->end();
  answer_oldest();
  EXPECT_THAT(sent, ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace starling::stream
