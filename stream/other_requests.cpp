// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler for requests without a sequence number. These requests change no
// object, query or stream, and begin no tick. read_requests.cpp has those that read a table page by
// page.
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/overloaded.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/limit_table.hpp"
#include "starling/stream/request_handler.hpp"

namespace starling::stream {

using protocol::chunk_bytes_max;
using protocol::ErrorCode;

namespace {

// On the wire, a page is named by a number that combines the snapshot's number and the page's index
// in the snapshot. No page has the number 0. In a request, 0 asks for a new snapshot. In a reply, 0
// says that no page follows.
constexpr unsigned page_index_bits = 24;

constexpr std::uint64_t page_name(std::uint64_t snapshot_number, std::size_t page) {
  return snapshot_number << page_index_bits | page;
}

/// The HTTP endpoint gets short pages, because the loop also copies them.
constexpr std::size_t own_page_bytes_max = std::size_t{256} << 10;

constexpr ReportWith neighbors_carry{.distance = true, .position = false, .tags = false};

std::vector<QueryReport> to_reports(const Answers& answers) {
  std::vector<QueryReport> reports;
  reports.reserve(answers.lists.size());
  for (const Answers::List& list : answers.lists)
    reports.push_back({.query = QueryId{list.query},
                       .neighbors = std::span(answers.neighbors).subspan(list.first, list.count),
                       .states = {},
                       .vote = list.prediction.vote,
                       .mean = list.prediction.mean});
  return reports;
}

/// A set of slots that takes memory as slots are added, and never much at once.
class SlotSet {
 public:
  /// Returns false if the set has the slot already.
  bool insert(Slot slot) {
    const std::size_t part = slot / part_slots;
    if (part >= parts_.size()) parts_.resize(part + 1);
    if (!parts_[part]) parts_[part] = std::make_unique<Part>();
    std::uint64_t& word = (*parts_[part])[slot % part_slots / word_bits];
    const std::uint64_t bit = std::uint64_t{1} << slot % word_bits;
    return (std::exchange(word, word | bit) & bit) == 0;
  }

 private:
  static constexpr std::size_t word_bits = 64;
  static constexpr std::size_t part_slots = 32'768;  // 4 KiB
  using Part = std::array<std::uint64_t, part_slots / word_bits>;

  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace

/// A snapshot whose lists the engine has not copied yet.
struct RequestHandler::AskedSnapshot {
  Caller caller;
  SnapshotStore::Place place;
  StreamId stream{};
  std::string name;
  std::uint64_t opening = 0;
  bool is_of_all = false;
  PreparedRequest request;             ///< holds `ids`
  std::span<const std::uint64_t> ids;  ///< the queries, if it is not of all
  std::size_t next_id = 0;
  SlotSet seen;  ///< of these queries
  std::vector<QuerySlot> queries;
  std::vector<Slot> slots;      ///< of `queries`
  std::uint64_t lists = 0;      ///< of `queries`, together
  std::uint64_t neighbors = 0;  ///< the most that these lists have
  bool is_out_of_memory = false;

  void add(QueryId id, Slot slot, const QueryDefinition& definition, std::uint64_t objects) {
    queries.push_back({id, slot});
    slots.push_back(slot);
    const bool has_many = definition.anchor.kind == AnchorKind::every_object;
    const std::uint64_t of_query = has_many ? objects : 1;
    lists += of_query;
    neighbors += of_query * std::min<std::uint64_t>(definition.k, objects);
  }
};

void RequestHandler::handle_other(const Caller& caller, PreparedRequest& request) {
  std::visit(Overloaded{
                 [&](const protocol::Hello& body) { hello(caller, body); },
                 [&](const protocol::EndSession&) { end_session(caller); },
                 [&](const protocol::GetSnapshot& body) { get_snapshot(caller, body, request); },
                 [&](const protocol::GetNeighbors& body) {
                   get_neighbors(caller, body, std::move(request.questions));
                 },
                 [&](const protocol::GetNames& body) { get_names(caller, body); },
                 [&](const protocol::GetStats&) { get_stats(caller); },
                 [&](const protocol::ListStreams& body) { list_streams(caller, body); },
                 [&](const protocol::ListQueries& body) { list_queries(caller, body); },
                 [&](const protocol::GetObjects& body) { get_objects(caller, body); },
                 [&](const protocol::ReportReceived& body) { report_received(caller, body); },
                 [](const auto&) {
                   assertion_failed("a request without a sequence number is one of the above");
                 },
             },
             request.request.body);
}

void RequestHandler::hello(const Caller& caller, const protocol::Hello& request) {
  const std::uint64_t connection = caller.peer.connection;
  const std::int64_t now_us = parts_.executor.now_us();
  const PrincipalId principal = caller.principal->id;
  if (request.resume_session != 0 && !sessions_.owns(connection, request.resume_session)) {
    if (has_guessed_too_often(caller, request.resume_session)) return refuse_guess(caller);
    if (!sessions_.has(principal, request.resume_session)) guesses_.take(connection, now_us);
  }
  const bool resumes = sessions_.has(principal, request.resume_session);
  // The reply would tell of requests that are not on the disk.
  if (resumes && !unrecorded_sessions_.contains(request.resume_session) &&
      parts_.journal != nullptr && parts_.journal->refusal() &&
      !parts_.journal->is_durable(parts_.journal->end()))
    return refuse(caller, ErrorCode::busy, *parts_.journal->refusal());
  const auto opened = sessions_.open(
      connection, request.resume_session, request.first_sequence, now_us,
      {.principal = principal,
       .sessions_max = caller.principal->quotas.sessions.value_or(options_.sessions.sessions_max),
       .has_connection = !caller.peer.in_process});
  if (!opened) return refuse(caller, beyond_sessions(caller));
  record_begin_of_session(caller, *opened, request.first_sequence);
  if (opened->replaced) {
    if (may_log(caller.peer))
      spdlog::info("session {} closed: it was silent, and a new session takes its place",
                   opened->replaced->number);
    forget_session(opened->replaced->session);
  }
  parts_.credit.open(opened->session);
  if (may_log(caller.peer))
    spdlog::info("session {} {} by \"{}\"", sessions_.number_of(opened->session),
                 opened->resumed ? "resumed" : "opened", request.client);
  const protocol::HelloReply reply{
      .session = opened->session,
      .resumed = opened->resumed,
      .last_sequence = opened->last_sequence,
      .epoch = parts_.publisher.epoch(),
      .server = options_.server_name,
      .space = parts_.tables.settled().options().space,
      .manual_ticks = parts_.time.is_manual(),
      .limits = options_.limits,
      .session_idle_ms = static_cast<std::uint64_t>(options_.sessions.idle_us / 1000),
      .runs = runs(),
      .next_sequence =
          parts_.journal == nullptr ? 0 : sessions_.next_sequence(connection, opened->session),
      .results = options_.results_endpoint};
  const protocol::Frame frame = protocol::encode_hello_reply(caller.reply_head(), reply);
  unrecorded_sessions_.contains(opened->session) ? send_without_record(caller, frame)
                                                 : send_when_logged(caller, frame);
}

void RequestHandler::end_session(const Caller& caller) {
  const std::uint64_t number = sessions_.number_of(caller.head.session);
  sessions_.end(caller.peer.connection, caller.head.session);
  forget_session(caller.head.session);
  const bool is_recorded = !unrecorded_sessions_.contains(caller.head.session);
  record_end_of_session(caller.head.session);
  if (may_log(caller.peer)) spdlog::info("session {} ended by its client", number);
  const protocol::Frame frame = protocol::encode_done(caller.reply_head());
  is_recorded ? send_when_logged(caller, frame) : send_without_record(caller, frame);
}

void RequestHandler::get_snapshot(const Caller& caller, const protocol::GetSnapshot& request,
                                  PreparedRequest& prepared) {
  if (request.page == 0) return copy_snapshot(caller, request, prepared);
  const std::uint64_t number = request.page >> page_index_bits;
  const std::size_t page = request.page & ((std::size_t{1} << page_index_bits) - 1);
  const auto snapshot = snapshots_.find(caller.head.session, number, parts_.executor.now_us());
  if (snapshot == nullptr || page >= snapshot->page_count() ||
      !caller.principal->may_use_stream(snapshot->stream))
    return refuse(caller, ErrorCode::page_expired,
                  "The server no longer holds the snapshot of this page; start again with page 0.");
  if (page_rows(caller, 1) == 0) return;
  if (page + 1 == snapshot->page_count()) snapshots_.release(number);
  beside_.submit([this, caller, snapshot, number, page] {
    std::shared_ptr<protocol::Frame> frame;
    try {
      frame = std::make_shared<protocol::Frame>(encode_page(caller, *snapshot, number, page));
    } catch (const std::bad_alloc&) {
      frame = nullptr;
    }
    return [this, caller, frame] {
      if (!frame) return refuse_for_memory(caller);
      parts_.send(caller.peer, *frame);
    };
  });
}

void RequestHandler::copy_snapshot(const Caller& caller, const protocol::GetSnapshot& request,
                                   PreparedRequest& prepared) {
  const QueryTable& queries = parts_.tables.settled().queries();
  const auto stream = queries.find_stream(request.stream);
  if (!stream) {
    const auto error = unknown_stream(request.stream);
    return refuse(caller, error.problem.code, error.problem.sentence);
  }
  if (auto refusal = beyond_snapshots(caller, 0)) return refuse(caller, *std::move(refusal));
  // One at a time goes on, so that every reader comes to its turn.
  if (snapshots_.count() > 0 && !parts_.tables.growth().let_grow(0)) {
    auto limit = reached("memory-bytes-max", options_);
    return refuse(caller, {ErrorCode::busy,
                           "The server's memory is as full as " + to_string(limit) +
                               " allows, and it holds a snapshot already; ask again later.",
                           std::move(limit)});
  }
  const auto asked = std::make_shared<AskedSnapshot>();
  asked->caller = caller;
  asked->stream = *stream;
  asked->name = request.stream;
  asked->opening = parts_.publisher.opening(*stream);
  asked->is_of_all = request.query_ids.empty();
  asked->ids = request.query_ids;
  const std::size_t count =
      asked->is_of_all ? queries.members_of(*stream).size() : asked->ids.size();
  asked->queries.reserve(count);
  asked->slots.reserve(count);
  asked->place = {caller.head.session, payer_of(caller.peer)};
  const auto reservation = snapshots_.reserve(asked->place, parts_.executor.now_us());
  if (!reservation.granted) return refuse(caller, beyond_places(reservation, 0));
  asked->request = std::move(prepared);  // `request` was a part of it
  prepared.credit = std::exchange(asked->request.credit, {});
  // Nothing changes the table between two slices, and the engine gets the slots in the last one.
  // Otherwise a slot could pass to another query meanwhile.
  const auto collect = [this, asked] {
    try {
      return collect_some(*asked);
    } catch (const std::bad_alloc&) {
      asked->is_out_of_memory = true;
      return true;
    }
  };
  parts_.tables.slice(collect, [this, asked] { read_snapshot(asked); });
}

/// Returns the refusal of a snapshot that would need up to `bytes`; 0: it is refused before they
/// are known.
protocol::Problem RequestHandler::beyond_places(const SnapshotStore::Reservation& refused,
                                                std::uint64_t bytes) const {
  auto limit = reached(refused.limit, options_);
  const std::string again =
      "ask again in " + std::to_string(refused.retry_after_us / 1000 + 1) + " ms";
  if (bytes == 0)
    return {ErrorCode::busy,
            "There are as many snapshots as " + to_string(limit) + " allows; " + again + ".",
            std::move(limit)};
  const std::string needed =
      "The snapshot may need " + std::to_string(bytes) + " bytes, by the k of its queries, ";
  if (refused.retry_after_us == 0)
    return {ErrorCode::too_many_rows,
            needed + "which is more than " + to_string(limit) +
                " allows; ask for fewer queries (query_ids), or start the server with a larger --" +
                limit.name + ".",
            std::move(limit)};
  return {ErrorCode::busy,
          needed + "and the snapshots that are held or copied leave fewer than " +
              to_string(limit) + " allows; read the last page of those that you have begun, or " +
              again + ".",
          std::move(limit)};
}

/// Collects the next queries of a snapshot. Returns whether they were the last ones.
bool RequestHandler::collect_some(AskedSnapshot& asked) {
  constexpr std::size_t members_at_once = 2048;
  constexpr std::size_t ids_at_once = 512;
  const QueryTable& queries = parts_.tables.settled().queries();
  const std::uint64_t objects = parts_.tables.processor().objects().alive_count();
  const auto add = [&](QueryId id, Slot slot) {
    asked.add(id, slot, queries.definition_of(slot), objects);
  };
  if (asked.is_of_all) {
    const auto members = queries.members_of(asked.stream).subspan(asked.queries.size());
    const auto next = members.first(std::min(members.size(), members_at_once));
    for (const QuerySlot& member : next) queries.prefetch(member.slot);
    for (const QuerySlot& member : next) add(member.id, member.slot);
    return next.size() == members.size();
  }
  const auto rest = std::span(asked.ids).subspan(asked.next_id);
  const auto next = rest.first(std::min(rest.size(), ids_at_once));
  for (const std::uint64_t id : next) {
    const Slot slot = queries.find(asked.stream, QueryId{id});
    if (slot == no_slot || !asked.seen.insert(slot)) continue;
    add(QueryId{id}, slot);
  }
  asked.next_id += next.size();
  return next.size() == rest.size();
}

/// Asks the engine for the lists of a snapshot. A thread beside the loop then divides them into
/// pages and encodes the first page.
void RequestHandler::read_snapshot(const std::shared_ptr<AskedSnapshot>& asked) {
  if (asked->is_out_of_memory) {
    snapshots_.cancel(asked->place);
    return refuse_for_memory(asked->caller);
  }
  const ReportWith with = parts_.tables.settled().queries().stream(asked->stream).with;
  const std::uint64_t bytes =
      snapshot_bytes(asked->lists, asked->neighbors, with.position || with.tags);
  const auto taken = snapshots_.take_bytes(asked->place, bytes);
  if (!taken.granted) {
    snapshots_.cancel(asked->place);
    return refuse(asked->caller, beyond_places(taken, bytes));
  }
  parts_.tables.settled().engine().read_lists(
      std::move(asked->slots), [this, &executor = parts_.executor, asked](Answers answers) {
        executor.post([this, asked, answers = std::move(answers)]() mutable {
          make_snapshot(asked, std::move(answers));
        });
      });
}

void RequestHandler::make_snapshot(const std::shared_ptr<AskedSnapshot>& asked, Answers answers) {
  const Caller& caller = asked->caller;
  if (!answers.error.empty()) {
    snapshots_.cancel(asked->place);
    return refuse_unanswered(caller, answers);
  }
  // The stream may be removed meanwhile, and another stream may have its number.
  if (parts_.tables.settled().queries().find_stream(asked->name) != asked->stream ||
      parts_.publisher.opening(asked->stream) != asked->opening) {
    snapshots_.cancel(asked->place);
    return refuse(caller, unknown_stream(asked->name).problem);
  }
  const ReportWith with = parts_.tables.settled().queries().stream(asked->stream).with;
  const std::uint64_t sequence = parts_.publisher.sequence(asked->stream, answers.tick);
  const std::uint64_t number = snapshots_.next_number();
  const std::uint64_t place = place_of_snapshot(answers.tick);
  const auto copied = std::make_shared<Answers>(std::move(answers));
  beside_.submit([this, asked, with, sequence, number, place, copied] {
    const Caller& to = asked->caller;
    std::shared_ptr<const Snapshot> snapshot;
    std::shared_ptr<protocol::Frame> frame;
    try {
      const auto made = std::make_shared<Snapshot>(
          asked->name, with, sequence, std::move(*copied), std::move(asked->queries),
          asked->is_of_all, to.peer.in_process ? own_page_bytes_max : chunk_bytes_max);
      made->place = place;
      snapshot = made;
      frame = std::make_shared<protocol::Frame>(encode_page(to, *snapshot, number, 0));
    } catch (const std::bad_alloc&) {
      frame = nullptr;
    }
    return [this, asked, snapshot, frame, number] {
      if (!frame) {
        snapshots_.cancel(asked->place);
        return refuse_for_memory(asked->caller);
      }
      if (snapshot->page_count() > 1)
        if (auto refusal = beyond_snapshots(asked->caller, snapshot->bytes())) {
          snapshots_.cancel(asked->place);
          return refuse(asked->caller, *std::move(refusal));
        }
      snapshots_.pin(asked->place, number, snapshot, parts_.executor.now_us(),
                     asked->caller.principal->id);
      if (snapshot->page_count() == 1) snapshots_.release(number);
      send_after(asked->caller, *frame, &Journal::end_of_snapshot, snapshot->answers.tick);
    };
  });
}

/// The lists that the engine has copied follow from no later record. Those on the disk need not be
/// told apart: no restart loses them.
std::uint64_t RequestHandler::place_of_snapshot(Tick tick) const {
  const Journal* const journal = parts_.journal;
  return journal == nullptr ? 0 : std::max(journal->end_of_snapshot(tick), journal->durable());
}

/// Any thread may call this function.
std::vector<protocol::Run> RequestHandler::runs() const {
  return parts_.journal == nullptr ? std::vector<protocol::Run>() : parts_.journal->runs();
}

/// Any thread may call this function.
protocol::Frame RequestHandler::encode_page(const Caller& caller, const Snapshot& snapshot,
                                            std::uint64_t number, std::size_t page) const {
  const bool is_last = page + 1 == snapshot.page_count();
  const protocol::SnapshotHead head{.stream = snapshot.stream,
                                    .epoch = parts_.publisher.epoch(),
                                    .tick = snapshot.answers.tick,
                                    .tau_us = snapshot.answers.tau_us,
                                    .sequence = snapshot.sequence,
                                    .next_page = is_last ? 0 : page_name(number, page + 1),
                                    .list_count = snapshot.reports.size(),
                                    .runs = runs(),
                                    .place = snapshot.place};
  return protocol::encode_snapshot_page(caller.reply_head(), head,
                                        parts_.space.source_of(snapshot.page(page), snapshot.with));
}

void RequestHandler::get_neighbors(const Caller& caller, const protocol::GetNeighbors& request,
                                   std::vector<OneShotQuery> questions) {
  if (request.at_us) return ask_past(caller, request, std::move(questions));
  for (std::size_t i = 0; i < questions.size(); ++i)
    if (questions[i].anchor == AnchorKind::follow)
      questions[i].object = parts_.tables.settled().find_object(request.questions[i].object);
  last_question_us_ = parts_.executor.now_us();
  if (const auto answers = parts_.tables.settled().engine().answer_at_once(questions))
    return send_neighbors(caller, *answers);
  search(caller, request, std::move(questions));
}

void RequestHandler::send_neighbors(const Caller& caller, const Answers& answers) {
  const auto reports = to_reports(answers);
  if (protocol::lists_that_fit(reports, neighbors_carry) < reports.size()) {
    auto limit = reached("chunk-bytes-max", options_);
    return refuse(caller, {ErrorCode::too_many_rows,
                           "The answer is longer than " + to_string(limit) +
                               " allows; ask fewer questions in one request.",
                           std::move(limit)});
  }
  const protocol::NeighborsHead head{
      .epoch = parts_.publisher.epoch(), .tick = answers.tick, .tau_us = answers.tau_us};
  std::vector<std::uint32_t> unknown;
  for (const Answers::List& list : answers.lists)
    if (list.is_unknown) unknown.push_back(list.query);
  const protocol::Frame frame = protocol::encode_neighbors(
      caller.reply_head(), head, parts_.space.source_of(reports, neighbors_carry), unknown);
  send_after(caller, frame, &Journal::end_of_mark, answers.tick);
}

void RequestHandler::refuse_unanswered(const Caller& caller, const Answers& answers) {
  refuse(caller, ErrorCode::answer_failed, "The engine could not answer: " + answers.error + '.');
}

void RequestHandler::get_names(const Caller& caller, const protocol::GetNames& request) {
  protocol::Names names{
      .epoch = parts_.publisher.epoch(), .name_count = parts_.tables.names().count(), .texts = {}};
  names.texts.reserve(request.object_ids.size());
  for (const std::uint64_t id : request.object_ids)
    names.texts.push_back(parts_.tables.names().find(ObjectId{id}));
  parts_.send(caller.peer, protocol::encode_names(caller.reply_head(), names));
}

void RequestHandler::get_stats(const Caller& caller) {
  const auto samples = parts_.metrics.samples(parts_.gauges());
  protocol::Stats stats;
  for (const Sample& sample : samples) stats.counters.push_back({sample.name, sample.value});
  parts_.send(caller.peer, protocol::encode_stats(caller.reply_head(), stats));
}

void RequestHandler::report_received(const Caller& caller,
                                     const protocol::ReportReceived& request) {
  const auto stream = parts_.tables.settled().queries().find_stream(request.stream);
  if (!stream) {
    const auto error = unknown_stream(request.stream);
    return refuse(caller, error.problem.code, error.problem.sentence);
  }
  protocol::Done reply;
  if (request.epoch == parts_.publisher.epoch()) {
    const Tick last = parts_.tables.settled().last_tick();
    parts_.metrics.lost_by_subscribers(losses_.report(
        caller.head.session, *stream, request.lost, parts_.publisher.message_count(*stream, last)));
    reply.sequence = parts_.publisher.sequence(*stream, last);
  }
  parts_.send(caller.peer, protocol::encode_done(caller.reply_head(), reply));
}

}  // namespace starling::stream
