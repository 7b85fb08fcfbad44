// SPDX-License-Identifier: Apache-2.0
// Tests which batches POST /v1/objects makes of a body.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/stream/http/api.hpp"

namespace starling::stream {
namespace {

using Ids = std::vector<std::uint64_t>;

class ObjectBatches : public testing::Test {
 protected:
  /// Posts the objects, and returns the ids of each batch that the server would get.
  std::vector<Ids> batches_of(const std::string& objects) {
    batches_.clear();
    HttpRequest request;
    request.head.method = "POST";
    request.head.target = "/v1/objects";
    request.head.content_type = "application/json";
    request.body = objects;
    unsigned status = 0;
    api_.handle(std::move(request), [&](const HttpAnswer& answer) { status = answer.status; });
    loop_.restart();
    loop_.run();
    EXPECT_EQ(status, 200u);
    return batches_;
  }

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
    api_.replied(zmtp::PrincipalId::anonymous,
                 protocol::encode_batch_reply(head, {.accepted = batch->ids.size()}).bytes());
  }

  boost::asio::io_context loop_{1};
  protocol::Limits limits_;
  std::vector<Ids> batches_;
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

TEST_F(ObjectBatches, ObjectsWithTheSameColumnsShareABatch) {
  EXPECT_EQ(batches_of(R"([{"id":"1","x":1,"y":0}, {"id":"2","x":1,"y":0,"tags":1},
                           {"id":"3","x":1,"y":0}, {"id":"4","x":1,"y":0,"tags":1}])"),
            (std::vector<Ids>{{1, 3}, {2, 4}}));
}

TEST_F(ObjectBatches, RowsOfOneObjectKeepTheirOrder) {
  EXPECT_EQ(batches_of(R"([{"id":"1","x":1,"y":0,"tags":1}, {"id":"2","x":1,"y":0},
                           {"id":"1","x":2,"y":0}, {"id":"1","x":3,"y":0},
                           {"id":"1","x":4,"y":0,"tags":1}])"),
            (std::vector<Ids>{{2}, {1}, {1, 1}, {1}}));
}

}  // namespace
}  // namespace starling::stream
