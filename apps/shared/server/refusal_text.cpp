// SPDX-License-Identifier: Apache-2.0
// One sentence for each reason: see refusal_text.hpp.
#include "starling/apps/shared/server/refusal_text.hpp"

#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::apps {
namespace {

using protocol::RowReason;

std::string_view sentence_of(RowReason reason) {
  switch (reason) {
    case RowReason::none:
      return "accepted";
    case RowReason::late:
      return "the server has a newer row of the object";
    case RowReason::future:
      return "the time is too far ahead of the server's clock (serve --future-max); check the time "
             "and its unit";
    case RowReason::time_out_of_range:
      return "the time is out of range; check its unit";
    case RowReason::unknown_object:
      return "the server has no such object";
    case RowReason::position_not_finite:
      return "a coordinate is not a finite number";
    case RowReason::position_out_of_range:
      return "the position is too far from the server's --origin for its --resolution";
    case RowReason::longitude_out_of_range:
      return "the longitude is not in -180 to 180; check that longitude and latitude are not "
             "swapped";
    case RowReason::latitude_out_of_range:
      return "the latitude is not in -90 to 90; check that longitude and latitude are not swapped";
    case RowReason::unknown_query:
      return "the stream has no such query";
    case RowReason::text_is_not_its_id:
      return "the name does not belong to the id: a name is the text id itself, of which the "
             "number is the hash";
    case RowReason::name_collision:
      return "another text has the same 64-bit id on this server; rename one of them";
    case RowReason::too_many_objects:
      return "the server has no room for more objects";
    case RowReason::too_many_queries:
      return "the server has no room for more queries";
    case RowReason::too_many_names:
      return "the server has no room for more names";
    case RowReason::too_many_neighbors:
      return "all lists together would be too long for the server; choose a smaller k";
    case RowReason::too_many_queries_of_session:
      return "one client may not put more queries";
    case RowReason::too_many_names_of_session:
      return "one client may not put more names";
    case RowReason::too_many_name_bytes:
      return "the server has no room for longer names";
    case RowReason::component_not_finite:
      return "a component of the vector is not a finite number";
    case RowReason::component_too_large:
      return "a component of the vector is too large";
    case RowReason::component_negative:
      return "a component of the vector is negative, which the server's metric does not allow";
    case RowReason::value_infinite:
      return "the value is infinite";
    case RowReason::not_allowed:
      return "the id is not one that you may use; ask the server's owner to widen your ranges in "
             "the keys file";
    case RowReason::not_owner:
      return "it belongs to another principal, and only that one or an admin may change it";
    case RowReason::too_many_queries_of_principal:
      return "you have as many queries as your quota in the keys file allows";
    case RowReason::too_many_neighbors_of_principal:
      return "your queries together ask for as many neighbours as your quota in the keys file "
             "allows";
    case RowReason::too_many_names_of_principal:
      return "you have put as many names as your quota in the keys file allows";
  }
  return "the server gives a reason that this version does not know";
}

}  // namespace

std::string refusal_text(const protocol::Problem& problem, std::string_view stream) {
  if (problem.code == protocol::ErrorCode::unknown_stream && !stream.empty())
    return "there is no stream " + sim::quoted_text(stream) +
           " on this server; make it with: starling put stream " + sim::printable_text(stream);
  return std::string(protocol::without_first_row(problem.sentence));
}

std::string rejection_text(RowReason reason, const protocol::ReachedLimit& limit) {
  std::string text(sentence_of(reason));
  if (!limit.name.empty()) text += "; its limit is " + to_string(limit);
  return text;
}

}  // namespace starling::apps
