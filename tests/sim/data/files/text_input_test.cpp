// SPDX-License-Identifier: Apache-2.0
// Tests TextInput, which detects the compression from a file's content, not from its name.
#include "starling/sim/data/files/text_input.hpp"

#include <random>

#include <gmock/gmock.h>

#include "starling/sim/data/files/errors.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"

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
    if (bytes == 0) return text;
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

TEST(TextInput, ADamagedOrTruncatedGzipFileIsAnError) {
  const TemporaryDirectory directory;
  const std::string path = directory.write_gz("a.gz", long_text());
  const auto read = [&] { TemporaryDirectory::read(path); };
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT(read, ThrowsMessage<InputError>(HasSubstr("a.gz: the gzip file is truncated")));
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out).seekp(1000)
      << std::string(100, '\xFF');
  EXPECT_THAT(read, ThrowsMessage<InputError>(HasSubstr("a.gz: the gzip file is damaged")));
}

TEST(TextInput, GzipMembersFollowOneAnotherAndZerosMayFollowThem) {
  const TemporaryDirectory directory;
  const std::string a = TemporaryDirectory::read_bytes(directory.write_gz("a", "hello, "));
  const std::string b = TemporaryDirectory::read_bytes(directory.write_gz("b", "world"));
  EXPECT_EQ(TemporaryDirectory::read(directory.write("both", a + b)), "hello, world");
  EXPECT_EQ(TemporaryDirectory::read(directory.write("both", a + b + std::string(512, '\0'))),
            "hello, world");
  EXPECT_THAT([&] { TemporaryDirectory::read(directory.write("tail", a + "id,x,y")); },
              ThrowsMessage<InputError>(HasSubstr("bytes that are not gzip")));
}

TEST(TextInput, WhatIsCompressedAgainIsReadToo) {
  const TemporaryDirectory directory;
  std::string bytes = "id,x\n";
  for (int time = 0; time < 4; ++time)
    bytes = TemporaryDirectory::read_bytes(time % 2 == 0 ? directory.write_gz("a", bytes)
                                                         : directory.write_zst("a", bytes));
  EXPECT_EQ(TemporaryDirectory::read(directory.path("a")), "id,x\n");
  directory.write_gz("a", bytes);
  EXPECT_THAT([&] { TemporaryDirectory::read(directory.path("a")); },
              ThrowsMessage<InputError>(HasSubstr("compressed more than 4 times")));
}

/// Returns the text in UTF-16. `order`: 0 for little-endian, 1 for big-endian.
std::string utf16(std::u16string_view text, int order) {
  std::string bytes;
  for (const char16_t unit : text)
    for (const int half : {order, 1 - order})
      bytes.push_back(static_cast<char>(half == 0 ? unit & 0xFF : unit >> 8));
  return bytes;
}

TEST(TextInput, Utf16IsReadWithAByteOrderMarkOrWithout) {
  const TemporaryDirectory directory;
  const std::u16string text = u"id,x,name\n7,1,M\u00fcller \u65e5 \U0001F6A2\n";
  const std::string expected = "id,x,name\n7,1,M\u00fcller \u65e5 \U0001F6A2\n";
  for (const int order : {0, 1}) {
    EXPECT_EQ(TemporaryDirectory::read(directory.write("a", utf16(text, order))), expected);
    EXPECT_EQ(TemporaryDirectory::read(directory.write("a", utf16(u"\uFEFF" + text, order))),
              expected);
    EXPECT_EQ(TemporaryDirectory::read(directory.write_gz("a", utf16(u"\uFEFF" + text, order))),
              expected);
  }
  EXPECT_THAT([&] { TemporaryDirectory::read(directory.write("a", utf16(u"\uFEFFid", 0) + "x")); },
              ThrowsMessage<InputError>(HasSubstr("ends within a character")));
  EXPECT_THAT([&] { TemporaryDirectory::read(directory.write("a", utf16(u"\uFEFFi\xDC00x", 0))); },
              ThrowsMessage<InputError>(HasSubstr("the UTF-16 text is damaged")));
}

TEST(TextInput, AByteOrderMarkIsNoText) {
  const TemporaryDirectory directory;
  EXPECT_EQ(TemporaryDirectory::read(directory.write("a", "\xEF\xBB\xBFid")), "id");
  EXPECT_EQ(TemporaryDirectory::read(directory.write("a", "\xEF\xBB\xBF")), "");
  EXPECT_EQ(TemporaryDirectory::read(directory.write("a", "\xEF\xBB")), "\xEF\xBB");
}

TEST(TextInput, WhatIsNoTextIsNamed) {
  const TemporaryDirectory directory;
  const auto refusal = [&](std::string_view bytes) -> std::string {
    try {
      TemporaryDirectory::read(directory.write("a.csv", bytes));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("PK\3\4rest"), HasSubstr("a.csv: is a ZIP archive"));
  EXPECT_THAT(refusal("PAR1\x15rest"), HasSubstr("a Parquet file"));
  EXPECT_THAT(refusal("\xFD"
                      "7zXZ"),
              HasSubstr("compressed with xz"));
  EXPECT_THAT(refusal("BZh91AY"), HasSubstr("compressed with bzip2"));
  EXPECT_THAT(refusal("SQLite format 3"), HasSubstr("an SQLite database"));
  EXPECT_THAT(refusal(std::string_view("\xFF\xFE\0\0i\0\0\0", 8)), HasSubstr("UTF-32"));
  EXPECT_EQ(refusal("PAR1,ORCID\nPKW,2\nBZh,3\n"), "") << "words that only begin alike";
}

TEST(TextInput, TheHeadIsReadAgain) {
  TextInput input("in", std::string_view("abcdef"));
  EXPECT_EQ(input.head(2).substr(0, 2), "ab");
  std::string text(4, ' ');
  EXPECT_EQ(input.read(text), 4u);
  EXPECT_EQ(text, "abcd");
  EXPECT_EQ(input.head(9), "ef");
  EXPECT_EQ(input.read(text), 2u);
  EXPECT_EQ(input.read(text), 0u);
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
