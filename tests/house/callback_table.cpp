// SPDX-License-Identifier: Apache-2.0
// Defines the table of callbacks, and finds callbacks in the text of headers: see
// callback_table.hpp. The parser knows as much of C++ as the headers of this house need.
#include "tests/house/callback_table.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <span>

namespace starling::house {
namespace {

/// The names of the classes around a declaration, the outermost first.
using Scope = std::vector<std::string>;

struct Declaration {
  std::string file;
  Scope scope;
  std::string name;
  std::string type;
};

constexpr std::string_view blanks = " \n\t";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Returns the place after the literal. Its first quote stands at `at`.
std::size_t after_literal(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

/// Returns the text without comments, preprocessor lines and literals.
std::string code_of(std::string_view text) {
  std::string code;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const std::size_t last = code.find_last_not_of(' ');
    const bool begins_line = last == std::string::npos || code[last] == '\n';
    const bool is_in_number = i > 0 && is_word(text[i - 1]);  // the quote of 1'000
    if (rest.starts_with("//") || (begins_line && text[i] == '#'))
      i = std::min(text.find('\n', i), text.size());
    else if (rest.starts_with("/*"))
      i = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
    else if (text[i] == '"' || (text[i] == '\'' && !is_in_number))
      i = after_literal(text, i);
    else
      code += text[i++];
  }
  return code;
}

/// Returns the place of the first `wanted` outside all brackets.
std::size_t find_outside(std::string_view text, char wanted) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && c == wanted) return i;
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
  }
  return std::string_view::npos;
}

/// Returns the place of the bracket that closes the one at `open`.
std::size_t closing(std::string_view code, std::size_t open, char close) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == code[open]) ++depth;
    if (code[i] == close && --depth == 0) return i;
  }
  return code.size();
}

/// Returns the first name of the text, such as "std::function", and removes it.
std::string_view take_name(std::string_view& text) {
  text = trimmed(text);
  std::size_t end = 0;
  while (end < text.size() && (is_word(text[end]) || text[end] == ':')) ++end;
  const std::string_view name = text.substr(0, end);
  text = trimmed(text.substr(end));
  return name;
}

/// Returns the statement without a leading template<...>.
std::string_view without_template(std::string_view statement) {
  statement = trimmed(statement);
  if (!statement.starts_with("template")) return statement;
  const std::size_t open = std::min(statement.find('<'), statement.size());
  const std::size_t close = closing(statement, open, '>');
  return trimmed(statement.substr(std::min(close + 1, statement.size())));
}

/// Returns the name of the class whose braces follow `head`, an empty name for a namespace, and
/// std::nullopt if other braces follow.
std::optional<std::string> scope_after(std::string_view head) {
  std::string_view rest = without_template(head);
  const std::string_view key = take_name(rest);
  if (key == "namespace" || key == "extern" || (key == "inline" && rest.starts_with("namespace")))
    return "";
  if (key != "class" && key != "struct" && key != "union") return std::nullopt;
  const std::string name(take_name(rest));
  return name.empty() ? "(unnamed)" : name;
}

/// Finds the declarations of one header.
class HeaderParser {
 public:
  explicit HeaderParser(const Header& header) : file_(header.file), code_(code_of(header.text)) {
    for (; at_ < code_.size(); ++at_) {
      const char c = code_[at_];
      statement_ += c;
      if (c == '{') take_braces();
      if (c == ';') take_statement();
      if (c == '}' && !classes_.empty()) classes_.pop_back();
      if (c == ';' || c == '}' || (c == ':' && is_access())) statement_.clear();
    }
  }

  std::vector<Declaration> aliases;
  std::vector<Declaration> members;

 private:
  bool is_access() const {
    const std::string_view word = trimmed(statement_);
    return word == "public:" || word == "protected:" || word == "private:";
  }

  /// Enters a class or a namespace, or skips the body of a function or a value in braces.
  void take_braces() {
    statement_.pop_back();
    if (const auto scope = scope_after(statement_)) {
      if (!scope->empty()) classes_.push_back(*scope);
      return statement_.clear();
    }
    at_ = closing(code_, at_, '}');
    const std::size_t next = std::min(code_.find_first_not_of(blanks, at_ + 1), code_.size() - 1);
    const bool goes_on = std::string_view(";,)(.").find(code_[next]) != std::string_view::npos;
    if (!goes_on) statement_.clear();  // another declaration follows the body of a function
  }

  void take_statement() {
    statement_.pop_back();
    std::string_view rest = without_template(statement_);
    std::string_view declared = trimmed(rest.substr(0, find_outside(rest, '=')));
    if (take_name(rest) == "using") {
      const std::string name(take_name(rest));
      if (rest.starts_with('=')) aliases.push_back({file_, classes_, name, std::string(rest)});
      return;
    }
    const bool is_function = find_outside(declared, '(') != std::string_view::npos;
    if (classes_.empty() || is_function) return;
    if (declared.ends_with(']')) declared = trimmed(declared.substr(0, declared.rfind('[')));
    std::size_t name = declared.size();
    while (name > 0 && is_word(declared[name - 1])) --name;
    members.push_back({.file = file_,
                       .scope = classes_,
                       .name = std::string(declared.substr(name)),
                       .type = std::string(declared.substr(0, name))});
  }

  std::string file_;
  std::string code_;
  std::size_t at_ = 0;
  Scope classes_;  ///< names of the open classes; a namespace stands in no class
  std::string statement_;
};

/// Returns whether `name`, used in `scope`, names the alias.
bool is_name_of(const Declaration& alias, std::string_view name, const Scope& scope) {
  const Scope& outer = alias.scope;
  if (name == alias.name)
    return outer.size() <= scope.size() &&
           std::ranges::equal(outer, std::span(scope).first(outer.size()));
  std::string qualified = "::";
  for (const std::string& each : outer) qualified += each + "::";
  qualified += alias.name;
  return name.find("::") != std::string_view::npos &&
         (qualified.ends_with("::" + std::string(name)) || name.ends_with(qualified));
}

/// Returns whether std::function or one of these aliases is in the declaration's type.
bool has_callback(const Declaration& declared, const std::vector<Declaration>& aliases) {
  for (std::string_view rest = declared.type; !rest.empty();) {
    const std::string_view name = take_name(rest);
    if (name == "std::function") return true;
    for (const Declaration& alias : aliases)
      if (is_name_of(alias, name, declared.scope)) return true;
    if (name.empty() && !rest.empty()) rest.remove_prefix(1);
  }
  return false;
}

/// Returns the aliases that have std::function in them, directly or through another alias.
std::vector<Declaration> callback_aliases(std::vector<Declaration> aliases) {
  std::vector<Declaration> found;
  for (bool has_more = true; has_more;) {
    const auto rest = std::ranges::stable_partition(
        aliases, [&](const Declaration& alias) { return !has_callback(alias, found); });
    has_more = !rest.empty();
    found.insert(found.end(), rest.begin(), rest.end());
    aliases.erase(rest.begin(), rest.end());
  }
  return found;
}

}  // namespace

std::string Callback::room() const {
  const std::string path = "stream/" + std::string(file);
  return path.substr(0, path.rfind('/'));
}

const std::vector<Callback>& stream_callbacks() {
  using Kind = CallbackKind;
  static const std::vector<Callback> callbacks{
      {"access/audit.hpp", "steady_now_us", Kind::clock},
      {"access/audit.hpp", "wall_now_us", Kind::clock},
      {"access/audit.hpp", "write", Kind::seam, "stream/operation"},
      {"callers/callers.hpp", "random", Kind::clock},
      {"callers/callers.hpp", "send", Kind::seam, "stream"},
      {"callers/reply_sender.hpp", "send_", Kind::seam, "stream"},
      {"events/event_hub.hpp", "fault_of_stream", Kind::seam, "stream/requests"},
      {"events/event_hub.hpp", "move", Kind::below, "stream/sockets"},
      {"events/event_hub.hpp", "name_of", Kind::seam, "stream/tables"},
      {"events/event_hub.hpp", "quota", Kind::below, "stream/access"},
      {"events/event_hub.hpp", "reply_owner", Kind::below, "stream/http"},
      {"events/event_hub.hpp", "runs", Kind::seam, "stream/journal"},
      {"events/event_hub.hpp", "send", Kind::below, "stream/http"},
      {"events/followed_stream.hpp", "fetch", Kind::inside},
      {"events/list_text.hpp", "name_of", Kind::seam, "stream/tables"},
      {"events/snapshot_fetch.hpp", "done", Kind::continuation},
      {"events/snapshot_fetch.hpp", "reply_owner", Kind::below, "stream/http"},
      {"events/snapshot_fetch.hpp", "send", Kind::below, "stream/http"},
      {"http/api.hpp", "base_time_us", Kind::seam, "stream/tables"},
      {"http/api.hpp", "deliver", Kind::seam, "stream"},
      {"http/api.hpp", "events", Kind::seam, "stream/events"},
      {"http/api.hpp", "is_log_full", Kind::seam, "stream/journal"},
      {"http/api.hpp", "last_error", Kind::seam, "stream/publishing"},
      {"http/api.hpp", "lists", Kind::seam, "stream/events"},
      {"http/api.hpp", "metrics", Kind::seam, "stream"},
      {"http/api.hpp", "name_of", Kind::seam, "stream/tables"},
      {"http/api.hpp", "page", Kind::inside},
      {"http/api.hpp", "socket", Kind::seam, "stream/websocket"},
      {"http/api.hpp", "work", Kind::seam, "stream"},
      {"http/routes.hpp", "respond", Kind::continuation},
      {"http/wire_gateway.hpp", "deliver_", Kind::seam, "stream"},
      {"http/wire_gateway.hpp", "make", Kind::continuation},
      {"http/wire_gateway.hpp", "take", Kind::continuation},
      {"journal/commits.hpp", "changed_", Kind::seam, "stream"},
      {"journal/commits.hpp", "waiting_", Kind::continuation},
      {"journal/journal.hpp", "random_", Kind::clock},
      {"journal/journal_options.hpp", "make_engine", Kind::seam, "apps/shared"},
      {"journal/journal_options.hpp", "open", Kind::clock},
      {"journal/journal_options.hpp", "run_commits", Kind::hook},
      {"journal/journal_options.hpp", "wall_now_us", Kind::clock},
      {"journal/snapshot_schedule.hpp", "make_", Kind::seam, "stream/recovery"},
      {"operation/dropping_log.hpp", "report_of", Kind::inside},
      {"operation/options.hpp", "alive", Kind::hook},
      {"operation/options.hpp", "boot_now_us", Kind::clock},
      {"operation/options.hpp", "log_lines_dropped", Kind::hook},
      {"operation/options.hpp", "memory_use", Kind::clock},
      {"operation/options.hpp", "random", Kind::clock},
      {"operation/options.hpp", "ready", Kind::hook},
      {"operation/options.hpp", "stopping", Kind::hook},
      {"operation/options.hpp", "wall_now_us", Kind::clock},
      {"operation/options.hpp", "watch_audit", Kind::hook},
      {"operation/options.hpp", "watch_loop_turn", Kind::hook},
      {"pools/beside_loop.hpp", "done_", Kind::continuation},
      {"pools/ordered_pool.hpp", "end", Kind::continuation},
      {"pools/ordered_pool.hpp", "may_begin", Kind::seam, "stream"},
      {"pools/ordered_pool.hpp", "slots_", Kind::continuation},
      {"pools/ordered_pool.hpp", "takes_more", Kind::seam, "stream/tables"},
      {"pools/sliced_work.hpp", "done", Kind::continuation},
      {"pools/sliced_work.hpp", "step", Kind::continuation},
      {"publishing/result_sorting.hpp", "sorted_", Kind::inside},
      {"publishing/tick_messages.hpp", "ended", Kind::inside},
      {"publishing/tick_messages.hpp", "ended_", Kind::inside},
      {"publishing/tick_messages.hpp", "publishing", Kind::seam, "stream"},
      {"publishing/tick_messages.hpp", "publishing_", Kind::seam, "stream"},
      {"publishing/tick_schedule.hpp", "begin", Kind::inside},
      {"publishing/tick_schedule.hpp", "is_busy", Kind::inside},
      {"publishing/ticker.hpp", "publishing", Kind::seam, "stream"},
      {"recovery/log_replay.hpp", "principal_id", Kind::inside},
      {"recovery/log_replay.hpp", "watcher_", Kind::inside},
      {"recovery/log_run.hpp", "handler_", Kind::continuation},
      {"recovery/log_run.hpp", "is_cancelled", Kind::inside},
      {"recovery/log_run.hpp", "make_engine", Kind::seam, "apps/shared"},
      {"recovery/make_snapshot.hpp", "is_cancelled", Kind::inside},
      {"recovery/make_snapshot.hpp", "make_engine", Kind::seam, "apps/shared"},
      {"recovery/past_reader.hpp", "make_engine_", Kind::seam, "apps/shared"},
      {"recovery/past_reader.hpp", "open_", Kind::clock},
      {"recovery/skipping_engine.hpp", "do_lists_fit_", Kind::below, "stream/tables"},
      {"recovery/snapshot_maker.hpp", "ended_", Kind::continuation},
      {"recovery/snapshot_maker.hpp", "wall_now_us_", Kind::clock},
      {"request_intake.hpp", "ended", Kind::inside},
      {"request_intake.hpp", "ended_", Kind::inside},
      {"requests/families.hpp", "gauges", Kind::seam, "stream"},
      {"requests/report_requests.hpp", "gauges_", Kind::seam, "stream"},
      {"requests/row_requests.hpp", "finish", Kind::continuation},
      {"requests/row_requests.hpp", "step", Kind::continuation},
      {"server_core.hpp", "gauges", Kind::inside},
      {"server_core.hpp", "publishing", Kind::inside},
      {"server_core.hpp", "send", Kind::inside},
      {"server_core.hpp", "stopped", Kind::inside},
      {"server_core.hpp", "stopped_", Kind::inside},
      {"sockets/command_socket.hpp", "connection_quota", Kind::seam, "stream/access"},
      {"sockets/command_socket.hpp", "malformed", Kind::seam, "stream"},
      {"sockets/command_socket.hpp", "principal_reply_bytes_max", Kind::seam, "stream/access"},
      {"sockets/command_socket.hpp", "request", Kind::seam, "stream"},
      {"sockets/http_bodies.hpp", "go_on", Kind::inside},
      {"sockets/http_connection.hpp", "hand_over_", Kind::continuation},
      {"sockets/http_connection.hpp", "room_granted_", Kind::inside},
      {"sockets/http_server.hpp", "admit", Kind::seam, "stream/http"},
      {"sockets/http_server.hpp", "answered", Kind::seam, "stream/operation"},
      {"sockets/http_server.hpp", "ended_", Kind::continuation},
      {"sockets/http_server.hpp", "hand_over", Kind::continuation},
      {"sockets/http_server.hpp", "handle", Kind::seam, "stream/http"},
      {"sockets/http_server.hpp", "refuse", Kind::seam, "stream/http"},
      {"sockets/http_server.hpp", "rest", Kind::seam, "stream/access"},
      {"sockets/http_server.hpp", "secure", Kind::seam, "stream/tls"},
      {"sockets/http_server.hpp", "timed_out", Kind::seam, "stream/operation"},
      {"sockets/push_link.hpp", "ended", Kind::continuation},
      {"sockets/push_link.hpp", "sent", Kind::continuation},
      {"sockets/receive_budget.hpp", "granted_", Kind::inside},
      {"sockets/results_socket.hpp", "connection_quota", Kind::seam, "stream/access"},
      {"sockets/results_socket.hpp", "may_subscribe", Kind::seam, "stream/access"},
      {"state/cached_text.hpp", "make_", Kind::seam, "stream"},
      {"state/memory_budget.hpp", "read_use_", Kind::clock},
      {"state/memory_budget.hpp", "use", Kind::clock},
      {"state/session_table.hpp", "has_arriving_", Kind::inside},
      {"state/session_table.hpp", "random_", Kind::clock},
      {"tables/outgrown_queries.hpp", "owner_text", Kind::below, "stream/access"},
      {"tables/outgrown_queries.hpp", "quotas", Kind::below, "stream/access"},
      {"tables/tables.hpp", "has_room_again", Kind::seam, "stream"},
      {"tables/tick_time.hpp", "boot_now_us", Kind::clock},
      {"tables/tick_time.hpp", "wall_now_us", Kind::clock},
      {"tables/turns.hpp", "has_room_again_", Kind::seam, "stream"},
      {"tables/update_groups.hpp", "applied", Kind::below, "stream/operation"},
      {"tls/tls_connection.hpp", "ended_", Kind::inside},
      {"turns/fair_jobs.hpp", "begin", Kind::continuation},
      {"turns/fair_jobs.hpp", "refuse", Kind::continuation},
      {"turns/places.hpp", "quota", Kind::seam, "stream/access"},
      {"websocket/message_link.hpp", "ended", Kind::inside},
      {"websocket/message_link.hpp", "received", Kind::inside},
      {"websocket/message_link.hpp", "sent", Kind::inside},
      {"websocket/position_feed.hpp", "is_free", Kind::seam, "stream/tables"},
      {"websocket/position_feed.hpp", "objects", Kind::seam, "stream/tables"},
      {"websocket/position_feed.hpp", "send", Kind::inside},
      {"websocket/shown_view.hpp", "name_of", Kind::seam, "stream/tables"},
      {"websocket/socket_hub.hpp", "deliver", Kind::seam, "stream"},
      {"websocket/socket_hub.hpp", "fault_of_stream", Kind::seam, "stream/requests"},
      {"websocket/socket_hub.hpp", "is_free", Kind::seam, "stream/tables"},
      {"websocket/socket_hub.hpp", "move", Kind::inside},
      {"websocket/socket_hub.hpp", "name_of", Kind::seam, "stream/tables"},
      {"websocket/socket_hub.hpp", "objects", Kind::seam, "stream/tables"},
      {"websocket/socket_hub.hpp", "quota", Kind::below, "stream/access"},
      {"websocket/socket_hub.hpp", "refusal_of", Kind::below, "stream/access"},
      {"websocket/socket_reader.hpp", "ended", Kind::inside},
      {"websocket/socket_reader.hpp", "follow", Kind::inside},
      {"websocket/socket_reader.hpp", "name_of", Kind::seam, "stream/tables"},
      {"websocket/socket_reader.hpp", "refusal_of", Kind::below, "stream/access"},
      {"websocket/socket_reader.hpp", "request", Kind::inside},
      {"websocket/socket_reader.hpp", "unfollow", Kind::inside},
      {"websocket/socket_reader.hpp", "views_changed", Kind::inside},
      {"websocket/socket_thread.hpp", "feed", Kind::inside},
      {"websocket/socket_thread.hpp", "follow", Kind::inside},
      {"websocket/socket_thread.hpp", "name_of", Kind::seam, "stream/tables"},
      {"websocket/socket_thread.hpp", "refusal_of", Kind::below, "stream/access"},
      {"websocket/socket_thread.hpp", "request", Kind::inside},
      {"websocket/socket_thread.hpp", "unfollow", Kind::inside},
      {"zmtp/authentication.hpp", "admit", Kind::seam, "stream/access"},
      {"zmtp/listener.hpp", "connection_quota", Kind::seam, "stream/access"},
      {"zmtp/mailbox.hpp", "arrived_", Kind::seam, "stream/sockets"},
  };
  return callbacks;
}

std::vector<Member> callback_members(const std::vector<Header>& headers) {
  std::vector<Declaration> aliases;
  std::vector<Declaration> all;
  for (const Header& header : headers) {
    const HeaderParser parsed(header);
    aliases.insert(aliases.end(), parsed.aliases.begin(), parsed.aliases.end());
    all.insert(all.end(), parsed.members.begin(), parsed.members.end());
  }
  aliases = callback_aliases(std::move(aliases));
  std::vector<Member> members;
  for (const Declaration& member : all)
    if (has_callback(member, aliases)) members.emplace_back(member.file, member.name);
  return members;
}

}  // namespace starling::house
