// SPDX-License-Identifier: Apache-2.0
// Limits the lines of each connection, makes text from outside harmless, and writes JSON: see
// audit.hpp.
#include "starling/stream/access/audit.hpp"

#include <limits>
#include <utility>

#include <simdjson.h>

#include "starling/knn/base/time_text.hpp"
#include "starling/protocol/keys/key_file.hpp"

namespace starling::stream {

namespace {

/// Numbers that no connection has. The limit of lines counts unknown peers as the connection
/// `strangers`, and principals that connect or subscribe as the connection `principals`.
constexpr std::uint64_t strangers = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t principals = strangers - 1;

/// Returns text that is valid in JSON and harmless in a terminal. Question marks replace the
/// control characters that JsonText does not escape and, in text that is not UTF-8, all bytes
/// beyond ASCII.
std::string plain(std::string_view text) {
  const bool is_utf8 = simdjson::validate_utf8(text.data(), text.size());
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto code = static_cast<unsigned char>(text[at]);
    const auto next = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : 0);
    const bool is_long_control = is_utf8 && code == 0xc2 && next < 0xa0;  // U+0080 to U+009F
    const bool is_kept = code < 0x7f || (is_utf8 && code > 0x7f && !is_long_control);
    result += is_kept ? text[at] : '?';
    if (is_long_control) ++at;
  }
  return result;
}

}  // namespace

Audit::Audit(AuditOptions options) : options_(std::move(options)), buckets_(options_.lines) {}

void Audit::admitted(std::string_view principal, std::string_view endpoint) {
  if (!may_write(principals)) return;
  JsonText json = begin("admitted");
  json.key("principal").text(plain(principal)).key("endpoint").text(endpoint);
  end(std::move(json));
}

void Audit::unknown_key(const zmtp::PublicKey& key, std::string_view endpoint) {
  if (!may_write(strangers)) return;
  JsonText json = begin("unknown_key");
  json.key("public").text(protocol::to_z85(key)).key("endpoint").text(endpoint);
  end(std::move(json));
}

void Audit::unknown_token(std::string_view address) {
  if (!may_write(strangers)) return;
  JsonText json = begin("unknown_token");
  json.key("address").text(plain(address)).key("endpoint").text("http");
  end(std::move(json));
}

void Audit::refused(std::string_view principal, std::string_view request, std::string_view what,
                    std::uint64_t connection) {
  if (!may_write(connection)) return;
  JsonText json = begin("refused");
  json.key("principal").text(plain(principal)).key("request").text(plain(request));
  json.key("sentence").text(plain(what)).key("connection").number(connection);
  end(std::move(json));
}

void Audit::refused_topic(std::string_view principal, std::string_view topic) {
  if (!may_write(principals)) return;
  JsonText json = begin("refused_topic");
  json.key("principal").text(plain(principal)).key("topic").text(plain(topic));
  end(std::move(json));
}

void Audit::reloaded(std::size_t count, const std::vector<std::string>& revoked) {
  if (!options_.write) return;
  JsonText json = begin("keys_reloaded");
  json.key("principals").number(std::uint64_t{count}).key("revoked").begin_array();
  for (const std::string& name : revoked) json.text(plain(name));
  json.end_array();
  end(std::move(json));
}

void Audit::reload_failed(std::string_view sentence) {
  if (!options_.write) return;
  JsonText json = begin("keys_not_reloaded");
  json.key("sentence").text(plain(sentence));
  end(std::move(json));
}

void Audit::expire() {
  const std::lock_guard lock(mutex_);
  buckets_.expire(options_.steady_now_us());
}

bool Audit::may_write(std::uint64_t connection) {
  if (!options_.write) return false;
  const std::lock_guard lock(mutex_);
  const bool has_token = buckets_.take(connection, options_.steady_now_us());
  if (!has_token) ++left_out_;
  return has_token;
}

JsonText Audit::begin(std::string_view event) const {
  JsonText json;
  json.begin_object().key("time").text(
      iso_time_text(options_.wall_now_us(), TimeDigits::microseconds));
  json.key("event").text(event);
  return json;
}

void Audit::end(JsonText json) const {
  json.end_object();
  options_.write(json.take());
}

}  // namespace starling::stream
