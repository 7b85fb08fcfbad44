// SPDX-License-Identifier: Apache-2.0
// Each C++ client meets each hostile server of misbehaviours.cpp. A client must neither crash nor
// hang nor take much memory, and its error must say what the server did wrong.
#include "starling/protocol/client/client.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zmq.hpp>

#include "starling/protocol/client/restoring_client.hpp"
#include "starling/protocol/client/subscriber.hpp"
#include "tests/hostile/misbehaviours.hpp"

namespace starling::protocol::test {
namespace {

using Clock = std::chrono::steady_clock;

// A client takes two or three seconds for the slowest of these sentences, on a machine that is
// idle.
constexpr std::chrono::seconds patience{60};
// What a client may take beyond what it had before. Sanitizers need more, so they do not check it.
constexpr long memory_kib_max = 700 * 1024;

constexpr std::uint64_t ids[] = {1, 2, 3};
constexpr std::int64_t times_us[] = {4, 5, 6};
constexpr double coordinates[] = {1, 2, 3, 4, 5, 6};
constexpr UpdateBatch updates{.ids = ids, .times_us = times_us, .coordinates = coordinates};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool measures_memory = false;
#else
constexpr bool measures_memory = true;
#endif

/// Begins a new measurement of the most memory that the process has had.
void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

long status_kib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == name) {
      long kib = 0;
      status >> kib;
      return kib;
    }
  return 0;
}

/// What a client makes of a misbehaviour: a part of its sentence. Empty: it goes on, because the
/// misbehaviour does not concern it.
struct Expected {
  std::string name;
  std::string client{};
  std::string subscriber{};
};

void PrintTo(const Expected& expected, std::ostream* stream) {
  *stream << expected.name;
}

const std::string circle = "in a circle";
// Whether ticks are lost depends on who is faster.
const std::string any_sentence = "*";

const std::vector<Expected> table{
    {"none"},
    {"garbage", "damaged", "damaged"},
    {"damaged", "damaged", "damaged"},
    {"no_frames", "damaged", "damaged"},
    {"announces_more_than_all_memory", "did not answer", "did not answer"},
    {"a_frame_that_never_ends", "did not answer", "did not answer"},
    {"parts_that_never_end", "never ends", "never ends"},
    {"closes", "did not answer", "did not answer"},
    {"silent", "did not answer", "did not answer"},
    {"silent_from_the_start", "did not answer", "did not answer"},
    {"garbage_from_the_start", "STRP", "STRP"},
    {"another_type", "another type", "another type"},
    {"other_ids", "answer no request", "answer no request"},
    {"twice"},
    {"strays_without_end", "answer no request", "answer no request"},
    {"no_hello_reply_but_others_without_end", "answer no request", "answer no request"},
    {"strays_at_the_end"},
    {"a_sentence_of_megabytes", "\\x1b[2J\\xffxxx", "\\x1b[2J\\xffxxx"},
    {"busy_for_ever", "Later, later.", "Later, later."},
    {"an_unknown_error", "No.", "No."},
    {"counts_that_overflow", "counts of other rows"},
    {"rows_that_were_not_sent", "counts of other rows"},
    {"names_that_were_not_sent", "counts of other rows"},
    {"counters_that_share_a_text", "at most 255 bytes"},
    {"reasons_that_share_a_text", "more reasons"},
    {"names_that_share_a_text", "longer than a frame"},
    {"names_that_are_no_utf8", "UTF-8"},
    {"counters_that_are_no_numbers"},
    {"limits_of_nothing", "allow no request", "allow no request"},
    {"limits_without_limit"},
    {"a_resolution_that_is_no_number", "resolution", "resolution"},
    {"a_resolution_of_zero", "resolution", "resolution"},
    {"an_origin_that_is_no_place", "origin", "origin"},
    {"a_space_that_is_none", "space", "space"},
    {"vectors_without_a_dimension", "dimension", "dimension"},
    {"vectors_of_all_dimensions", "dimension", "dimension"},
    {"no_session", "session 0", "session 0"},
    {"a_name_that_moves_the_cursor", "one line", "one line"},
    {"results_that_are_nowhere", "", "cannot be reached"},
    {"the_same_page_again", circle, circle},
    {"pages_that_go_back", circle, circle},
    {"pages_without_end", "as many lists", "as many lists"},
    {"pages_of_nothing", "without lists", "without lists"},
    {"pages_of_other_epochs", "different ticks", "different ticks"},
    {"a_list_twice_in_a_snapshot", "", "a list twice"},
    {"fewer_lists_than_it_says", "as many lists", "as many lists"},
    {"a_snapshot_of_another_stream", "another stream", "another stream"},
    {"streams_without_end", "without end"},
    {"streams_in_a_circle", circle},
    {"queries_without_end", "without end"},
    {"objects_without_end", "empty pages"},
    {"objects_that_were_not_asked_for", "not asked for"},
    {"distances_that_are_no_numbers", "ascending order"},
    {"distances_that_fall", "ascending order"},
    {"an_object_twice", "object twice"},
    {"more_than_k", "whose k is 10"},
    {"more_than_any_k", "at most 2048"},
    {"no_answers", "with 0 lists"},
    {"answers_to_other_questions", "another question"},
    {"offsets_beyond_the_arrays", "offsets"},
    {"columns_that_are_too_short", "distance"},
    {"no_distances", "without distances"},
    {"answers_that_are_removed", "another question"},
    {"a_time_beyond_all_times", "microseconds"},
    {"sessions_that_are_never_known", "Say hello.", "Say hello."},
    {"an_epoch_for_each_change", "Say hello."},
    {"ticks_of_garbage", "", "damaged"},
    {"ticks_without_frames", "", "no header"},
    {"a_tick_without_end", "", "never ends"},
    {"ticks_that_go_back", "", "do not follow"},
    {"a_tick_far_ahead", "", "do not follow"},
    {"epochs_that_go_back", "", "goes back to an epoch"},
    {"an_epoch_for_each_tick", "", "goes back to an epoch"},
    {"ticks_faster_than_any_reader", "", any_sentence},
    {"ticks_of_another_stream", "", "another stream"},
    {"a_tick_with_a_list_beyond_any_k", "", "at most 2048"},
    {"a_tick_of_fewer_lists_than_it_says", "", "number of lists"},
    {"a_tick_of_fewer_chunks_than_it_says", "", "chunks"},
    {"a_tick_at_no_time", "", "microseconds"},
    {"removals_of_what_was_never_there"},
};

/// The sentences of the errors of all calls.
class Sentences {
 public:
  template <class T>
  void add(const Result<T>& result) {
    if (!result) add(result.problem());
  }
  void add(const std::optional<Problem>& problem) {
    if (problem) all_ += problem->sentence + "\n";
  }
  void add(const std::exception& error) { all_ += std::string(error.what()) + "\n"; }

  const std::string& text() const { return all_; }

 private:
  std::string all_;
};

/// Calls each function of a Client. Stops if the server does not answer.
void call_all(zmq::context_t& context, const ClientOptions& options, Sentences& told) try {
  Client client(context, options);
  told.add(client.put_stream({.name = hostile_stream}));
  told.add(client.put_queries({.stream = hostile_stream, .queries = {{.id = QueryId{5}, .k = 2}}}));
  told.add(client.put_names({.ids = std::span(ids).first(1), .texts = {"1"}}));
  told.add(client.update(updates));
  for (int time = 0; time < 10; ++time) told.add(client.post(updates));
  told.add(client.flush().first_refusal);
  told.add(client.advance_tick(7));
  told.add(client.get_neighbors({.questions = {{.k = 10}}}));
  told.add(client.get_names(ids));
  told.add(client.get_stats());
  told.add(client.streams());
  told.add(client.queries(hostile_stream));
  told.add(client.objects(std::span(ids).first(2)));
  told.add(client.objects_in({0, 0, 1, 1}));
  std::size_t lists = 0;
  told.add(client.get_snapshot({.stream = hostile_stream}, [&](const SnapshotPage& page) {
    lists += page.lists.list_count();
  }));
  told.add(client.report_received({.stream = hostile_stream, .epoch = 1, .sequence = 1}));
} catch (const std::runtime_error& error) {
  told.add(error);
}

/// Follows the stream until the obstacle has `wanted`.
void follow(zmq::context_t& context, const ClientOptions& options, const std::string& wanted,
            Sentences& told) try {
  Subscriber subscriber(
      context, {.client = options, .subscription = {.stream = std::string(hostile_stream)}});
  const auto begin = Clock::now();
  const bool is_brief = wanted.empty() || wanted == any_sentence;
  const auto end = begin + (is_brief ? std::chrono::milliseconds(500) : patience);
  std::string last;
  while (Clock::now() < end) {
    const auto polled = Clock::now();
    subscriber.poll(20);
    EXPECT_LT(Clock::now() - polled, patience / 2) << "poll() is held";
    if (subscriber.obstacle() != last) {
      last = subscriber.obstacle();
      told.add(Problem{ErrorCode::none, last});
    }
    if (!wanted.empty() && last.find(wanted) != std::string::npos) return;
  }
} catch (const std::runtime_error& error) {
  told.add(error);
}

class HostileServers : public testing::TestWithParam<Expected> {
 protected:
  HostileServers() : server_(misbehaviour_named(GetParam().name)) {
    forget_peak();
    kib_before_ = status_kib("VmRSS:");
  }

  void TearDown() override {
    if (measures_memory) {
      EXPECT_LT(status_kib("VmHWM:") - kib_before_, memory_kib_max);
    }
    EXPECT_LT(Clock::now() - begun_, patience);
  }

  /// Times are short if the client is expected to wait in vain.
  ClientOptions options(const std::string& wanted) const {
    const bool waits = wanted == "did not answer" || wanted == "answer no request" ||
                       wanted == "Later, later." || wanted == "Say hello." ||
                       GetParam().name.ends_with("garbage") || GetParam().name == "damaged" ||
                       GetParam().name == "no_frames";
    return {.commands = server_.commands(),
            .timeout_ms = waits ? 2500 : 20'000,
            .reconnect_after_ms = waits ? 1000 : 20'000};
  }

  /// The sentence must also name the server, unless it is the server's own.
  void expect_told(const Sentences& told, const std::string& wanted) const {
    if (wanted == any_sentence) return;
    if (wanted.empty()) {
      EXPECT_EQ(told.text(), "");
      return;
    }
    EXPECT_NE(told.text().find(wanted), std::string::npos) << told.text();
    EXPECT_LT(told.text().size(), 100'000u);
    EXPECT_EQ(told.text().find('\x1b'), std::string::npos);
    const bool is_own =
        wanted == "No." || wanted.starts_with('\\') || wanted == "cannot be reached";
    if (!is_own) {
      EXPECT_NE(told.text().find(server_.commands()), std::string::npos) << told.text();
    }
  }

  Clock::time_point begun_ = Clock::now();
  long kib_before_ = 0;
  HostileServer server_;
  zmq::context_t context_;
};

TEST_P(HostileServers, CannotHarmAClient) {
  Sentences told;
  call_all(context_, options(GetParam().client), told);
  expect_told(told, GetParam().client);
}

TEST_P(HostileServers, CannotHarmASubscriber) {
  Sentences told;
  follow(context_, options(GetParam().subscriber), GetParam().subscriber, told);
  expect_told(told, GetParam().subscriber);
}

INSTANTIATE_TEST_SUITE_P(All, HostileServers, testing::ValuesIn(table),
                         [](const auto& info) { return info.param.name; });

TEST(HostileServer, EveryMisbehaviourIsTried) {
  std::vector<std::string> tried;
  for (const Expected& each : table) tried.push_back(each.name);
  std::vector<std::string> known;
  for (const Misbehaviour& each : misbehaviours()) known.push_back(each.name);
  EXPECT_EQ(tried, known);
}

TEST(HostileServer, WhoseEpochsNeverEndEndsInATimeoutThatSaysSo) {
  const HostileServer server(misbehaviour_named("an_epoch_for_each_change"));
  zmq::context_t context;
  RestoringClient client(context, {.client = {.commands = server.commands(), .timeout_ms = 1000}});
  static_cast<void>(client.put_stream({.name = hostile_stream}));
  try {
    for (int time = 0; time < 3; ++time)
      static_cast<void>(client.put_stream({.name = hostile_stream}));
    FAIL() << "the client goes on as if nothing had happened";
  } catch (const TimeoutError& error) {
    EXPECT_NE(std::string(error.what()).find("new epochs"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(server.commands()), std::string::npos);
  }
}

TEST(HostileServer, ThatTakesEverythingAndAnswersNothingMakesAClientKeepNoMoreThanItsCeiling) {
  const HostileServer server([] {
    Misbehaviour greedy = misbehaviour_named("limits_without_limit");
    return Misbehaviour{
        .name = "greedy", .on_request = [greedy](Peer& peer, const DecodedRequest& request) {
          return !std::holds_alternative<Hello>(request.body) || greedy.on_request(peer, request);
        }};
  }());
  zmq::context_t context;
  Client client(context, {.commands = server.commands(), .timeout_ms = 500});
  EXPECT_LE(client.server().limits.credit_bytes, std::uint64_t{1} << 30);
  EXPECT_LE(client.server().limits.frame_bytes_max, std::uint64_t{1} << 30);
  const auto post_for_ever = [&] {
    while (!client.post(updates)) continue;
  };
  EXPECT_THROW(post_for_ever(), TimeoutError);
}

}  // namespace
}  // namespace starling::protocol::test
