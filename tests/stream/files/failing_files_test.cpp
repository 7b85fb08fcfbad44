// SPDX-License-Identifier: Apache-2.0
// Makes each call on a file of a server fail once: its keys, certificate, page, network, endpoints
// file, audit log, trace and log. At the start, the server either works or exits with a sentence
// that names the file and the reason. Later it goes on, or ends with such a sentence, and nothing
// that it acknowledged is lost.
#include "tests/stream/files/failing_files.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gmock/gmock.h>

#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/support/call_fault.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/stream/tls/tls_folder.hpp"

namespace starling::stream {
namespace {

using testing::HasSubstr;

const std::string reason = std::generic_category().message(EIO);
// Reading the log takes many more calls. tests/log/failing_calls_test.cpp fails each of them.
constexpr int numbers_max = 20;

class FailingFiles : public ProgramTest {
 protected:
  FailingFiles() {
    keys_.write(
        principal_text("a", key_.public_key, R"(roles = ["publish", "query", "stats", "tick"])"));
    std::filesystem::create_directory(path("page"));
    std::ofstream(path("page/index.html")) << "<!doctype html>";
    std::ofstream(path("town.net.xml"))
        << R"(<net><edge id="ab" from="a" to="b"><lane speed="9" length="9"/></edge>
              <junction id="a" x="0" y="0"/><junction id="b" x="9" y="0"/></net>)";
    endpoints_path = path("endpoints.json");
    key_.server_key = keys_.server.public_key;
  }

  std::string path(const std::string& name) const { return keys_.path(name); }
  static std::string folder_of(const std::string& path) {
    return std::filesystem::path(path).parent_path().string();
  }

  std::unique_ptr<Program> start() {
    std::filesystem::remove(endpoints_path);
    return std::make_unique<Program>(
        serve({"--tick",         "manual",
               "--objects-max",  "10000",
               "--keys",         keys_.path(),
               "--audit-log",    path("audit.jsonl"),
               "--tls-cert",     tls_.path("cert.pem"),
               "--tls-key",      tls_.path("key.pem"),
               "--page",         path("page"),
               "--page-network", path("town.net.xml"),
               "--trace",        path("trace.json"),
               "--journal",      path("journal")}),
        std::vector<std::string>{"LD_PRELOAD=" STARLING_FAILING_FILES, fault_.environment(),
                                 std::string(fault_folders_variable) + "=" +
                                     folder_of(keys_.path()) + ":" +
                                     folder_of(tls_.path("key.pem"))});
  }

  void fail(std::string_view call, int number) {
    fault_->arm(index_of_call(file_calls, call), static_cast<std::uint32_t>(number), EIO);
  }
  /// Returns whether the call was made and has failed.
  bool has_failed(std::string_view call) {
    const bool result = fault_->disarm();
    if (result) failed_.insert(call);
    return result;
  }

  protocol::Client keyed_client(std::int64_t timeout_ms = 30'000) {
    return protocol::Client(context, {.commands = endpoint("commands"),
                                      .key = key_,
                                      .timeout_ms = timeout_ms,
                                      .connect_timeout_ms = timeout_ms});
  }

  /// Stops the server. If it has ended by itself, checks that it said why.
  void stop(Program& program) {
    program.send_signal(SIGTERM);
    if (program.exit_status() != 0) expect_sentence(program);
  }

  /// Checks that a line of the program's output names a file and the reason.
  void expect_sentence(Program& program) {
    program.says("what comes at the end");
    EXPECT_EQ(program.exit_status(), 1) << program.said();
    std::vector<std::string> lines;
    std::istringstream said(program.said());
    for (std::string line; std::getline(said, line);) lines.push_back(line);
    EXPECT_THAT(lines, testing::Contains(testing::AllOf(
                           HasSubstr(reason), testing::AnyOf(HasSubstr(folder_of(keys_.path())),
                                                             HasSubstr(tls_.path(""))))));
  }

  /// Sends new objects. Object n is at x = n. Returns false if the server ends meanwhile.
  bool add_objects(std::int64_t timeout_ms = 1'000) {
    constexpr int requests = 4;
    constexpr std::uint64_t rows = 10;
    try {
      protocol::Client client = keyed_client(timeout_ms);
      for (int i = 0; i < requests; ++i) {
        const std::uint64_t first = next_object_;
        Fixes fixes;
        for (; next_object_ < first + rows; ++next_object_)
          fixes.add(next_object_, 1, static_cast<double>(next_object_), 0);
        EXPECT_EQ(client.update(fixes.batch()).value().accepted, rows);
        for (std::uint64_t id = first; id < next_object_; ++id) acknowledged_.push_back(id);
      }
      return true;
    } catch (const protocol::TimeoutError&) {
      return false;
    }
  }
  void expect_objects() {
    const auto answers = keyed_client().objects(acknowledged_).value().objects;
    ASSERT_EQ(answers.size(), acknowledged_.size());
    for (std::size_t i = 0; i < answers.size(); ++i)
      ASSERT_EQ(answers[i].position[0], static_cast<double>(acknowledged_[i]));
  }

  const KeysFolder keys_;
  const TlsFolder tls_;
  protocol::KeyPair key_ = protocol::new_key_pair("a");
  const CallFaultFile fault_{temporary_path("file_fault")};
  std::set<std::string_view> failed_;  ///< calls that have failed
  std::uint64_t next_object_ = 0;
  std::vector<std::uint64_t> acknowledged_;
};

TEST_F(FailingFiles, AtTheStartAreToldWithFileAndReasonOrDoNotMatter) {
  for (const bool has_log : {false, true}) {
    if (has_log) {
      const auto program = start();
      ASSERT_TRUE(program->says("ready: ")) << program->said();
      ASSERT_TRUE(add_objects(30'000));
      stop(*program);
    }
    int refused = 0;
    for (const std::string_view call : file_calls)
      for (int number = 1; number <= numbers_max; ++number) {
        SCOPED_TRACE(std::string(call) + ", call " + std::to_string(number) +
                     (has_log ? " of a server with a log" : " of a new server"));
        if (!has_log) std::filesystem::remove_all(path("journal"));
        fail(call, number);
        const auto program = start();
        const bool is_ready = program->says("ready: ");
        const bool is_over = !has_failed(call);
        if (is_ready) {
          if (is_over) expect_objects();
          stop(*program);
        } else {
          ++refused;
          EXPECT_FALSE(is_over);
          expect_sentence(*program);
        }
        if (is_over) break;
      }
    EXPECT_GE(refused, 20);
  }
  const std::set<std::string_view> not_made{"fstatvfs", "sync_file_range", "unlink", "unlinkat",
                                            "writev"};
  for (const std::string_view call : file_calls)
    EXPECT_NE(failed_.contains(call), not_made.contains(call)) << call;
}

/// Reads the keys and the certificate again, adds objects and stops.
TEST_F(FailingFiles, WhileItRunsLoseNothingThatWasAcknowledged) {
  for (const std::string_view call : file_calls)
    for (int number = 1; number <= numbers_max; ++number) {
      SCOPED_TRACE(std::string(call) + ", call " + std::to_string(number));
      const auto program = start();
      ASSERT_TRUE(program->says("ready: ")) << program->said();
      fail(call, number);
      program->send_signal(SIGHUP);
      program->says_one_of({"the keys file was read again", "the old keys stay"});
      add_objects();
      stop(*program);
      if (!has_failed(call)) break;
      const auto again = start();
      ASSERT_TRUE(again->says("ready: ")) << again->said();
      expect_objects();
      again->send_signal(SIGTERM);
      EXPECT_EQ(again->exit_status(), 0) << again->said();
      ASSERT_FALSE(HasFailure());
    }
  EXPECT_GE(acknowledged_.size(), 100u);
  EXPECT_THAT(failed_,
              testing::IsSupersetOf({"fdatasync", "fstat", "open", "pwrite", "read", "write"}));
}

}  // namespace
}  // namespace starling::stream
