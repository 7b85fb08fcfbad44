// SUMO's floating-car data, streamed through expat: a timestep's time stands in front of the
// vehicles and persons that it holds.
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <expat.h>

#include "sim/record_readers.hpp"

namespace starling::sim {
namespace {

class SumoParser {
 public:
  SumoParser(const std::string& path, bool persons, const RecordHandler& handler)
      : path_(path), persons_(persons), handler_(handler), parser_(XML_ParserCreate(nullptr)) {
    if (!parser_) throw std::bad_alloc();
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), on_start, on_end);
  }

  void parse(std::string_view chunk, bool last) {
    if (XML_Parse(parser_.get(), chunk.data(), static_cast<int>(chunk.size()), last) ==
        XML_STATUS_OK)
      return;
    if (thrown_) std::rethrow_exception(thrown_);
    throw TraceError(
        path_, line(), column(),
        std::string("the XML is damaged: ") + XML_ErrorString(XML_GetErrorCode(parser_.get())));
  }

 private:
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };

  // expat is C: an exception must not pass through it.
  static void on_start(void* self, const XML_Char* name, const XML_Char** attributes) {
    auto& parser = *static_cast<SumoParser*>(self);
    try {
      if (!parser.thrown_) parser.start(name, attributes);
    } catch (...) {
      parser.thrown_ = std::current_exception();
      XML_StopParser(parser.parser_.get(), XML_FALSE);
    }
  }

  static void on_end(void* self, const XML_Char* name) {
    if (std::string_view(name) == "timestep") static_cast<SumoParser*>(self)->time_.clear();
  }

  void start(std::string_view name, const XML_Char** attributes) {
    if (name == "timestep") return start_timestep(attributes);
    if (name != "vehicle" && !(persons_ && name == "person")) return;
    RowText row;
    for (Field* const field : {&row.id, &row.time, &row.x, &row.y, &row.z, &row.tags}) {
      field->line = line();
      field->column = column();
    }
    row.time.text = time_;
    for (; *attributes != nullptr; attributes += 2) {
      const std::string_view key = attributes[0];
      const std::string_view value = attributes[1];
      if (key == "id") row.id.text = value;
      if (key == "x") row.x.text = value;
      if (key == "y") row.y.text = value;
      if (key == "z") row.z.text = value;
    }
    handler_(row);
  }

  void start_timestep(const XML_Char** attributes) {
    time_.clear();
    for (; *attributes != nullptr; attributes += 2)
      if (std::string_view(attributes[0]) == "time") time_ = attributes[1];
  }

  std::uint64_t line() const { return XML_GetCurrentLineNumber(parser_.get()); }
  std::uint64_t column() const { return XML_GetCurrentColumnNumber(parser_.get()) + 1; }

  const std::string& path_;
  const bool persons_;
  const RecordHandler& handler_;
  std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_;
  std::string time_;
  std::exception_ptr thrown_;
};

}  // namespace

void read_sumo_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler) {
  SumoParser parser(input.path(), options.persons, handler);
  std::vector<char> chunk(read_bytes);
  for (bool last = false; !last;) {
    const std::size_t bytes = input.read(chunk);
    last = bytes < chunk.size();
    parser.parse({chunk.data(), bytes}, last);
  }
}

}  // namespace starling::sim
