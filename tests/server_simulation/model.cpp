// SPDX-License-Identifier: Apache-2.0
// Applies the records of a log to the oracle, and compares the results: see model.hpp.
#include "tests/server_simulation/model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "starling/log/reader.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "tests/server_simulation/simulated_requests.hpp"
#include "tests/stream/journal/told_state.hpp"

namespace starling::simulation {

using stream::OwnedRequest;
using stream::SequencedReply;

namespace {

std::string name_of(Tick tick) {
  return "tick " + std::to_string(to_number(tick));
}

std::string told(const SequencedReply& reply, stream::TickTimes times = stream::TickTimes::told) {
  stream::RawReply raw;
  std::visit([&](const auto& each) { raw.decoded.body = each; }, reply);
  return stream::told_reply(raw, times);
}

/// Returns what the model can know of a reply: counts, but no sentences.
std::string outline_of(const SequencedReply& reply) {
  if (std::holds_alternative<protocol::ErrorReply>(reply)) return "a refusal";
  if (const auto* batch = std::get_if<protocol::BatchReply>(&reply))
    return std::to_string(batch->accepted) + " accepted, " + std::to_string(batch->late) +
           " late, " + std::to_string(batch->rejected) + " rejected";
  return told(reply, stream::TickTimes::left_out);
}

stream::Role role_for(OwnedRequest::Kind kind) {
  return kind <= OwnedRequest::Kind::names  ? stream::Role::publish
         : kind == OwnedRequest::Kind::tick ? stream::Role::tick
                                            : stream::Role::query;
}

/// Says which lists differ, and how.
template <class Lists>
std::string difference(const Lists& actual, const Lists& expected) {
  std::string text;
  const auto add = [&](const protocol::ListKey& key, const char* what) {
    text += std::string(what) + std::to_string(to_number(key.query)) +
            (key.has_subject ? " around " + std::to_string(to_number(key.subject)) : "");
  };
  for (const auto& [key, list] : expected) {
    const auto found = actual.find(key);
    if (found == actual.end())
      add(key, "; it lacks query ");
    else if (found->second != list)
      add(key, "; it differs in query ");
  }
  for (const auto& [key, list] : actual)
    if (!expected.contains(key)) add(key, "; it has too much query ");
  return text;
}

protocol::BatchReply& count(protocol::BatchReply& reply, UpdateStatus status) {
  if (status == UpdateStatus::accepted)
    ++reply.accepted;
  else if (status == UpdateStatus::late)
    ++reply.late;
  else
    ++reply.rejected;
  return reply;
}

}  // namespace

void Model::check(log::Files& files) {
  read(files);
  for (const stream::JournalRecord& record : records_)
    if (const auto* finished = std::get_if<stream::TickFinishedRecord>(&record))
      if (!finished->error.empty()) failed_.insert(finished->tick);
  for (const stream::JournalRecord& record : records_) apply(record);
  // A server begins an epoch when a copy was put back. It begins another epoch if power fails
  // before the folder has its identity.
  if (epochs_.size() > 1 && history_.put_backs() == 0) history_.violated("the epoch has changed");
  compare_replies();
  compare_messages();
  compare_held();
  compare_answers();
}

void Model::read(log::Files& files) try {
  log::read_log(files, [&](const log::Group& group) {
    for (const log::Record& record : group.records) records_.push_back(stream::decode(record));
  });
} catch (const std::exception& error) {
  history_.violated(std::string("the log cannot be read: ") + error.what());
}

void Model::apply(const stream::JournalRecord& record) {
  if (const auto* epoch = std::get_if<stream::EpochRecord>(&record)) epochs_.insert(epoch->epoch);
  if (std::holds_alternative<stream::PublishedRecord>(record)) ++published_;
  // A client whose session is missing in a copy goes on with its own numbers.
  if (const auto* opened = std::get_if<stream::SessionOpenedRecord>(&record);
      opened != nullptr && history_.put_backs() > 0)
    if (const auto client = history_.clients().find(opened->session);
        client != history_.clients().end())
      last_applied_[client->second] = opened->first_sequence - 1;
  if (const auto* begun = std::get_if<stream::TickBegunRecord>(&record)) begin_tick(*begun);
  if (const auto* request = std::get_if<stream::RequestRecord>(&record)) apply_request(*request);
}

std::optional<std::uint64_t> Model::client_of(std::uint64_t session) {
  const auto found = history_.clients().find(session);
  if (found != history_.clients().end()) return found->second;
  history_.violated("the log has a session that no client has opened");
  return std::nullopt;
}

void Model::apply_request(const stream::RequestRecord& record) {
  const auto client = client_of(record.session);
  if (!client) return;
  const RequestKey key{*client, record.sequence};
  if (!applied_.insert(key).second) return history_.violated(name_of(key) + " is applied twice");
  if (!history_.requests().contains(key))
    return history_.violated(name_of(key) + " is in the log, and was never sent");
  if (!asked_ticks_.contains(key)) note_applied(key);
  told_[key] = told(record.reply);
  compare_reply(key, record);
}

void Model::compare_reply(RequestKey key, const stream::RequestRecord& record) {
  const OwnedRequest& request = history_.requests().at(key);
  if (request.kind == OwnedRequest::Kind::tick) return compare_tick_reply(key, record);
  const std::string expected = outline_of(reply_of(key.first, request));
  const std::string actual = outline_of(record.reply);
  if (actual != expected)
    history_.violated(name_of(key) + " is told " + actual + ", and the model says " + expected);
}

void Model::compare_tick_reply(RequestKey key, const stream::RequestRecord& record) {
  const auto asked = asked_ticks_.find(key);
  const auto* done = std::get_if<protocol::TickDone>(&record.reply);
  if (asked == asked_ticks_.end()) {  // the request was refused, because its tau is too early
    if (done != nullptr) history_.violated(name_of(key) + " says done, and began no tick");
    return;
  }
  const auto ticked = ticks_.find(asked->second);
  // The tick counts, though its subscribers get no messages and see a gap.
  const bool has_no_messages = told_[key].ends_with("there was no memory for the tick's messages");
  if (has_no_messages) return;
  if ((done != nullptr) != (ticked != ticks_.end()))
    return history_.violated(name_of(key) + " is told " + told_[key] + ", of another outcome");
  if (done == nullptr) return;
  std::uint64_t lists = 0;
  std::uint64_t removals = 0;
  for (const auto& [list, report] : ticked->second.reports.reports)
    ++(report.event == ListEvent::updated ? lists : removals);
  if (done->tick != asked->second || done->tau_us != ticked->second.tau_us ||
      done->object_count != ticked->second.reports.objects || done->list_count != lists ||
      done->removal_count != removals)
    history_.violated(
        name_of(key) + " is told " + told_[key] + ", and the model has " + name_of(asked->second) +
        ", " + std::to_string(ticked->second.reports.objects) + " objects, " +
        std::to_string(lists) + " lists and " + std::to_string(removals) + " removals");
}

/// Checks that the requests of a client are applied in order and without a gap.
void Model::note_applied(RequestKey key) {
  std::uint64_t& last = last_applied_[key.first];
  if (key.second != last + 1)
    history_.violated(name_of(key) + " is applied after number " + std::to_string(last));
  last = key.second;
}

void Model::begin_tick(const stream::TickBegunRecord& record) {
  if (tau_us_ && record.tau_us < *tau_us_)
    history_.violated("tau goes back at " + name_of(record.tick));
  tau_us_ = record.tau_us;
  taus_us_[record.tick] = record.tau_us;
  if (record.session != 0) {
    if (const auto client = client_of(record.session)) {
      const RequestKey key{*client, record.sequence};
      if (!asked_ticks_.emplace(key, record.tick).second)
        history_.violated(name_of(key) + " begins two ticks");
      note_applied(key);
      const auto request = history_.requests().find(key);
      if (request == history_.requests().end() || request->second.tau_us != record.tau_us)
        history_.violated(name_of(record.tick) + " is of a request that was never sent");
    }
  }
  for (const auto& [query, lease_end_us] : lease_ends_us_)
    if (lease_end_us < record.tau_us) {
      note_change(query.first, query.second);
      query_owners_.erase(query);
    }
  std::erase_if(lease_ends_us_, [&](const auto& each) { return each.second < record.tau_us; });
  const bool has_failed = failed_.contains(record.tick);
  if (!has_failed) last_ticks_ = {last_ticks_.back()};
  last_ticks_.push_back(record.tick);
  if (has_failed) return oracle_.fail_tick(record.tau_us);
  test::OracleTick reports = oracle_.tick(record.tau_us);
  ticks_.emplace(record.tick, Ticked{std::move(reports), oracle_.lists(), oracle_, record.tau_us});
}

LatticePoint Model::point(double x, double y, double z) const {
  return {static_cast<std::int32_t>(std::lround(x / metres_per_unit)),
          static_cast<std::int32_t>(std::lround(y / metres_per_unit)),
          static_cast<std::int32_t>(std::lround(z / metres_per_unit))};
}

SequencedReply Model::reply_of(std::uint64_t client, const OwnedRequest& request) {
  using Kind = OwnedRequest::Kind;
  if (!clients_[client].has(role_for(request.kind))) return protocol::ErrorReply{};
  switch (request.kind) {
    case Kind::objects:
    case Kind::tags:
    case Kind::removals:
      return reply_to_rows(request);
    case Kind::queries:
      return reply_to_queries(client, request);
    case Kind::query_removals:
      return reply_to_removals(client, request);
    case Kind::stream:
      return reply_to_stream(client, request);
    case Kind::stream_removal:
      return reply_to_stream_removal(client, request);
    default:
      return protocol::ErrorReply{};
  }
}

/// A stream belongs to the client that made it, also if an admin puts it again.
SequencedReply Model::reply_to_stream(std::uint64_t client, const OwnedRequest& request) {
  const auto [owner, is_new] = stream_owners_.try_emplace(request.stream, client);
  if (!is_new && owner->second != client && !clients_[client].is_admin())
    return protocol::ErrorReply{};
  StreamDefinition definition;
  definition.name = request.stream;
  definition.on = request.on;
  definition.with = request.with;
  const std::uint32_t number = oracle_.put_stream(definition);
  streams_[request.stream] = number;
  removed_streams_.erase(request.stream);
  columns_[number] = request.with;
  return protocol::Done{};
}

std::optional<std::uint32_t> Model::find_stream(const std::string& name) const {
  const auto found = streams_.find(name);
  if (found == streams_.end() || removed_streams_.contains(name)) return std::nullopt;
  return found->second;
}

/// The stream's queries leave with it. The oracle keeps the stream's number, in case it is put
/// again.
SequencedReply Model::reply_to_stream_removal(std::uint64_t client, const OwnedRequest& request) {
  const auto stream = find_stream(request.stream);
  if (!stream) return protocol::ErrorReply{};
  if (!clients_[client].is_admin()) {
    const std::uint64_t owner = stream_owners_.at(request.stream);
    const bool has_foreign = std::ranges::any_of(query_owners_, [&](const auto& query) {
      return query.first.first == *stream && query.second != owner;
    });
    if (owner != client || has_foreign) return protocol::ErrorReply{};
  }
  stream_owners_.erase(request.stream);
  for (std::uint64_t id = 0; id < SimulatedRequests::queries; ++id)
    if (oracle_.remove_query(*stream, QueryId{id}) == QueryStatus::accepted)
      forget_query(*stream, QueryId{id});
  removed_streams_.insert(request.stream);
  return protocol::Done{};
}

SequencedReply Model::reply_to_rows(const OwnedRequest& request) {
  protocol::BatchReply reply;
  for (std::size_t i = 0; i < request.ids.size(); ++i) {
    const ObjectId id{request.ids[i]};
    if (request.kind == OwnedRequest::Kind::objects) {
      ObjectUpdate row;
      row.id = id;
      row.time_us = request.times_us[i];
      const std::size_t axes = request.places.size() / request.ids.size();
      const double* const place = &request.places[axes * i];
      row.position = point(place[0], place[1], axes == 3 ? place[2] : 0);
      row.has_tags = !request.tags.empty();
      if (row.has_tags) row.tags = request.tags[i];
      count(reply, oracle_.update(row));
    } else if (request.kind == OwnedRequest::Kind::tags) {
      TagUpdate row;
      row.id = id;
      row.time_us = request.times_us[i];
      row.set = request.tags[i];
      row.clear = request.cleared[i];
      count(reply, oracle_.update_tags(row));
    } else {
      count(reply, oracle_.remove({id, request.times_us[i]}));
    }
  }
  return reply;
}

SequencedReply Model::reply_to_queries(std::uint64_t client, const OwnedRequest& request) {
  const auto stream = find_stream(request.stream);
  if (!stream) return protocol::ErrorReply{};
  // Before the first tick a lease has no time to count from.
  const auto has_lease = [](const protocol::QuerySpec& spec) { return spec.lease_ms != 0; };
  if (!tau_us_ && std::ranges::any_of(request.queries, has_lease)) return protocol::ErrorReply{};
  protocol::BatchReply reply;
  for (const protocol::QuerySpec& spec : request.queries) {
    QueryDefinition query;
    query.id = spec.id;
    query.k = spec.k;
    query.anchor.kind = spec.anchor;
    query.anchor.object = spec.object;
    query.anchor.position = point(spec.position[0], spec.position[1], spec.position[2]);
    query.filter.tags = spec.tags;
    if (spec.lease_ms != 0)
      query.lease_end_us = *tau_us_ + static_cast<std::int64_t>(spec.lease_ms) * 1000;
    const bool is_put = may_change(client, *stream, spec.id) &&
                        oracle_.put_query(*stream, query) == QueryStatus::accepted;
    ++(is_put ? reply.accepted : reply.rejected);
    if (is_put) note_change(*stream, spec.id);
    if (is_put) query_owners_[{*stream, spec.id}] = client;
    if (is_put) lease_ends_us_[{*stream, spec.id}] = query.lease_end_us;
  }
  return reply;
}

SequencedReply Model::reply_to_removals(std::uint64_t client, const OwnedRequest& request) {
  const auto stream = find_stream(request.stream);
  if (!stream) return protocol::ErrorReply{};
  protocol::BatchReply reply;
  for (const std::uint64_t id : request.ids) {
    const bool is_removed = may_change(client, *stream, QueryId{id}) &&
                            oracle_.remove_query(*stream, QueryId{id}) == QueryStatus::accepted;
    ++(is_removed ? reply.accepted : reply.rejected);
    if (is_removed) forget_query(*stream, QueryId{id});
  }
  return reply;
}

/// Returns whether the client may put or remove the query: it does not exist, or it is the
/// client's own, or the client is an admin.
bool Model::may_change(std::uint64_t client, std::uint32_t stream, QueryId query) const {
  const auto owner = query_owners_.find({stream, query});
  return owner == query_owners_.end() || owner->second == client || clients_[client].is_admin();
}

void Model::forget_query(std::uint32_t stream, QueryId query) {
  note_change(stream, query);
  query_owners_.erase({stream, query});
}

void Model::note_change(std::uint32_t stream, QueryId query) {
  for (const Tick tick : last_ticks_) changed_.insert({tick, stream, query});
}

bool Model::has_changed(Tick from, Tick until, std::uint32_t stream, QueryId query) const {
  return std::ranges::any_of(changed_, [&](const auto& change) {
    const auto& [tick, changed_stream, changed_query] = change;
    return from <= tick && tick <= until && changed_stream == stream && changed_query == query;
  });
}

/// Checks that the log has every reply that a client got, and has the same reply.
void Model::compare_replies() {
  for (const auto& [key, reply] : history_.replies()) {
    const auto logged = told_.find(key);
    if (logged == told_.end())
      history_.violated(name_of(key) + " was acknowledged and is lost: " + reply);
    else if (logged->second != reply)
      history_.violated(name_of(key) + " was told " + reply + ", and the log has " +
                        logged->second);
  }
}

void Model::compare_messages() {
  for (const auto& [key, message] : history_.messages()) compare_message(key, message);
}

void Model::compare_message(const MessageKey& key, const PublishedMessage& message) {
  const protocol::DecodedTick& tick = message.received.tick;
  const std::string name = "the message of " + name_of(tick.header.tick) + " to " + key.first;
  if (const auto tau = taus_us_.find(tick.header.tick);
      tau == taus_us_.end() || tau->second != tick.header.tau_us)
    history_.violated(name + " has another tau than the log");
  if (tick.header.failed) {
    if (!failed_.contains(tick.header.tick))
      history_.violated(name + " says that the tick failed, and the log does not");
    if (tick.header.object_count != 0 || !tick.chunks.empty())
      history_.violated(name + " of a failed tick has lists or objects");
    return;
  }
  const auto ticked = ticks_.find(tick.header.tick);
  if (ticked == ticks_.end()) return history_.violated(name + " is of a tick that is not logged");
  if (tick.header.object_count != ticked->second.reports.objects)
    history_.violated(name + " has another number of objects than the oracle");
  const auto stream = streams_.find(key.first);
  if (stream == streams_.end()) return history_.violated(name + " is of no stream");
  std::map<test::ListKey, const test::OracleReport*> missing;
  for (const auto& [list, report] : ticked->second.reports.reports)
    if (list.stream == stream->second) missing[list] = &report;
  for (const protocol::ListChunk& chunk : tick.chunks)
    for (std::size_t i = 0; i < chunk.list_count(); ++i) {
      const protocol::ListKey reported = protocol::key_of(chunk, i);
      test::ListKey list{stream->second, reported.query, {}};
      if (reported.has_subject) list.subject = reported.subject;
      const auto wanted = missing.extract(list);
      if (wanted.empty()) {
        history_.violated(name + " has a list that should not be reported: query " +
                          std::to_string(to_number(list.query)));
        continue;
      }
      const test::OracleReport& report = *wanted.mapped();
      if (chunk.event_of(i) != report.event) history_.violated(name + " has another event");
      if (report.event == ListEvent::updated &&
          protocol::list_of(chunk, i) !=
              list_of(ticked->second.oracle, report.neighbors, columns_.at(stream->second)))
        history_.violated(name + " has another list than the oracle, of query " +
                          std::to_string(to_number(list.query)));
    }
  for (const auto& [list, report] : missing)
    history_.violated(name + " lacks a list: query " + std::to_string(to_number(list.query)));
}

protocol::HeldList Model::list_of(const test::Oracle& oracle, const test::List& list,
                                  const ReportWith& with) const {
  protocol::HeldList made;
  for (const Neighbor& neighbor : list)
    made.neighbors.push_back(
        {neighbor.object, with.distance ? lattice_.to_metres(neighbor.key) : 0});
  if (!with.position && !with.tags) return made;
  for (const NeighborState& state : oracle.states_of(list))
    made.states.push_back({with.position ? lattice_.to_position(state.position) : Position{},
                           with.tags ? state.tags : 0});
  return made;
}

/// Compares the lists that subscribers held with the oracle's. They are exact only if the stream
/// reports each distance.
void Model::compare_held() {
  for (const Held& held : history_.held()) {
    if (history_.is_former(held.at.run)) continue;
    const std::string name = "a subscriber of " + held.stream + " at " + name_of(held.at.tick);
    const auto stream = streams_.find(held.stream);
    if (stream == streams_.end()) {
      history_.violated(name + ", of no stream");
      continue;
    }
    // A failed tick leaves the lists of the tick before.
    auto ticked = ticks_.upper_bound(held.at.tick);
    const bool has_ticked = ticked != ticks_.begin();
    std::map<protocol::ListKey, protocol::HeldList> expected;
    if (has_ticked)
      for (const auto& [key, list] : std::prev(ticked)->second.lists)
        if (key.stream == stream->second)
          expected[{key.query, key.subject.has_value(), key.subject.value_or(ObjectId{})}] =
              list_of(std::prev(ticked)->second.oracle, list, columns_.at(stream->second));
    std::map<protocol::ListKey, protocol::HeldList> actual(held.lists.begin(), held.lists.end());
    // A snapshot lacks queries that were removed, or have ended, since the tick of its lists.
    std::erase_if(expected, [&](const auto& entry) {
      return !actual.contains(entry.first) &&
             has_changed(std::prev(ticked)->first, held.at.tick, stream->second, entry.first.query);
    });
    if (stream_reports_all(held.stream)) {
      if (actual != expected)
        history_.violated(name + " holds other lists than the oracle" +
                          difference(actual, expected));
      continue;
    }
    // Subscribers of the other streams hold the same objects.
    const auto members = [](const auto& lists) {
      std::map<protocol::ListKey, std::set<ObjectId>> found;
      for (const auto& [key, list] : lists)
        for (const protocol::HeldNeighbor& each : list.neighbors) found[key].insert(each.object);
      return found;
    };
    const auto objects = members(actual);
    const auto expected_objects = members(expected);
    if (objects != expected_objects)
      history_.violated(name + " holds other objects than the oracle" +
                        difference(objects, expected_objects));
  }
}

void Model::compare_answers() {
  for (const Answered& answered : history_.answers()) {
    const auto ticked = ticks_.find(answered.tick);
    if (answered.tick < answered.published)
      history_.violated("an answer is of " + name_of(answered.tick) + ", and " +
                        name_of(answered.published) + " was published before it was asked");
    if (answered.at_us) compare_past(answered);
    const bool is_before_all = to_number(answered.tick) == 0;
    if (ticked == ticks_.end() && !is_before_all) {
      history_.violated("an answer is of " + name_of(answered.tick) + ", which is not logged");
      continue;
    }
    Anchor anchor{.kind = answered.question.anchor, .object = answered.question.object};
    anchor.position = point(answered.question.position[0], answered.question.position[1],
                            answered.question.position[2]);
    test::List list;
    bool is_unknown = anchor.kind == AnchorKind::follow;
    if (!is_before_all) {
      const test::Oracle& oracle = ticked->second.oracle;
      list = oracle.answer(answered.question.k, anchor, {});
      is_unknown = is_unknown && !oracle.has(anchor.object);
    }
    protocol::HeldList expected;
    for (const Neighbor& neighbor : list)
      expected.neighbors.push_back({neighbor.object, lattice_.to_metres(neighbor.key)});
    if (expected.neighbors != answered.list.neighbors)
      history_.violated("an answer at " + name_of(answered.tick) + " is not the oracle's");
    if (is_unknown != answered.is_unknown)
      history_.violated("an answer at " + name_of(answered.tick) + " says that its object is " +
                        (answered.is_unknown ? "unknown" : "known") + ", and the oracle not");
  }
}

/// An answer about the past is of the last tick that succeeded at or before its time.
void Model::compare_past(const Answered& answered) {
  Tick last{};
  for (const auto& [tick, ticked] : ticks_)
    if (ticked.tau_us <= *answered.at_us) last = tick;
  if (answered.tick != last)
    history_.violated("an answer about the past is of " + name_of(answered.tick) + ", and " +
                      name_of(last) + " was the last one at its time");
}

}  // namespace starling::simulation
