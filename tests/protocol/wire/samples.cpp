// SPDX-License-Identifier: Apache-2.0
// Fills a message of each kind with values that differ from the defaults: see samples.hpp.
#include "tests/protocol/wire/samples.hpp"

#include <algorithm>
#include <iterator>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/protocol/wire/tick_message.hpp"

namespace starling::protocol::test {
namespace {

constexpr std::uint64_t ids[] = {7, 18446744073709551615u, 9};
constexpr std::int64_t times_us[] = {1'700'000'000'000'000, -5, 0};
constexpr double coordinates[] = {1.5, -2.25, 3, 4, 5e8, 6};
constexpr float coordinates_f32[] = {1.5f, -2.25f, 3, 4, 5, 6};
constexpr std::uint32_t tags[] = {1, 0, 0x80000000u};
constexpr std::uint32_t no_tags[] = {0, 3, 4};
constexpr double vectors[] = {1.5, -2.25, 3, 4, 5e8, 6, 7, 8, 9};
constexpr float vectors_f32[] = {1.5f, -2.25f, 3, 4, 5, 6, 7, 8, 9};
constexpr std::int64_t labels[] = {-3, no_label, 9'223'372'036'854'775'807};
constexpr std::uint8_t row_columns[] = {tags_column, label_column | value_column, all_row_columns};
constexpr double values[] = {-0.25, no_value, 1e300};

QuerySpec full_query() {
  return {.id = QueryId{11},
          .k = 10,
          .anchor = AnchorKind::every_object,
          .object = ObjectId{12},
          .tags = {1, 2},
          .distance_max_m = 500.5,
          .age_max_us = 60'000'000,
          .subject = {4, 8},
          .lease_ms = 30'000};
}

std::vector<NamedRequest> sample_vector_requests() {
  const RequestHead control{41, 42, 0};
  const RequestHead sequenced{51, 52, 53};
  const QuerySpec fixed{.id = QueryId{1},
                        .k = 1024,
                        .vector = {1, 2, 3},
                        .vote = true,
                        .regress = RegressionWeights::distance};
  const QuerySpec follow{.id = QueryId{2},
                         .k = 1,
                         .anchor = AnchorKind::follow,
                         .object = ObjectId{9},
                         .vote = true,
                         .regress = RegressionWeights::uniform};
  const Limits limits = vector_limits();
  return {
      {"UpdateBatch of vectors", sequenced,
       UpdateBatch{.ids = ids,
                   .times_us = times_us,
                   .coordinates = vectors,
                   .tags = tags,
                   .dimension = 3,
                   .labels = labels,
                   .values = values},
       limits},
      {"UpdateBatch of rows with different columns", sequenced,
       UpdateBatch{.ids = ids,
                   .times_us = times_us,
                   .coordinates_f32 = vectors_f32,
                   .tags = std::span(tags).first(2),
                   .dimension = 3,
                   .labels = std::span(labels).first(2),
                   .values = std::span(values).first(2),
                   .row_columns = row_columns},
       limits},
      {"UpdateBatch of float32 vectors", sequenced,
       UpdateBatch{
           .ids = ids, .times_us = times_us, .coordinates_f32 = vectors_f32, .dimension = 3},
       limits},
      {"PutQueries with vectors", sequenced, PutQueries{"riders", {fixed, follow, full_query()}},
       limits},
      {"GetNeighbors with vectors", control, GetNeighbors{{fixed, follow}}, limits},
      {"PutQueries of an inner product", sequenced,
       PutQueries{
           "riders",
           {{.vector = {1, 2, 3}, .distance_max_m = -2.5, .regress = RegressionWeights::uniform}}},
       vector_limits(Metric::inner_product)},
  };
}

}  // namespace

Limits vector_limits(Metric metric) {
  return {.space = Space::vector, .dimension = 3, .metric = metric};
}

std::vector<NamedRequest> sample_requests() {
  const RequestHead control{21, 22, 0};
  const RequestHead sequenced{31, 32, 33};
  const QuerySpec fixed{.id = QueryId{1}, .k = 1024, .position = {1, 2, 3}};
  const QuerySpec follow{
      .id = QueryId{2}, .k = 1, .anchor = AnchorKind::follow, .object = ObjectId{9}};
  std::vector<NamedRequest> samples{
      {"Hello", {}, Hello{"a client", "a key", 5, 6}},
      {"UpdateBatch", sequenced, UpdateBatch{ids, times_us, 2, coordinates, {}, tags}},
      {"UpdateBatch of float32", sequenced, UpdateBatch{ids, times_us, 2, {}, coordinates_f32, {}}},
      {"UpdateTags", sequenced, UpdateTags{ids, times_us, tags, no_tags}},
      {"RemoveObjects", sequenced, RemoveObjects{ids, times_us}},
      {"PutNames", sequenced, PutNames{std::span(ids).first(2), {"bus 7", "stra\u00dfe"}}},
      {"PutStream", sequenced, PutStream{"riders", ReportOn::distance, {false, true, true}}},
      {"PutQueries", sequenced, PutQueries{"riders", {fixed, follow, full_query()}}},
      {"RemoveQueries", sequenced, RemoveQueries{"riders", ids}},
      {"GetSnapshot", control, GetSnapshot{"riders", ids, 77}},
      {"GetNeighbors", control, GetNeighbors{{fixed, follow}}},
      {"GetStats", control, GetStats{}},
      {"AdvanceTick", sequenced, AdvanceTick{-1'000'000}},
      {"ReportReceived", control, ReportReceived{"riders", 78, 79, 80}},
      {"GetNames", control, GetNames{ids}},
      {"ListStreams", control, ListStreams{81, 82}},
      {"ListQueries", control, ListQueries{"riders", 83, 84}},
      {"RemoveStream", sequenced, RemoveStream{"riders"}},
      {"GetObjects by ids", control, GetObjects{.object_ids = ids, .rows_max = 85}},
      {"GetObjects in a rectangle", control,
       GetObjects{.rectangle = Rectangle{-1.5, -2, 3, 4}, .page = 86, .rows_max = 87}},
      {"EndSession", control, EndSession{}},
  };
  std::ranges::move(sample_vector_requests(), std::back_inserter(samples));
  return samples;
}

std::vector<NamedFrame> sample_request_frames() {
  std::vector<NamedFrame> frames;
  for (const NamedRequest& request : sample_requests())
    frames.push_back(
        {request.name, copy_of(encode_request(request.head, request.body)), request.limits});
  return frames;
}

std::vector<NamedFrame> sample_reply_frames() {
  const ReplyHead head{41, 42};
  const SampleLists lists;
  const SampleVectorLists vector_lists;
  std::vector<NamedFrame> frames;
  const auto add = [&](std::string name, const Frame& frame) {
    frames.push_back({std::move(name), copy_of(frame)});
  };
  add("Error", encode_error(head, {{ErrorCode::sequence_gap, "Sent 9 after 5."}, 6}));
  add("HelloReply", encode_hello_reply(head, {.session = 3, .server = "starling 0"}));
  add("BatchReply",
      encode_batch_reply(head, {5, 1, 2, {{RowReason::future, 2}}, {{3, RowReason::future}}}));
  add("BatchReply with columns",
      encode_batch_reply(head, {5,
                                1,
                                2,
                                {{RowReason::component_negative, 1}},
                                {{3, RowReason::component_negative, 2}, {4, RowReason::future}}}));
  add("HelloReply of vectors",
      encode_hello_reply(head, {.session = 3, .server = "starling 0", .limits = vector_limits()}));
  add("SnapshotPage with votes and means",
      encode_snapshot_page(head, {.stream = "riders", .epoch = 1, .sequence = 4},
                           vector_lists.source()));
  add("Done", encode_done(head));
  add("SnapshotPage",
      encode_snapshot_page(head, {.stream = "riders", .epoch = 1, .sequence = 4}, lists.source()));
  add("Neighbors", encode_neighbors(head, {.epoch = 1, .tick = Tick{2}}, lists.source()));
  const std::vector<QueryReport> empty(3);
  ListSource empty_lists = lists.source();
  empty_lists.reports = empty;
  add("Neighbors of unknown objects",
      encode_neighbors(head, {.epoch = 1, .tick = Tick{2}}, empty_lists,
                       std::vector<std::uint32_t>{0, 2}));
  add("Stats", encode_stats(head, {{{"ticks_total", 17.0}}}));
  add("TickDone", encode_tick_done(head, {.tick = Tick{4}, .tau_us = 5}));
  add("Names", encode_names(head, {6, 7, {"bus 7", "", "stra\u00dfe"}}));
  add("Streams", encode_streams(head, {6, 7, 8, {{"riders", ReportOn::distance, {}, 9, 10, 11}}}));
  add("Queries", encode_queries(head, {6, 7, 8, {full_query(), {.vector = {1, 2, 3}}}}));
  add("Objects", encode_objects(head, {.epoch = 6,
                                       .next_page = 7,
                                       .object_count = 8,
                                       .ids = ids,
                                       .times_us = times_us,
                                       .positions = vectors,
                                       .tags = tags,
                                       .names = {"bus 7", "", "stra\u00dfe"},
                                       .missing_ids = ids}));
  return frames;
}

SampleLists::SampleLists() {
  neighbors = {{RankKey{25}, ObjectId{100}}, {RankKey{10'000}, ObjectId{101}}};
  states = {{{300, 400, 0}, 1}, {{-100, 0, 0}, 2}};
  reports.resize(3);
  reports[0].query = QueryId{1};
  reports[0].has_subject = true;
  reports[0].subject = ObjectId{55};
  reports[0].neighbors = neighbors;
  reports[0].states = states;
  reports[1].query = QueryId{2};
  reports[2].query = QueryId{3};
  reports[2].event = ListEvent::removed;
}

SampleVectorLists::SampleVectorLists() {
  neighbors = {{rank_key_of(0.5f), ObjectId{100}}, {rank_key_of(2.0f), ObjectId{101}}};
  states = {{{}, 1}, {{}, 2}};
  reports.resize(4);
  reports[0].query = QueryId{1};
  reports[0].neighbors = neighbors;
  reports[0].states = states;
  reports[0].vote = -7;
  reports[0].mean = -0.5;
  reports[1].query = QueryId{2};
  reports[1].vote = no_label;
  reports[1].mean = no_value;
  reports[2].query = QueryId{3};
  reports[2].event = ListEvent::removed;
  reports[3].query = QueryId{4};
}

std::vector<std::byte> copy_of(const Frame& frame) {
  const auto bytes = frame.bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace starling::protocol::test
