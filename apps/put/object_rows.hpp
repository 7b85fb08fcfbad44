// SPDX-License-Identifier: Apache-2.0
// Turns text into rows of objects: the columns of a CSV header or the keys of JSON objects name the
// fields. `starling put` reads files and the standard input in this way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/base/time_text.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/text_input.hpp"

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
  std::uint32_t text_bytes_max = 255;  ///< the most bytes of an id or a name
  TimeUnit time_unit = TimeUnit::by_magnitude;
  DateOrder date_order = DateOrder::unknown;
  sim::DecimalMark decimal_mark = sim::DecimalMark::point;  ///< default; a CSV file may show
                                                            ///< another
  std::function<std::int64_t()> now_us;                     ///< the time of a row without a time
};

enum class ObjectFormat : std::uint8_t { by_first_byte, csv, ndjson };

/// The fields of a row, each as text. On a server of wgs84, ObjectField::x is the longitude and
/// ObjectField::y the latitude.
enum class ObjectField : std::uint8_t { id, time, time_us, x, y, z, tags, name, none };
inline constexpr std::size_t object_field_count = 8;

/// Returns the field that a column or a key of this name holds, whatever its case. For example,
/// "lon", "long", "lng" and "longitude" are ObjectField::x in wgs84.
ObjectField object_field_of(std::string_view name, Space space);

using RowHandler = std::function<void(const ObjectRow&)>;
/// Called for each row that is skipped, with its line and a sentence.
using FaultHandler = std::function<void(std::uint64_t line, const std::string& sentence)>;

/// Reads all rows and passes each one on as soon as its line has ended. Adds to `unused` the
/// columns or keys that hold no field, each once, at most 20 of them. Throws sim::InputError if the
/// input as a whole cannot be understood.
void read_object_rows(sim::TextInput& input, ObjectFormat format, const ObjectRowOptions& options,
                      const RowHandler& row, const FaultHandler& fault,
                      std::vector<std::string>& unused);

}  // namespace starling::apps
