// SPDX-License-Identifier: Apache-2.0
// Parses an XML file with expat and calls the derived class at the start and end of each element.
// The readers of SUMO's files derive from XmlParser.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <expat.h>

#include "starling/sim/data/files/text_input.hpp"

namespace starling::sim {

/// The attributes of one element, valid inside start().
class XmlAttributes {
 public:
  explicit XmlAttributes(const XML_Char** pairs) : pairs_(pairs) {}
  /// Returns the value of attribute `key`, or an empty string if there is none.
  std::string_view operator[](std::string_view key) const;

 private:
  const XML_Char** pairs_;  ///< key, value, key, value, null
};

class XmlParser {
 public:
  XmlParser(const XmlParser&) = delete;
  XmlParser& operator=(const XmlParser&) = delete;
  virtual ~XmlParser() = default;

  /// Parses the whole input. Throws InputError if the XML is damaged, and whatever start() and
  /// end() throw.
  void read(TextInput& input);

 protected:
  /// Errors name `path`, which must outlive the parser.
  explicit XmlParser(const std::string& path);

  virtual void start(std::string_view name, const XmlAttributes& attributes) = 0;
  virtual void end(std::string_view name) = 0;
  /// Once take_text() has been called, read() calls text() with each piece of the text between
  /// tags.
  virtual void text(std::string_view) {}
  void take_text();

  // line() and column() return the place of the current element. fail() throws InputError with this
  // place.
  std::uint64_t line() const;
  std::uint64_t column() const;
  [[noreturn]] void fail(std::string_view sentence) const;

  const std::string& path_;

 private:
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };

  template <class Tell>
  void guarded(const Tell& tell);
  static void on_start(void* self, const XML_Char* name, const XML_Char** attributes);
  static void on_end(void* self, const XML_Char* name);
  static void on_text(void* self, const XML_Char* text, int length);

  std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_;
  std::exception_ptr thrown_;
};

}  // namespace starling::sim
