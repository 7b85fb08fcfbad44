// SPDX-License-Identifier: Apache-2.0
// Turns replies of the wire into answers of HTTP. The routes use these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/base/json_text.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/sockets/http_server.hpp"

namespace starling::stream {

HttpAnswer json_answer(JsonText& json);
HttpAnswer geo_json_answer(JsonText& json);

/// Returns whether the answer is to be GeoJSON. Throws BadRequest, with status 406, if the client
/// takes nothing but GeoJSON and the space is not wgs84.
bool wants_geo_json(std::string_view accept, Space space);

/// An object as a Feature of GeoJSON (RFC 7946).
struct GeoFeature {
  std::uint64_t id = 0;
  std::span<const double> position{};  ///< longitude, latitude, altitude; empty: object is gone
  std::optional<double> distance_m{};
  std::string_view name{};  ///< empty: the object has no name
  std::uint32_t tags = 0;
  std::int64_t time_us = 0;
};

/// The result points into `objects`.
GeoFeature feature_of(const protocol::Objects& objects, std::size_t row);
void append_feature(JsonText& json, const GeoFeature& feature);

/// Returns the answer for a reply that is an error. The answer does not name a row, because the
/// request had at most one query or question.
HttpAnswer refusal_answer(const protocol::ReplyBody& reply);

/// Returns the error answer for a batch of one row that was rejected. `what` names the row.
HttpAnswer rejected_answer(std::string_view what, const protocol::BatchReply& batch);

/// Collects what became of the rows of several batches.
class RowOutcomes {
 public:
  /// Adds the rows of a batch. `indexes` has the index in the body for each row of the batch;
  /// empty: the body and the batch have the same indexes.
  void add(const protocol::BatchReply& batch, std::span<const std::uint32_t> indexes);
  void reject(std::uint32_t index, protocol::RowReason reason, const protocol::ReachedLimit& limit,
              std::uint32_t column = protocol::RejectedRow::no_column);

  HttpAnswer answer() const;

 private:
  struct Rejected {
    std::uint32_t index = 0;
    protocol::RowReason reason{};
    protocol::ReachedLimit limit;
    std::uint32_t column = protocol::RejectedRow::no_column;
  };
  std::uint64_t accepted_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t rejected_ = 0;
  std::vector<Rejected> first_rejected_;
};

}  // namespace starling::stream
