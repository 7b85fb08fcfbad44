// SPDX-License-Identifier: Apache-2.0
// The oracle of the log's tests: the records that were appended, as plain values. It does not use
// the log's format.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "starling/log/pending_group.hpp"
#include "starling/log/reader.hpp"
#include "starling/log/writer.hpp"

namespace starling::log {

struct ModelRecord {
  std::uint16_t type = 1;
  std::uint16_t version = 0;
  std::string payload;
  bool operator==(const ModelRecord&) const = default;
};
using ModelGroup = std::vector<ModelRecord>;

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline void append(PendingGroup& group, const ModelGroup& records) {
  for (const ModelRecord& record : records)
    group.append(RecordType{record.type}, record.version, bytes_of(record.payload));
}

inline ModelGroup model_of(const Group& group) {
  ModelGroup records;
  for (const Record& record : group.records)
    records.push_back(
        {static_cast<std::uint16_t>(record.type), record.version,
         std::string(reinterpret_cast<const char*>(record.payload.data()), record.payload.size())});
  return records;
}

/// Returns a handler that appends each group to `groups`.
inline GroupHandler collect(std::vector<ModelGroup>& groups) {
  return [&groups](const Group& group) { groups.push_back(model_of(group)); };
}

/// Returns some records of random lengths, also empty ones.
template <class Random>
ModelGroup random_group(Random& random, std::size_t records_max, std::size_t bytes_max) {
  ModelGroup records(1 + random() % records_max);
  for (ModelRecord& record : records) {
    record.type = static_cast<std::uint16_t>(1 + random() % 5);
    record.version = static_cast<std::uint16_t>(random() % 3);
    record.payload.resize(random() % (bytes_max + 1));
    for (char& each : record.payload) each = static_cast<char>(random());
  }
  return records;
}

inline LogId test_id(std::uint8_t first = 7) {
  LogId id{};
  for (std::uint8_t& each : id) each = first++;
  return id;
}

inline WriterOptions test_options(std::uint64_t segment_bytes = 2048) {
  return {.segment_bytes = segment_bytes, .wall_us = [] { return std::int64_t{1000}; }};
}

inline void commit(Writer& writer, const ModelGroup& records) {
  PendingGroup group(writer.next_sequence());
  append(group, records);
  writer.commit(group);
}

}  // namespace starling::log
