// SPDX-License-Identifier: Apache-2.0
// Tests what a keys file may contain, and the errors for other files.
#include "starling/stream/access/keys_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/stream/access/keys_folder.hpp"

namespace starling::stream {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string head = "[server]\nkey = \"server.key\"\n";
const std::string hash(64, 'a');

std::string fault_of(const std::string& text) {
  try {
    parse_keys_file(text, "keys.toml");
    return "no fault";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

std::string with_token(const std::string& name, const std::string& members) {
  return head + "[[principal]]\nname = \"" + name + "\"\ntoken_sha256 = \"" + hash + "\"\n" +
         members + "\n";
}

TEST(KeysFile, AWholeFileIsReadAsItSays) {
  const protocol::KeyPair pair = protocol::new_key_pair("dispatch");
  const KeysFile file = parse_keys_file(
      head +
          principal_text("dispatch", pair.public_key,
                         "token_sha256 = \"" + hash +
                             "\"\n"
                             "roles = [\"publish\", \"query\"]\nstreams = [\"rider*\"]\n"
                             "objects = [\"0-999999\", \"18446744073709551615\"]\n"
                             "queries = [\"5000-5999\"]\n"
                             "[principal.quota]\nqueries = 1000\nloop_ms_per_second = 250\n"
                             "connections = 1\nsubscribers = 2\nwebsockets = 3\n"
                             "event_readers = 4\n") +
          "[anonymous]\nroles = [\"stats\"]\n",
      "keys.toml");
  EXPECT_EQ(file.server_key, "server.key");
  ASSERT_EQ(file.principals.size(), 1u);
  const KeysEntry& entry = file.principals[0];
  EXPECT_EQ(entry.key, pair.public_key);
  ASSERT_TRUE(entry.token);
  EXPECT_EQ((*entry.token)[31], 0xaa);
  EXPECT_EQ(entry.principal.name, "dispatch");
  EXPECT_TRUE(entry.principal.has(Role::publish) && entry.principal.has(Role::query));
  EXPECT_FALSE(entry.principal.has(Role::subscribe));
  EXPECT_THAT(entry.principal.streams, testing::ElementsAre("rider*"));
  EXPECT_THAT(entry.principal.objects,
              testing::ElementsAre(IdRange{0, 999'999}, IdRange{UINT64_MAX, UINT64_MAX}));
  EXPECT_THAT(entry.principal.queries, testing::ElementsAre(IdRange{5000, 5999}));
  EXPECT_EQ(entry.principal.quotas.queries, 1000u);
  EXPECT_EQ(entry.principal.quotas.loop_ms_per_second, 250u);
  EXPECT_EQ(entry.principal.quotas.connections, 1u);
  EXPECT_EQ(entry.principal.quotas.subscribers, 2u);
  EXPECT_EQ(entry.principal.quotas.websockets, 3u);
  EXPECT_EQ(entry.principal.quotas.event_readers, 4u);
  EXPECT_EQ(entry.principal.quotas.sessions, std::nullopt);
  ASSERT_TRUE(file.anonymous);
  EXPECT_TRUE(file.anonymous->has(Role::stats));
}

TEST(KeysFile, AFaultIsNamedWithItsFileLineAndColumn) {
  EXPECT_THAT(fault_of(with_token("a", "roles = [\"root\"]")),
              AllOf(HasSubstr("the keys file keys.toml, line 6, column 10: "),
                    HasSubstr("the roles are publish, query")));
  EXPECT_THAT(fault_of("[server\n"), HasSubstr("line 1, column 8: this is not TOML: "));
}

TEST(KeysFile, UnknownMembersAreFaultsInEverySection) {
  EXPECT_THAT(fault_of(with_token("a", "rols = [\"admin\"]")),
              AllOf(HasSubstr("\"rols\" is no member of [[principal]]"), HasSubstr("roles")));
  EXPECT_THAT(fault_of(head + "keys = 1\n"), HasSubstr("no member of [server]"));
  EXPECT_THAT(fault_of(head + "[others]\n"), HasSubstr("no member of a keys file"));
  EXPECT_THAT(fault_of(head + "[anonymous]\nname = \"a\"\nroles = [\"stats\"]\n"),
              HasSubstr("no member of [anonymous]"));
  EXPECT_THAT(fault_of(with_token("a", "roles = [\"stats\"]\nquota.bytes = 1")),
              HasSubstr("no member of quota"));
}

TEST(KeysFile, EachPrincipalHasItsOwnNameKeyAndToken) {
  const auto one = protocol::new_key_pair("one");
  const auto two = protocol::new_key_pair("two");
  const std::string roles = "roles = [\"stats\"]\n";
  EXPECT_THAT(fault_of(head + principal_text("a", one.public_key, roles) +
                       principal_text("a", two.public_key, roles)),
              HasSubstr("the same name"));
  EXPECT_THAT(fault_of(head + principal_text("a", one.public_key, roles) +
                       principal_text("b", one.public_key, roles)),
              HasSubstr("the principal \"a\" above has the same public"));
  const std::string token = "token_sha256 = \"" + hash + "\"\n" + roles;
  EXPECT_THAT(fault_of(head + principal_text("a", one.public_key, token) +
                       principal_text("b", two.public_key, token)),
              HasSubstr("the same token_sha256"));
}

TEST(KeysFile, BadValuesAreFaults) {
  const auto fault_of_line = [](const std::string& line) {
    return fault_of(with_token("a", "roles = [\"stats\"]\n" + line));
  };
  for (const char* range : {"", "-", "1-", "-1", "2-1", "a", "18446744073709551616", "1 - 2", "+1"})
    EXPECT_THAT(fault_of_line("objects = [\"" + std::string(range) + "\"]"),
                HasSubstr("line 7, column 12: write an id such as"))
        << range;
  EXPECT_THAT(fault_of_line("streams = []"), HasSubstr("is empty"));
  EXPECT_THAT(fault_of_line("streams = [\"*a\"]"), HasSubstr("at most one *"));
  EXPECT_THAT(fault_of_line("streams = \"a\""), HasSubstr("must be a list"));
  EXPECT_THAT(fault_of_line("queries = [7]"), HasSubstr("must be a text in quotes"));
  EXPECT_THAT(fault_of_line("quota.queries = -1"), HasSubstr("whole number"));
  EXPECT_THAT(fault_of_line("quota.queries = 1.5"), HasSubstr("whole number"));
  EXPECT_THAT(fault_of_line("quota.loop_ms_per_second = 1001"), HasSubstr("at most 1000"));
  EXPECT_THAT(fault_of_line("public = \"short\""), HasSubstr("40 characters of Z85"));
  EXPECT_THAT(fault_of_line("quota = 1"), HasSubstr("must be a table"));
  EXPECT_THAT(fault_of(with_token("a", "")), HasSubstr("roles is missing"));
  EXPECT_THAT(fault_of(head + "principal = 1\n"), HasSubstr("key"));
  EXPECT_THAT(fault_of(head + "[[principal]]\nname = \"a\"\nroles = [\"stats\"]\n"),
              HasSubstr("neither public nor token_sha256"));
  EXPECT_THAT(fault_of(""), HasSubstr("[server] is missing"));
  EXPECT_THAT(fault_of("[server]\n"), HasSubstr("[server] has no key"));
}

TEST(KeysFile, ANameHasUpTo64PrintableCharacters) {
  const auto fault_of_name = [](const std::string& name) {
    return fault_of(with_token(name, "roles = [\"stats\"]"));
  };
  EXPECT_EQ(fault_of_name(std::string(64, 'a')), "no fault");
  std::string umlauts;
  for (int i = 0; i < 64; ++i) umlauts += "\u00e4";
  EXPECT_EQ(fault_of_name(umlauts), "no fault");
  EXPECT_THAT(fault_of_name(std::string(65, 'a')), HasSubstr("1 to 64 printable"));
  EXPECT_THAT(fault_of_name(""), HasSubstr("1 to 64 printable"));
  EXPECT_THAT(fault_of_name("a\\u001b"), HasSubstr("1 to 64 printable"));
  EXPECT_THAT(fault_of_name("a\\u0085"), HasSubstr("1 to 64 printable"));
  EXPECT_THAT(fault_of_name("anonymous"), HasSubstr("is kept for"));
}

/// Returns a chain of keys with `dots` dots.
std::string chain(std::size_t dots) {
  std::string text = "a";
  for (std::size_t dot = 0; dot < dots; ++dot) text += ".a";
  return text;
}

TEST(KeysFile, ALetterBeyondAsciiStandsInQuotesOrInAComment) {
  const std::string outside = "a character that is not ASCII is outside of quotes";
  EXPECT_THAT(fault_of("# caf\u00E9\n[server\u00BBk]\n"), HasSubstr("line 2: " + outside));
  EXPECT_THAT(fault_of("\xef\xbb\xbd[serverk]\nyebb"), HasSubstr("line 1: " + outside));
  EXPECT_THAT(fault_of("\xef\xbb\xbf# caf\u00E9\n[x.\"\u00E9\"]\n"),
              testing::Not(HasSubstr(outside)));
}

TEST(KeysFile, WhatIsNestedDeeplyIsRefusedAndOverflowsNoStack) {
  const std::string too_many = "line 1: its keys have more than 16 dots";
  EXPECT_THAT(fault_of(chain(17) + " = 1\n"), HasSubstr(too_many));
  EXPECT_THAT(fault_of("[" + chain(2000) + "]\n"), HasSubstr(too_many));
  EXPECT_THAT(fault_of("\"\\\"\"." + chain(17) + " = 1\n"), HasSubstr(too_many));
  EXPECT_THAT(fault_of("'#'." + chain(17) + " = 1\n"), HasSubstr(too_many));
  EXPECT_THAT(fault_of("x = \"\", " + chain(17) + " = 1\n"), HasSubstr(too_many));
  for (const std::string text : {"\"\"\"a\"\"\"\"", "\"\"\"\"\"\"", "'''b'''''", "''''''''"})
    EXPECT_THAT(fault_of("{x = " + text + ", " + chain(17) + " = 1}\n"), HasSubstr(too_many));
  EXPECT_THAT(fault_of("x = \"\"\"\n\"\"\"\n" + chain(17) + " = 1"), HasSubstr("line 3: its keys"));
  // Tables within lists within tables, each with as many dots as a line may have.
  std::string nested;
  for (int level = 0; level < 5000; ++level) nested += "[{" + chain(15) + " = \n";
  EXPECT_THAT(fault_of("x = " + nested), HasSubstr("this is not TOML"));
  EXPECT_THAT(fault_of("x = " + std::string(4000, '[')), HasSubstr("this is not TOML"));
}

TEST(KeysFile, DotsInTextsAndCommentsDoNotCount) {
  const std::string dots(50, '.');
  const KeysFile file = parse_keys_file(head + "[[principal]]\nname = \"" + dots + "\" # " + dots +
                                            "\ntoken_sha256 = \"" + hash +
                                            "\"\nroles = ['query']\nstreams = [\"\"\"" + dots +
                                            "\"\"\", '" + dots + "', \"\\\"" + dots + "\"]\n",
                                        "keys.toml");
  EXPECT_EQ(file.principals.at(0).principal.streams.size(), 3u);
}

TEST(KeysFile, AFileThatOthersMayWriteIsRefused) {
  const KeysFolder folder;
  folder.write("");
  EXPECT_NO_THROW(read_keys_file(folder.path()));
  for (const mode_t mode : {0664u, 0646u}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    try {
      read_keys_file(folder.path());
      ADD_FAILURE() << "the file was read";
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("run chmod go-w on it"));
    }
  }
}

TEST(KeysFile, AFileThatCannotBeReadIsNamed) {
  const KeysFolder folder;
  const auto fault = [](const std::string& path) -> std::string {
    try {
      read_keys_file(path);
      return "no fault";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(fault(folder.path()), HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(fault(folder.path("")), HasSubstr("is not a file"));
  folder.write_whole(std::string(keys_file_bytes_max + 1, '\n'));
  EXPECT_THAT(fault(folder.path()), HasSubstr("has more than"));
}

}  // namespace
}  // namespace starling::stream
