// SPDX-License-Identifier: Apache-2.0
// Passes the file to expat in chunks: see xml_parser.hpp.
#include "starling/sim/data/files/xml_parser.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include "starling/sim/data/files/errors.hpp"

namespace starling::sim {

std::string_view XmlAttributes::operator[](std::string_view key) const {
  for (const XML_Char** at = pairs_; *at != nullptr; at += 2)
    if (key == at[0]) return at[1];
  return {};
}

XmlParser::XmlParser(const std::string& path) : path_(path), parser_(XML_ParserCreate(nullptr)) {
  if (!parser_) throw std::bad_alloc();
  XML_SetUserData(parser_.get(), this);
  XML_SetElementHandler(parser_.get(), on_start, on_end);
}

void XmlParser::read(TextInput& input) {
  // The XML declaration may still say UTF-16, but the input has been converted to UTF-8.
  if (std::ranges::find(input.undone(), "UTF-16") != input.undone().end())
    XML_SetEncoding(parser_.get(), "UTF-8");
  std::vector<char> chunk(read_bytes);
  for (bool is_last = false; !is_last;) {
    const std::size_t bytes = input.read(chunk);
    is_last = bytes == 0;
    if (XML_Parse(parser_.get(), chunk.data(), static_cast<int>(bytes), is_last) == XML_STATUS_OK)
      continue;
    if (thrown_) std::rethrow_exception(thrown_);
    fail(std::string("the XML is damaged: ") + XML_ErrorString(XML_GetErrorCode(parser_.get())));
  }
}

void XmlParser::take_text() {
  XML_SetCharacterDataHandler(parser_.get(), on_text);
}

std::uint64_t XmlParser::line() const {
  return XML_GetCurrentLineNumber(parser_.get());
}

std::uint64_t XmlParser::column() const {
  return XML_GetCurrentColumnNumber(parser_.get()) + 1;
}

void XmlParser::fail(std::string_view sentence) const {
  throw InputError(path_, line(), column(), sentence);
}

// expat is C, so an exception must not unwind through it. guarded() stores the exception, and
// read() throws it again.
template <class Tell>
void XmlParser::guarded(const Tell& tell) {
  try {
    if (!thrown_) tell();
  } catch (...) {
    thrown_ = std::current_exception();
    XML_StopParser(parser_.get(), XML_FALSE);
  }
}

void XmlParser::on_start(void* self, const XML_Char* name, const XML_Char** attributes) {
  auto& parser = *static_cast<XmlParser*>(self);
  parser.guarded([&] { parser.start(name, XmlAttributes(attributes)); });
}

void XmlParser::on_end(void* self, const XML_Char* name) {
  auto& parser = *static_cast<XmlParser*>(self);
  parser.guarded([&] { parser.end(name); });
}

void XmlParser::on_text(void* self, const XML_Char* text, int length) {
  auto& parser = *static_cast<XmlParser*>(self);
  parser.guarded([&] { parser.text({text, static_cast<std::size_t>(length)}); });
}

}  // namespace starling::sim
