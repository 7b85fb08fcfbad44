// SPDX-License-Identifier: Apache-2.0
// Says which requests are sequenced, and how much credit a request uses: see messages.hpp.
#include "starling/protocol/wire/messages.hpp"

#include <algorithm>
#include <type_traits>

namespace starling::protocol {
namespace {

template <class Body>
std::uint64_t row_count(const Body& body) {
  if constexpr (requires { body.ids; })
    return body.ids.size();
  else if constexpr (requires { body.queries; })
    return body.queries.size();
  else
    return 0;
}

template <class Body>
constexpr bool has_rows = requires(Body body) {
  body.ids;
}
|| requires(Body body) {
  body.queries;
};

template <class T>
std::size_t bytes_of(std::span<T> values) {
  return values.size_bytes();
}

std::size_t bytes_of(const std::vector<QuerySpec>& queries) {
  std::size_t bytes = 0;
  for (const QuerySpec& query : queries) bytes += query.vector.size() * sizeof(float);
  return bytes;
}

}  // namespace

std::size_t entries_in(const UpdateBatch& batch, RowColumn column, std::size_t first,
                       std::size_t count) {
  return static_cast<std::size_t>(
      std::ranges::count_if(batch.row_columns.subspan(first, count),
                            [&](std::uint8_t columns) { return (columns & column) != 0; }));
}

bool is_batch(const RequestBody& body) {
  return std::visit([](const auto& each) { return has_rows<std::decay_t<decltype(each)>>; }, body);
}

bool is_sequenced(const RequestBody& body) {
  return is_batch(body) || std::holds_alternative<PutStream>(body) ||
         std::holds_alternative<RemoveStream>(body) || std::holds_alternative<AdvanceTick>(body);
}

std::size_t array_bytes(const RequestBody& body) {
  return std::visit(
      [](const auto& each) {
        std::size_t bytes = 0;
        if constexpr (requires { each.ids; }) bytes += bytes_of(each.ids);
        if constexpr (requires { each.times_us; }) bytes += bytes_of(each.times_us);
        if constexpr (requires { each.coordinates_f32; })
          bytes += bytes_of(each.coordinates) + bytes_of(each.coordinates_f32) +
                   bytes_of(each.tags) + bytes_of(each.labels) + bytes_of(each.values) +
                   bytes_of(each.row_columns);
        if constexpr (requires { each.queries; }) bytes += bytes_of(each.queries);
        if constexpr (requires { each.questions; }) bytes += bytes_of(each.questions);
        return bytes;
      },
      body);
}

std::uint64_t credit_rows(const RequestBody& body) {
  return std::visit([](const auto& each) { return row_count(each); }, body);
}

}  // namespace starling::protocol
