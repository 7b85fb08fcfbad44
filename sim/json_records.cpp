// One JSON array of flat objects, read on demand by simdjson. Values are passed on as their text,
// so that numbers lose nothing on the way.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <simdjson.h>

#include "sim/record_readers.hpp"

namespace starling::sim {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t json_bytes_max = std::size_t{4} << 30;  // simdjson's own bound

/// Lines and columns of ascending places in a text.
class PlaceCounter {
 public:
  explicit PlaceCounter(std::string_view text) : text_(text), line_end_(text.find('\n')) {}

  Field place(std::size_t offset) {
    for (; line_end_ < offset; line_end_ = text_.find('\n', line_begin_)) {
      line_begin_ = line_end_ + 1;
      ++line_;
    }
    return {{}, line_, offset - line_begin_ + 1};
  }

 private:
  std::string_view text_;
  std::size_t line_begin_ = 0;
  std::size_t line_end_;
  std::uint64_t line_ = 1;
};

class JsonRecords {
 public:
  JsonRecords(std::string text, const std::string& path, const Columns& columns,
              const RecordHandler& handler)
      : text_(std::move(text)), path_(path), columns_(columns), handler_(handler), places_(text_) {}

  void read() {
    ondemand::parser parser;
    ondemand::document document;
    try {
      document = parser.iterate(
          simdjson::padded_string_view(text_.data(), text_.size(), text_.capacity()));
      document_ = &document;
      for (auto element : document.get_array()) read_record(element.value());
      if (document.current_location().error() == simdjson::SUCCESS)
        fail("there is text after the array's end");
    } catch (const simdjson::simdjson_error& error) {
      fail(std::string("the JSON is damaged or not an array of records: ") + error.what());
    }
  }

 private:
  void read_record(ondemand::value record) {
    RowText row;
    const std::array<Field*, 6> parts{&row.id, &row.time, &row.x, &row.y, &row.z, &row.tags};
    const Field place = places_.place(offset_of(record.raw_json_token()));
    for (Field* const part : parts) *part = place;
    strings_used_ = 0;
    if (record.type() == ondemand::json_type::object)
      for (auto member : record.get_object()) {
        const std::string_view key = member.unescaped_key();
        const auto column = std::ranges::find(columns_.names, key);
        if (column == columns_.names.end() || key.empty()) continue;
        Field& field = *parts[static_cast<std::size_t>(column - columns_.names.begin())];
        ondemand::value value = member.value();
        field = places_.place(offset_of(value.raw_json_token()));
        field.text = text_of(value);
      }
    handler_(row);
  }

  /// A scalar's text: strings without quotes, null as nothing.
  std::string_view text_of(ondemand::value value) {
    switch (value.type().value()) {
      case ondemand::json_type::string: {
        std::string& copy = strings_[strings_used_++ % strings_.size()];
        copy = std::string_view(value.get_string());
        return copy;
      }
      case ondemand::json_type::null:
        return {};
      default: {
        const std::string_view token = value.raw_json_token();
        return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
      }
    }
  }

  std::size_t offset_of(std::string_view token) const {
    return static_cast<std::size_t>(token.data() - text_.data());
  }

  [[noreturn]] void fail(const std::string& sentence) {
    const char* location = nullptr;
    std::size_t offset = text_.size();
    if (document_ != nullptr && document_->current_location().get(location) == simdjson::SUCCESS)
      offset = std::min(offset, static_cast<std::size_t>(location - text_.data()));
    const Field place = PlaceCounter(text_).place(offset);
    throw TraceError(path_, place.line, place.column, sentence);
  }

  const std::string text_;
  const std::string& path_;
  const Columns& columns_;
  const RecordHandler& handler_;
  PlaceCounter places_;
  ondemand::document* document_ = nullptr;
  std::array<std::string, 6> strings_;  ///< a record's unescaped strings
  std::size_t strings_used_ = 0;
};

}  // namespace

void read_json_records(TextInput& input, const RecordOptions& options,
                       const RecordHandler& handler) {
  std::string text = input.read_all(json_bytes_max, simdjson::SIMDJSON_PADDING);
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  JsonRecords(std::move(text), input.path(), options.columns, handler).read();
}

}  // namespace starling::sim
