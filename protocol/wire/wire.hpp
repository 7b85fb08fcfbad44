// SPDX-License-Identifier: Apache-2.0
// The generated FlatBuffers code, and the helpers that this folder's encoders and decoders share.
// Private: included by protocol/wire/*.cpp only, so that no user of the library sees FlatBuffers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/list_chunk.hpp"
#include "starling/protocol/wire/run.hpp"
#include "wire/starling_generated.h"

namespace starling::protocol {

// Received arrays are read in place, without swapping bytes.
static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

inline constexpr const char* request_identifier = "STRQ";
inline constexpr const char* reply_identifier = "STRP";
inline constexpr const char* tick_header_identifier = "STTH";
inline constexpr const char* list_chunk_identifier = "STLC";

template <class T>
std::span<const T> to_span(const flatbuffers::Vector<T>* vector) {
  if (vector == nullptr) return {};
  return {vector->data(), vector->size()};
}

inline std::string_view to_view(const flatbuffers::String* text) {
  if (text == nullptr) return {};
  return {text->c_str(), text->size()};
}

inline const std::uint8_t* to_octets(std::span<const std::byte> bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

/// Adds an array to the builder. Adds nothing and returns 0 if `values` is empty; the field is then
/// absent.
template <class T>
flatbuffers::Offset<flatbuffers::Vector<T>> add_array(flatbuffers::FlatBufferBuilder& builder,
                                                      std::span<const T> values) {
  if (values.empty()) return 0;
  return builder.CreateVector(values.data(), values.size());
}

inline flatbuffers::Offset<flatbuffers::String> add_text(flatbuffers::FlatBufferBuilder& builder,
                                                         std::string_view text) {
  if (text.empty()) return 0;
  return builder.CreateString(text.data(), text.size());
}

/// Adds an array of texts. All empty texts share one string.
inline flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> add_texts(
    flatbuffers::FlatBufferBuilder& builder, std::span<const std::string_view> texts) {
  std::vector<flatbuffers::Offset<flatbuffers::String>> offsets;
  offsets.reserve(texts.size());
  const auto empty = builder.CreateString("");
  for (const std::string_view text : texts)
    offsets.push_back(text.empty() ? empty : builder.CreateString(text.data(), text.size()));
  return builder.CreateVector(offsets);
}

inline Problem malformed(std::string sentence) {
  return {ErrorCode::malformed, std::move(sentence)};
}

/// Returns a Problem if the elements of an array are not aligned. FlatBuffers' verifier checks only
/// the alignment of the array's length.
template <class... T>
std::optional<Problem> check_alignment(const flatbuffers::Vector<T>*... vectors) {
  const auto lies_well = []<class Element>(const flatbuffers::Vector<Element>* vector) {
    return vector == nullptr || vector->size() == 0 ||
           std::bit_cast<std::uintptr_t>(vector->Data()) % alignof(Element) == 0;
  };
  if ((lies_well(vectors) && ...)) return std::nullopt;
  return malformed("An array of 8-byte numbers does not begin at a multiple of 8 in the frame.");
}

/// Returns the root table of a frame. Returns nullptr if the frame's identifier, an offset or a
/// length is wrong, or if the frame has more than `tables_max` tables.
template <class T>
const T* verified_root(std::span<const std::byte> bytes, const char* identifier,
                       std::size_t tables_max) {
  constexpr flatbuffers::uoffset_t depth_max = 8;
  flatbuffers::Verifier verifier(to_octets(bytes), bytes.size(), depth_max,
                                 static_cast<flatbuffers::uoffset_t>(tables_max));
  if (!verifier.VerifyBuffer<T>(identifier)) return nullptr;
  return flatbuffers::GetRoot<T>(to_octets(bytes));
}

/// Returns the runs that a HelloReply or a SnapshotPage has.
template <class Table>
std::vector<Run> runs_of(const Table& table) {
  std::vector<Run> runs;
  if (table.runs() != nullptr)
    for (const wire::Run* run : *table.runs()) runs.push_back({run->id(), run->begun()});
  return runs;
}

inline flatbuffers::Offset<flatbuffers::Vector<const wire::Run*>> add_runs(
    flatbuffers::FlatBufferBuilder& builder, std::span<const Run> runs) {
  if (runs.empty()) return 0;
  std::vector<wire::Run> structs;
  for (const Run& run : runs) structs.emplace_back(run.id, run.begun);
  return builder.CreateVectorOfStructs(structs);
}

/// Returns an upper bound of the bytes of a ListChunk with the lists of `source`.
std::size_t chunk_bytes(const ListSource& source);

flatbuffers::Offset<wire::ListChunk> add_lists(flatbuffers::FlatBufferBuilder& builder,
                                               const ListSource& source);

/// Points `lists` at the arrays of a verified table. Returns a Problem if the table is missing, if
/// its arrays do not fit together, or if an array holds a wrong value.
std::optional<Problem> read_lists(const wire::ListChunk* table, ListChunk& lists);

/// Returns a Problem unless the lists have exactly the columns of `with`.
std::optional<Problem> check_columns(const ReportWith& with, const ListChunk& lists);

}  // namespace starling::protocol
