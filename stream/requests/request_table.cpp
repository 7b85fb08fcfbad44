// SPDX-License-Identifier: Apache-2.0
// One function for each row of the table, chosen by the type of the request: see request_table.hpp.
#include "starling/stream/requests/request_table.hpp"

#include <array>
#include <type_traits>
#include <variant>

#include "starling/knn/base/assert.hpp"
#include "starling/protocol/rows/conversions.hpp"

namespace starling::stream {
namespace {

using protocol::Problem;
using protocol::ServedSpace;

template <class Body>
std::optional<Problem> convert(PreparedRequest& prepared, const ServedSpace& space) {
  const Body& body = std::get<Body>(prepared.request.body);
  if constexpr (std::is_same_v<Body, protocol::UpdateBatch>)
    prepared.rows = space.place(body);
  else if constexpr (std::is_same_v<Body, protocol::PutQueries>)
    prepared.rows = protocol::convert(body, space);
  else if constexpr (std::is_same_v<Body, protocol::GetNeighbors>)
    return protocol::convert_questions(body, space, prepared.questions);
  else
    prepared.rows = protocol::convert(body);
  return std::nullopt;
}

/// Calls a function of a family. It gets the caller and, if it has a second parameter, the request
/// or the request's body.
template <class Body, auto Family, auto Function>
void call(Families& families, const Caller& caller, PreparedRequest& request) {
  auto& family = families.*Family;
  using Called = std::decay_t<decltype(family)>;
  if constexpr (std::is_invocable_v<decltype(Function), Called&, const Caller&, PreparedRequest&>)
    (family.*Function)(caller, request);
  else if constexpr (std::is_invocable_v<decltype(Function), Called&, const Caller&, const Body&>)
    (family.*Function)(caller, std::get<Body>(request.request.body));
  else
    (family.*Function)(caller);
}

// Each function is a row of the table. A request type without a row does not compile.
RequestRow row(const protocol::Hello*) {
  return {.carry_out = call<protocol::Hello, &Families::sessions, &SessionRequests::hello>};
}
RequestRow row(const protocol::EndSession*) {
  return {.carry_out = call<protocol::EndSession, &Families::sessions, &SessionRequests::end>};
}
RequestRow row(const protocol::UpdateBatch*) {
  return {.prepare = convert<protocol::UpdateBatch>,
          .carry_out = [](Families&, const Caller&, PreparedRequest&) {
            assertion_failed("a fresh update waits for others");  // see Requests::handle
          }};
}
RequestRow row(const protocol::UpdateTags*) {
  return {
      .prepare = convert<protocol::UpdateTags>,
      .carry_out = call<protocol::UpdateTags, &Families::objects, &ObjectRequests::update_tags>};
}
RequestRow row(const protocol::RemoveObjects*) {
  return {.prepare = convert<protocol::RemoveObjects>,
          .carry_out = call<protocol::RemoveObjects, &Families::objects, &ObjectRequests::remove>};
}
RequestRow row(const protocol::GetObjects*) {
  return {.carry_out = call<protocol::GetObjects, &Families::objects, &ObjectRequests::get>};
}
RequestRow row(const protocol::PutNames*) {
  return {.carry_out = call<protocol::PutNames, &Families::names, &NameRequests::put>};
}
RequestRow row(const protocol::GetNames*) {
  return {.carry_out = call<protocol::GetNames, &Families::names, &NameRequests::get>};
}
RequestRow row(const protocol::PutStream*) {
  return {.carry_out = call<protocol::PutStream, &Families::streams, &StreamRequests::put>};
}
RequestRow row(const protocol::RemoveStream*) {
  return {.carry_out = call<protocol::RemoveStream, &Families::streams, &StreamRequests::remove>};
}
RequestRow row(const protocol::ListStreams*) {
  return {.carry_out = call<protocol::ListStreams, &Families::streams, &StreamRequests::list>};
}
RequestRow row(const protocol::PutQueries*) {
  return {.prepare = convert<protocol::PutQueries>,
          .carry_out = call<protocol::PutQueries, &Families::queries, &QueryRequests::put>};
}
RequestRow row(const protocol::RemoveQueries*) {
  return {.carry_out = call<protocol::RemoveQueries, &Families::queries, &QueryRequests::remove>};
}
RequestRow row(const protocol::ListQueries*) {
  return {.carry_out = call<protocol::ListQueries, &Families::queries, &QueryRequests::list>};
}
RequestRow row(const protocol::AdvanceTick*) {
  return {.carry_out = call<protocol::AdvanceTick, &Families::ticks, &TickRequests::advance>,
          .uses_number = false};
}
RequestRow row(const protocol::GetSnapshot*) {
  return {.carry_out = call<protocol::GetSnapshot, &Families::snapshots, &SnapshotRequests::get>};
}
RequestRow row(const protocol::GetNeighbors*) {
  return {.prepare = convert<protocol::GetNeighbors>,
          .carry_out = call<protocol::GetNeighbors, &Families::questions, &QuestionRequests::get>};
}
RequestRow row(const protocol::ReportReceived*) {
  return {.carry_out =
              call<protocol::ReportReceived, &Families::reports, &ReportRequests::report_received>};
}
RequestRow row(const protocol::GetStats*) {
  return {.carry_out = call<protocol::GetStats, &Families::reports, &ReportRequests::get_stats>};
}

template <class... Bodies>
std::array<RequestRow, sizeof...(Bodies)> rows_for(const std::variant<Bodies...>*) {
  return {row(static_cast<const Bodies*>(nullptr))...};
}

}  // namespace

const RequestRow& row_of(const protocol::RequestBody& body) {
  static const auto table = rows_for(static_cast<const protocol::RequestBody*>(nullptr));
  return table[body.index()];
}

}  // namespace starling::stream
