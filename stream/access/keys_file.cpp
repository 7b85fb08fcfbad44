// SPDX-License-Identifier: Apache-2.0
// Parses a keys file with toml++, checks each member, and names the line at fault: see
// keys_file.hpp.
#include "starling/stream/access/keys_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

// A bad file can break rules that toml++ only asserts, for example that a key begins with a letter.
// This function makes each such assertion an exception, in release builds too.
constexpr void check_toml(bool holds) {
  if (!holds) throw std::invalid_argument("a key or a value is missing or misplaced");
}

}  // namespace

#undef NDEBUG  // with it, toml++ would leave its checks out
#define TOML_ASSERT(condition) check_toml(static_cast<bool>(condition))
#include <toml++/toml.h>

#include "starling/knn/base/descriptor.hpp"
#include "starling/knn/base/plain_text.hpp"

namespace starling::stream {

namespace {

constexpr std::uint64_t loop_ms_max = 1000;
constexpr std::size_t line_bytes_max = 4096;
// Each dot of a key nests a table, and toml++ parses and destroys nested tables by recursion. For
// nested arrays and inline tables, toml++ has its own limit.
constexpr std::size_t line_dots_max = 16;
constexpr std::size_t patterns_max = 1024;  // texts in one list

using QuotaField = std::optional<std::uint64_t> Quotas::*;

const std::map<std::string_view, QuotaField>& quota_fields() {
  static const std::map<std::string_view, QuotaField> fields{
      {"connections", &Quotas::connections},
      {"subscribers", &Quotas::subscribers},
      {"websockets", &Quotas::websockets},
      {"event_readers", &Quotas::event_readers},
      {"sessions", &Quotas::sessions},
      {"queries", &Quotas::queries},
      {"neighbors", &Quotas::neighbors},
      {"streams", &Quotas::streams},
      {"names", &Quotas::names},
      {"snapshot_bytes", &Quotas::snapshot_bytes},
      {"reply_bytes", &Quotas::reply_bytes},
      {"rows_per_second", &Quotas::rows_per_second},
      {"loop_ms_per_second", &Quotas::loop_ms_per_second}};
  return fields;
}

/// Returns the length of the text in characters, or 0 if one of them cannot be shown.
std::size_t printable_length(std::string_view text) {
  std::size_t length = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (!character.is_valid || !is_plain(character.code)) return 0;
    text.remove_prefix(character.bytes);
    ++length;
  }
  return length;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return number;
}

std::optional<IdRange> range_in(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = number_in(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number_in(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return IdRange{*first, *last};
}

std::optional<TokenHash> hash_in(std::string_view text) {
  TokenHash hash{};
  if (text.size() != 2 * hash.size()) return std::nullopt;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    const char* const digits = text.data() + 2 * i;
    const auto [rest, error] = std::from_chars(digits, digits + 2, hash[i], 16);
    if (error != std::errc() || rest != digits + 2) return std::nullopt;
  }
  return hash;
}

/// Returns the names as a part of a sentence, such as: a, b and c.
template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += std::string(names[i]);
  }
  return text;
}

/// Reads the text of one keys file. Each error names the file's path and the line at fault.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  KeysFile read(std::string_view text) const;

 private:
  [[noreturn]] void fail(const toml::source_region& where, const std::string& what) const;
  [[noreturn]] void fail(const toml::node& node, const std::string& what) const {
    fail(node.source(), what);
  }
  void check_members(const toml::table& table, const std::string& section,
                     const std::vector<std::string_view>& known) const;
  const toml::table& table_of(const toml::node& node, const std::string& section) const;
  std::string text_of(const toml::node& node, std::string_view member) const;
  /// Calls `take` with each text of the list `member`. Does nothing if `table` has no such member.
  void each_text(const toml::table& table, std::string_view member,
                 const std::function<void(const toml::node&, const std::string&)>& take) const;

  void check_lines(std::string_view text) const;
  std::string server_key(const toml::table& root) const;
  Principal rights(const toml::table& table) const;
  std::vector<IdRange> ranges(const toml::table& table, std::string_view member) const;
  Quotas quotas(const toml::node& node) const;
  KeysEntry entry(const toml::table& table) const;
  std::string name(const toml::table& table) const;
  std::vector<KeysEntry> entries(const toml::node& node) const;

  const std::string& path_;
};

void Reader::fail(const toml::source_region& where, const std::string& what) const {
  throw std::runtime_error("the keys file " + path_ + ", line " + std::to_string(where.begin.line) +
                           ", column " + std::to_string(where.begin.column) + ": " + what);
}

void Reader::check_members(const toml::table& table, const std::string& section,
                           const std::vector<std::string_view>& known) const {
  for (const auto& [key, value] : table)
    if (std::ranges::find(known, key.str()) == known.end())
      fail(key.source(), "\"" + std::string(key.str()) + "\" is no member of " + section +
                             "; it may have " + listed(known));
}

const toml::table& Reader::table_of(const toml::node& node, const std::string& section) const {
  const toml::table* const table = node.as_table();
  if (table == nullptr) fail(node, section + " must be a table with members");
  return *table;
}

std::string Reader::text_of(const toml::node& node, std::string_view member) const {
  const auto* const text = node.as_string();
  if (text == nullptr) fail(node, std::string(member) + " must be a text in quotes");
  return text->get();
}

void Reader::each_text(
    const toml::table& table, std::string_view member,
    const std::function<void(const toml::node&, const std::string&)>& take) const {
  const toml::node* const node = table.get(member);
  if (node == nullptr) return;
  const std::string name(member);
  const toml::array* const list = node->as_array();
  if (list == nullptr) fail(*node, name + " must be a list of texts, such as [\"a\", \"b\"]");
  if (list->empty()) fail(*node, name + " is empty; give at least one, or leave it out");
  if (list->size() > patterns_max)
    fail(*node, name + " has more than " + std::to_string(patterns_max) + " texts");
  for (const toml::node& each : *list) take(each, text_of(each, "each of " + name));
}

std::string Reader::server_key(const toml::table& root) const {
  const toml::node* const node = root.get("server");
  if (node == nullptr)
    fail(root,
         "the section [server] is missing; it names the server's key file: key = \"server.key\"");
  const toml::table& table = table_of(*node, "[server]");
  check_members(table, "[server]", {"key"});
  const toml::node* const key = table.get("key");
  if (key == nullptr) fail(*node, "[server] has no key; name the server's key file");
  std::string path = text_of(*key, "key");
  if (path.empty() || path.find('\0') != std::string::npos)
    fail(*key, "key must be the path of the server's key file");
  return path;
}

Quotas Reader::quotas(const toml::node& node) const {
  std::vector<std::string_view> known;
  for (const auto& [name, field] : quota_fields()) known.push_back(name);
  const toml::table& table = table_of(node, "quota");
  check_members(table, "quota", known);
  Quotas quotas;
  for (const auto& [key, value] : table) {
    const auto* const number = value.as_integer();
    if (number == nullptr || number->get() < 0)
      fail(value, std::string(key.str()) + " must be a whole number, 0 or more");
    const auto amount = static_cast<std::uint64_t>(number->get());
    if (key.str() == "loop_ms_per_second" && amount > loop_ms_max)
      fail(value, "loop_ms_per_second must be at most 1000, the whole of a second");
    quotas.*quota_fields().at(key.str()) = amount;
  }
  return quotas;
}

std::vector<IdRange> Reader::ranges(const toml::table& table, std::string_view member) const {
  std::vector<IdRange> ranges;
  each_text(table, member, [&](const toml::node& node, const std::string& text) {
    const auto range = range_in(text);
    if (!range) fail(node, "write an id such as \"7\" or a range such as \"0-999\"");
    ranges.push_back(*range);
  });
  return ranges;
}

Principal Reader::rights(const toml::table& table) const {
  Principal principal;
  if (table.get("roles") == nullptr)
    fail(table,
         "roles is missing; give at least one of publish, query, subscribe, tick, stats "
         "and admin");
  each_text(table, "roles", [&](const toml::node& node, const std::string& text) {
    const auto role = role_of(text);
    if (!role)
      fail(node, "this is no role; the roles are publish, query, subscribe, tick, stats and admin");
    principal.roles.set(static_cast<std::size_t>(*role));
  });
  each_text(table, "streams", [&](const toml::node& node, const std::string& text) {
    const std::size_t star = text.find('*');
    if (printable_length(text) == 0 || (star != std::string::npos && star + 1 != text.size()))
      fail(node, "a pattern of streams is printable text with at most one *, at its end");
    principal.streams.push_back(text);
  });
  principal.objects = ranges(table, "objects");
  principal.queries = ranges(table, "queries");
  if (const toml::node* const node = table.get("quota")) principal.quotas = quotas(*node);
  return principal;
}

std::string Reader::name(const toml::table& table) const {
  const toml::node* const node = table.get("name");
  if (node == nullptr) fail(table, "the principal has no name");
  std::string name = text_of(*node, "name");
  const std::size_t length = printable_length(name);
  if (length == 0 || length > principal_name_max)
    fail(*node, "a name has 1 to " + std::to_string(principal_name_max) + " printable characters");
  if (name == anonymous_name)
    fail(*node, "this name is kept for requests without a key; choose another one");
  return name;
}

KeysEntry Reader::entry(const toml::table& table) const {
  check_members(
      table, "[[principal]]",
      {"name", "public", "token_sha256", "roles", "streams", "objects", "queries", "quota"});
  std::string its_name = name(table);
  KeysEntry entry{.principal = rights(table)};
  entry.principal.name = std::move(its_name);
  if (const toml::node* const node = table.get("public")) {
    entry.key = protocol::from_z85(text_of(*node, "public"));
    if (!entry.key)
      fail(*node, "public must be a public key: 40 characters of Z85, as starling keygen prints");
  }
  if (const toml::node* const node = table.get("token_sha256")) {
    entry.token = hash_in(text_of(*node, "token_sha256"));
    if (!entry.token)
      fail(*node, "token_sha256 must be the SHA-256 of a token: 64 hexadecimal digits");
  }
  if (!entry.key && !entry.token)
    fail(table, "the principal has neither public nor token_sha256; give at least one of them");
  return entry;
}

std::vector<KeysEntry> Reader::entries(const toml::node& node) const {
  const toml::array* const list = node.as_array();
  if (list == nullptr) fail(node, "write [[principal]] with two brackets, once for each principal");
  if (list->size() > principals_max)
    fail(node, "there are more than " + std::to_string(principals_max) + " principals");
  std::vector<KeysEntry> entries;
  std::map<std::string, std::size_t> names;
  std::map<zmtp::PublicKey, std::string> keys;
  std::map<TokenHash, std::string> tokens;
  for (const toml::node& each : *list) {
    const toml::table& table = table_of(each, "principal");
    KeysEntry next = entry(table);
    const std::string& its_name = next.principal.name;
    const auto refuse_second = [&](std::string_view member, const std::string& holder) {
      fail(*table.get(member), "the principal \"" + holder + "\" above has the same " +
                                   std::string(member) + "; give each its own");
    };
    if (!names.emplace(its_name, entries.size()).second) refuse_second("name", its_name);
    if (next.key)
      if (const auto [at, is_new] = keys.emplace(*next.key, its_name); !is_new)
        refuse_second("public", at->second);
    if (next.token)
      if (const auto [at, is_new] = tokens.emplace(*next.token, its_name); !is_new)
        refuse_second("token_sha256", at->second);
    entries.push_back(std::move(next));
  }
  return entries;
}

/// Counts the dots outside texts and comments, line by line of a TOML file.
class DotCounter {
 public:
  /// Returns the number of dots in the next line. Call it for all lines, in order.
  std::size_t count(std::string_view line) {
    std::size_t dots = 0;
    std::size_t at = 0;
    while (at < line.size()) {
      const char letter = line[at];
      const std::size_t quotes = quotes_at(line, at);
      if (quote_ == '\0' && letter == '#') break;
      if (quote_ == '\0' && quotes > 0) {
        is_long_ = quotes >= 3;
        // Two quotes are an empty text. Six to eight quotes are a whole text between triple quotes,
        // which holds the quotes beyond six.
        const bool is_empty = quotes == 2 || quotes >= 6;
        if (!is_empty) quote_ = letter;
        at += std::min<std::size_t>(quotes, 8);
      } else if (quote_ == '"' && letter == '\\') {
        at += 2;
      } else if (quote_ == letter && quotes > 0 && (!is_long_ || quotes >= 3)) {
        // Up to two quotes before the closing three belong to the text.
        at += is_long_ ? std::min<std::size_t>(quotes, 5) : 1;
        quote_ = '\0';
      } else {
        if (quote_ == '\0' && letter == '.') ++dots;
        if (quote_ == '\0' && static_cast<unsigned char>(letter) >= 0x80) is_ascii_ = false;
        ++at;
      }
    }
    if (!is_long_) quote_ = '\0';
    return dots;
  }
  /// Returns whether all characters outside texts and comments were ASCII so far.
  bool is_ascii() const { return is_ascii_; }

 private:
  static std::size_t quotes_at(std::string_view line, std::size_t at) {
    if (line[at] != '"' && line[at] != '\'') return 0;
    return std::min(line.find_first_not_of(line[at], at), line.size()) - at;
  }

  char quote_ = '\0';     ///< the quote that ends the current text; '\0': outside texts
  bool is_long_ = false;  ///< the text may have several lines
  bool is_ascii_ = true;
};

/// Throws if a line is too long, if the tables that its keys nest could overflow the stack, or if a
/// character outside texts is not ASCII. Some of these characters lead toml++ into code that it
/// holds to be unreachable.
void Reader::check_lines(std::string_view text) const {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  DotCounter dots;
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    const auto fail = [&](const std::string& what) {
      throw std::runtime_error("the keys file " + path_ + ", line " + std::to_string(number) +
                               ": " + what);
    };
    if (line.size() > line_bytes_max)
      fail("it has more than 4096 bytes; a list may have several lines");
    if (dots.count(line) > line_dots_max)
      fail("its keys have more than " + std::to_string(line_dots_max) +
           " dots; no member of a keys file is nested so deeply");
    if (!dots.is_ascii())
      fail("a character that is not ASCII is outside of quotes; put the text in quotes");
    begin += line.size() + 1;
  }
}

KeysFile Reader::read(std::string_view text) const {
  check_lines(text);
  toml::table root;
  try {
    root = toml::parse(text, path_);
  } catch (const toml::parse_error& error) {
    fail(error.source(), "this is not TOML: " + std::string(error.description()));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error("the keys file " + path_ +
                             ", line unknown: this is not TOML: " + error.what());
  }
  check_members(root, "a keys file", {"server", "principal", "anonymous"});
  KeysFile file{.server_key = server_key(root)};
  if (const toml::node* const node = root.get("principal")) file.principals = entries(*node);
  if (const toml::node* const node = root.get("anonymous")) {
    const toml::table& table = table_of(*node, "[anonymous]");
    check_members(table, "[anonymous]", {"roles", "streams", "objects", "queries", "quota"});
    file.anonymous = rights(table);
    file.anonymous->name = anonymous_name;
  }
  return file;
}

/// Returns the text of the open file. Stops reading when it has more than keys_file_bytes_max
/// bytes. Returns std::nullopt if a read fails; errno then says why.
std::optional<std::string> text_of_file(int descriptor) {
  std::string text;
  std::array<char, 16384> part{};
  while (text.size() <= keys_file_bytes_max) {
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

KeysFile parse_keys_file(std::string_view text, const std::string& path) {
  return Reader(path).read(text);
}

// Checks the mode of the opened file, so that another file cannot take its place after the check.
KeysFile read_keys_file(const std::string& path) {
  const auto fail = [&path](const std::string& what) {
    throw std::runtime_error("the keys file " + path + " " + what);
  };
  // Without O_NONBLOCK, open() of a named pipe would wait for a writer.
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (opened.number() < 0 || ::fstat(opened.number(), &status) != 0)
    fail(std::string("cannot be opened: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("is not a file; docs/security.md shows one");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    fail(
        "can be written by others than its owner, who could let themselves in; run chmod go-w on "
        "it");
  const auto text = text_of_file(opened.number());
  if (!text) fail(std::string("cannot be read: ") + std::strerror(errno));
  if (text->size() > keys_file_bytes_max)
    fail("has more than " + std::to_string(keys_file_bytes_max) + " bytes");
  return parse_keys_file(*text, path);
}

protocol::KeyPair read_server_key(const KeysFile& file, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return protocol::read_key_file((folder / file.server_key).string());
}

}  // namespace starling::stream
