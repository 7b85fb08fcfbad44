// SPDX-License-Identifier: Apache-2.0
// Owns a file descriptor. The code that opens files, folders and sockets with POSIX calls uses it.
#pragma once

#include <utility>

#include <unistd.h>

namespace starling {

class Descriptor {
 public:
  /// Owns `number`; -1: nothing is open.
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (is_open()) ::close(number_);
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Closes the descriptor. Returns false if the last bytes could not be written.
  bool close() { return ::close(release()) == 0; }
  /// Gives up the ownership. The caller must close the descriptor.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace starling
