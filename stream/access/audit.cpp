// SPDX-License-Identifier: Apache-2.0
// Writes a line of JSON for each event that may have one: see audit.hpp.
#include "starling/stream/access/audit.hpp"

#include <utility>

#include "starling/knn/base/time_text.hpp"
#include "starling/protocol/keys/key_file.hpp"

namespace starling::stream {

Audit::Audit(AuditOptions options) : options_(std::move(options)), lines_(options_.lines) {}

void Audit::admitted(std::string_view principal, std::string_view endpoint) {
  if (!may_write_of(principal)) return;
  JsonText json = begin("admitted");
  json.key("principal").text(principal).key("endpoint").text(endpoint);
  end(std::move(json));
}

void Audit::unknown_key(const zmtp::PublicKey& key, std::string_view endpoint) {
  if (!may_write_of_stranger("")) return;
  JsonText json = begin("unknown_key");
  json.key("public").text(protocol::to_z85(key)).key("endpoint").text(endpoint);
  end(std::move(json));
}

void Audit::unknown_token(std::string_view address) {
  if (!may_write_of_stranger(address)) return;
  JsonText json = begin("unknown_token");
  json.key("address").text(address).key("endpoint").text("http");
  end(std::move(json));
}

void Audit::refused(std::string_view principal, std::string_view request, std::string_view what,
                    std::uint64_t connection) {
  if (!may_write_of(principal)) return;
  JsonText json = begin("refused");
  json.key("principal").text(principal).key("request").text(request);
  json.key("sentence").text(what).key("connection").number(connection);
  end(std::move(json));
}

void Audit::refused_topic(std::string_view principal, std::string_view topic) {
  if (!may_write_of(principal)) return;
  JsonText json = begin("refused_topic");
  json.key("principal").text(principal).key("topic").text(topic);
  end(std::move(json));
}

void Audit::reloaded(std::size_t count, const std::vector<std::string>& revoked) {
  if (!options_.write) return;
  JsonText json = begin("keys_reloaded");
  json.key("principals").number(std::uint64_t{count}).key("revoked").begin_array();
  for (const std::string& name : revoked) json.text(name);
  json.end_array();
  end(std::move(json));
}

void Audit::reload_failed(std::string_view sentence) {
  if (!options_.write) return;
  JsonText json = begin("keys_not_reloaded");
  json.key("sentence").text(sentence);
  end(std::move(json));
}

void Audit::expire() {
  if (!options_.write) return;
  const std::int64_t now_us = options_.steady_now_us();
  std::unique_lock lock(mutex_);
  const std::vector<AuditLines::Report> reports = lines_.expire(now_us);
  lock.unlock();
  for (const AuditLines::Report& report : reports) write(report, now_us);
}

void Audit::close() {
  if (!options_.write) return;
  const std::int64_t now_us = options_.steady_now_us();
  const std::lock_guard lock(mutex_);
  for (const AuditLines::Report& report : lines_.rest()) write(report, now_us);
}

std::uint64_t Audit::left_out() const {
  const std::lock_guard lock(mutex_);
  return lines_.left_out();
}

bool Audit::may_write_of(std::string_view principal) {
  if (!options_.write) return false;
  const std::lock_guard lock(mutex_);
  return lines_.take_of(std::string(principal), options_.steady_now_us());
}

bool Audit::may_write_of_stranger(std::string_view source) {
  if (!options_.write) return false;
  const std::lock_guard lock(mutex_);
  return lines_.take_of_stranger(source, options_.steady_now_us());
}

void Audit::write(const AuditLines::Report& report, std::int64_t now_us) const {
  JsonText json = begin("lines_left_out");
  if (!report.principal.empty()) json.text("principal", report.principal);
  json.number("lines", report.lines).number("seconds", (now_us - report.since_us) / 1'000'000);
  end(std::move(json));
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
