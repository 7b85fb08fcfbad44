// SPDX-License-Identifier: Apache-2.0
// Takes frames apart and carries out commands: see session.hpp.
#include "starling/stream/zmtp/session.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "starling/stream/zmtp/command.hpp"

namespace starling::stream::zmtp {

namespace {

// A command of the handshake carries metadata: a type, an identity of at most 255 bytes, and
// further properties that the peer may choose.
constexpr std::size_t handshake_bytes_max = 4096;
// A command after the handshake is PING, PONG, SUBSCRIBE, CANCEL or ERROR.
constexpr std::size_t command_bytes_max = 512;
constexpr std::size_t ping_ttl_bytes = 2;
constexpr std::size_t ping_context_max = 16;

constexpr std::byte joins_byte{1};
constexpr std::byte leaves_byte{0};

std::string_view own_type(Role role) {
  return role == Role::router ? "ROUTER" : "XPUB";
}

bool fits(Role role, std::string_view type) {
  if (role == Role::router) return type == "DEALER" || type == "REQ" || type == "ROUTER";
  return type == "SUB" || type == "XSUB";
}

}  // namespace

Session::Session(const SessionOptions& options, SessionSink& sink)
    : options_(options), sink_(sink) {
  if (options_.role == Role::publisher) options_.message_bytes_max = 1 + topic_bytes_max;
  const bool is_curve = options_.authentication != nullptr;
  const auto greeting = server_greeting(is_curve ? MechanismName::curve : MechanismName::null);
  sink_.answer(WireMessage::raw({greeting.begin(), greeting.end()}));
}

std::size_t Session::feed(std::span<const std::byte> bytes) {
  std::size_t used = 0;
  while (!fault_) {
    const std::span rest = bytes.subspan(used);
    if (stage_ == Stage::greeting) {
      const std::size_t count = std::min(greeting_.size() - greeted_, rest.size());
      std::copy_n(rest.begin(), count, greeting_.begin() + greeted_);
      greeted_ += count;
      used += count;
      take_greeting();
      if (stage_ == Stage::greeting) break;
    } else if (!has_body_) {
      used += head_.take(rest);
      if (!head_.is_complete() || !begin_body()) break;
    } else {
      const std::span place = rest_of_body();
      const std::size_t count = std::min(place.size(), rest.size());
      std::copy_n(rest.begin(), count, place.begin());
      used += count;
      filled(count);
      if (has_body_) break;
    }
  }
  return used;
}

std::span<std::byte> Session::rest_of_body() {
  return has_body_ ? body_.bytes().subspan(filled_) : std::span<std::byte>();
}

void Session::filled(std::size_t bytes) {
  filled_ += bytes;
  if (has_body_ && filled_ == body_.bytes().size()) end_body();
}

void Session::take_greeting() {
  if (!may_be_greeting(std::span(greeting_).first(greeted_))) return fail(Fault::greeting);
  if (greeted_ < greeting_.size()) return;
  const auto greeting = parse_greeting(greeting_);
  if (!greeting) return fail(Fault::greeting);
  const bool is_curve = options_.authentication != nullptr;
  if (greeting->mechanism != (is_curve ? MechanismName::curve : MechanismName::null))
    return fail(Fault::mechanism);
  minor_ = greeting->minor;
  if (is_curve) curve_ = std::make_unique<CurveHandshake>(*options_.authentication);
  stage_ = Stage::handshake;
}

/// Returns false if the body cannot begin, because of a fault or because there is no room.
bool Session::begin_body() {
  const auto head = head_.head();
  if (!head) return fail(Fault::frame), false;
  if (const auto fault = fault_of_head(*head)) return fail(*fault), false;
  if (needs_room(*head) && !sink_.take_room(head->bytes)) return false;
  frame_ = *head;
  try {
    if (head->bytes > 0)
      body_ = Body(head->bytes, cipher_ == nullptr ? 0 : CurveCipher::payload_at);
  } catch (const std::bad_alloc&) {
    if (needs_room(*head)) sink_.return_room(head->bytes);
    return fail(Fault::memory), false;
  }
  filled_ = 0;
  has_body_ = true;
  if (head->bytes == 0) end_body();
  return true;
}

std::optional<Fault> Session::fault_of_head(const FrameHead& head) const {
  if (stage_ == Stage::handshake) {
    const bool may_be = head.is_command && head.bytes <= handshake_bytes_max;
    return may_be ? std::nullopt : std::optional(Fault::handshake);
  }
  if (cipher_ != nullptr) {
    if (head.more || head.bytes < CurveCipher::payload_at) return Fault::frame;
    const std::size_t text_max = std::max(options_.message_bytes_max, command_bytes_max);
    if (head.bytes - CurveCipher::payload_at > text_max) return Fault::too_long;
    return std::nullopt;
  }
  if (head.is_command)
    return head.bytes > command_bytes_max ? std::optional(Fault::command) : std::nullopt;
  if (head.bytes > options_.message_bytes_max - message_bytes_) return Fault::too_long;
  return std::nullopt;
}

/// Only requests need room. An encrypted frame counts as a request until it is decrypted.
bool Session::needs_room(const FrameHead& head) const {
  return stage_ == Stage::traffic && options_.role == Role::router &&
         (cipher_ != nullptr || !head.is_command);
}

void Session::end_body() {
  const FrameHead head = frame_;
  Body body = std::exchange(body_, {});
  has_body_ = false;
  head_.clear();
  if (stage_ == Stage::handshake) return take_handshake(body.bytes());
  if (cipher_ == nullptr) return take_frame(head, std::move(body));
  const auto inner = cipher_->open(body);
  if (!inner) {
    if (needs_room(head)) sink_.return_room(head.bytes);
    return fail(Fault::box);
  }
  if (inner->is_command && needs_room(head)) sink_.return_room(head.bytes);
  take_frame(*inner, std::move(body));
}

void Session::take_handshake(std::span<const std::byte> body) {
  const auto command = parse_command(body);
  if (!command || command->name == "ERROR") return fail(Fault::handshake);
  if (curve_ != nullptr) return take_curve(body);
  if (command->name != "READY") return fail(Fault::handshake);
  if (!accepts(command->data)) return;
  sink_.answer(
      WireMessage::handshake(zmtp::command("READY", metadata_of(own_type(options_.role)))));
  establish();
}

void Session::take_curve(std::span<const std::byte> body) {
  CurveHandshake::Step step = curve_->take(body);
  if (step.fault == Fault::key) return refuse(Fault::key, "400");
  if (step.fault) return fail(*step.fault);
  if (!curve_->is_initiated()) return sink_.answer(WireMessage::handshake(step.answer));
  if (!accepts(curve_->metadata())) return;
  principal_ = curve_->principal();
  sink_.answer(WireMessage::handshake(curve_->ready(metadata_of(own_type(options_.role)))));
  cipher_ = curve_->cipher();
  curve_.reset();
  establish();
}

bool Session::accepts(std::span<const std::byte> metadata) {
  const auto type = socket_type_of(metadata);
  if (!type) return fail(Fault::handshake), false;
  if (fits(options_.role, *type)) return true;
  return refuse(Fault::socket_type, "Invalid socket type"), false;
}

void Session::refuse(Fault fault, std::string_view reason) {
  sink_.answer(WireMessage::handshake(error_command(reason)));
  fail(fault);
}

void Session::establish() {
  stage_ = Stage::traffic;
  sink_.established();
}

void Session::take_frame(const FrameHead& head, Body body) {
  if (!head.is_command) return take_part(head.more, std::move(body));
  take_command(body.bytes());  // a PING may come between the parts of a message
}

void Session::take_part(bool more, Body body) {
  const std::size_t bytes = body.bytes().size();
  if (bytes > options_.message_bytes_max - message_bytes_) return fail(Fault::too_long);
  if (message_.count == parts_max) return fail(Fault::too_many_parts);
  message_bytes_ += bytes;
  message_.parts[message_.count++] = std::move(body);
  if (more) return;
  Message message = std::exchange(message_, {});
  message_bytes_ = 0;
  if (options_.role == Role::router) return sink_.take_message(std::move(message));
  const std::span text = message.parts[0].bytes();
  if (!text.empty() && (text[0] == joins_byte || text[0] == leaves_byte))
    sink_.take_subscription(text[0] == joins_byte, as_text(text.subspan(1)));
}

void Session::take_command(std::span<const std::byte> body) {
  const auto command = parse_command(body);
  if (!command) return fail(Fault::command);
  if (command->name == "PING") {
    if (command->data.size() < ping_ttl_bytes ||
        command->data.size() > ping_ttl_bytes + ping_context_max)
      return fail(Fault::command);
    const std::span context = command->data.subspan(ping_ttl_bytes);
    return sink_.answer(WireMessage::command(zmtp::command("PONG", context)));
  }
  const bool joins = command->name == "SUBSCRIBE";
  if (options_.role == Role::publisher && (joins || command->name == "CANCEL")) {
    if (command->data.size() > topic_bytes_max) return fail(Fault::topics);
    return sink_.take_subscription(joins, as_text(command->data));
  }
  if (command->name == "ERROR") fail(Fault::command);  // others, such as PONG, need no answer
}

}  // namespace starling::stream::zmtp
