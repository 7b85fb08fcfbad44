// SPDX-License-Identifier: Apache-2.0
// Tests a client's sequence numbers, credit and resends, without a socket.
#include "starling/protocol/client/client_session.hpp"

#include <gtest/gtest.h>

#include "starling/protocol/wire/request_codec.hpp"

namespace starling::protocol {
namespace {

using Verdict = ClientSession::Verdict;

struct ClientSessionTest : ::testing::Test {
  ClientSessionTest() { session.on_hello({.session = 7, .epoch = 1, .limits = limits}); }

  static RequestHead head_of(const Frame& frame) {
    const AlignedBytes bytes(frame.bytes());
    return decode_request(bytes, Limits{}).head;
  }
  static Hello hello_of(const Frame& frame) {
    const AlignedBytes bytes(frame.bytes());
    return std::get<Hello>(decode_request(bytes, Limits{}).body);
  }
  Outgoing prepare(const RequestBody& body) { return std::get<Outgoing>(session.prepare(body)); }
  const Outgoing& send(const RequestBody& body) { return session.admit(prepare(body)); }
  static RemoveObjects rows(std::size_t count) {
    static const std::vector<std::uint64_t> ids(100);
    static const std::vector<std::int64_t> times(100);
    return {std::span(ids).first(count), std::span(times).first(count)};
  }

  Limits limits{.rows_max = 60, .credit_rows = 100, .unanswered_max = 4};
  ClientSession session{"a test"};
};

TEST_F(ClientSessionTest, SequencedRequestsAreNumberedWithoutGapsAndOthersNotAtAll) {
  EXPECT_EQ(head_of(send(rows(1)).frame), (RequestHead{1, 7, 1}));
  EXPECT_EQ(head_of(send(GetStats{}).frame), (RequestHead{2, 7, 0}));
  EXPECT_EQ(head_of(send(AdvanceTick{5}).frame), (RequestHead{3, 7, 2}));
}

TEST_F(ClientSessionTest, ABatchBeyondCreditWaits) {
  send(rows(50));
  send(rows(49));
  const Outgoing third = prepare(rows(2));
  EXPECT_FALSE(session.has_credit_for(third));
  EXPECT_TRUE(session.has_credit_for(prepare(rows(1))));
  EXPECT_EQ(session.on_reply({1, 1}, ErrorCode::none), Verdict::answered);
  EXPECT_TRUE(session.has_credit_for(third));
}

TEST_F(ClientSessionTest, BytesAreCreditToo) {
  const std::uint64_t bytes = prepare(rows(1)).frame.size();
  session.on_hello({.session = 7, .limits = {.credit_bytes = 2 * bytes}});
  send(rows(1));
  EXPECT_TRUE(session.has_credit_for(prepare(rows(1))));
  send(rows(1));
  EXPECT_FALSE(session.has_credit_for(prepare(rows(1))));
  EXPECT_TRUE(session.has_credit_for(prepare(GetStats{})));
}

TEST_F(ClientSessionTest, TheNumberOfUnansweredRequestsIsBounded) {
  for (int request = 0; request < 4; ++request) send(GetStats{});
  EXPECT_FALSE(session.has_credit_for(prepare(GetStats{})));
}

TEST_F(ClientSessionTest, ALostReplyHoldsUpNewNumbersBeforeTheServerForgetsIt) {
  for (std::uint64_t number = 1; number <= 4; ++number) send(rows(1));
  for (std::uint64_t number = 2; number <= 4; ++number)
    EXPECT_EQ(session.on_reply({number, number}, ErrorCode::none), Verdict::answered);
  EXPECT_FALSE(session.has_credit_for(prepare(rows(1))));
  EXPECT_TRUE(session.has_credit_for(prepare(GetStats{})));
  EXPECT_EQ(session.on_reply({1, 1}, ErrorCode::none), Verdict::answered);
  EXPECT_TRUE(session.has_credit_for(prepare(rows(1))));
}

TEST_F(ClientSessionTest, ARequestThatNoServerWouldTakeIsNotSent) {
  const auto too_many = session.prepare(rows(61));
  EXPECT_EQ(std::get<Problem>(too_many).code, ErrorCode::too_many_rows);
  session.on_hello({.session = 7, .limits = {.frame_bytes_max = 10}});
  const auto too_long = session.prepare(rows(1));
  EXPECT_EQ(std::get<Problem>(too_long).code, ErrorCode::frame_too_large);
  EXPECT_TRUE(session.unanswered().empty());
}

// The batch is longer than any FlatBuffer may be, so prepare() must refuse it before it encodes it.
TEST_F(ClientSessionTest, ABatchOfVectorsThatIsTooLongIsToldHowManyRowsFit) {
  constexpr std::uint32_t row_count = 262'144;
  const std::vector<std::uint64_t> ids(row_count);
  const std::vector<std::int64_t> times(row_count);
  session.on_hello(
      {.session = 7, .limits = {.space = Space::vector, .dimension = 4096, .rows_max = row_count}});
  const float* nowhere = nullptr;  // never read
  const auto refused = session.prepare(
      UpdateBatch{.ids = ids,
                  .times_us = times,
                  .coordinates_f32 = std::span<const float>(nowhere, row_count * 4096),
                  .dimension = 4096});
  const Problem problem = std::get<Problem>(refused);
  EXPECT_EQ(problem.code, ErrorCode::frame_too_large);
  EXPECT_EQ(problem.sentence,
            "The request has 4299161600 bytes; at most frame-bytes-max (16777216) are allowed, so "
            "split it: some 1007 rows of dimension 4096 fit.");
  EXPECT_EQ(problem.limit, (ReachedLimit{"frame-bytes-max", 16'777'216}));
}

TEST_F(ClientSessionTest, ResendsGoToTheNewSessionUnderTheSameNumbers) {
  send(rows(1));
  send(rows(2));
  EXPECT_EQ(session.on_reply({1, 1}, ErrorCode::none), Verdict::answered);
  const Hello hello = hello_of(session.hello());
  EXPECT_EQ(hello.resume_session, 7u);
  EXPECT_EQ(hello.first_sequence, 2u);
  session.on_hello({.session = 8, .epoch = 2, .limits = limits});
  ASSERT_EQ(session.unanswered().size(), 1u);
  EXPECT_EQ(head_of(session.unanswered().front().frame), (RequestHead{2, 8, 2}));
}

TEST_F(ClientSessionTest, WithNothingUnansweredANewSessionGoesOnFromTheNextNumber) {
  send(rows(1));
  session.on_reply({1, 1}, ErrorCode::none);
  EXPECT_EQ(hello_of(session.hello()).first_sequence, 2u);
}

TEST_F(ClientSessionTest, RefusalsThatKeepTheNumberAreSentAgain) {
  send(rows(1));
  for (const ErrorCode code : {ErrorCode::unknown_session, ErrorCode::sequence_gap,
                               ErrorCode::out_of_credit, ErrorCode::busy, ErrorCode::shutting_down})
    EXPECT_EQ(session.on_reply({1, 1}, code), Verdict::start_again) << to_string(code);
  EXPECT_EQ(session.unanswered().size(), 1u);
  send(GetStats{});
  EXPECT_EQ(session.on_reply({2, 0}, ErrorCode::busy), Verdict::try_again);
}

TEST_F(ClientSessionTest, OtherRefusalsAreAnswers) {
  send(rows(1));
  EXPECT_EQ(session.on_reply({1, 1}, ErrorCode::unknown_stream), Verdict::answered);
  EXPECT_TRUE(session.unanswered().empty());
}

TEST_F(ClientSessionTest, AnAnswerThatComesTwiceIsIgnored) {
  send(rows(1));
  EXPECT_EQ(session.on_reply({1, 1}, ErrorCode::none), Verdict::answered);
  EXPECT_EQ(session.on_reply({1, 1}, ErrorCode::none), Verdict::unexpected);
}

TEST_F(ClientSessionTest, AnAbandonedQuestionIsNotSentAgainButABatchIs) {
  send(GetStats{});
  send(rows(1));
  session.abandon(1);
  session.abandon(2);
  ASSERT_EQ(session.unanswered().size(), 1u);
  EXPECT_EQ(session.unanswered().front().request_id, 2u);
}

/// A session on run 1 of the log. Request 1 was acknowledged before place 10 and request 2 before
/// place 12. Request 3 waits.
struct ClientSessionRuns : ClientSessionTest {
  ClientSessionRuns() {
    session.on_hello(
        {.session = 7, .limits = limits, .runs = {{.id = 1, .begun = 1}}, .next_sequence = 1});
    for (std::uint64_t number = 1; number <= 3; ++number) send(rows(1));
    session.on_reply({1, 1, 10}, ErrorCode::none);
    session.on_reply({2, 2, 12}, ErrorCode::none);
  }
  auto hello(bool resumed, std::uint64_t next_sequence, std::uint64_t begun) {
    return session.on_hello({.session = resumed ? 7u : 8u,
                             .resumed = resumed,
                             .limits = limits,
                             .runs = {{.id = 2, .begun = begun}, {.id = 1, .begun = 1}},
                             .next_sequence = next_sequence});
  }
};

TEST_F(ClientSessionRuns, AnOrdinaryRestartTellsNothingAndTheRequestIsSentAgain) {
  EXPECT_FALSE(hello(true, 3, 12));
  EXPECT_EQ(session.unanswered().size(), 1u);
}

TEST_F(ClientSessionRuns, ASessionThatTheServerForgotTellsNothing) {
  EXPECT_FALSE(hello(false, 3, 12));
  EXPECT_EQ(session.unanswered().size(), 1u);
}

TEST_F(ClientSessionRuns, ALogThatLacksAcknowledgedRequestsFailsTheOthersAndTheNumbersGoOn) {
  send(GetStats{});
  const auto put_back = hello(true, 2, 11);
  ASSERT_TRUE(put_back);
  EXPECT_EQ(put_back->problem.code, ErrorCode::log_put_back);
  EXPECT_NE(put_back->problem.sentence.find("2 to 2"), std::string::npos)
      << put_back->problem.sentence;
  EXPECT_EQ(put_back->request_ids, std::vector<std::uint64_t>{3});
  ASSERT_EQ(session.unanswered().size(), 1u) << "a question is sent again";
  EXPECT_EQ(head_of(send(rows(1)).frame).sequence, 2u);
  EXPECT_FALSE(hello(true, 2, 11)) << "it is told once";
}

TEST_F(ClientSessionRuns, ASessionThatTheLogLacksIsToldByThePlaceOfItsLastReply) {
  const auto put_back = hello(false, 3, 9);
  ASSERT_TRUE(put_back);
  EXPECT_EQ(put_back->request_ids, std::vector<std::uint64_t>{3});
  EXPECT_EQ(head_of(send(rows(1)).frame), (RequestHead{4, 8, 3}));
}

TEST_F(ClientSessionRuns, ARunThatTheLogDoesNotKnowIsAnotherHistory) {
  EXPECT_TRUE(session.on_hello(
      {.session = 8, .limits = limits, .runs = {{.id = 9, .begun = 1}}, .next_sequence = 3}));
}

}  // namespace
}  // namespace starling::protocol
