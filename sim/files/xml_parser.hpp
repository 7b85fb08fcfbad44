// A file of XML from its start to its end, through expat: an element's start and end are told to
// the class that derives. The readers of SUMO's files are such.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <expat.h>

#include "sim/files/text_input.hpp"

namespace starling::sim {

/// Of one element, in a handler.
class XmlAttributes {
 public:
  explicit XmlAttributes(const XML_Char** pairs) : pairs_(pairs) {}
  /// The value, or empty.
  std::string_view operator[](std::string_view key) const;

 private:
  const XML_Char** pairs_;  ///< key, value, key, value, null
};

class XmlParser {
 public:
  XmlParser(const XmlParser&) = delete;
  XmlParser& operator=(const XmlParser&) = delete;
  virtual ~XmlParser() = default;

  /// Throws TraceError where the XML is damaged, and what the handlers throw.
  void read(TextInput& input);

 protected:
  /// `path` is what errors name, for as long as the parser lives.
  explicit XmlParser(const std::string& path);

  virtual void start(std::string_view name, const XmlAttributes& attributes) = 0;
  virtual void end(std::string_view name) = 0;

  // Where the parser is:
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

  std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_;
  std::exception_ptr thrown_;
};

}  // namespace starling::sim
