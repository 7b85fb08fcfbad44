// SPDX-License-Identifier: Apache-2.0
// The multipart message of one stream and one tick on the results socket: topic, header, chunks.
// The server encodes the message, and the subscriber decodes it. ZeroMQ delivers all frames of a
// message or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/words/query.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/list_chunk.hpp"
#include "starling/protocol/wire/run.hpp"

namespace starling::protocol {

struct TickHeader {
  static constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::min();

  std::uint64_t epoch = 0;
  Tick tick{};
  std::int64_t tau_us = 0;
  std::int64_t newest_time_us = no_time;  ///< newest event time in the snapshot
  /// The number of this message in its stream: 1, 2, 3, ..., one message per tick.
  std::uint64_t sequence = 0;
  bool failed = false;  ///< true: the tick failed; the lists of the tick before stay valid
  std::uint64_t object_count = 0;   ///< objects alive in the snapshot; 0 if failed
  std::uint32_t chunk_count = 0;    ///< the encoder computes this and the two counts below
  std::uint64_t list_count = 0;     ///< updated lists
  std::uint64_t removal_count = 0;  ///< removed lists
  Space space = Space::planar2;
  ReportOn on = ReportOn::order;
  ReportWith with{};
  bool stream_removed = false;  ///< true: the stream is gone, and this is its last message
  RunPlace at{};                ///< all 0 if the server has no log
  bool operator==(const TickHeader&) const = default;
};

/// Returns the first frame of a stream's messages: the stream's name and a NUL. A ZeroMQ socket
/// that subscribes to these bytes receives this stream. Because of the NUL, a subscriber of "rider"
/// does not receive "riders".
std::string topic_of(std::string_view stream);

struct TickMessage {
  std::string topic{};
  Frame header{};
  std::vector<Frame> chunks{};

  std::size_t bytes() const;
};

/// Encodes a tick's message in parts of a few thousand lists each, so that several threads may work
/// at the same time.
class TickEncoding {
 public:
  /// `lists` points to memory of the caller. This memory must live until all parts are encoded.
  TickEncoding(std::string_view stream, const TickHeader& header, const ListSource& lists);

  std::size_t part_count() const { return parts_.size(); }
  /// Encodes one part. Call it once for each `number` from 0 to part_count() - 1. Several threads
  /// may call it at the same time.
  void encode_part(std::size_t number);
  /// Returns the message. Call it after all parts are encoded.
  TickMessage finish();

 private:
  struct Part {
    std::vector<Frame> chunks{};
    std::uint64_t removal_count = 0;
  };

  std::string topic_;
  TickHeader header_;
  ListSource lists_;
  std::vector<Part> parts_;
};

/// Encodes a whole message on the caller's thread. Time and memory are linear in the number of
/// reported neighbours.
TickMessage encode_tick(std::string_view stream, const TickHeader& header, const ListSource& lists);

/// A decoded message. If there is no problem, all frames are verified and the header's counts agree
/// with the chunks.
struct DecodedTick {
  std::optional<Problem> problem{};
  TickHeader header{};
  std::vector<ListChunk> chunks{};  ///< views into the frames
};

/// Decodes a message. `frames` holds the header and the chunks, without the topic.
DecodedTick decode_tick(std::span<const AlignedBytes> frames);

}  // namespace starling::protocol
