// SPDX-License-Identifier: Apache-2.0
// Tests that SIGHUP lets the program read its keys again, and never ends it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/support/program.hpp"

namespace starling::stream {
namespace {

using ReloadSignal = ProgramTest;

TEST_F(ReloadSignal, WithoutKeysItIsLoggedAndTheServerGoesOn) {
  Program program(serve({}));
  ASSERT_TRUE(program.says("ready: "));
  program.send_signal(SIGHUP);
  EXPECT_TRUE(program.says("there are no keys to read again"));
  program.send_signal(SIGTERM);
  EXPECT_EQ(program.exit_status(), 0);
}

TEST_F(ReloadSignal, EachOneReadsTheKeysAgain) {
  const KeysFolder folder;
  folder.write("");
  Program program(serve({"--keys", folder.path(), "--audit-log", folder.path("audit.jsonl")}));
  ASSERT_TRUE(program.says("ready: "));
  const auto key = protocol::new_key_pair("a");
  folder.write(principal_text("a", key.public_key, "roles = [\"stats\"]\n"));
  program.send_signal(SIGHUP);
  EXPECT_TRUE(program.says("the keys file was read again: 1 principals, 0 cut"));
  folder.write("[[principal]]\n");
  program.send_signal(SIGHUP);
  EXPECT_TRUE(program.says("the old keys stay: the keys file " + folder.path() + ", line 3"));
  folder.write("");
  program.send_signal(SIGHUP);
  EXPECT_TRUE(program.says("the keys file was read again: 0 principals, 1 cut"));
  program.send_signal(SIGTERM);
  EXPECT_EQ(program.exit_status(), 0);
}

TEST_F(ReloadSignal, ABadKeysFileEndsTheProgramWithItsSentence) {
  const KeysFolder folder;
  folder.write("key = 1\n");
  Program program(serve({"--keys", folder.path()}));
  EXPECT_TRUE(program.says("the keys file " + folder.path() + ", line 3"));
  EXPECT_NE(program.exit_status(), 0);
}

}  // namespace
}  // namespace starling::stream
