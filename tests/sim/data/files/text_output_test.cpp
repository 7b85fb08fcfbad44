// SPDX-License-Identifier: Apache-2.0
// Tests that output files are complete or absent, with every compression.
#include "starling/sim/data/files/text_output.hpp"

#include <csignal>
#include <random>
#include <stdexcept>

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using Appears = TextOutput::Appears;

std::string random_text(std::size_t size) {
  std::mt19937 random(5);
  std::string text;
  while (text.size() < size) text += std::to_string(random()) + "\n";
  return text;
}

void write_file(const std::string& path, std::string_view text) {
  TextOutput output(path, Appears::when_closed);
  output.write(text);
  output.close();
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
  EXPECT_THAT(directory.names(), ElementsAre("a.csv"));
}

TEST(TextOutput, TwoWritersOfOneFileEachLeaveAWholeOne) {
  const TemporaryDirectory directory;
  const std::string text = random_text(100'000);
  for (const std::string name : {"a.csv", "a.csv.gz", "a.csv.zst"}) {
    TextOutput first(directory.path(name), Appears::when_closed);
    TextOutput second(directory.path(name), Appears::when_closed);
    for (std::size_t at = 0; at < text.size(); at += 777) {
      first.write(text.substr(at, 777));
      second.write("second");
    }
    first.close();
    EXPECT_EQ(TemporaryDirectory::read(directory.path(name)), text);
    second.write("end");
    second.close();
    EXPECT_THAT(TemporaryDirectory::read(directory.path(name)), testing::EndsWith("secondend"));
  }
  EXPECT_THAT(directory.names(), ElementsAre("a.csv", "a.csv.gz", "a.csv.zst"));
}

TEST(TextOutput, AKilledWriterLeavesNothing) {
  const TemporaryDirectory directory;
  directory.write("old.csv", "old");
  for (const std::string name : {"new.csv", "old.csv", "new.csv.gz", "new.csv.zst"})
    EXPECT_EXIT(
        {
          TextOutput output(directory.path(name), Appears::when_closed);
          output.write(random_text(100'000));
          output.flush();
          raise(SIGKILL);
        },
        testing::KilledBySignal(SIGKILL), "");
  EXPECT_THAT(directory.names(), ElementsAre("old.csv"));
  EXPECT_EQ(TemporaryDirectory::read(directory.path("old.csv")), "old");
}

TEST(TextOutput, OtherFilesAreLeftAlone) {
  const TemporaryDirectory directory;
  directory.write("a.csv.partial", "mine");
  write_file(directory.path("a.csv"), "new");
  EXPECT_THAT(directory.names(), ElementsAre("a.csv", "a.csv.partial"));
  EXPECT_EQ(TemporaryDirectory::read(directory.path("a.csv.partial")), "mine");
}

TEST(TextOutput, AReplacedFileKeepsItsPermissions) {
  const TemporaryDirectory directory;
  for (const unsigned mode : {0600u, 0640u, 0666u, 0400u}) {
    fs::permissions(directory.write("a.csv", "old"), static_cast<fs::perms>(mode));
    write_file(directory.path("a.csv"), "new");
    EXPECT_EQ(fs::status(directory.path("a.csv")).permissions(), static_cast<fs::perms>(mode));
    EXPECT_EQ(TemporaryDirectory::read(directory.path("a.csv")), "new");
    fs::remove(directory.path("a.csv"));
  }
  const fs::perms usual = fs::status(directory.write("usual.csv", "")).permissions();
  write_file(directory.path("new.csv"), "new");
  EXPECT_EQ(fs::status(directory.path("new.csv")).permissions(), usual);
}

TEST(TextOutput, ANameMayBeAsLongAsTheSystemAllows) {
  const TemporaryDirectory directory;
  const std::string longest(255, 'x');
  write_file(directory.path(longest), "new");
  EXPECT_THAT(directory.names(), ElementsAre(longest));
  EXPECT_THAT([&] { TextOutput(directory.path(longest + "x"), Appears::when_closed); },
              ThrowsMessage<std::runtime_error>(HasSubstr("cannot be opened: File name too long")));
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

TEST(TextOutput, ADanglingLinkIsFollowed) {
  const TemporaryDirectory directory;
  fs::create_directory(directory.path("far"));
  fs::create_symlink("far/second.csv", directory.path("first.csv"));
  fs::create_symlink(directory.path("far/third.csv"), directory.path("far/second.csv"));
  fs::create_symlink("../real.csv", directory.path("far/third.csv"));
  for (const Appears appears : {Appears::when_closed, Appears::at_once}) {
    TextOutput output(directory.path("first.csv"), appears);
    output.write("new");
    output.close();
    EXPECT_THAT(directory.names(), ElementsAre("far", "first.csv", "real.csv"));
    EXPECT_TRUE(fs::is_symlink(directory.path("first.csv")));
    EXPECT_FALSE(fs::is_symlink(directory.path("real.csv")));
    EXPECT_EQ(TemporaryDirectory::read(directory.path("real.csv")), "new");
    fs::remove(directory.path("real.csv"));
  }
  fs::create_symlink("absent/a.csv", directory.path("astray.csv"));
  EXPECT_THAT([&] { TextOutput(directory.path("astray.csv"), Appears::when_closed); },
              ThrowsMessage<std::runtime_error>(
                  HasSubstr("astray.csv cannot be opened: No such file or directory")));
}

TEST(TextOutput, WhatIsNoFileIsWrittenInPlace) {
  const TemporaryDirectory directory;
  fs::create_symlink("/dev/null", directory.path("a.csv"));
  write_file(directory.path("a.csv"), "x");
  EXPECT_THAT(directory.names(), ElementsAre("a.csv"));
  EXPECT_EQ(fs::canonical(directory.path("a.csv")), "/dev/null");
  EXPECT_FALSE(TextOutput::is_ordinary(directory.path("a.csv")));
  EXPECT_TRUE(TextOutput::is_ordinary(directory.path("absent.csv")));
}

// A parent program may give `starling` a file without a name as its standard output.
TEST(TextOutput, AFileWithoutANameIsWrittenInPlace) {
  const TemporaryDirectory directory;
  std::FILE* const file = std::tmpfile();
  write_file("/proc/self/fd/" + std::to_string(fileno(file)), "new");
  std::string text(4, ' ');
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), 3u);
  EXPECT_EQ(text, "new ");
  std::fclose(file);
}

TEST(TextOutput, ACheckFindsWhatOpeningWouldAndChangesNothing) {
  const TemporaryDirectory directory;
  directory.write("old.csv", "old");
  for (const std::string name : {"old.csv", "new.csv"})
    EXPECT_NO_THROW(TextOutput::check(directory.path(name)));
  EXPECT_NO_THROW(TextOutput::check("-"));
  EXPECT_NO_THROW(TextOutput::check("/dev/full"));
  EXPECT_THAT([&] { TextOutput::check(directory.path("absent/a.csv")); },
              ThrowsMessage<std::runtime_error>(
                  HasSubstr("absent/a.csv cannot be opened: No such file or directory")));
  EXPECT_THAT([&] { TextOutput::check(directory.path("old.csv/a.csv")); },
              ThrowsMessage<std::runtime_error>(HasSubstr("cannot be opened: Not a directory")));
  EXPECT_THAT([&] { TextOutput::check(directory.path()); },
              ThrowsMessage<std::runtime_error>(HasSubstr("cannot be opened: Is a directory")));
  EXPECT_THAT(directory.names(), ElementsAre("old.csv"));
  EXPECT_EQ(TemporaryDirectory::read(directory.path("old.csv")), "old");
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
  EXPECT_THAT(directory.names(), IsEmpty());
}

TEST(TextOutput, SaysWhatCannotBeOpened) {
  const TemporaryDirectory directory;
  EXPECT_THAT([&] { TextOutput(directory.path("absent/a.csv"), Appears::when_closed); },
              ThrowsMessage<std::runtime_error>(
                  HasSubstr("absent/a.csv cannot be opened: No such file or directory")));
  for (const std::string name : {"", "folder", "absent/", "folder/"}) {
    fs::create_directory(directory.path("folder"));
    EXPECT_THAT([&] { TextOutput(directory.path(name), Appears::when_closed); },
                ThrowsMessage<std::runtime_error>(HasSubstr(" cannot be opened: Is a directory")));
  }
}

}  // namespace
}  // namespace starling::sim
