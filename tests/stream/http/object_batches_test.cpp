// SPDX-License-Identifier: Apache-2.0
// Tests which batches POST /v1/objects makes of a body.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/stream/http/api.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<std::uint64_t>;

class ObjectBatches : public testing::Test {
 protected:
  /// Posts the objects, and returns the ids of each batch that the server would get.
  std::vector<Ids> batches_of(const std::string& objects, unsigned expected_status = 200) {
    batches_.clear();
    HttpRequest request;
    request.head.method = "POST";
    request.head.target = "/v1/objects";
    request.head.content_type = "application/json";
    request.body = objects;
    request.wait = wait;
    unsigned status = 0;
    api_.handle(std::move(request), [&](const HttpAnswer& answer) {
      status = answer.status;
      body = answer.body;
    });
    loop_.restart();
    loop_.run();
    EXPECT_EQ(status, expected_status);
    return batches_;
  }
  /// Objects with the ids from 0. Every other one has tags.
  static std::string many_objects(int count) {
    std::string objects;
    for (int id = 0; id < count; ++id)
      objects += std::string(id == 0 ? "[" : ",") + R"({"id":")" + std::to_string(id) +
                 R"(","x":1,"y":0)" + (id % 2 == 0 ? R"(,"tags":1})" : "}");
    return objects + "]";
  }

  std::shared_ptr<HttpWait> wait = std::make_shared<HttpWait>();
  std::function<void()> is_sent = [] {};  // called when the server has a batch
  std::string body;                       // of the answer
  std::vector<Ids> batches_;

 private:
  void receive(const ReceivedBytes& received) {
    const protocol::AlignedBytes frame(received.bytes);
    const protocol::DecodedRequest request = protocol::decode_request(frame, limits_);
    const protocol::ReplyHead head{request.head.request_id, request.head.sequence};
    const auto* batch = std::get_if<protocol::UpdateBatch>(&request.body);
    if (batch == nullptr)
      return api_.replied(zmtp::PrincipalId::anonymous,
                          protocol::encode_hello_reply(head, {.session = 1}).bytes());
    batches_.emplace_back(batch->ids.begin(), batch->ids.end());
    is_sent();
    api_.replied(zmtp::PrincipalId::anonymous,
                 protocol::encode_batch_reply(head, {.accepted = batch->ids.size()}).bytes());
  }

  boost::asio::io_context loop_{1};
  protocol::Limits limits_;
  HttpApi api_{
      {.loop = loop_,
       .limits = limits_,
       .gatekeeper = {},
       .deliver = [this](const Peer&, const ReceivedBytes& received) { receive(received); },
       .work = [](std::size_t, const auto& function) { function()(); },
       .base_time_us = [] { return std::optional<std::int64_t>(1); },
       .name_of = [](ObjectId) { return std::string_view(); },
       .lists = {},
       .events = {},
       .socket = {},
       .page = {},
       .metrics = {},
       .last_error = {}}};
};

TEST_F(ObjectBatches, ABodyIsOneBatchWhateverItsRowsHave) {
  EXPECT_EQ(batches_of(R"([{"id":"1","x":1,"y":0,"tags":1}, {"id":"2","x":1,"y":0},
                           {"id":"1","x":2,"y":0}, {"id":"1","x":3,"y":0},
                           {"id":"1","x":4,"y":0,"tags":1}])"),
            (std::vector<Ids>{{1, 2, 1, 1, 1}}));
}

TEST_F(ObjectBatches, ALongBodyIsSentInItsOrder) {
  EXPECT_EQ(batches_of(many_objects(20'000)).size(), 2u);
  EXPECT_EQ(batches_[0].size() + batches_[1].size(), 20'000u);
  EXPECT_EQ(batches_[0].front(), 0u);
  EXPECT_EQ(batches_[1].back(), 19'999u);
}

TEST_F(ObjectBatches, WhatIsNotSentWhenTheClientLeavesIsDropped) {
  is_sent = [&] { wait->end(); };
  batches_of(many_objects(20'000), 503);
  EXPECT_EQ(batches_.size(), 1u);
  EXPECT_THAT(body, HasSubstr("took the first 0 of the body's 20000 objects, may still take the "
                              "next 16384, and drops the others; sending all"));
}

TEST_F(ObjectBatches, ABodyThatTheServerHasIsAnsweredAlsoIfItsClientHasLeft) {
  is_sent = [&] { wait->end(); };
  EXPECT_EQ(batches_of(many_objects(1000)).size(), 1u);
}

TEST_F(ObjectBatches, ABodyWhoseClientLeavesBeforeItsTurnIsNotSent) {
  wait->end();
  batches_of(many_objects(1000), 0);
  EXPECT_TRUE(batches_.empty());
}

}  // namespace
}  // namespace starling::stream
