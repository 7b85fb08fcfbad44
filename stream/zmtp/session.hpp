// SPDX-License-Identifier: Apache-2.0
// Reads the bytes that one ZMTP connection receives: the greeting, the handshake, and then messages
// and commands. Session uses no socket, so tests and the fuzzer feed it bytes. Every size is
// checked before memory is taken. Connection owns a Session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "starling/stream/zmtp/authentication.hpp"
#include "starling/stream/zmtp/body.hpp"
#include "starling/stream/zmtp/curve_cipher.hpp"
#include "starling/stream/zmtp/curve_handshake.hpp"
#include "starling/stream/zmtp/fault.hpp"
#include "starling/stream/zmtp/frame_head.hpp"
#include "starling/stream/zmtp/greeting.hpp"
#include "starling/stream/zmtp/wire_message.hpp"

namespace starling::stream::zmtp {

inline constexpr std::size_t parts_max = 3;
inline constexpr std::size_t topic_bytes_max = 256;

enum class Role : std::uint8_t {
  router,     ///< receives messages of DEALER, REQ and ROUTER sockets
  publisher,  ///< receives subscriptions of SUB and XSUB sockets
};

struct SessionOptions {
  Role role = Role::router;
  std::size_t message_bytes_max = 0;  ///< the most bytes of all parts together; used by a router
  const Authentication* authentication = nullptr;  ///< null: the mechanism NULL
};

/// A received message: the first `count` parts.
struct Message {
  std::array<Body, parts_max> parts;
  std::size_t count = 0;
};

/// The functions of a connection that its Session calls, in the order of the received bytes.
class SessionSink {
 public:
  virtual ~SessionSink() = default;
  /// Sends the message before all messages whose sending has not begun.
  virtual void answer(std::shared_ptr<const WireMessage> message) = 0;
  /// Takes room for a part. If it returns false, feed() returns, and the next feed() asks again.
  virtual bool take_room(std::size_t bytes) = 0;
  /// Gives back the room of a part that becomes no message.
  virtual void return_room(std::size_t bytes) = 0;
  /// Called when the handshake is done.
  virtual void established() = 0;
  virtual void take_message(Message message) = 0;
  virtual void take_subscription(bool joins, std::string_view topic) = 0;
};

class Session {
 public:
  /// Sends the greeting at once.
  Session(const SessionOptions& options, SessionSink& sink);

  /// Takes received bytes, in order. Returns how many it has taken: fewer than given only if the
  /// session waits for room, or has a fault.
  std::size_t feed(std::span<const std::byte> bytes);
  /// Returns the memory for the bytes of the current body that have not been received. They may be
  /// received there, without feed(). Then call filled().
  std::span<std::byte> rest_of_body();
  void filled(std::size_t bytes);

  std::optional<Fault> fault() const { return fault_; }
  /// Ends the session. Only the first fault counts.
  void fail(Fault fault) {
    if (!fault_) fault_ = fault;
  }

  bool is_established() const { return stage_ == Stage::traffic; }
  bool is_within_message() const { return message_.count > 0 || !head_.is_empty(); }
  /// Returns whether the peer speaks ZMTP 3.1, which has PING.
  bool knows_ping() const { return minor_ >= 1; }
  PrincipalId principal() const { return principal_; }
  /// Returns nullptr if frames are not encrypted.
  CurveCipher* cipher() { return cipher_.get(); }

 private:
  enum class Stage : std::uint8_t { greeting, handshake, traffic };

  void take_greeting();
  bool begin_body();
  std::optional<Fault> fault_of_head(const FrameHead& head) const;
  bool needs_room(const FrameHead& head) const;
  void end_body();
  void take_handshake(std::span<const std::byte> body);
  void take_curve(std::span<const std::byte> body);
  bool accepts(std::span<const std::byte> metadata);
  void establish();
  void take_frame(const FrameHead& head, Body body);
  void take_part(bool more, Body body);
  void take_command(std::span<const std::byte> body);
  void refuse(Fault fault, std::string_view reason);

  SessionOptions options_;
  SessionSink& sink_;
  Stage stage_ = Stage::greeting;
  std::uint8_t minor_ = 0;
  std::array<std::byte, greeting_bytes> greeting_{};
  std::size_t greeted_ = 0;  ///< number of bytes of greeting_ that were received
  HeadReader head_;
  FrameHead frame_;
  bool has_body_ = false;
  Body body_;
  std::size_t filled_ = 0;
  Message message_;  ///< the parts of the unfinished message
  std::size_t message_bytes_ = 0;
  std::unique_ptr<CurveHandshake> curve_;
  std::unique_ptr<CurveCipher> cipher_;
  PrincipalId principal_ = PrincipalId::anonymous;
  std::optional<Fault> fault_;
};

}  // namespace starling::stream::zmtp
