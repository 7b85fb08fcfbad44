// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes replies. The server encodes, the client decodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/list_chunk.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

Frame encode_error(const ReplyHead& head, const ErrorReply& reply);
Frame encode_hello_reply(const ReplyHead& head, const HelloReply& reply);
Frame encode_batch_reply(const ReplyHead& head, const BatchReply& reply);
Frame encode_done(const ReplyHead& head, const Done& reply = {});
Frame encode_stats(const ReplyHead& head, const Stats& reply);
Frame encode_tick_done(const ReplyHead& head, const TickDone& reply);
Frame encode_names(const ReplyHead& head, const Names& reply);
Frame encode_streams(const ReplyHead& head, const Streams& reply);
Frame encode_queries(const ReplyHead& head, const Queries& reply);
Frame encode_objects(const ReplyHead& head, const Objects& reply);

/// In the next two functions, `lists` must fit in one ListChunk (see lists_that_fit).
Frame encode_snapshot_page(const ReplyHead& head, const SnapshotHead& page,
                           const ListSource& lists);
Frame encode_neighbors(const ReplyHead& head, const NeighborsHead& answer, const ListSource& lists,
                       std::span<const std::uint32_t> unknown = {});

/// Replaces the place in an encoded reply. The reply's old place must not be 0.
void set_place(Frame& frame, std::uint64_t place);

struct DecodedReply {
  ReplyHead head{};
  std::optional<Problem> problem{};
  ReplyBody body{};  ///< points into the frame; an empty ErrorReply if there is a problem
};

DecodedReply decode_reply(const AlignedBytes& frame);

}  // namespace starling::protocol
