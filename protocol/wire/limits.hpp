// SPDX-License-Identifier: Apache-2.0
// The limits of a server. HelloReply carries them to each client. decode_request enforces the
// limits of a single request, and other parts of the server enforce the limits of a session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::protocol {

inline constexpr std::uint16_t protocol_version = 1;

/// The most bytes of one ListChunk. Ticks, snapshot pages and answers to GetNeighbors carry
/// ListChunks.
inline constexpr std::size_t chunk_bytes_max = std::size_t{16} << 20;

/// The most bytes of a frame that a client accepts from a server: one ListChunk, and the reply that
/// contains it.
inline constexpr std::size_t server_frame_bytes_max = chunk_bytes_max + (std::size_t{64} << 10);

/// The most rejected rows that a BatchReply lists one by one. The counts in a BatchReply cover all
/// rows.
inline constexpr std::size_t rejected_rows_listed_max = 64;

struct Limits {
  Space space = Space::planar2;  ///< decides how many components a row may have
  std::uint32_t dimension = 0;   ///< components of a row in a vector space; else 0
  Metric metric = Metric::l2;    ///< used in a vector space only
  std::size_t frame_bytes_max = std::size_t{16} << 20;
  std::uint32_t rows_max = 1u << 15;     ///< rows, queries, names or ids in one request
  std::uint64_t credit_rows = 1u << 20;  ///< rows that a session may have unanswered
  std::uint64_t credit_bytes = std::uint64_t{64} << 20;
  std::uint32_t unanswered_max = 1024;  ///< sequenced requests that a session may have unanswered
  std::uint32_t k_max = starling::k_max;
  std::uint32_t questions_max = 1024;    ///< questions in one GetNeighbors
  std::uint32_t text_bytes_max = 255;    ///< bytes of a client's name, an object's name or a key
  std::uint32_t names_asked_max = 4096;  ///< ids in one GetNames; 0: GetNames is not supported
  /// Rows in one page of streams, queries or objects, and ids in one GetObjects. 0: ListStreams,
  /// ListQueries, RemoveStream and GetObjects are not supported.
  std::uint32_t page_rows_max = 1024;

  bool operator==(const Limits&) const = default;
};

}  // namespace starling::protocol
