// From a received frame to rows on the lattice, without the loop: see prepare.hpp. Called by Server
// on its decode workers; to_filter also by RequestHandler, for questions.
#include "stream/prepare.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <utility>

namespace starling::stream {

using protocol::RowReason;

namespace {

constexpr std::size_t rows_at_once = 256;  // their points stay in the first-level cache

/// Rows from `first` on, as many as there are points.
void to_lattice(const protocol::UpdateBatch& batch, std::size_t first, const Lattice& lattice,
                std::span<LatticePoint> points, std::span<PositionError> errors) {
  const std::size_t begin = first * batch.components;
  const std::size_t count = points.size() * batch.components;
  if (batch.coordinates.empty())
    lattice.to_lattice(batch.coordinates_f32.subspan(begin, count), batch.components, points,
                       errors);
  else
    lattice.to_lattice(batch.coordinates.subspan(begin, count), batch.components, points, errors);
}

RowSet<ObjectUpdate> convert(const protocol::UpdateBatch& batch, const Lattice& lattice) {
  const std::size_t row_count = batch.ids.size();
  const bool has_tags = !batch.tags.empty();
  RowSet<ObjectUpdate> set;
  set.rows.reserve(row_count);
  set.reasons.resize(row_count);
  std::array<LatticePoint, rows_at_once> points;
  std::array<PositionError, rows_at_once> errors;
  for (std::size_t first = 0; first < row_count; first += rows_at_once) {
    const std::size_t count = std::min(rows_at_once, row_count - first);
    to_lattice(batch, first, lattice, std::span(points).first(count),
               std::span(errors).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = first + i;
      if (errors[i] != PositionError::none) {
        set.reasons[row] = to_reason(errors[i]);
        continue;
      }
      // In place: a copy of the row would read back wider than it was written, which stalls.
      ObjectUpdate& update = set.rows.emplace_back();
      update.id = ObjectId{batch.ids[row]};
      update.time_us = batch.times_us[row];
      update.position = points[i];
      update.tags = has_tags ? batch.tags[row] : 0;
      update.has_tags = has_tags;
    }
  }
  return set;
}

RowSet<TagUpdate> convert(const protocol::UpdateTags& batch) {
  RowSet<TagUpdate> set;
  set.reasons.resize(batch.ids.size());
  set.rows.reserve(batch.ids.size());
  for (std::size_t row = 0; row < batch.ids.size(); ++row)
    set.rows.push_back({.id = ObjectId{batch.ids[row]},
                        .time_us = batch.times_us[row],
                        .set = batch.set[row],
                        .clear = batch.clear[row]});
  return set;
}

RowSet<ObjectRemoval> convert(const protocol::RemoveObjects& batch) {
  RowSet<ObjectRemoval> set;
  set.reasons.resize(batch.ids.size());
  set.rows.reserve(batch.ids.size());
  for (std::size_t row = 0; row < batch.ids.size(); ++row)
    set.rows.push_back({.id = ObjectId{batch.ids[row]}, .time_us = batch.times_us[row]});
  return set;
}

RowSet<QueryDefinition> convert(const protocol::PutQueries& batch, const Lattice& lattice) {
  RowSet<QueryDefinition> set;
  set.reasons.reserve(batch.queries.size());
  set.rows.reserve(batch.queries.size());
  for (const protocol::QuerySpec& query : batch.queries) {
    QueryDefinition definition{.id = query.id,
                               .k = query.k,
                               .anchor = {query.anchor, {}, query.object},
                               .filter = to_filter(query, lattice),
                               .subject = query.subject};
    const PositionError error = query.anchor == AnchorKind::fixed
                                    ? lattice.to_lattice(query.position, definition.anchor.position)
                                    : PositionError::none;
    set.reasons.push_back(to_reason(error));
    if (error == PositionError::none) set.rows.push_back(definition);
  }
  return set;
}

PreparedRows convert_rows(const protocol::RequestBody& body, const Lattice& lattice) {
  if (const auto* updates = std::get_if<protocol::UpdateBatch>(&body))
    return convert(*updates, lattice);
  if (const auto* tags = std::get_if<protocol::UpdateTags>(&body)) return convert(*tags);
  if (const auto* removals = std::get_if<protocol::RemoveObjects>(&body)) return convert(*removals);
  if (const auto* queries = std::get_if<protocol::PutQueries>(&body))
    return convert(*queries, lattice);
  return {};
}

protocol::Problem out_of_credit(protocol::ReachedLimit limit) {
  std::string sentence =
      "With this batch the session would have more unanswered than its credit, " +
      to_string(limit) + "; wait for replies, then send this batch and all after it again.";
  return {protocol::ErrorCode::out_of_credit, std::move(sentence), std::move(limit)};
}

void prepare(PreparedRequest& prepared, const protocol::Limits& limits, const Lattice& lattice,
             CreditLedger& ledger) {
  prepared.frame = protocol::AlignedBytes(prepared.received.bytes);
  prepared.request = protocol::decode_request(prepared.frame, limits);
  protocol::DecodedRequest& request = prepared.request;
  if (request.problem || !protocol::is_batch(request.body)) return;

  const Credit wanted{protocol::credit_rows(request.body), prepared.received.bytes.size()};
  switch (ledger.take(request.head.session, wanted)) {
    case CreditLedger::Taken::taken:
      prepared.credit = wanted;
      prepared.rows = convert_rows(request.body, lattice);
      break;
    case CreditLedger::Taken::beyond_rows:
      request.problem = out_of_credit({"credit-rows", ledger.granted().rows});
      break;
    case CreditLedger::Taken::beyond_bytes:
      request.problem = out_of_credit({"credit-bytes", ledger.granted().bytes});
      break;
    case CreditLedger::Taken::unknown_session:
      break;  // refused as such, in its turn
  }
}

}  // namespace

PreparedRequest prepare_request(ReceivedBytes received, const protocol::Limits& limits,
                                const Lattice& lattice, CreditLedger& ledger) {
  PreparedRequest prepared;
  prepared.received = std::move(received);
  try {
    prepare(prepared, limits, lattice, ledger);
  } catch (const std::bad_alloc&) {
    prepared.rows = {};
    prepared.request.problem = protocol::out_of_memory();
  }
  return prepared;
}

RowReason to_reason(PositionError error) {
  switch (error) {
    case PositionError::none:
      return RowReason::none;
    case PositionError::not_finite:
      return RowReason::position_not_finite;
    case PositionError::out_of_range:
      return RowReason::position_out_of_range;
    case PositionError::longitude_out_of_range:
      return RowReason::longitude_out_of_range;
    case PositionError::latitude_out_of_range:
      return RowReason::latitude_out_of_range;
  }
  return RowReason::position_out_of_range;
}

Filter to_filter(const protocol::QuerySpec& query, const Lattice& lattice) {
  return {.tags = query.tags,
          .distance_sq_max = lattice.to_distance_sq(query.distance_max_m),
          .age_us_max = query.age_max_us};
}

}  // namespace starling::stream
