// SPDX-License-Identifier: Apache-2.0
// Tests requests that a server of vectors refuses, and requests with vector fields that any other
// server refuses. Each refusal names what was sent and what is allowed.
#include <array>
#include <limits>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/request_codec.hpp"
#include "tests/protocol/wire/samples.hpp"
#include "wire/starling_generated.h"

namespace starling::protocol {
namespace {

using test::vector_limits;
using ::testing::HasSubstr;

constexpr std::array<std::uint64_t, 2> ids{1, 2};
constexpr std::array<std::int64_t, 2> times_us{1, 2};
constexpr std::array<float, 6> components{1, 2, 3, 4, 5, 6};
constexpr std::array<std::int64_t, 2> labels{1, 2};
constexpr std::array<double, 3> values{0.5, no_value, std::numeric_limits<double>::infinity()};

UpdateBatch batch() {
  return {.ids = ids, .times_us = times_us, .coordinates_f32 = components, .dimension = 3};
}

std::optional<Problem> refusal_of(const RequestBody& body, const Limits& limits) {
  const Frame frame = encode_request({1, 2, 3}, body);
  return decode_request(AlignedBytes(frame.bytes()), limits).problem;
}

void expect_refused(const RequestBody& body, const Limits& limits, ErrorCode code,
                    const std::string& sentence) {
  const auto problem = refusal_of(body, limits);
  ASSERT_TRUE(problem) << sentence;
  EXPECT_EQ(problem->code, code);
  EXPECT_EQ(problem->sentence, sentence);
}

TEST(VectorRequests, ABatchOfAnotherDimensionIsRefused) {
  UpdateBatch other = batch();
  other.dimension = 2;
  expect_refused(other, vector_limits(), ErrorCode::bad_value,
                 "The batch has rows of dimension 2; this server's vectors are of dimension 3.");
  other.dimension = 0;
  expect_refused(other, vector_limits(), ErrorCode::bad_value,
                 "The batch has rows of dimension 0; this server's vectors are of dimension 3.");
  other.dimension = std::numeric_limits<std::uint32_t>::max();
  EXPECT_THAT(refusal_of(other, vector_limits())->sentence, HasSubstr("4294967295"));
}

TEST(VectorRequests, RowsThatAreCutShortAreRefused) {
  UpdateBatch cut = batch();
  cut.coordinates_f32 = std::span(components).first(5);
  expect_refused(cut, vector_limits(), ErrorCode::array_mismatch,
                 "The batch has 5 coordinates; 2 ids of 3 components need 6.");
  cut.coordinates_f32 = {};
  expect_refused(cut, vector_limits(), ErrorCode::array_mismatch,
                 "The batch has 0 coordinates; 2 ids of 3 components need 6.");
}

TEST(VectorRequests, LabelsAreOneARowOrNone) {
  UpdateBatch labelled = batch();
  labelled.labels = std::span(labels).first(1);
  expect_refused(labelled, vector_limits(), ErrorCode::array_mismatch,
                 "The request has 2 ids but 1 labels; each id needs one.");
  labelled.labels = labels;
  EXPECT_FALSE(refusal_of(labelled, vector_limits()));
}

TEST(VectorRequests, ValuesAreOneARowOrNone) {
  UpdateBatch valued = batch();
  valued.values = values;
  expect_refused(valued, vector_limits(), ErrorCode::array_mismatch,
                 "The request has 2 ids but 3 values; each id needs one.");
  valued.values = std::span(values).last(2);
  EXPECT_FALSE(refusal_of(valued, vector_limits())) << "an infinite value refuses only its row";
}

/// Encodes the queries as a client with an older schema, which ends before `values`, `regress` and
/// `means`.
std::vector<std::byte> frame_without_later_fields(const PutQueries& queries) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::Query>> tables;
  for (const QuerySpec& spec : queries.queries) {
    const auto vector = builder.CreateVector(spec.vector);
    wire::QueryBuilder table(builder);
    table.add_id(to_number(spec.id));
    table.add_k(spec.k);
    table.add_vector(vector);
    table.add_vote(spec.vote);
    tables.push_back(table.Finish());
  }
  const auto body = wire::CreatePutQueriesDirect(builder, "riders", &tables);
  builder.Finish(
      wire::CreateRequest(builder, 1, 1, 1, 1, wire::RequestBody::PutQueries, body.Union()),
      "STRQ");
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {first, first + builder.GetSize()};
}

TEST(VectorRequests, OfAnOlderClientAskForNoMeanAndKeepValues) {
  const PutQueries queries{"riders", {{.id = QueryId{1}, .vector = {1, 2, 3}, .vote = true}}};
  const auto frame = frame_without_later_fields(queries);
  const AlignedBytes bytes(frame);
  const DecodedRequest decoded = decode_request(bytes, vector_limits());
  ASSERT_FALSE(decoded.problem);
  EXPECT_EQ(std::get<PutQueries>(decoded.body).queries, queries.queries);
  EXPECT_EQ(std::get<PutQueries>(decoded.body).queries[0].regress, RegressionWeights::none);
  UpdateBatch labelled = batch();
  labelled.labels = labels;
  const Frame written = encode_request({1, 2, 3}, labelled);
  const AlignedBytes aligned(written.bytes());
  const DecodedRequest updated = decode_request(aligned, vector_limits());
  ASSERT_FALSE(updated.problem);
  EXPECT_TRUE(std::get<UpdateBatch>(updated.body).values.empty());
}

TEST(VectorRequests, WeightsAreThoseOfTheSchema) {
  flatbuffers::FlatBufferBuilder builder;
  const auto vector = builder.CreateVector(std::vector<float>(3, 1.0f));
  wire::QueryBuilder query(builder);
  query.add_k(1);
  query.add_vector(vector);
  query.add_regress(static_cast<wire::RegressionWeights>(3));
  const std::vector<flatbuffers::Offset<wire::Query>> queries(1, query.Finish());
  const auto body = wire::CreatePutQueriesDirect(builder, "riders", &queries);
  builder.Finish(
      wire::CreateRequest(builder, 1, 1, 1, 1, wire::RequestBody::PutQueries, body.Union()),
      "STRQ");
  const std::span bytes(reinterpret_cast<const std::byte*>(builder.GetBufferPointer()),
                        builder.GetSize());
  const auto problem = decode_request(AlignedBytes(bytes), vector_limits()).problem;
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->sentence,
            "Query 0: regress is neither none (0), uniform (1) nor distance (2).");
}

TEST(VectorRequests, InnerProductsAreNoWeights) {
  const PutQueries by_distance{"riders",
                               {{.vector = {1, 2, 3}, .regress = RegressionWeights::distance}}};
  for (const Metric metric : all_metrics)
    EXPECT_EQ(refusal_of(by_distance, vector_limits(metric)).has_value(),
              metric == Metric::inner_product);
  expect_refused(by_distance, vector_limits(Metric::inner_product), ErrorCode::bad_value,
                 "Query 0: regress is distance, but an inner product may be negative, so it is no "
                 "weight; use uniform.");
  expect_refused(GetNeighbors{by_distance.queries}, vector_limits(Metric::inner_product),
                 ErrorCode::bad_value,
                 "Question 0: regress is distance, but an inner product may be negative, so it is "
                 "no weight; use uniform.");
}

TEST(VectorRequests, OtherSpacesTakeNoVectorsNoTargetsAndNoPredictions) {
  const Limits planar3{.space = Space::planar3};
  expect_refused(batch(), planar3, ErrorCode::bad_value,
                 "The batch has rows of dimension 3, which only a server of vectors takes; this "
                 "server's space is planar3.");
  UpdateBatch labelled = batch();
  labelled.dimension = 0;
  labelled.components = 3;
  labelled.labels = labels;
  expect_refused(labelled, planar3, ErrorCode::bad_value,
                 "The batch has labels, which only vectors have; this server's space is planar3.");
  labelled.labels = {};
  labelled.values = std::span(values).first(2);
  expect_refused(labelled, planar3, ErrorCode::bad_value,
                 "The batch has values, which only vectors have; this server's space is planar3.");
  expect_refused(PutQueries{"riders", {{.regress = RegressionWeights::uniform}}}, planar3,
                 ErrorCode::bad_value,
                 "Query 0: only a server of vectors has values to take the mean of; this server's "
                 "space is planar3.");
  expect_refused(PutQueries{"riders", {{.vector = {1, 2, 3}}}}, planar3, ErrorCode::bad_value,
                 "Query 0: only a server of vectors takes a vector; this server's space is "
                 "planar3.");
  expect_refused(GetNeighbors{{{.vote = true}}}, planar3, ErrorCode::bad_value,
                 "Question 0: only a server of vectors has labels that vote; this server's space "
                 "is planar3.");
}

TEST(VectorRequests, AFixedAnchorIsAVectorOfTheServersDimension) {
  const QuerySpec fine{.vector = {1, 2, 3}};
  expect_refused(PutQueries{"riders", {fine, {.vector = {1, 2, 3, 4}}}}, vector_limits(),
                 ErrorCode::array_mismatch,
                 "Query 1: a fixed anchor's vector has 4 components; this server's vectors are of "
                 "dimension 3.");
  expect_refused(GetNeighbors{{QuerySpec{}}}, vector_limits(), ErrorCode::array_mismatch,
                 "Question 0: a fixed anchor's vector has 0 components; this server's vectors are "
                 "of dimension 3.");
  EXPECT_FALSE(refusal_of(PutQueries{"riders", {{.anchor = AnchorKind::follow}}}, vector_limits()));
}

// FlatBuffers lets several tables share one array. So a frame of a megabyte could ask for gigabytes
// of memory.
TEST(VectorRequests, QueriesThatShareAnArrayTakeNoMoreThanAFrameHolds) {
  Limits limits = vector_limits();
  limits.dimension = 4096;
  limits.frame_bytes_max = 1 << 20;
  flatbuffers::FlatBufferBuilder builder;
  const auto vector = builder.CreateVector(std::vector<float>(4096, 1.0f));
  wire::QueryBuilder query(builder);
  query.add_k(1);
  query.add_vector(vector);
  const std::vector<flatbuffers::Offset<wire::Query>> queries(1000, query.Finish());
  const auto body = wire::CreatePutQueriesDirect(builder, "riders", &queries);
  builder.Finish(
      wire::CreateRequest(builder, 1, 1, 1, 1, wire::RequestBody::PutQueries, body.Union()),
      "STRQ");
  const std::span bytes(reinterpret_cast<const std::byte*>(builder.GetBufferPointer()),
                        builder.GetSize());
  const auto problem = decode_request(AlignedBytes(bytes), limits).problem;
  ASSERT_TRUE(problem);
  EXPECT_THAT(problem->sentence, HasSubstr("have 4096000 components, more than a frame"));
}

TEST(VectorRequests, PositionsAreNotCarriedBack) {
  expect_refused(PutStream{.name = "riders", .with = {.position = true}}, vector_limits(),
                 ErrorCode::bad_value, "Lists do not carry vectors; leave with_position out.");
  EXPECT_FALSE(refusal_of(PutStream{.name = "riders", .with = {.tags = true}}, vector_limits()));
}

TEST(VectorRequests, OnlyDistancesOfInnerProductsMayBeNegative) {
  const PutQueries negative{"riders", {{.vector = {1, 2, 3}, .distance_max_m = -1}}};
  for (const Metric metric : all_metrics)
    EXPECT_EQ(refusal_of(negative, vector_limits(metric)).has_value(),
              metric != Metric::inner_product);
  const PutQueries nan{
      "riders",
      {{.vector = {1, 2, 3}, .distance_max_m = std::numeric_limits<double>::quiet_NaN()}}};
  expect_refused(nan, vector_limits(Metric::inner_product), ErrorCode::bad_value,
                 "Query 0: distance_max_m is not a number; leave the field out for no limit.");
}

TEST(VectorRequests, AnEmptyBatchOfTheServersDimensionIsAllowed) {
  EXPECT_FALSE(refusal_of(UpdateBatch{.dimension = 3}, vector_limits()));
}

TEST(VectorRequests, AFrameLongerThanTheLimitNamesIt) {
  Limits limits = vector_limits();
  limits.frame_bytes_max = 100;
  const auto problem = refusal_of(batch(), limits);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, ErrorCode::frame_too_large);
  EXPECT_THAT(problem->sentence,
              HasSubstr("at most frame-bytes-max (100) are allowed, so split it"));
}

}  // namespace
}  // namespace starling::protocol
