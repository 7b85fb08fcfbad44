// SPDX-License-Identifier: Apache-2.0
// Tests that requests decode to the values that were encoded, and that arrays are read in place. A
// request that breaks a rule must get the error of that rule.
#include "starling/protocol/wire/request_codec.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/protocol/wire/samples.hpp"
#include "wire/starling_generated.h"

namespace starling::protocol {
namespace {

using ::testing::HasSubstr;

template <class Body>
std::optional<Problem> refusal_of(const Body& body, const Limits& limits = {}) {
  const Frame frame = encode_request({1, 2, 3}, body);
  return decode_request(AlignedBytes(frame.bytes()), limits).problem;
}

ErrorCode code_of(const std::optional<Problem>& problem) {
  return problem ? problem->code : ErrorCode::none;
}

TEST(RequestCodec, EveryRequestDecodesToWhatWasEncoded) {
  for (const auto& sample : test::sample_requests()) {
    const Frame frame = encode_request(sample.head, sample.body);
    const AlignedBytes bytes(frame.bytes());
    const DecodedRequest decoded = decode_request(bytes, sample.limits);
    ASSERT_FALSE(decoded.problem) << sample.name << ": " << decoded.problem->sentence;
    EXPECT_EQ(decoded.head, sample.head) << sample.name;
    EXPECT_EQ(decoded.body.index(), sample.body.index()) << sample.name;
    EXPECT_EQ(decoded.sequenced, is_sequenced(sample.body)) << sample.name;
    const Frame again = encode_request(decoded.head, decoded.body);
    EXPECT_TRUE(std::ranges::equal(frame.bytes(), again.bytes())) << sample.name;
  }
}

TEST(RequestCodec, QueriesKeepEveryField) {
  for (const auto& sample : test::sample_requests()) {
    const auto* sent = std::get_if<PutQueries>(&sample.body);
    if (sent == nullptr) continue;
    const Frame frame = encode_request(sample.head, sample.body);
    const AlignedBytes bytes(frame.bytes());
    const DecodedRequest decoded = decode_request(bytes, sample.limits);
    EXPECT_EQ(std::get<PutQueries>(decoded.body).queries, sent->queries);
  }
}

TEST(RequestCodec, ArraysAreViewsOfTheFrame) {
  const std::vector<std::uint64_t> ids(1000, 5);
  const std::vector<std::int64_t> times(1000, 6);
  const std::vector<double> coordinates(2000, 7);
  const Frame frame = encode_request({1, 2, 3}, UpdateBatch{ids, times, 2, coordinates, {}, {}});
  const AlignedBytes bytes(frame.bytes());
  const DecodedRequest decoded = decode_request(bytes, Limits{});
  const auto& batch = std::get<UpdateBatch>(decoded.body);
  const auto* first = reinterpret_cast<const std::byte*>(batch.coordinates.data());
  EXPECT_GE(first, frame.bytes().data());
  EXPECT_LT(first, frame.bytes().data() + frame.size());
}

TEST(RequestCodec, AFrameThatLiesAtAnyAddressIsRead) {
  for (const auto& sample : test::sample_request_frames())
    for (std::size_t shift = 0; shift < 8; ++shift) {
      std::vector<std::byte> moved(sample.bytes.size() + shift);
      std::ranges::copy(sample.bytes, moved.begin() + static_cast<std::ptrdiff_t>(shift));
      const AlignedBytes bytes(std::span<const std::byte>(moved).subspan(shift));
      EXPECT_FALSE(decode_request(bytes, sample.limits).problem) << sample.name << " at " << shift;
    }
}

TEST(RequestCodec, ArraysOfDifferentLengthsAreRefused) {
  const std::uint64_t ids[] = {1, 2};
  const std::int64_t times[] = {1, 2};
  const double coordinates[] = {1, 2, 3, 4};
  const float coordinates_f32[] = {1, 2, 3, 4};
  const std::uint32_t tags[] = {1, 2};
  const std::span all_ids(ids);
  const auto one_id = all_ids.first(1);
  const auto one_time = std::span(times).first(1);
  const auto three = std::span(coordinates).first(3);
  const auto one_tag = std::span(tags).first(1);
  const auto expect_mismatch = [](const RequestBody& body) {
    EXPECT_EQ(code_of(refusal_of(body)), ErrorCode::array_mismatch);
  };
  expect_mismatch(UpdateBatch{all_ids, one_time, 2, coordinates, {}, {}});
  expect_mismatch(UpdateBatch{all_ids, times, 2, three, {}, {}});
  expect_mismatch(UpdateBatch{all_ids, times, 2, {}, {}, {}});
  expect_mismatch(UpdateBatch{all_ids, times, 2, coordinates, coordinates_f32, {}});
  expect_mismatch(UpdateBatch{all_ids, times, 2, coordinates, {}, one_tag});
  expect_mismatch(UpdateTags{all_ids, times, one_tag, tags});
  expect_mismatch(UpdateTags{all_ids, times, tags, one_tag});
  expect_mismatch(RemoveObjects{one_id, times});
  expect_mismatch(PutNames{all_ids, {"one"}});
}

TEST(RequestCodec, RowColumnsSayWhichRowsHaveAnEntryInTheOtherArrays) {
  const std::uint64_t ids[] = {1, 2};
  const std::int64_t times[] = {1, 2};
  const double coordinates[] = {1, 2, 3, 4};
  const std::uint32_t tags[] = {1, 2};
  const auto code_for = [&](std::vector<std::uint8_t> row_columns, std::size_t tag_count) {
    return code_of(refusal_of(UpdateBatch{.ids = ids,
                                          .times_us = times,
                                          .coordinates = coordinates,
                                          .tags = std::span(tags).first(tag_count),
                                          .row_columns = row_columns}));
  };
  EXPECT_EQ(code_for({0, tags_column}, 1), ErrorCode::none);
  EXPECT_EQ(code_for({0, 0}, 0), ErrorCode::none);
  EXPECT_EQ(code_for({tags_column, tags_column}, 2), ErrorCode::none);
  EXPECT_EQ(code_for({0, tags_column}, 2), ErrorCode::array_mismatch);
  EXPECT_EQ(code_for({0, tags_column}, 0), ErrorCode::array_mismatch);
  EXPECT_EQ(code_for({tags_column}, 1), ErrorCode::array_mismatch);
  EXPECT_EQ(code_for({0, value_column}, 0), ErrorCode::array_mismatch);
  EXPECT_EQ(code_for({0, 8}, 0), ErrorCode::bad_value);
}

TEST(RequestCodec, AnEmptyBatchIsAllowed) {
  EXPECT_FALSE(refusal_of(GetNames{}));
  EXPECT_FALSE(refusal_of(UpdateBatch{}));
  EXPECT_FALSE(refusal_of(PutQueries{"riders", {}}));
}

TEST(RequestCodec, ARectangleIsHeldToItsSpace) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  const auto refused = [](const Rectangle& rectangle, Space space) {
    return refusal_of(GetObjects{.rectangle = rectangle}, {.space = space});
  };
  for (const Space space : {Space::planar2, Space::planar3}) {
    EXPECT_FALSE(refused({-1e9, 0, 1e9, 0}, space));
    EXPECT_FALSE(refused({-unbounded, -unbounded, unbounded, unbounded}, space));
    EXPECT_EQ(code_of(refused({1, 0, -1, 0}, space)), ErrorCode::bad_value);
    EXPECT_EQ(code_of(refused({0, 1, 0, -1}, space)), ErrorCode::bad_value);
    EXPECT_EQ(code_of(refused({0, 0, nan, 0}, space)), ErrorCode::bad_value);
  }
  EXPECT_FALSE(refused({-180, -90, 180, 90}, Space::wgs84));
  EXPECT_FALSE(refused({170, -1, -170, 1}, Space::wgs84));
  for (const Rectangle& wrong :
       {Rectangle{-181, 0, 0, 0}, Rectangle{0, 0, 180.5, 0}, Rectangle{0, -91, 0, 0},
        Rectangle{0, 0, 0, 90.5}, Rectangle{0, 2, 1, 1}, Rectangle{nan, 0, 0, 0},
        Rectangle{0, 0, unbounded, 0}})
    EXPECT_EQ(code_of(refused(wrong, Space::wgs84)), ErrorCode::bad_value);
  const auto of_vectors =
      refusal_of(GetObjects{.rectangle = Rectangle{0, 0, 1, 1}}, test::vector_limits());
  ASSERT_TRUE(of_vectors);
  EXPECT_EQ(of_vectors->code, ErrorCode::bad_value);
  EXPECT_THAT(of_vectors->sentence, HasSubstr("ask for objects by their ids"));
}

TEST(RequestCodec, ObjectsAreAskedForByIdsOrByARectangle) {
  const std::uint64_t ids[] = {1, 2, 3};
  const Rectangle rectangle{0, 0, 1, 1};
  EXPECT_FALSE(refusal_of(GetObjects{}));
  EXPECT_FALSE(refusal_of(GetObjects{.object_ids = ids}, test::vector_limits()));
  EXPECT_EQ(code_of(refusal_of(GetObjects{.object_ids = ids, .rectangle = rectangle})),
            ErrorCode::bad_value);
  EXPECT_EQ(code_of(refusal_of(GetObjects{.object_ids = ids, .page = 1})), ErrorCode::bad_value);
  const auto too_many = refusal_of(GetObjects{.object_ids = ids}, {.page_rows_max = 2});
  ASSERT_TRUE(too_many);
  EXPECT_EQ(too_many->code, ErrorCode::too_many_rows);
  EXPECT_EQ(too_many->limit, (ReachedLimit{"page-rows-max", 2}));
}

TEST(RequestCodec, APageWithMoreRowsThanTheServerAllowsIsRefused) {
  const Limits limits{.page_rows_max = 5};
  const auto expect_limited = [&](auto request) {
    request.rows_max = 5;
    EXPECT_FALSE(refusal_of(request, limits));
    request.rows_max = 6;
    const auto problem = refusal_of(request, limits);
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->code, ErrorCode::too_many_rows);
    EXPECT_EQ(problem->limit, (ReachedLimit{"page-rows-max", 5}));
  };
  expect_limited(ListStreams{});
  expect_limited(ListQueries{.stream = "riders"});
  expect_limited(GetObjects{.rectangle = Rectangle{0, 0, 1, 1}});
}

TEST(RequestCodec, RemoveStreamIsSequencedAndCostsNoCredit) {
  EXPECT_TRUE(is_sequenced(RemoveStream{"riders"}));
  EXPECT_FALSE(is_batch(RemoveStream{"riders"}));
  EXPECT_EQ(code_of(refusal_of(RemoveStream{""})), ErrorCode::bad_text);
  EXPECT_EQ(code_of(refusal_of(ListQueries{.stream = ""})), ErrorCode::bad_text);
  const std::uint64_t ids[] = {1, 2, 3};
  for (const RequestBody& body : {RequestBody(ListStreams{}), RequestBody(ListQueries{"riders"}),
                                  RequestBody(GetObjects{.object_ids = ids})}) {
    EXPECT_FALSE(is_sequenced(body));
    EXPECT_FALSE(is_batch(body));
    EXPECT_EQ(credit_rows(body), 0u);
  }
}

TEST(RequestCodec, ComponentsFollowTheServersSpace) {
  const std::uint64_t ids[] = {1};
  const std::int64_t times[] = {1};
  const double coordinates[] = {1, 2, 3, 4};
  for (const auto& [space, allowed] :
       {std::pair{Space::planar2, std::vector{2}}, std::pair{Space::planar3, std::vector{3}},
        std::pair{Space::wgs84, std::vector{2, 3}}})
    for (std::uint8_t components = 0; components <= 4; ++components) {
      const UpdateBatch batch{ids, times, components, std::span(coordinates).first(components),
                              {},  {}};
      const bool fits = std::ranges::find(allowed, components) != allowed.end();
      EXPECT_EQ(code_of(refusal_of(batch, {.space = space})),
                fits ? ErrorCode::none : ErrorCode::bad_value)
          << to_string(space) << " " << int{components};
    }
}

TEST(RequestCodec, KOutsideOneToKMaxIsRefusedAndNamed) {
  for (const std::uint32_t k : {0u, 1025u, 4'294'967'295u}) {
    const QuerySpec fine{.k = 5};
    const auto problem = refusal_of(PutQueries{"riders", {fine, QuerySpec{.k = k}}});
    ASSERT_EQ(code_of(problem), ErrorCode::k_out_of_range) << k;
    EXPECT_THAT(problem->sentence, HasSubstr("Query 1"));
    EXPECT_THAT(problem->sentence, HasSubstr("1 to k-max (1024)"));
    EXPECT_EQ(code_of(refusal_of(GetNeighbors{{QuerySpec{.k = k}}})), ErrorCode::k_out_of_range);
  }
  EXPECT_EQ(code_of(refusal_of(PutQueries{"riders", {QuerySpec{.k = 9}}}, {.k_max = 8})),
            ErrorCode::k_out_of_range);
}

TEST(RequestCodec, LimitsThatAreNoNumbersOrNegativeAreRefused) {
  for (const double distance_m : {-1.0, -0.001, std::nan("")})
    EXPECT_EQ(code_of(refusal_of(PutQueries{"riders", {QuerySpec{.distance_max_m = distance_m}}})),
              ErrorCode::bad_value);
  EXPECT_EQ(code_of(refusal_of(PutQueries{"riders", {QuerySpec{.age_max_us = -1}}})),
            ErrorCode::bad_value);
  EXPECT_FALSE(refusal_of(PutQueries{"riders", {QuerySpec{.distance_max_m = 0, .age_max_us = 0}}}));
}

TEST(RequestCodec, NamesAreOneTo255BytesOfUtf8WithoutNul) {
  using namespace std::string_view_literals;
  const std::string longest(255, 'x');
  const std::string too_long(256, 'x');
  for (const std::string_view name :
       {"riders"sv, "stra\u00dfe"sv, "\U0001F426"sv, std::string_view(longest)})
    EXPECT_FALSE(refusal_of(PutStream{.name = name})) << name;
  for (const std::string_view name :
       {""sv, "a\0b"sv, "\xff"sv, "\xc0\xaf"sv, "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv,
        "\xe2\x82"sv, std::string_view(too_long)})
    EXPECT_EQ(code_of(refusal_of(PutStream{.name = name})), ErrorCode::bad_text) << name;
  const std::uint64_t id[] = {1};
  EXPECT_EQ(code_of(refusal_of(PutNames{id, {"\xff"}})), ErrorCode::bad_text);
  EXPECT_EQ(code_of(refusal_of(Hello{.client = ""})), ErrorCode::bad_text);
}

TEST(RequestCodec, MoreRowsThanAllowedAreRefused) {
  const Limits limits{.rows_max = 2, .questions_max = 1};
  const std::uint64_t ids[] = {1, 2, 3};
  const std::int64_t times[] = {1, 2, 3};
  const double coordinates[] = {1, 2, 3, 4, 5, 6};
  const std::vector<QuerySpec> queries(3);
  const auto expect_too_many = [&](const RequestBody& body) {
    EXPECT_EQ(code_of(refusal_of(body, limits)), ErrorCode::too_many_rows);
  };
  expect_too_many(UpdateBatch{ids, times, 2, coordinates, {}, {}});
  expect_too_many(RemoveObjects{ids, times});
  expect_too_many(PutQueries{"riders", queries});
  expect_too_many(RemoveQueries{"riders", ids});
  expect_too_many(GetSnapshot{"riders", ids, 0});
  expect_too_many(GetNeighbors{std::vector<QuerySpec>(2)});
}

TEST(RequestCodec, NamesAreAskedForUpToALimitOfTheirOwn) {
  const std::vector<std::uint64_t> ids(3);
  EXPECT_FALSE(refusal_of(GetNames{ids}, {.rows_max = 1, .names_asked_max = 3}));
  const auto problem = refusal_of(GetNames{ids}, {.names_asked_max = 2});
  ASSERT_EQ(code_of(problem), ErrorCode::too_many_rows);
  EXPECT_THAT(problem->sentence,
              HasSubstr("3 object_ids; at most names-asked-max (2) are allowed, so split it"));
}

TEST(RequestCodec, AskingForNamesIsNoBatchAndCostsNothing) {
  const std::uint64_t ids[] = {1, 2};
  EXPECT_FALSE(is_batch(GetNames{ids}));
  EXPECT_FALSE(is_sequenced(GetNames{ids}));
  EXPECT_EQ(credit_rows(GetNames{ids}), 0u);
}

TEST(RequestCodec, AFrameBeyondTheLimitIsRefusedUnread) {
  const std::vector<std::byte> bytes(101);
  EXPECT_EQ(code_of(decode_request(AlignedBytes(bytes), {.frame_bytes_max = 100}).problem),
            ErrorCode::frame_too_large);
}

TEST(RequestCodec, AnEveryObjectQuestionIsRefused) {
  EXPECT_EQ(code_of(refusal_of(GetNeighbors{{QuerySpec{.anchor = AnchorKind::every_object}}})),
            ErrorCode::bad_value);
}

TEST(RequestCodec, TheHeadOfARefusedRequestIsKnown) {
  const Frame frame = encode_request({1, 2, 3}, PutStream{.name = ""});
  const AlignedBytes bytes(frame.bytes());
  const DecodedRequest decoded = decode_request(bytes, Limits{});
  ASSERT_TRUE(decoded.problem);
  EXPECT_EQ(decoded.head, (RequestHead{1, 2, 3}));
  EXPECT_TRUE(decoded.sequenced);
}

TEST(RequestCodec, AResendCanBeAddressedToAnotherSession) {
  Frame frame = encode_request({1, 2, 3}, AdvanceTick{4});
  set_session(frame, 99);
  const AlignedBytes bytes(frame.bytes());
  EXPECT_EQ(decode_request(bytes, Limits{}).head, (RequestHead{1, 99, 3}));
}

TEST(RequestCodec, TheExampleBytesOfTheReadmeAreARequest) {
  const std::string_view hex =
      "1c000000535452510000000010002a0006000c0014001c000500080010000000000c0100"
      "2800000004000000000000004d0000000000000003000000000000000000000000000600"
      "0c0004000600000000401e18240a0600";
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < hex.size(); at += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16)));
  const AlignedBytes frame(bytes);
  const DecodedRequest decoded = decode_request(frame, Limits{});
  ASSERT_FALSE(decoded.problem) << decoded.problem->sentence;
  EXPECT_EQ(decoded.head, (RequestHead{4, 77, 3}));
  EXPECT_EQ(std::get<AdvanceTick>(decoded.body).tau_us, 1'700'000'000'000'000);
}

std::optional<Problem> refusal_of(flatbuffers::FlatBufferBuilder& builder) {
  const auto* octets = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  const std::span bytes(octets, builder.GetSize());
  return decode_request(AlignedBytes(bytes), Limits{}).problem;
}

TEST(RequestCodec, QueriesThatShareOneTableAreRefusedBeforeTheyAreDecoded) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("s");
  wire::QueryBuilder query(builder);
  query.add_id(1);
  query.add_k(1);
  const std::vector<flatbuffers::Offset<wire::Query>> queries(10'000, query.Finish());
  const auto body = wire::CreatePutQueries(builder, name, builder.CreateVector(queries));
  builder.Finish(
      wire::CreateRequest(builder, 1, 1, 1, 1, wire::RequestBody::PutQueries, body.Union()),
      "STRQ");
  const auto problem = refusal_of(builder);
  ASSERT_EQ(code_of(problem), ErrorCode::malformed);
  EXPECT_THAT(problem->sentence, HasSubstr("10000 queries; send a table of its own"));
}

TEST(RequestCodec, AnotherVersionIsRefusedAndBothAreNamed) {
  flatbuffers::FlatBufferBuilder builder;
  const auto body = wire::CreateGetStats(builder);
  builder.Finish(
      wire::CreateRequest(builder, 2, 1, 1, 0, wire::RequestBody::GetStats, body.Union()), "STRQ");
  const auto problem = refusal_of(builder);
  ASSERT_EQ(code_of(problem), ErrorCode::wrong_version);
  EXPECT_THAT(problem->sentence, HasSubstr("version 2"));
  EXPECT_THAT(problem->sentence, HasSubstr("version 1"));
}

TEST(RequestCodec, AnotherIdentifierIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto body = wire::CreateGetStats(builder);
  builder.Finish(
      wire::CreateRequest(builder, 1, 1, 1, 0, wire::RequestBody::GetStats, body.Union()), "STRP");
  EXPECT_EQ(code_of(refusal_of(builder)), ErrorCode::malformed);
}

TEST(RequestCodec, ABodyOfALaterVersionIsUnknown) {
  flatbuffers::FlatBufferBuilder builder;
  const auto body = wire::CreateGetStats(builder);
  const auto later = static_cast<wire::RequestBody>(static_cast<int>(wire::RequestBody::MAX) + 1);
  builder.Finish(wire::CreateRequest(builder, 1, 1, 1, 0, later, body.Union()), "STRQ");
  EXPECT_EQ(code_of(refusal_of(builder)), ErrorCode::unknown_request);
}

TEST(RequestCodec, AMissingBodyIsRefused) {
  flatbuffers::FlatBufferBuilder none;
  none.Finish(wire::CreateRequest(none, 1, 1, 1, 0), "STRQ");
  EXPECT_EQ(code_of(refusal_of(none)), ErrorCode::unknown_request);
  flatbuffers::FlatBufferBuilder typed;
  typed.Finish(wire::CreateRequest(typed, 1, 1, 1, 0, wire::RequestBody::GetStats), "STRQ");
  EXPECT_EQ(code_of(refusal_of(typed)), ErrorCode::malformed);
}

TEST(RequestCodec, EnumsBeyondTheirLastValueAreRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("riders");
  const auto body = wire::CreatePutStream(builder, name, static_cast<wire::ReportOn>(3));
  builder.Finish(
      wire::CreateRequest(builder, 1, 1, 1, 1, wire::RequestBody::PutStream, body.Union()), "STRQ");
  EXPECT_EQ(code_of(refusal_of(builder)), ErrorCode::bad_value);
}

TEST(RequestCodec, AFixedAnchorWithoutPositionIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto stream = builder.CreateString("riders");
  const auto queries = builder.CreateVector({wire::CreateQuery(builder, 1, 5)});
  const auto body = wire::CreatePutQueries(builder, stream, queries);
  builder.Finish(
      wire::CreateRequest(builder, 1, 1, 1, 1, wire::RequestBody::PutQueries, body.Union()),
      "STRQ");
  const auto problem = refusal_of(builder);
  ASSERT_EQ(code_of(problem), ErrorCode::bad_value);
  EXPECT_THAT(problem->sentence, HasSubstr("position"));
}

TEST(ErrorNames, AreThoseOfTheSchema) {
  for (const wire::ErrorCode code : wire::EnumValuesErrorCode())
    EXPECT_EQ(to_string(static_cast<ErrorCode>(code)), wire::EnumNameErrorCode(code));
  for (const wire::RowReason reason : wire::EnumValuesRowReason())
    EXPECT_EQ(to_string(static_cast<RowReason>(reason)), wire::EnumNameRowReason(reason));
}

}  // namespace
}  // namespace starling::protocol
