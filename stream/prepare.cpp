// From a received frame to rows in the space, without the loop: see prepare.hpp. Called by Server
// on its decode workers.
#include "stream/prepare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <new>
#include <optional>
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

template <class Row>
void reject(RowSet<Row>& set, std::size_t row, RowReason reason, std::uint32_t column) {
  set.reasons[row] = reason;
  if (column == protocol::RejectedRow::no_column) return;
  set.columns.resize(set.reasons.size(), protocol::RejectedRow::no_column);
  set.columns[row] = column;
}

/// What is finite and beyond float32 stays finite: it is too large, not infinite.
float to_float32(double value) {
  constexpr double largest = std::numeric_limits<float>::max();
  if (std::isfinite(value)) value = std::clamp(value, -largest, largest);
  return static_cast<float>(value);
}

std::vector<float> components_of(const protocol::UpdateBatch& batch) {
  if (batch.coordinates.empty())
    return {batch.coordinates_f32.begin(), batch.coordinates_f32.end()};
  std::vector<float> components(batch.coordinates.size());
  std::ranges::transform(batch.coordinates, components.begin(), to_float32);
  return components;
}

VectorRowSet convert_vectors(const protocol::UpdateBatch& batch, const SpaceOptions& space) {
  const std::size_t row_count = batch.ids.size();
  VectorRowSet set;
  set.reasons.resize(row_count);
  set.rows.reserve(row_count);
  set.components = components_of(batch);
  std::vector<std::optional<VectorFault>> faults(row_count);
  prepare_each(space.metric, {set.components, space.dimension}, set.components, faults);
  for (std::size_t row = 0; row < row_count; ++row) {
    if (faults[row]) {
      reject(set, row, to_reason(faults[row]->reason), faults[row]->column);
      continue;
    }
    // The rows before it that were at fault leave their room.
    if (set.rows.size() < row)
      std::copy_n(set.components.data() + row * space.dimension, space.dimension,
                  set.components.data() + set.rows.size() * space.dimension);
    set.rows.push_back({.id = ObjectId{batch.ids[row]},
                        .time_us = batch.times_us[row],
                        .label = batch.labels.empty() ? no_label : batch.labels[row],
                        .tags = batch.tags.empty() ? 0 : batch.tags[row],
                        .has_tags = !batch.tags.empty(),
                        .has_label = !batch.labels.empty()});
  }
  set.components.resize(set.rows.size() * space.dimension);
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

RowSet<QueryDefinition> convert(const protocol::PutQueries& batch, const ServedSpace& space) {
  RowSet<QueryDefinition> set;
  set.reasons.resize(batch.queries.size());
  set.rows.reserve(batch.queries.size());
  for (std::size_t row = 0; row < batch.queries.size(); ++row) {
    const protocol::QuerySpec& query = batch.queries[row];
    QueryDefinition definition{.id = query.id,
                               .k = query.k,
                               .anchor = {query.anchor, {}, query.object},
                               .filter = space.to_filter(query),
                               .subject = query.subject,
                               .vote = query.vote};
    if (query.anchor == AnchorKind::fixed)
      if (const auto fault =
              space.place(query, definition.anchor.position, definition.components)) {
        reject(set, row, fault->reason, fault->column);
        continue;
      }
    set.rows.push_back(std::move(definition));
  }
  return set;
}

PreparedRows convert_rows(const protocol::RequestBody& body, const ServedSpace& space) {
  if (const auto* updates = std::get_if<protocol::UpdateBatch>(&body)) {
    if (space.is_vector()) return convert_vectors(*updates, space.options());
    return convert(*updates, space.lattice());
  }
  if (const auto* tags = std::get_if<protocol::UpdateTags>(&body)) return convert(*tags);
  if (const auto* removals = std::get_if<protocol::RemoveObjects>(&body)) return convert(*removals);
  if (const auto* queries = std::get_if<protocol::PutQueries>(&body))
    return convert(*queries, space);
  return {};
}

/// All of them in the space, or why the request is refused.
std::optional<protocol::Problem> convert_questions(const protocol::GetNeighbors& request,
                                                   const ServedSpace& space,
                                                   std::vector<OneShotQuery>& questions) {
  questions.reserve(request.questions.size());
  for (const protocol::QuerySpec& asked : request.questions) {
    OneShotQuery question{.k = asked.k,
                          .anchor = asked.anchor,
                          .position = {},
                          .filter = space.to_filter(asked),
                          .vote = asked.vote};
    if (asked.anchor == AnchorKind::fixed)
      if (const auto fault = space.place(asked, question.position, question.components))
        return protocol::Problem{
            protocol::ErrorCode::bad_value,
            "Question " + std::to_string(questions.size()) + ": " + fault->sentence + "."};
    questions.push_back(std::move(question));
  }
  return std::nullopt;
}

protocol::Problem out_of_credit(protocol::ReachedLimit limit) {
  std::string sentence =
      "With this batch the session would have more unanswered than its credit, " +
      to_string(limit) + "; wait for replies, then send this batch and all after it again.";
  return {protocol::ErrorCode::out_of_credit, std::move(sentence), std::move(limit)};
}

void prepare(PreparedRequest& prepared, const protocol::Limits& limits, const ServedSpace& space,
             CreditLedger& ledger) {
  prepared.frame = protocol::AlignedBytes(prepared.received.bytes);
  prepared.request = protocol::decode_request(prepared.frame, limits);
  protocol::DecodedRequest& request = prepared.request;
  if (request.problem) return;
  if (const auto* neighbors = std::get_if<protocol::GetNeighbors>(&request.body))
    request.problem = convert_questions(*neighbors, space, prepared.questions);
  if (!protocol::is_batch(request.body)) return;

  const Credit wanted{protocol::credit_rows(request.body), prepared.received.bytes.size()};
  switch (ledger.take(request.head.session, wanted)) {
    case CreditLedger::Taken::taken:
      prepared.credit = wanted;
      prepared.rows = convert_rows(request.body, space);
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
                                const ServedSpace& space, CreditLedger& ledger) {
  PreparedRequest prepared;
  prepared.received = std::move(received);
  try {
    prepare(prepared, limits, space, ledger);
  } catch (const std::bad_alloc&) {
    prepared.rows = {};
    prepared.request.problem = protocol::out_of_memory();
  }
  return prepared;
}

}  // namespace starling::stream
