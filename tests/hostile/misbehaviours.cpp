// SPDX-License-Identifier: Apache-2.0
// The scripts of the hostile servers: see misbehaviours.hpp.
#include "tests/hostile/misbehaviours.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "wire/starling_generated.h"

namespace starling::protocol::test {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t mib = std::size_t{1} << 20;

// A client that goes on reading would never see the end of a message of this many bytes.
constexpr std::uint64_t endless_bytes = std::uint64_t{1} << 40;

ReplyHead head_of(const DecodedRequest& request) {
  return {request.head.request_id, request.head.sequence};
}

template <class Table>
Frame finished(FlatBufferBuilder& builder, const ReplyHead& head, Offset<Table> body) {
  builder.Finish(wire::CreateReply(builder, protocol_version, head.request_id, head.sequence,
                                   wire::ReplyBodyTraits<Table>::enum_value, body.Union()),
                 "STRP");
  return Frame(builder.Release());
}

/// The arrays of a ListChunk, which need not fit together.
struct Chunk {
  std::vector<std::uint64_t> query_ids{};
  std::vector<std::uint8_t> events{};
  std::vector<std::uint32_t> offsets{};
  std::vector<std::uint64_t> object_ids{};
  std::vector<double> distances_m{};

  Offset<wire::ListChunk> add(FlatBufferBuilder& builder) const {
    return wire::CreateListChunkDirect(builder, &query_ids, nullptr, nullptr,
                                       events.empty() ? nullptr : &events, &offsets, &object_ids,
                                       &distances_m);
  }
};

/// One list of query `query` with these distances.
Chunk one_list(std::uint64_t query, std::vector<double> distances_m) {
  Chunk chunk{.query_ids = {query}, .offsets = {0, static_cast<std::uint32_t>(distances_m.size())}};
  for (std::size_t i = 0; i < distances_m.size(); ++i) chunk.object_ids.push_back(i + 1);
  chunk.distances_m = std::move(distances_m);
  return chunk;
}

Frame neighbors(const ReplyHead& head, const Chunk& chunk, std::int64_t tau_us = 5) {
  FlatBufferBuilder builder;
  const auto lists = chunk.add(builder);
  return finished(builder, head, wire::CreateNeighbors(builder, 1, 1, tau_us, lists));
}

struct PageTerms {
  std::string_view stream = hostile_stream;
  std::uint64_t epoch = 1;
  std::uint64_t sequence = 1;
  std::uint64_t next_page = 0;
  std::uint64_t list_count = 1;
};

Frame page(const ReplyHead& head, const Chunk& chunk, const PageTerms& terms = {}) {
  FlatBufferBuilder builder;
  const auto stream = builder.CreateString(terms.stream);
  const auto lists = chunk.add(builder);
  return finished(builder, head,
                  wire::CreateSnapshotPage(builder, stream, terms.epoch, 1, 5, terms.sequence,
                                           terms.next_page, terms.list_count, lists));
}

HelloReply terms_of(const Peer& peer, std::uint64_t epoch = 1) {
  return {.session = 7,
          .epoch = epoch,
          .server = "starling",
          .space = {},
          .manual_ticks = true,
          .session_idle_ms = 600'000,
          .results = peer.results()};
}

Frame good_reply(const Peer& peer, const DecodedRequest& request) {
  const ReplyHead head = head_of(request);
  const RequestBody& body = request.body;
  if (std::holds_alternative<Hello>(body)) return encode_hello_reply(head, terms_of(peer));
  if (is_batch(body)) return encode_batch_reply(head, {.accepted = credit_rows(body)});
  if (const auto* ask = std::get_if<GetNeighbors>(&body)) {
    Chunk chunk{.offsets = {0}};
    for (std::size_t i = 0; i < ask->questions.size(); ++i) {
      chunk.query_ids.push_back(i);
      chunk.offsets.push_back(0);
    }
    return neighbors(head, chunk);
  }
  if (const auto* ask = std::get_if<GetNames>(&body))
    return encode_names(head, {1, 0, std::vector<std::string_view>(ask->object_ids.size())});
  if (std::holds_alternative<GetStats>(body))
    return encode_stats(head, {{{"starling_ticks_total", 3}}});
  if (std::holds_alternative<AdvanceTick>(body)) return encode_tick_done(head, {Tick{1}, 5});
  if (std::holds_alternative<GetSnapshot>(body)) return page(head, one_list(5, {1, 2}));
  if (std::holds_alternative<ListStreams>(body))
    return encode_streams(head, {1, 0, 1, {{.name = hostile_stream}}});
  if (std::holds_alternative<ListQueries>(body)) return encode_queries(head, {.epoch = 1});
  if (const auto* ask = std::get_if<GetObjects>(&body))
    return encode_objects(head, {.epoch = 1, .missing_ids = ask->object_ids});
  return encode_done(head);
}

bool answer_well(Peer& peer, const DecodedRequest& request) {
  return peer.send(good_reply(peer, request));
}

bool is_hello(const DecodedRequest& request) {
  return std::holds_alternative<Hello>(request.body);
}

/// Sends `frame` until the client goes.
bool send_for_ever(Peer& peer, const Frame& frame) {
  while (peer.send(frame)) continue;
  return false;
}

using OnRequest = std::function<bool(Peer&, const DecodedRequest&)>;

/// Does `what` with each request that has a body of type Body, and answers the others well.
template <class Body>
Misbehaviour with(std::string name, OnRequest what) {
  return {.name = std::move(name), .on_request = [what](Peer& peer, const DecodedRequest& request) {
            return std::holds_alternative<Body>(request.body) ? what(peer, request)
                                                              : answer_well(peer, request);
          }};
}

/// Does `what` with each request after Hello.
Misbehaviour later(std::string name, OnRequest what) {
  return {.name = std::move(name), .on_request = [what](Peer& peer, const DecodedRequest& request) {
            return is_hello(request) ? answer_well(peer, request) : what(peer, request);
          }};
}

/// Answers Hello with other terms.
Misbehaviour greeting(std::string name, const std::function<void(HelloReply&)>& change) {
  return with<Hello>(std::move(name), [change](Peer& peer, const DecodedRequest& request) {
    HelloReply terms = terms_of(peer);
    change(terms);
    return peer.send(encode_hello_reply(head_of(request), terms));
  });
}

/// Answers questions with these lists.
Misbehaviour answering(std::string name, Chunk chunk) {
  return with<GetNeighbors>(std::move(name), [chunk](Peer& peer, const DecodedRequest& request) {
    return peer.send(neighbors(head_of(request), chunk));
  });
}

using OnSubscribed = std::function<void(Peer&, const std::string&)>;
Misbehaviour publishing(std::string name, OnSubscribed what) {
  return {.name = std::move(name), .on_request = answer_well, .on_subscribed = std::move(what)};
}

struct TickTerms {
  std::uint64_t epoch = 1;
  std::uint64_t sequence = 2;
  std::int64_t tau_us = 6;
  std::uint32_t chunk_count = 1;
  std::uint64_t list_count = 1;
  std::uint64_t removal_count = 0;
};

bool send_tick(Peer& peer, const std::string& topic, const TickTerms& terms,
               const Chunk& chunk = one_list(5, {1, 3})) {
  FlatBufferBuilder header;
  header.Finish(wire::CreateTickHeader(header, protocol_version, terms.epoch, terms.sequence,
                                       terms.tau_us, TickHeader::no_time, terms.sequence, false, 1,
                                       terms.chunk_count, terms.list_count, terms.removal_count,
                                       wire::Space::planar2, wire::ReportOn::order,
                                       /*with_distance=*/true),
                "STTH");
  FlatBufferBuilder lists;
  lists.Finish(chunk.add(lists), "STLC");
  return peer.send(topic, true) && peer.send(Frame(header.Release()), true) &&
         peer.send(Frame(lists.Release()));
}

/// Waits, unless the client has gone. The ticks of a test then do not come all at once.
void pause() {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

/// A reply whose many tables share one long text, so that copies are thousands of times as long.
template <class Table, class Make>
std::vector<Offset<Table>> shared(std::size_t count, const Make& make) {
  std::vector<Offset<Table>> tables(count);
  std::ranges::generate(tables, make);
  return tables;
}

std::vector<Misbehaviour> frames() {
  return {
      later("garbage",
            [](Peer& peer, const DecodedRequest&) { return peer.send(std::string(64, '\xa5')); }),
      later("damaged",
            [](Peer& peer, const DecodedRequest& request) {
              Frame frame = good_reply(peer, request);
              std::ranges::fill(frame.mutable_bytes().subspan(8), std::byte{0xff});
              return peer.send(frame);
            }),
      later("no_frames", [](Peer& peer, const DecodedRequest&) { return peer.send(""); }),
      later("announces_more_than_all_memory",
            [](Peer& peer, const DecodedRequest&) {
              return peer.announce(endless_bytes) && peer.send_raw("abc");
            }),
      later("a_frame_that_never_ends",
            [](Peer& peer, const DecodedRequest&) {
              if (!peer.announce(16 * mib)) return false;
              while (peer.send_raw("a")) pause();
              return false;
            }),
      later("parts_that_never_end",
            [](Peer& peer, const DecodedRequest&) {
              const std::string part(mib, 'a');
              while (peer.send(part, true)) continue;
              return false;
            }),
      later("closes", [](Peer&, const DecodedRequest&) { return false; }),
      later("silent", [](Peer&, const DecodedRequest&) { return true; }),
      with<Hello>("silent_from_the_start", [](Peer&, const DecodedRequest&) { return true; }),
      with<Hello>(
          "garbage_from_the_start",
          [](Peer& peer, const DecodedRequest&) { return peer.send(std::string(64, '\xa5')); }),
  };
}

std::vector<Misbehaviour> replies() {
  return {
      later("another_type",
            [](Peer& peer, const DecodedRequest& request) {
              return peer.send(encode_names(head_of(request), {1, 0, {}}));
            }),
      later("other_ids",
            [](Peer& peer, const DecodedRequest& request) {
              DecodedRequest other{.head = request.head, .body = request.body};
              other.head.request_id += 1000;
              return answer_well(peer, other);
            }),
      {.name = "twice",
       .on_request =
           [](Peer& peer, const DecodedRequest& request) {
             return answer_well(peer, request) && answer_well(peer, request);
           }},
      later("strays_without_end",
            [](Peer& peer, const DecodedRequest&) {
              return send_for_ever(peer, encode_done({999'999, 0}));
            }),
      with<Hello>("no_hello_reply_but_others_without_end",
                  [](Peer& peer, const DecodedRequest&) {
                    return send_for_ever(peer, encode_done({0, 0}));
                  }),
      with<EndSession>("strays_at_the_end",
                       [](Peer& peer, const DecodedRequest&) {
                         return send_for_ever(peer, encode_done({999'999, 0}));
                       }),
      later("a_sentence_of_megabytes",
            [](Peer& peer, const DecodedRequest& request) {
              const std::string text = "\x1b[2J\xff" + std::string(15 * mib, 'x');
              return peer.send(encode_error(head_of(request),
                                            {{ErrorCode::not_allowed, text, {"\x1b[2J", 1}}, 0}));
            }),
      later("busy_for_ever",
            [](Peer& peer, const DecodedRequest& request) {
              return peer.send(
                  encode_error(head_of(request), {{ErrorCode::busy, "Later, later."}, 0}));
            }),
      later("an_unknown_error",
            [](Peer& peer, const DecodedRequest& request) {
              return peer.send(
                  encode_error(head_of(request), {{static_cast<ErrorCode>(999), "No."}, 0}));
            }),
      with<UpdateBatch>("counts_that_overflow",
                        [](Peer& peer, const DecodedRequest& request) {
                          return peer.send(encode_batch_reply(
                              head_of(request), {.accepted = huge, .late = 1, .rejected = 3}));
                        }),
      with<UpdateBatch>("rows_that_were_not_sent",
                        [](Peer& peer, const DecodedRequest& request) {
                          return peer.send(encode_batch_reply(
                              head_of(request),
                              {.rejected = credit_rows(request.body),
                               .first_rejected = {{0xffff'fff0, RowReason::future}}}));
                        }),
      with<PutNames>("names_that_were_not_sent",
                     [](Peer& peer, const DecodedRequest& request) {
                       return peer.send(encode_batch_reply(
                           head_of(request),
                           {.rejected = credit_rows(request.body),
                            .first_rejected = {{0xffff'fff0, RowReason::name_collision}}}));
                     }),
      with<GetStats>("counters_that_share_a_text",
                     [](Peer& peer, const DecodedRequest& request) {
                       FlatBufferBuilder builder;
                       const auto text = builder.CreateString(std::string(14 * mib, 'x'));
                       const auto counters = builder.CreateVector(shared<wire::Counter>(
                           60'000, [&] { return wire::CreateCounter(builder, text, nan); }));
                       return peer.send(finished(builder, head_of(request),
                                                 wire::CreateStats(builder, counters)));
                     }),
      with<UpdateBatch>(
          "reasons_that_share_a_text",
          [](Peer& peer, const DecodedRequest& request) {
            FlatBufferBuilder builder;
            const auto text = builder.CreateString(std::string(14 * mib, 'x'));
            const auto reasons = builder.CreateVector(shared<wire::ReasonCount>(60'000, [&] {
              return wire::CreateReasonCount(builder, wire::RowReason::future, 1, text, 1);
            }));
            return peer.send(finished(
                builder, head_of(request),
                wire::CreateBatchReply(builder, 0, 0, credit_rows(request.body), reasons)));
          }),
      with<GetNames>("names_that_share_a_text",
                     [](Peer& peer, const DecodedRequest& request) {
                       FlatBufferBuilder builder;
                       const auto text = builder.CreateString(std::string(8 * mib, 'x'));
                       const std::vector<Offset<flatbuffers::String>> texts(mib, text);
                       return peer.send(
                           finished(builder, head_of(request),
                                    wire::CreateNames(builder, 1, 1, builder.CreateVector(texts))));
                     }),
      with<GetNames>("names_that_are_no_utf8",
                     [](Peer& peer, const DecodedRequest& request) {
                       return peer.send(encode_names(head_of(request), {1, 1, {"\xff\xfe"}}));
                     }),
      with<GetStats>("counters_that_are_no_numbers",
                     [](Peer& peer, const DecodedRequest& request) {
                       const double infinite = std::numeric_limits<double>::infinity();
                       return peer.send(encode_stats(head_of(request),
                                                     {{{"starling_ticks_total", nan},
                                                       {"starling_objects", -infinite},
                                                       {"starling_queries", 1e300},
                                                       {"starling_journal_free_bytes", infinite},
                                                       {"starling_journal_full_seconds", 1},
                                                       {"starling_limit_used{name=\"x\"}", 1e300},
                                                       {"starling_limit{name=\"x\"}", 1}}}));
                     }),
  };
}

std::vector<Misbehaviour> terms() {
  return {
      greeting("limits_of_nothing",
               [](HelloReply& terms) {
                 terms.limits.rows_max = terms.limits.unanswered_max = 0;
                 terms.limits.credit_rows = terms.limits.credit_bytes = 0;
               }),
      greeting("limits_without_limit",
               [](HelloReply& terms) {
                 Limits& limits = terms.limits;
                 limits.frame_bytes_max = limits.credit_rows = limits.credit_bytes = huge;
                 limits.rows_max = limits.unanswered_max = limits.k_max = limits.questions_max =
                     limits.text_bytes_max = limits.names_asked_max = limits.page_rows_max =
                         std::numeric_limits<std::uint32_t>::max();
               }),
      greeting("a_resolution_that_is_no_number",
               [](HelloReply& terms) { terms.space.resolution_m = nan; }),
      greeting("a_resolution_of_zero", [](HelloReply& terms) { terms.space.resolution_m = 0; }),
      greeting("an_origin_that_is_no_place",
               [](HelloReply& terms) { terms.space.origin[1] = HUGE_VAL; }),
      greeting("a_space_that_is_none",
               [](HelloReply& terms) { terms.space.space = static_cast<Space>(77); }),
      greeting("vectors_without_a_dimension",
               [](HelloReply& terms) { terms.space.space = Space::vector; }),
      greeting("vectors_of_all_dimensions",
               [](HelloReply& terms) {
                 terms.space.space = Space::vector;
                 terms.limits.dimension = std::numeric_limits<std::uint32_t>::max();
               }),
      greeting("no_session", [](HelloReply& terms) { terms.session = 0; }),
      greeting("a_name_that_moves_the_cursor",
               [](HelloReply& terms) { terms.server = "\x1b[2Jstarling"; }),
      greeting("results_that_are_nowhere",
               [](HelloReply& terms) { terms.results = "ipc:///etc/passwd"; }),
  };
}

std::vector<Misbehaviour> pages() {
  return {
      with<GetSnapshot>("the_same_page_again",
                        [](Peer& peer, const DecodedRequest& request) {
                          return peer.send(page(head_of(request), one_list(5, {1, 2}),
                                                {.next_page = 7, .list_count = 100}));
                        }),
      with<GetSnapshot>("pages_that_go_back",
                        [](Peer& peer, const DecodedRequest& request) {
                          const auto asked = std::get<GetSnapshot>(request.body).page;
                          return peer.send(
                              page(head_of(request), one_list(asked, {1, 2}),
                                   {.next_page = asked == 0 ? 9 : asked - 1, .list_count = 100}));
                        }),
      with<GetSnapshot>("pages_without_end",
                        [](Peer& peer, const DecodedRequest& request) {
                          const auto asked = std::get<GetSnapshot>(request.body).page;
                          return peer.send(page(head_of(request), one_list(asked, {1, 2}),
                                                {.next_page = asked + 1, .list_count = 100}));
                        }),
      with<GetSnapshot>("pages_of_nothing",
                        [](Peer& peer, const DecodedRequest& request) {
                          const auto asked = std::get<GetSnapshot>(request.body).page;
                          return peer.send(page(head_of(request), {.offsets = {0}},
                                                {.next_page = asked + 1, .list_count = huge}));
                        }),
      with<GetSnapshot>("pages_of_other_epochs",
                        [](Peer& peer, const DecodedRequest& request) {
                          const auto asked = std::get<GetSnapshot>(request.body).page;
                          return peer.send(page(
                              head_of(request), one_list(asked, {1, 2}),
                              {.epoch = asked + 1, .next_page = asked + 1, .list_count = huge}));
                        }),
      with<GetSnapshot>("a_list_twice_in_a_snapshot",
                        [](Peer& peer, const DecodedRequest& request) {
                          Chunk chunk = one_list(5, {1, 2});
                          chunk.query_ids.push_back(5);
                          chunk.offsets.push_back(2);
                          return peer.send(page(head_of(request), chunk, {.list_count = 2}));
                        }),
      with<GetSnapshot>("fewer_lists_than_it_says",
                        [](Peer& peer, const DecodedRequest& request) {
                          return peer.send(
                              page(head_of(request), one_list(5, {1}), {.list_count = huge}));
                        }),
      with<GetSnapshot>("a_snapshot_of_another_stream",
                        [](Peer& peer, const DecodedRequest& request) {
                          return peer.send(
                              page(head_of(request), one_list(5, {1}), {.stream = "others"}));
                        }),
      with<ListStreams>(
          "streams_without_end",
          [](Peer& peer, const DecodedRequest& request) {
            const auto asked = std::get<ListStreams>(request.body).page;
            return peer.send(encode_streams(head_of(request), {1, asked + 1, 1, {{.name = "s"}}}));
          }),
      with<ListStreams>(
          "streams_in_a_circle",
          [](Peer& peer, const DecodedRequest& request) {
            return peer.send(encode_streams(head_of(request), {1, 3, 1, {{.name = "s"}}}));
          }),
      with<ListQueries>(
          "queries_without_end",
          [](Peer& peer, const DecodedRequest& request) {
            const auto asked = std::get<ListQueries>(request.body).page;
            return peer.send(encode_queries(head_of(request), {1, asked + 1, 1, {{}}}));
          }),
      with<GetObjects>("objects_without_end",
                       [](Peer& peer, const DecodedRequest& request) {
                         const auto asked = std::get<GetObjects>(request.body).page;
                         return peer.send(encode_objects(
                             head_of(request),
                             {.epoch = 1, .next_page = asked + 1, .object_count = 1}));
                       }),
      with<GetObjects>("objects_that_were_not_asked_for",
                       [](Peer& peer, const DecodedRequest& request) {
                         static constexpr std::uint64_t ids[] = {77, 78};
                         static constexpr std::int64_t times[] = {1, 1};
                         static constexpr std::uint32_t tags[] = {0, 0};
                         return peer.send(encode_objects(
                             head_of(request),
                             {.epoch = 1, .ids = ids, .times_us = times, .tags = tags}));
                       }),
  };
}

std::vector<Misbehaviour> lists() {
  std::vector<double> many(3000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
  Chunk twice = one_list(0, {1, 2});
  twice.object_ids = {9, 9};
  Chunk torn = one_list(0, {1, 2});
  torn.offsets = {0, 5};
  Chunk short_columns = one_list(0, {1, 2});
  short_columns.distances_m.pop_back();
  Chunk no_distances = one_list(0, {1, 2});
  no_distances.distances_m.clear();
  Chunk removed = one_list(0, {});
  removed.events = {1};
  return {
      answering("distances_that_are_no_numbers", one_list(0, {nan, nan})),
      answering("distances_that_fall", one_list(0, {2, 1})),
      answering("an_object_twice", twice),
      answering("more_than_k", one_list(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13})),
      answering("more_than_any_k", one_list(0, many)),
      answering("no_answers", {.offsets = {0}}),
      answering("answers_to_other_questions", one_list(8, {1})),
      answering("offsets_beyond_the_arrays", torn),
      answering("columns_that_are_too_short", short_columns),
      answering("no_distances", no_distances),
      answering("answers_that_are_removed", removed),
      with<GetNeighbors>("a_time_beyond_all_times", [](Peer& peer, const DecodedRequest& request) {
        return peer.send(neighbors(head_of(request), one_list(0, {1}),
                                   std::numeric_limits<std::int64_t>::min()));
      })};
}

std::vector<Misbehaviour> epochs() {
  const auto next_epoch = std::make_shared<std::atomic<std::uint64_t>>(1);
  return {
      {.name = "sessions_that_are_never_known",
       .on_request =
           [next_epoch](Peer& peer, const DecodedRequest& request) {
             if (is_hello(request))
               return peer.send(encode_hello_reply({}, terms_of(peer, ++*next_epoch)));
             return peer.send(
                 encode_error(head_of(request), {{ErrorCode::unknown_session, "Say hello."}, 0}));
           }},
      // Each change is applied, and then the server has another epoch.
      {.name = "an_epoch_for_each_change",
       .on_request =
           [next_epoch, is_known = std::make_shared<std::atomic<bool>>(false)](
               Peer& peer, const DecodedRequest& request) {
             if (is_hello(request))
               return peer.send(encode_hello_reply({}, terms_of(peer, ++*next_epoch)));
             if (request.head.sequence != 0 && !is_known->exchange(!*is_known))
               return peer.send(
                   encode_error(head_of(request), {{ErrorCode::unknown_session, "Say hello."}, 0}));
             return answer_well(peer, request);
           }},
  };
}

std::vector<Misbehaviour> ticks() {
  return {
      publishing("ticks_of_garbage",
                 [](Peer& peer, const std::string& topic) {
                   while (peer.send(topic, true) && peer.send(std::string(64, '\xa5'))) pause();
                 }),
      publishing("ticks_without_frames",
                 [](Peer& peer, const std::string& topic) {
                   while (peer.send(topic)) pause();
                 }),
      publishing("a_tick_without_end",
                 [](Peer& peer, const std::string& topic) {
                   const std::string part(mib, 'a');
                   while (peer.send(topic.empty() ? part : topic, true) && peer.send(part, true))
                     continue;
                 }),
      publishing("ticks_that_go_back",
                 [](Peer& peer, const std::string& topic) {
                   for (std::uint64_t number = 1'000'000;
                        send_tick(peer, topic, {.sequence = number--});)
                     pause();
                 }),
      publishing("a_tick_far_ahead",
                 [](Peer& peer, const std::string& topic) {
                   std::uint64_t number = 2;
                   if (!send_tick(peer, topic, {.sequence = huge})) return;
                   while (send_tick(peer, topic, {.sequence = number++})) pause();
                 }),
      publishing("epochs_that_go_back",
                 [](Peer& peer, const std::string& topic) {
                   for (std::uint64_t number = 2;
                        send_tick(peer, topic, {.epoch = number % 2 + 1, .sequence = number});
                        ++number)
                     pause();
                 }),
      publishing("an_epoch_for_each_tick",
                 [](Peer& peer, const std::string& topic) {
                   for (std::uint64_t number = 2;
                        send_tick(peer, topic, {.epoch = number, .sequence = number}); ++number)
                     pause();
                 }),
      publishing("ticks_faster_than_any_reader",
                 [](Peer& peer, const std::string& topic) {
                   std::uint64_t number = 1;
                   while (send_tick(peer, topic, {.sequence = ++number})) continue;
                 }),
      publishing("ticks_of_another_stream",
                 [](Peer& peer, const std::string& topic) {
                   while (send_tick(peer, topic + "others", {})) pause();
                 }),
      publishing("a_tick_with_a_list_beyond_any_k",
                 [](Peer& peer, const std::string& topic) {
                   Chunk chunk = one_list(5, std::vector<double>(3000));
                   while (send_tick(peer, topic, {}, chunk)) pause();
                 }),
      publishing("a_tick_of_fewer_lists_than_it_says",
                 [](Peer& peer, const std::string& topic) {
                   while (send_tick(peer, topic, {.list_count = huge})) pause();
                 }),
      publishing("a_tick_of_fewer_chunks_than_it_says",
                 [](Peer& peer, const std::string& topic) {
                   while (send_tick(peer, topic, {.chunk_count = 0xffff'ffff})) pause();
                 }),
      publishing("a_tick_at_no_time",
                 [](Peer& peer, const std::string& topic) {
                   while (
                       send_tick(peer, topic, {.tau_us = std::numeric_limits<std::int64_t>::max()}))
                     pause();
                 }),
      publishing("removals_of_what_was_never_there",
                 [](Peer& peer, const std::string& topic) {
                   Chunk chunk = one_list(99, {});
                   chunk.events = {1};
                   std::uint64_t number = 1;
                   while (send_tick(peer, topic,
                                    {.sequence = ++number, .list_count = 0, .removal_count = 1},
                                    chunk))
                     pause();
                 }),
  };
}

}  // namespace

const std::vector<Misbehaviour>& misbehaviours() {
  static const std::vector<Misbehaviour> table = [] {
    std::vector<Misbehaviour> all{{.name = "none", .on_request = answer_well}};
    for (const auto& rows : {frames(), replies(), terms(), pages(), lists(), epochs(), ticks()})
      all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }();
  return table;
}

Misbehaviour misbehaviour_named(std::string_view name) {
  const auto found = std::ranges::find(misbehaviours(), name, &Misbehaviour::name);
  if (found == misbehaviours().end())
    throw std::out_of_range("there is no misbehaviour " + std::string(name));
  return *found;
}

}  // namespace starling::protocol::test
