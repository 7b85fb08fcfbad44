// SPDX-License-Identifier: Apache-2.0
// Quotes and escapes: see text_append.hpp.
#include "starling/sim/data/files/text_append.hpp"

#include <algorithm>

#include <simdjson.h>

#include "starling/knn/base/json_text.hpp"

namespace starling::sim {

std::string to_utf8(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return std::string(text);
  std::string utf8;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80) {
      utf8 += byte;
      continue;
    }
    utf8 += static_cast<char>(0xC0 | code >> 6);
    utf8 += static_cast<char>(0x80 | (code & 0x3F));
  }
  return utf8;
}

namespace {

bool is_control(char byte) {
  return static_cast<unsigned char>(byte) < 0x20;
}

}  // namespace

void append_csv(std::string& text, std::string_view value) {
  const auto needs_quotes = [](char byte) {
    return byte == ',' || byte == '"' || byte == '\r' || byte == '\n';
  };
  if (std::ranges::none_of(value, needs_quotes)) {
    text += value;
    return;
  }
  text += '"';
  for (const char byte : value) {
    if (byte == '"') text += '"';
    text += byte;
  }
  text += '"';
}

bool append_xml(std::string& text, std::string_view value) {
  bool holds_all = true;
  for (const char byte : to_utf8(value)) {
    if (byte == '&') {
      text += "&amp;";
    } else if (byte == '<') {
      text += "&lt;";
    } else if (byte == '>') {
      text += "&gt;";
    } else if (byte == '"') {
      text += "&quot;";
    } else if (byte == '\t' || byte == '\n' || byte == '\r') {
      text += "&#" + std::to_string(static_cast<int>(byte)) + ";";
    } else if (is_control(byte)) {
      text += "\uFFFD";
      holds_all = false;
    } else {
      text += byte;
      // XML also forbids U+FFFE and U+FFFF.
      if (text.ends_with("\xEF\xBF\xBE") || text.ends_with("\xEF\xBF\xBF")) {
        text.replace(text.size() - 3, 3, "\uFFFD");
        holds_all = false;
      }
    }
  }
  return holds_all;
}

void append_json(std::string& text, std::string_view value) {
  append_json_string(text, to_utf8(value));
}

}  // namespace starling::sim
