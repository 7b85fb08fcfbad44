// SPDX-License-Identifier: Apache-2.0
// Tests that a session understands the same messages however their bytes are cut, and faults on
// whatever breaks a rule.
#include "starling/stream/zmtp/session.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "starling/stream/zmtp/command.hpp"
#include "tests/stream/zmtp/echo_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream::zmtp {
namespace {

/// Notes what a session passes on, as text.
struct Notes final : SessionSink {
  void answer(std::shared_ptr<const WireMessage> message) override { answers.push_back(message); }
  bool take_room(std::size_t bytes) override {
    if (refuses_room) return false;
    room += bytes;
    return true;
  }
  void return_room(std::size_t bytes) override { room -= bytes; }
  void established() override { text += "ready;"; }
  void take_message(Message message) override {
    for (std::size_t part = 0; part < message.count; ++part)
      text += std::string(as_text(message.parts[part].bytes())) +
              (part + 1 < message.count ? "," : ";");
  }
  void take_subscription(bool joins, std::string_view topic) override {
    text += (joins ? "+" : "-") + std::string(topic) + ";";
  }

  std::vector<std::shared_ptr<const WireMessage>> answers;
  std::string text;
  std::size_t room = 0;
  bool refuses_room = false;
};

SessionOptions router() {
  return {.role = Role::router, .message_bytes_max = 1000};
}

const std::string conversation =
    plain_greeting() + plain_ready("DEALER", "me") + long_frame(1, "") + long_frame(0, "first") +
    long_frame(4, std::string("\4PING\0\0abc", 10)) + std::string("\0\6second", 8) +
    long_frame(0, std::string(1000, 'x'));
const std::string understood = "ready;,first;second;" + std::string(1000, 'x') + ";";

TEST(Session, UnderstandsTheSameHoweverItIsCutInTwo) {
  for (std::size_t cut = 0; cut <= conversation.size(); ++cut) {
    Notes notes;
    Session session(router(), notes);
    ASSERT_EQ(session.feed(as_span(conversation).first(cut)), cut);
    session.feed(as_span(conversation).subspan(cut));
    ASSERT_FALSE(session.fault());
    ASSERT_EQ(notes.text, understood) << "cut at " << cut;
    ASSERT_EQ(notes.answers.size(), 3u) << "greeting, READY and PONG";
  }
}

TEST(Session, UnderstandsTheSameInRandomFragmentsAndBodiesReceivedInPlace) {
  for (const std::uint64_t seed : test::seeds(50)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    Notes notes;
    Session session(router(), notes);
    auto rest = as_span(conversation);
    while (!rest.empty()) {
      const std::span place = session.rest_of_body();
      if (!place.empty() && random.chance(0.5)) {
        const std::size_t count = std::min<std::size_t>(place.size(), 1 + random.below(300));
        std::copy_n(rest.begin(), count, place.begin());
        session.filled(count);
        rest = rest.subspan(count);
      } else {
        const std::size_t count = std::min<std::size_t>(rest.size(), 1 + random.below(40));
        ASSERT_EQ(session.feed(rest.first(count)), count);
        rest = rest.subspan(count);
      }
    }
    ASSERT_EQ(notes.text, understood);
  }
}

TEST(Session, TakesNoBytesWhileThereIsNoRoomAndGoesOnAfterwards) {
  Notes notes;
  Session session(router(), notes);
  const std::string hello = plain_greeting() + plain_ready("REQ");
  ASSERT_EQ(session.feed(as_span(hello)), hello.size());
  notes.refuses_room = true;
  const std::string request = long_frame(0, "request");
  EXPECT_EQ(session.feed(as_span(request)), head_bytes_max) << "the head alone is taken";
  EXPECT_EQ(session.feed(as_span(request).subspan(head_bytes_max)), 0u);
  notes.refuses_room = false;
  session.feed(as_span(request).subspan(head_bytes_max));
  EXPECT_EQ(notes.text, "ready;request;");
}

TEST(Session, ASubscriberOfEitherVersionJoinsAndLeaves) {
  for (const char minor : {'\0', '\1'}) {
    Notes notes;
    Session session({.role = Role::publisher}, notes);
    const std::string text = plain_greeting(minor) + plain_ready("SUB") +
                             long_frame(4, "\11SUBSCRIBEa") + long_frame(4, "\6CANCELa") +
                             long_frame(0, "\1b") + long_frame(0, std::string("\0b", 2)) +
                             long_frame(0, "noise");
    session.feed(as_span(text));
    EXPECT_EQ(notes.text, "ready;+a;-a;+b;-b;");
    EXPECT_EQ(session.knows_ping(), minor == 1);
  }
}

TEST(Session, ACommandMayComeBetweenThePartsOfAMessage) {
  Notes notes;
  Session session(router(), notes);
  const std::string text = plain_greeting() + plain_ready("DEALER") + long_frame(1, "") +
                           long_frame(4, std::string("\4PING\0\0", 7)) + long_frame(0, "request");
  session.feed(as_span(text));
  EXPECT_FALSE(session.fault());
  EXPECT_EQ(notes.text, "ready;,request;");
}

struct Broken {
  std::string bytes;
  Fault fault;
  Role role = Role::router;
};

TEST(Session, EachBrokenRuleHasItsFaultAndTakesNoMemory) {
  const std::string shaken = plain_greeting() + plain_ready("DEALER");
  const std::string subscribed = plain_greeting() + plain_ready("SUB");
  const std::vector<Broken> all{
      {"GET / HTTP/1.1\r\n", Fault::greeting},
      {std::string("\xff\0\0\0\0\0\0\0\1\x7f\1", 11), Fault::greeting},
      {plain_greeting(1, "PLAIN"), Fault::mechanism},
      {plain_greeting(1, "CURVE"), Fault::mechanism},
      {plain_greeting() + long_frame(0, "early"), Fault::handshake},
      {plain_greeting() + long_frame(4, "", 5000), Fault::handshake},
      {plain_greeting() + long_frame(4, "\5READY\13Socket-Type\xff"), Fault::handshake},
      {plain_greeting() + plain_ready("SUB"), Fault::socket_type},
      {plain_greeting() + plain_ready("DEALER"), Fault::socket_type, Role::publisher},
      {shaken + std::string("\x08\1x", 3), Fault::frame},
      {shaken + long_frame(5, "\4PING"), Fault::frame},
      {shaken + long_frame(0, "", 1001), Fault::too_long},
      {shaken + long_frame(0, "", ~std::uint64_t{0}), Fault::too_long},
      {shaken + long_frame(1, std::string(900, 'x')) + long_frame(0, "", 101), Fault::too_long},
      {shaken + long_frame(1, "") + long_frame(1, "") + long_frame(1, "") + long_frame(0, ""),
       Fault::too_many_parts},
      {shaken + long_frame(4, "", 513), Fault::command},
      {shaken + long_frame(4, "\4PING"), Fault::command},
      {shaken + long_frame(4, std::string("\4PING\0\0", 7) + std::string(17, 'x')), Fault::command},
      {shaken + long_frame(4, "\xffPING"), Fault::command},
      {subscribed + long_frame(4, "\11SUBSCRIBE" + std::string(257, 't')), Fault::topics,
       Role::publisher},
      {subscribed + long_frame(0, "\1" + std::string(257, 't')), Fault::too_long, Role::publisher},
  };
  for (std::size_t index = 0; index < all.size(); ++index) {
    Notes notes;
    SessionOptions options = router();
    options.role = all[index].role;
    Session session(options, notes);
    session.feed(as_span(all[index].bytes));
    ASSERT_TRUE(session.fault()) << "rule " << index;
    EXPECT_EQ(to_string(*session.fault()), to_string(all[index].fault)) << "rule " << index;
    EXPECT_LE(notes.room, 1000u);
  }
}

}  // namespace
}  // namespace starling::stream::zmtp
