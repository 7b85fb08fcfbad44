// SPDX-License-Identifier: Apache-2.0
// Turns text into rows of objects: the columns of a CSV header or the keys of JSON objects name the
// fields. `starling put` reads files and the standard input with ObjectRows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/base/time_text.hpp"
#include "starling/knn/words/space.hpp"

namespace starling::apps {

/// One position of one object. The texts are valid during the call of the handler.
struct ObjectRow {
  std::string_view id;
  std::string_view name{};  ///< empty: the name is the text of the id
  std::int64_t time_us = 0;
  Position position{};
  bool has_z = false;
  std::optional<std::uint32_t> tags{};
};

struct ObjectRowOptions {
  Space space = Space::planar2;
  std::uint32_t text_bytes_max = 255;  ///< of an id or a name
  TimeUnit time_unit = TimeUnit::by_magnitude;
  std::function<std::int64_t()> now_us;  ///< the time of a row without a time
};

enum class ObjectFormat : std::uint8_t { by_first_byte, csv, ndjson };

/// The fields of a row, each as text. Field::x is the longitude and Field::y the latitude on a
/// server of wgs84.
enum class ObjectField : std::uint8_t { id, time, time_us, x, y, z, tags, name, none };
inline constexpr std::size_t object_field_count = 8;

/// Returns the field that a column or a key of this name holds, whatever its case. For example,
/// "lon", "long", "lng" and "longitude" are Field::x in wgs84.
ObjectField object_field_of(std::string_view name, Space space);

class ObjectRows {
 public:
  using RowHandler = std::function<void(const ObjectRow&)>;
  /// Called for each row that is skipped, with its line and a sentence.
  using FaultHandler = std::function<void(std::uint64_t line, const std::string& sentence)>;

  /// Errors name the input `path`.
  ObjectRows(std::string path, ObjectFormat format, ObjectRowOptions options);
  ~ObjectRows();
  ObjectRows(const ObjectRows&) = delete;
  ObjectRows& operator=(const ObjectRows&) = delete;

  /// Takes the next bytes and passes the rows whose end has come to `row`. Throws sim::InputError
  /// if the input as a whole cannot be understood.
  void feed(std::string_view bytes, const RowHandler& row, const FaultHandler& fault);
  /// Takes the end of the input: the last line may lack its line break.
  void end(const RowHandler& row, const FaultHandler& fault);

  /// Returns the columns or keys that hold no field, each once, at most 20 of them.
  const std::vector<std::string>& unused() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::apps
