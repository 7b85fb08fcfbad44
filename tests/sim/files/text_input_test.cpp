// SPDX-License-Identifier: Apache-2.0
// Tests TextInput, which detects the compression from a file's content, not from its name.
#include "starling/sim/files/text_input.hpp"

#include <random>

#include <gmock/gmock.h>

#include "starling/sim/files/errors.hpp"
#include "tests/sim/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// Returns a text that is so long and so random that even its compressed form has many blocks.
std::string long_text() {
  std::mt19937 random(1);
  std::string text;
  while (text.size() < 3'000'000) text += std::to_string(random()) + ",";
  return text;
}

std::string read_in_steps(const std::string& path, std::size_t step) {
  TextInput input(path);
  std::string text;
  std::vector<char> buffer(step);
  for (;;) {
    const std::size_t bytes = input.read(buffer);
    text.append(buffer.data(), bytes);
    if (bytes < step) return text;
  }
}

TEST(TextInput, PlainGzipAndZstandardFilesReadAlikeInAnySteps) {
  const TemporaryDirectory directory;
  const std::string text = long_text();
  const std::vector<std::string> paths{directory.write("a.csv", text),
                                       directory.write_gz("b.csv", text),
                                       directory.write_zst("c.csv", text)};
  for (const std::string& path : paths)
    for (const std::size_t step : {1'000'003u, 65'536u, 777u})
      ASSERT_EQ(read_in_steps(path, step), text) << path << " in steps of " << step;
}

TEST(TextInput, TheEndMayFallOnAStepsEnd) {
  const TemporaryDirectory directory;
  for (const std::size_t size : {0u, 1u, 4u, 1000u}) {
    const std::string text(size, 'x');
    EXPECT_EQ(read_in_steps(directory.write("a", text), 4), text);
    EXPECT_EQ(read_in_steps(directory.write_gz("a", text), 4), text);
    EXPECT_EQ(read_in_steps(directory.write_zst("a", text), 4), text);
  }
}

TEST(TextInput, ZstandardFramesFollowOneAnotherAndSomeAreToBeSkipped) {
  const TemporaryDirectory directory;
  std::ifstream a(directory.write_zst("a", "hello, "), std::ios::binary);
  std::ifstream b(directory.write_zst("b", "world"), std::ios::binary);
  std::stringstream frames;
  frames << std::string("\x50\x2A\x4D\x18\x03\x00\x00\x00zzz", 11) << a.rdbuf() << b.rdbuf();
  EXPECT_EQ(TemporaryDirectory::read(directory.write("both", frames.str())), "hello, world");
}

TEST(TextInput, ADamagedOrTruncatedZstandardFileIsAnError) {
  const TemporaryDirectory directory;
  const std::string path = directory.write_zst("a.zst", long_text());
  const auto read = [&] { TemporaryDirectory::read(path); };
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT(read, ThrowsMessage<InputError>(HasSubstr("a.zst: the Zstandard file is truncated")));
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out).seekp(4) << "\xFF\xFF\xFF";
  EXPECT_THAT(read, ThrowsMessage<InputError>(HasSubstr("a.zst: the Zstandard file is damaged")));
}

TEST(TextInput, FilesThatAreNotThereAndDirectoriesAreErrors) {
  const TemporaryDirectory directory;
  EXPECT_THAT([&] { TextInput input(directory.path("absent.zst")); },
              ThrowsMessage<InputError>(HasSubstr("cannot be opened: No such file or directory")));
  EXPECT_THAT([&] { TextInput input(directory.path()); },
              ThrowsMessage<InputError>(HasSubstr("is a directory")));
}

}  // namespace
}  // namespace starling::sim
