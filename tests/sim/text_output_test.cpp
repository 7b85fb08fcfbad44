// Files that are whole or not there, in every compression.
#include "sim/text_output.hpp"

#include <csignal>
#include <random>
#include <stdexcept>

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "tests/sim/trace_fixture.hpp"

namespace starling::sim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Appears = TextOutput::Appears;

std::string random_text(std::size_t size) {
  std::mt19937 random(5);
  std::string text;
  while (text.size() < size) text += std::to_string(random()) + "\n";
  return text;
}

TEST(TextOutput, EndingsChooseTheCompression) {
  const TemporaryDirectory directory;
  const std::string text = random_text(1'000'000);
  for (const std::string name : {"a.csv", "a.csv.gz", "a.csv.zst"})
    for (const Appears appears : {Appears::at_once, Appears::when_closed}) {
      TextOutput output(directory.path(name), appears);
      for (std::size_t at = 0; at < text.size(); at += 777) output.write(text.substr(at, 777));
      output.close();
      EXPECT_EQ(TemporaryDirectory::read(directory.path(name)), text);
    }
  EXPECT_LT(std::filesystem::file_size(directory.path("a.csv.zst")), text.size() * 3 / 4);
  EXPECT_LT(std::filesystem::file_size(directory.path("a.csv.gz")), text.size() * 3 / 4);
}

TEST(TextOutput, AFlushedFileCanBeReadAlong) {
  const TemporaryDirectory directory;
  TextOutput output(directory.path("a.csv"), Appears::at_once);
  output.write("hello");
  output.flush();
  EXPECT_EQ(TemporaryDirectory::read(directory.path("a.csv")), "hello");
}

TEST(TextOutput, AFilesFirstBytesCanBeReplaced) {
  const TemporaryDirectory directory;
  const std::string text = random_text(100'000);
  TextOutput output(directory.path("a.csv"), Appears::when_closed);
  output.write("12345" + text);
  output.rewrite_start("abc");
  output.write("end");
  output.close();
  EXPECT_EQ(TemporaryDirectory::read(directory.path("a.csv")), "abc45" + text + "end");
  TextOutput compressed(directory.path("a.csv.gz"), Appears::when_closed);
  compressed.write(text);
  EXPECT_THAT([&] { compressed.rewrite_start("abc"); },
              ThrowsMessage<std::runtime_error>(HasSubstr("cannot be completed: Illegal seek")));
}

TEST(TextOutput, AnUnfinishedFileNeverHadItsName) {
  const TemporaryDirectory directory;
  directory.write("a.csv", "old");
  {
    TextOutput output(directory.path("a.csv"), Appears::when_closed);
    output.write("new");
    output.flush();
    EXPECT_EQ(TemporaryDirectory::read(directory.path("a.csv")), "old");
  }
  EXPECT_EQ(TemporaryDirectory::read(directory.path("a.csv")), "old");
  EXPECT_FALSE(std::filesystem::exists(directory.path("a.csv.partial")));
}

TEST(TextOutput, ALinkStaysALink) {
  const TemporaryDirectory directory;
  directory.write("real.csv", "old");
  std::filesystem::create_symlink("real.csv", directory.path("link.csv"));
  TextOutput output(directory.path("link.csv"), Appears::when_closed);
  output.write("new");
  output.close();
  EXPECT_TRUE(std::filesystem::is_symlink(directory.path("link.csv")));
  EXPECT_EQ(TemporaryDirectory::read(directory.path("real.csv")), "new");
}

TEST(TextOutput, WhatIsNoFileIsWrittenInPlace) {
  TextOutput output("/dev/null", Appears::when_closed);
  output.write("x");
  output.close();
  EXPECT_FALSE(std::filesystem::exists("/dev/null.partial"));
}

TEST(TextOutput, AFullDiskIsAnErrorAndLeavesNothing) {
  const TemporaryDirectory directory;
  const std::string text = random_text(1'000'000);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{65'536, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  for (const std::string name : {"a.csv", "a.csv.gz", "a.csv.zst"})
    EXPECT_THAT(
        [&] {
          TextOutput output(directory.path(name), Appears::when_closed);
          output.write(text);
          output.close();
        },
        ThrowsMessage<std::runtime_error>(HasSubstr(name + " cannot be ")));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(TextOutput, SaysWhatCannotBeOpened) {
  const TemporaryDirectory directory;
  EXPECT_THAT([&] { TextOutput(directory.path("absent/a.csv"), Appears::when_closed); },
              ThrowsMessage<std::runtime_error>(
                  HasSubstr("absent/a.csv cannot be opened: No such file or directory")));
}

}  // namespace
}  // namespace starling::sim
