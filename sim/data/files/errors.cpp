// SPDX-License-Identifier: Apache-2.0
// Puts the place in front of an error's sentence: see errors.hpp.
#include "starling/sim/data/files/errors.hpp"

namespace starling::sim {

InputError::InputError(std::string_view file, std::uint64_t line, std::uint64_t column,
                       std::string_view sentence)
    : std::runtime_error(std::string(file) + ":" + std::to_string(line) + ":" +
                         std::to_string(column) + ": " + std::string(sentence)) {}

}  // namespace starling::sim
