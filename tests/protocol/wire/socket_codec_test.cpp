// SPDX-License-Identifier: Apache-2.0
// Tests the decoding of requests about a WebSocket. The fuzz target `socket` tests it further.
#include "starling/protocol/wire/socket_codec.hpp"

#include <gtest/gtest.h>

#include "wire/starling_generated.h"

namespace starling::protocol {
namespace {

TEST(SocketCodec, ABodyTypeWithoutABodyIsRefused) {
  for (const wire::SocketBody type : {wire::SocketBody::View, wire::SocketBody::EndView,
                                      wire::SocketBody::Follow, wire::SocketBody::EndFollow}) {
    SCOPED_TRACE(wire::EnumNameSocketBody(type));
    flatbuffers::FlatBufferBuilder builder;
    wire::SocketRequestBuilder request(builder);
    request.add_version(1);
    request.add_request_id(7);
    request.add_body_type(type);
    builder.Finish(request.Finish(), "STWS");
    const AlignedBytes frame(
        std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
    const DecodedSocketRequest decoded = decode_socket_request(frame, Space::planar2);
    EXPECT_EQ(decoded.request_id, 7u);
    ASSERT_TRUE(decoded.problem);
    EXPECT_EQ(decoded.problem->code, ErrorCode::malformed);
  }
}

}  // namespace
}  // namespace starling::protocol
