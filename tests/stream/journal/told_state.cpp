// SPDX-License-Identifier: Apache-2.0
// Writes replies, lists, objects and names as texts: see told_state.hpp.
#include "tests/stream/journal/told_state.hpp"

#include <algorithm>
#include <iomanip>
#include <numeric>
#include <span>
#include <sstream>
#include <utility>

#include "starling/protocol/wire/text_id.hpp"

namespace starling::stream {

namespace {

template <class Body>
const Body& body_of(const RawReply& reply) {
  if (const auto* body = std::get_if<Body>(&reply.decoded.body)) return *body;
  throw std::runtime_error("the server gives another reply: " + told_reply(reply));
}

std::ostringstream exact_text() {
  std::ostringstream text;
  text << std::setprecision(17);
  return text;
}

std::string text_of_query(const protocol::QuerySpec& query) {
  std::ostringstream text = exact_text();
  text << "  query " << to_number(query.id) << " k " << query.k << " anchor "
       << static_cast<int>(query.anchor) << " at";
  for (const double each : query.position) text << ' ' << each;
  for (const float each : query.vector) text << ' ' << each;
  text << " object " << to_number(query.object) << " tags " << query.tags.required << ' '
       << query.tags.forbidden << " within " << query.distance_max_m << " age " << query.age_max_us
       << " subject " << query.subject.required << ' ' << query.subject.forbidden << " lease "
       << query.lease_ms << " vote " << query.vote << " regress "
       << static_cast<int>(query.regress);
  return text.str();
}

std::string text_of_list(const protocol::ListChunk& chunk, std::size_t list) {
  std::ostringstream text = exact_text();
  text << "  list " << chunk.query_ids[list];
  if (chunk.subject_of(list)) text << " of " << chunk.subject_ids[list];
  text << " vote " << chunk.vote_of(list);
  for (std::uint32_t i = chunk.offsets[list]; i < chunk.offsets[list + 1]; ++i) {
    text << ", " << chunk.object_ids[i];
    if (!chunk.distances_m.empty()) text << " distance " << chunk.distances_m[i];
    if (!chunk.positions.empty())
      text << " at " << chunk.positions[3 * i] << ' ' << chunk.positions[3 * i + 1];
    if (!chunk.tags.empty()) text << " tags " << chunk.tags[i];
  }
  return text.str();
}

void tell_objects(const Ask& ask, std::span<const std::uint64_t> ids,
                  std::vector<std::string>& told) {
  const auto reply = ask(protocol::GetObjects{.object_ids = ids});
  const auto& objects = body_of<protocol::Objects>(*reply);
  told.push_back("objects " + std::to_string(objects.object_count));
  for (std::size_t i = 0; i < objects.ids.size(); ++i) {
    std::ostringstream text = exact_text();
    text << "  object " << objects.ids[i] << " time " << objects.times_us[i];
    if (!objects.positions.empty())
      text << " at " << objects.positions[3 * i] << ' ' << objects.positions[3 * i + 1];
    text << " tags " << objects.tags[i];
    told.push_back(text.str());
  }
}

void tell_names(const Ask& ask, std::vector<std::string>& told) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < told_names; ++i)
    ids.push_back(to_number(protocol::id_of_text(told_name(i))));
  const auto reply = ask(protocol::GetNames{ids});
  const auto& names = body_of<protocol::Names>(*reply);
  std::string text = "names " + std::to_string(names.name_count);
  for (const std::string_view name : names.texts)
    if (!name.empty()) text.append(", ").append(name);
  told.push_back(std::move(text));
}

void tell_queries(const Ask& ask, const std::string& stream, std::vector<std::string>& told) {
  std::vector<std::string> found;
  std::uint64_t page = 0;
  do {
    const auto reply = ask(protocol::ListQueries{.stream = stream, .page = page});
    const auto& queries = body_of<protocol::Queries>(*reply);
    for (const protocol::QuerySpec& query : queries.queries) found.push_back(text_of_query(query));
    page = queries.next_page;
  } while (page != 0);
  std::ranges::sort(found);
  told.insert(told.end(), found.begin(), found.end());
}

void tell_lists(const Ask& ask, const std::string& stream, std::vector<std::string>& told) {
  std::vector<std::string> found;
  std::uint64_t page = 0;
  do {
    const auto reply = ask(protocol::GetSnapshot{.stream = stream, .page = page});
    const auto& snapshot = body_of<protocol::SnapshotPage>(*reply);
    if (page == 0)
      told.push_back("  lists of tick " + std::to_string(to_number(snapshot.head.tick)) +
                     " message " + std::to_string(snapshot.head.sequence));
    for (std::size_t i = 0; i < snapshot.lists.list_count(); ++i)
      found.push_back(text_of_list(snapshot.lists, i));
    page = snapshot.head.next_page;
  } while (page != 0);
  std::ranges::sort(found);
  told.insert(told.end(), found.begin(), found.end());
}

void tell_streams(const Ask& ask, std::vector<std::string>& told) {
  std::vector<std::pair<std::string, std::string>> found;  // names, and their texts
  std::uint64_t page = 0;
  do {
    const auto reply = ask(protocol::ListStreams{.page = page});
    const auto& streams = body_of<protocol::Streams>(*reply);
    for (const protocol::StreamInfo& stream : streams.streams)
      found.emplace_back(stream.name, "stream " + std::string(stream.name) + " on " +
                                          std::to_string(static_cast<int>(stream.on)) + " with " +
                                          std::to_string(stream.with.distance) +
                                          std::to_string(stream.with.position) +
                                          std::to_string(stream.with.tags) + " queries " +
                                          std::to_string(stream.query_count) + " message " +
                                          std::to_string(stream.sequence));
    page = streams.next_page;
  } while (page != 0);
  std::ranges::sort(found);
  for (const auto& [name, text] : found) {
    told.push_back(text);
    tell_queries(ask, name, told);
    tell_lists(ask, name, told);
  }
}

void tell_answer(const Ask& ask, const protocol::QuerySpec& question,
                 std::vector<std::string>& told) {
  const auto reply = ask(protocol::GetNeighbors{{question}});
  const auto& answer = body_of<protocol::Neighbors>(*reply);
  told.push_back("tick " + std::to_string(to_number(answer.head.tick)) + " tau " +
                 std::to_string(answer.head.tau_us));
  for (std::size_t i = 0; i < answer.lists.list_count(); ++i)
    told.push_back(text_of_list(answer.lists, i));
}

}  // namespace

std::string told_reply(const RawReply& reply, TickTimes times) {
  std::ostringstream text = exact_text();
  if (const auto* error = std::get_if<protocol::ErrorReply>(&reply.decoded.body)) {
    text << "error " << to_string(error->problem.code) << ": " << error->problem.sentence;
  } else if (const auto* batch = std::get_if<protocol::BatchReply>(&reply.decoded.body)) {
    text << "accepted " << batch->accepted << ", late " << batch->late << ", rejected "
         << batch->rejected;
    for (const auto& each : batch->reasons)
      text << ", " << each.count << ' ' << to_string(each.reason);
    for (const auto& row : batch->first_rejected) text << ", row " << row.index;
  } else if (std::holds_alternative<protocol::Done>(reply.decoded.body)) {
    text << "done";
  } else if (const auto* tick = std::get_if<protocol::TickDone>(&reply.decoded.body)) {
    text << "tick " << to_number(tick->tick) << " tau " << tick->tau_us << " objects "
         << tick->object_count << " lists " << tick->list_count << " removals "
         << tick->removal_count;
    if (times == TickTimes::told)
      text << " build " << tick->build_ms << " search " << tick->search_ms << " diff "
           << tick->diff_ms;
  } else {
    text << "a reply of another kind";
  }
  return text.str();
}

std::vector<std::string> told_state(const Ask& ask, std::uint64_t ids_end,
                                    const protocol::QuerySpec& question) {
  constexpr std::size_t ids_at_once = 1024;
  std::vector<std::uint64_t> ids(ids_end);
  std::iota(ids.begin(), ids.end(), std::uint64_t{0});
  std::vector<std::string> told;
  for (std::size_t first = 0; first < ids.size(); first += ids_at_once)
    tell_objects(ask, std::span(ids).subspan(first, std::min(ids_at_once, ids.size() - first)),
                 told);
  tell_names(ask, told);
  tell_streams(ask, told);
  tell_answer(ask, question, told);
  return told;
}

}  // namespace starling::stream
