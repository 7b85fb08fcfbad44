// SPDX-License-Identifier: Apache-2.0
// Reads and writes the structs of starling.h. Each begins with its size in the caller's header,
// which may be older or newer than this library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "starling/clients/c/error.hpp"
#include "starling/clients/c/starling.h"

namespace starling::c {

/// The size of a struct in the first version of starling.h. Programs compiled with that version
/// must always work, so these numbers never change. Later versions of a struct are larger.
template <class Struct>
inline constexpr std::size_t first_size = sizeof(Struct);
template <>
inline constexpr std::size_t first_size<starling_client_options> = 40;
template <>
inline constexpr std::size_t first_size<starling_subscription_options> = 80;
template <>
inline constexpr std::size_t first_size<starling_lists> = 128;
template <>
inline constexpr std::size_t first_size<starling_event> = 32;

/// No struct of starling.h will be larger. A larger `size` is uninitialized memory.
inline constexpr std::size_t struct_bytes_max = 4096;

/// Throws FailureError if no caller can have been compiled with this size.
template <class Struct>
void check_size(std::size_t size, const std::string& what) {
  if (size < first_size<Struct> || size > struct_bytes_max)
    fail(STARLING_INVALID_ARGUMENT, what + " is " + std::to_string(size) +
                                        "; set it to the sizeof of the struct, which is at least " +
                                        std::to_string(first_size<Struct>) + ".");
}

/// Returns the size that the caller wrote into its struct.
template <class Struct>
std::size_t size_of(const Struct* given, const char* what) {
  if (given == nullptr) fail(STARLING_INVALID_ARGUMENT, std::string(what) + " is NULL.");
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  check_size<Struct>(size, std::string(what) + ".size");
  return size;
}

/// Copies the caller's struct. Members that the caller's header lacks are zero. A struct of a newer
/// header may be longer: it is refused unless its additional members are zero.
template <class Struct>
Struct read_struct(const Struct* given, const char* what) {
  const std::size_t size = size_of(given, what);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + std::min(size, sizeof(Struct)), bytes + size,
                  [](unsigned char byte) { return byte != 0; }))
    fail(STARLING_INVALID_ARGUMENT, std::string(what) +
                                        " has members that this version of the library does not "
                                        "know; use the header of version " STARLING_VERSION ".");
  Struct read{};
  std::memcpy(&read, bytes, std::min(size, sizeof(Struct)));
  read.size = sizeof(Struct);
  return read;
}

/// Fills the caller's struct and leaves its size as it is.
template <class Struct>
void write_struct(Struct* given, const char* what, Struct value) {
  value.size = size_of(given, what);
  std::memcpy(static_cast<void*>(given), &value, std::min(value.size, sizeof(Struct)));
}

/// Like write_struct, but does nothing if `given` is NULL.
template <class Struct>
void write_optional(Struct* given, const char* what, const Struct& value) {
  if (given != nullptr) write_struct(given, what, value);
}

/// Sets the defaults. `size` is the sizeof that the caller was compiled with.
template <class Struct>
void init_struct(Struct* given, std::size_t size, const char* what, const Struct& defaults) {
  if (given == nullptr) fail(STARLING_INVALID_ARGUMENT, std::string(what) + " is NULL.");
  check_size<Struct>(size, "size");
  std::memset(static_cast<void*>(given), 0, size);
  std::memcpy(static_cast<void*>(given), &defaults, std::min(size, sizeof(Struct)));
  std::memcpy(static_cast<void*>(given), &size, sizeof(size));
}

}  // namespace starling::c
