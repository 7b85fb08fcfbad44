// SPDX-License-Identifier: Apache-2.0
// The limits of a server. HelloReply carries the limits to each client, and decode_request enforces
// them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"

namespace starling::protocol {

inline constexpr std::uint16_t protocol_version = 1;

/// A chunk of lists on the results socket or in a page is never longer than this.
inline constexpr std::size_t chunk_bytes_max = std::size_t{16} << 20;

/// The longest frame that a client accepts from a server: a chunk and the reply around it.
inline constexpr std::size_t server_frame_bytes_max = chunk_bytes_max + (std::size_t{64} << 10);

/// The most rejected rows that a BatchReply lists one by one. The counts in a BatchReply cover all
/// rows.
inline constexpr std::size_t rejected_rows_listed_max = 64;

struct Limits {
  Space space = Space::planar2;  ///< decides how many components a row may have
  std::uint32_t dimension = 0;   ///< of a vector space: components of a row
  Metric metric = Metric::l2;    ///< of a vector space
  std::size_t frame_bytes_max = std::size_t{16} << 20;
  std::uint32_t rows_max = 1u << 18;     ///< rows, queries, names or ids in one request
  std::uint64_t credit_rows = 1u << 20;  ///< unanswered rows per session
  std::uint64_t credit_bytes = std::uint64_t{64} << 20;
  std::uint32_t unanswered_max = 1024;  ///< unanswered sequenced requests per session
  std::uint32_t k_max = starling::k_max;
  std::uint32_t questions_max = 1024;    ///< in one GetNeighbors
  std::uint32_t text_bytes_max = 255;    ///< a client's or object's name, a key
  std::uint32_t names_asked_max = 4096;  ///< ids in one GetNames; 0: not supported

  bool operator==(const Limits&) const = default;
};

}  // namespace starling::protocol
