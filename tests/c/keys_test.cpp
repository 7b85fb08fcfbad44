// SPDX-License-Identifier: Apache-2.0
// Tests clients and subscriptions of the C interface with the keys of a server.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "starling/clients/c/starling.h"
#include "starling/protocol/keys/key_file.hpp"
#include "tests/stream/zmtp/greeting_server.hpp"

namespace starling::c_test {
namespace {

using testing::HasSubstr;

class CKeys : public testing::Test {
 protected:
  CKeys()
      : server_key(protocol::new_key_pair("server")),
        key(protocol::new_key_pair("rider")),
        folder_(testing::TempDir() + "starling-c-keys-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    key.server_key = server_key.public_key;
    authentication.server_public = server_key.public_key;
    authentication.server_secret = server_key.secret_key;
    authentication.admit = [this](const stream::zmtp::PublicKey& peer) {
      return peer == key.public_key ? std::optional(stream::zmtp::PrincipalId{7}) : std::nullopt;
    };
  }
  ~CKeys() override { std::filesystem::remove_all(folder_); }

  std::string write(const protocol::KeyPair& pair, const std::string& name) const {
    protocol::write_key_file(folder_ + "/" + name, pair);
    return folder_ + "/" + name;
  }
  /// The endpoint must outlive the options.
  static starling_client_options options_of(std::string&& endpoint) = delete;
  static starling_client_options options_of(const std::string& endpoint) {
    starling_client_options options;
    EXPECT_EQ(starling_client_options_init(&options, sizeof(options)), STARLING_OK);
    options.commands = endpoint.c_str();
    return options;
  }
  static starling_code connect(const starling_client_options& options) {
    starling_client* client = nullptr;
    const starling_code code = starling_client_connect(&options, &client);
    EXPECT_EQ(client != nullptr, code == STARLING_OK);
    EXPECT_EQ(starling_client_destroy(client), STARLING_OK);
    return code;
  }
  static std::string sentence() {
    starling_error error{};
    error.size = sizeof(error);
    EXPECT_EQ(starling_last_error(&error), STARLING_OK);
    return error.sentence;
  }

  protocol::KeyPair server_key;
  protocol::KeyPair key;
  stream::zmtp::Authentication authentication;

 private:
  std::string folder_;
};

TEST_F(CKeys, TheRightOneIsAdmitted) {
  const stream::GreetingServer server(&authentication);
  starling_client_options options = options_of(server.endpoint());
  const std::string file = write(key, "rider.key");
  options.key_file = file.c_str();
  EXPECT_EQ(connect(options), STARLING_OK) << sentence();
}

TEST_F(CKeys, TheServersKeyMayComeBesideTheFile) {
  const stream::GreetingServer server(&authentication);
  starling_client_options options = options_of(server.endpoint());
  key.server_key.reset();
  const std::string file = write(key, "rider.key");
  options.key_file = file.c_str();
  EXPECT_EQ(connect(options), STARLING_INVALID_ARGUMENT);
  EXPECT_THAT(sentence(), HasSubstr("names no server"));
  const std::string text = protocol::to_z85(server_key.public_key);
  options.server_key = text.c_str();
  EXPECT_EQ(connect(options), STARLING_OK) << sentence();
  const std::string server_file = write(server_key, "server.key");
  options.server_key = server_file.c_str();
  EXPECT_EQ(connect(options), STARLING_OK) << sentence();
  options.server_key = "short";
  EXPECT_EQ(connect(options), STARLING_INVALID_ARGUMENT);
  EXPECT_THAT(sentence(), HasSubstr("options.server_key is no key"));
  options.server_key = text.c_str();
  options.key_file = nullptr;
  EXPECT_EQ(connect(options), STARLING_INVALID_ARGUMENT);
  EXPECT_THAT(sentence(), HasSubstr("without options.key_file"));
}

TEST_F(CKeys, NoneAndAStrangersAreRefusedAtOnce) {
  const stream::GreetingServer server(&authentication);
  starling_client_options options = options_of(server.endpoint());
  EXPECT_EQ(connect(options), STARLING_REFUSED);
  EXPECT_THAT(sentence(), HasSubstr("admits only clients with a key"));
  protocol::KeyPair stranger = protocol::new_key_pair("stranger");
  stranger.server_key = server_key.public_key;
  const std::string file = write(stranger, "stranger.key");
  options.key_file = file.c_str();
  EXPECT_EQ(connect(options), STARLING_REFUSED);
  EXPECT_THAT(sentence(), HasSubstr("does not admit the key \"stranger\""));
}

TEST_F(CKeys, InABadFileAreAnInvalidArgument) {
  const std::string endpoint = "tcp://127.0.0.1:1";
  starling_client_options options = options_of(endpoint);
  const std::string file = write(key, "rider.key");
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  options.key_file = file.c_str();
  EXPECT_EQ(connect(options), STARLING_INVALID_ARGUMENT);
  EXPECT_THAT(sentence(), HasSubstr("run chmod 600 on it"));
  options.key_file = "/nowhere";
  EXPECT_EQ(connect(options), STARLING_INVALID_ARGUMENT);
  options.key_file = "";
  EXPECT_EQ(connect(options), STARLING_INVALID_ARGUMENT);
}

TEST_F(CKeys, OfASubscriptionAreCheckedToo) {
  const stream::GreetingServer server(&authentication);
  starling_subscription_options options;
  ASSERT_EQ(starling_subscription_options_init(&options, sizeof(options)), STARLING_OK);
  options.commands = server.endpoint().c_str();
  options.stream = "riders";
  starling_subscription* subscription = nullptr;
  EXPECT_EQ(starling_subscription_open(&options, &subscription), STARLING_REFUSED);
  const std::string file = write(key, "rider.key");
  options.key_file = file.c_str();
  EXPECT_EQ(starling_subscription_open(&options, &subscription), STARLING_OK) << sentence();
  EXPECT_EQ(starling_subscription_close(subscription), STARLING_OK);
}

// Older programs pass smaller structs, without the members for keys.
TEST_F(CKeys, AreNotReadFromTheStructsOfOlderPrograms) {
  const stream::GreetingServer server(nullptr);
  starling_client_options options;
  options.key_file = options.server_key = "not set by the program";
  ASSERT_EQ(starling_client_options_init(&options, offsetof(starling_client_options, key_file)),
            STARLING_OK);
  options.commands = server.endpoint().c_str();
  EXPECT_STREQ(options.key_file, "not set by the program");
  EXPECT_EQ(connect(options), STARLING_OK) << sentence();
  starling_subscription_options other;
  ASSERT_EQ(
      starling_subscription_options_init(&other, offsetof(starling_subscription_options, key_file)),
      STARLING_OK);
  other.commands = server.endpoint().c_str();
  other.stream = "riders";
  other.key_file = other.server_key = "not set by the program";
  starling_subscription* subscription = nullptr;
  EXPECT_EQ(starling_subscription_open(&other, &subscription), STARLING_OK) << sentence();
  EXPECT_EQ(starling_subscription_close(subscription), STARLING_OK);
}

}  // namespace
}  // namespace starling::c_test
