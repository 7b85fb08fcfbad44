// SPDX-License-Identifier: Apache-2.0
// Writes the keys file, and connects with the keys of principals: see access_world.hpp.
#include "tests/stream/access/access_world.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <simdjson.h>

#include "starling/protocol/wire/messages.hpp"

namespace starling::stream {
namespace {

void write_list(std::ostream& text, std::string_view member,
                const std::vector<std::string>& values) {
  if (values.empty()) return;
  text << member << " = [";
  for (const std::string& value : values) text << '"' << value << "\", ";
  text << "]\n";
}

std::vector<std::string> text_of(const std::vector<IdRange>& ranges) {
  std::vector<std::string> texts;
  for (const IdRange& range : ranges)
    texts.push_back(std::to_string(range.first) + "-" + std::to_string(range.last));
  return texts;
}

/// Returns the lines of the keys file that say what the principal may do.
std::string rights_text(const Principal& principal) {
  std::vector<std::string> roles;
  for (std::size_t role = 0; role < role_count; ++role)
    if (principal.roles[role]) roles.emplace_back(name_of(static_cast<Role>(role)));
  std::ostringstream text;
  write_list(text, "roles", roles);
  write_list(text, "streams", principal.streams);
  write_list(text, "objects", text_of(principal.objects));
  write_list(text, "queries", text_of(principal.queries));
  const Quotas& quotas = principal.quotas;
  const std::pair<const char*, std::optional<std::uint64_t>> members[] = {
      {"connections", quotas.connections},
      {"subscribers", quotas.subscribers},
      {"websockets", quotas.websockets},
      {"event_readers", quotas.event_readers},
      {"sessions", quotas.sessions},
      {"queries", quotas.queries},
      {"neighbors", quotas.neighbors},
      {"streams", quotas.streams},
      {"names", quotas.names},
      {"snapshot_bytes", quotas.snapshot_bytes},
      {"reply_bytes", quotas.reply_bytes},
      {"rows_per_second", quotas.rows_per_second},
      {"loop_ms_per_second", quotas.loop_ms_per_second}};
  text << "[principal.quota]\n";
  for (const auto& [member, value] : members)
    if (value) text << member << " = " << *value << '\n';
  return text.str();
}

template <class Reply>
const Reply& as(const RawReply& reply) {
  return std::get<Reply>(reply.decoded.body);
}

void write_queries(std::ostream& text, Somebody& reader, std::string_view stream) {
  std::uint64_t page = 0;
  do {
    const auto reply = reader.ask(protocol::ListQueries{.stream = stream, .page = page});
    const auto& queries = as<protocol::Queries>(*reply);
    for (const protocol::QuerySpec& query : queries.queries)
      text << "  query " << to_number(query.id) << " k " << query.k << " at " << query.position[0]
           << ' ' << query.position[1] << '\n';
    page = queries.next_page;
  } while (page != 0);
}

}  // namespace

AccessWorld::AccessWorld(std::vector<Principal> principals, const ServerOptions& options) {
  for (const Principal& principal : principals) {
    protocol::KeyPair key = protocol::new_key_pair(principal.name);
    key.server_key = folder_.server.public_key;
    sections_[principal.name] =
        principal_text(principal.name, key.public_key,
                       "token_sha256 = '" + sha256_text(token_of(principal.name)) + "'\n" +
                           rights_text(principal));
    keys_.emplace(principal.name, key);
  }
  write_keys();
  ServerOptions with_keys = options;
  with_keys.keys_path = folder_.path();
  with_keys.watch_audit = [this](const std::string& line) { note(line); };
  with_keys.log_lines.burst = 1'000'000;  // no line is left out
  with_keys.all_log_lines.burst = 1'000'000;
  server_ = std::make_unique<RunningServer>(with_keys);
}

void AccessWorld::write_keys() const {
  std::string text;
  for (const auto& [name, section] : sections_) text += section;
  folder_.write(text);
}

void AccessWorld::revoke(std::string_view name) {
  sections_.erase(sections_.find(name));
  write_keys();
  server_->reload_keys();
}

void AccessWorld::note(const std::string& line) {
  simdjson::dom::parser parser;
  const simdjson::dom::element event = parser.parse(line);
  if (event["event"].get_string().value() != "refused") return;
  const auto text = [&](const char* member) {
    return std::string(event[member].get_string().value());
  };
  const std::lock_guard lock(mutex_);
  audited_.push_back({text("principal"), text("request"), text("sentence")});
}

std::unique_ptr<RawPeer> AccessWorld::connect(std::string_view name) {
  const protocol::KeyPair& key = keys_.find(name)->second;
  return std::make_unique<RawPeer>(
      server_->context(), server_->endpoints().commands,
      RawKeys{protocol::to_z85(*key.server_key), protocol::to_z85(key.public_key),
              protocol::to_z85(key.secret_key)});
}

std::vector<Audited> AccessWorld::audited() {
  const std::lock_guard lock(mutex_);
  return std::exchange(audited_, {});
}

Somebody::Somebody(AccessWorld& world, std::string_view name) : peer_(world.connect(name)) {
  hello();
}

std::unique_ptr<RawReply> Somebody::ask(const protocol::RequestBody& body) {
  const bool is_sequenced = protocol::is_sequenced(body);
  if (is_sequenced) ++sequence_;
  auto reply = peer_->ask(encoded(
      {.request_id = 1, .session = session_, .sequence = is_sequenced ? sequence_ : 0}, body));
  if (reply == nullptr) throw std::runtime_error("the server did not answer");
  if (is_sequenced && !protocol::consumes_sequence(reply->error())) --sequence_;
  return reply;
}

std::unique_ptr<RawReply> Somebody::ask_on(std::uint64_t session,
                                           const protocol::RequestBody& body) {
  return peer_->ask(encoded({.request_id = 1, .session = session}, body));
}

std::unique_ptr<RawReply> Somebody::hello(std::uint64_t resume) {
  auto reply = peer_->ask(encoded({}, protocol::Hello{.client = "raw", .resume_session = resume}));
  if (reply == nullptr) throw std::runtime_error("the server did not answer");
  if (const auto* hello = std::get_if<protocol::HelloReply>(&reply->decoded.body)) {
    session_ = hello->session;
    sequence_ = hello->last_sequence;
  }
  return reply;
}

Principal someone(std::string name, const std::vector<Role>& roles) {
  Principal principal;
  principal.name = std::move(name);
  for (const Role role : roles) principal.roles.set(static_cast<std::size_t>(role));
  return principal;
}

std::uint64_t rejected(const RawReply& reply, protocol::RowReason reason) {
  const auto* batch = std::get_if<protocol::BatchReply>(&reply.decoded.body);
  if (batch == nullptr) return 0;
  const auto found = std::ranges::find(batch->reasons, reason, &protocol::ReasonCount::reason);
  return found == batch->reasons.end() ? 0 : found->count;
}

std::uint64_t accepted(const RawReply& reply) {
  const auto* batch = std::get_if<protocol::BatchReply>(&reply.decoded.body);
  return batch == nullptr ? 0 : batch->accepted;
}

protocol::Problem problem_of(const RawReply& reply) {
  const auto* error = std::get_if<protocol::ErrorReply>(&reply.decoded.body);
  return error == nullptr ? protocol::Problem{} : error->problem;
}

std::string state_of(Somebody& reader, const std::vector<std::uint64_t>& names) {
  std::ostringstream text;
  const auto streams_reply = reader.ask(protocol::ListStreams{});
  for (const protocol::StreamInfo& stream : as<protocol::Streams>(*streams_reply).streams) {
    text << "stream " << stream.name << " on " << static_cast<int>(stream.on) << " distance "
         << stream.with.distance << " queries " << stream.query_count << '\n';
    write_queries(text, reader, stream.name);
  }
  const auto objects_reply =
      reader.ask(protocol::GetObjects{.rectangle = Rectangle{-1e6, -1e6, 1e6, 1e6}});
  const auto& objects = as<protocol::Objects>(*objects_reply);
  for (std::size_t i = 0; i < objects.ids.size(); ++i)
    text << "object " << objects.ids[i] << " time " << objects.times_us[i] << " tags "
         << objects.tags[i] << '\n';
  const auto names_reply = reader.ask(protocol::GetNames{names});
  const auto& known = as<protocol::Names>(*names_reply);
  text << "names " << known.name_count;
  for (const std::string_view name : known.texts) text << ' ' << name;
  return text.str();
}

}  // namespace starling::stream
