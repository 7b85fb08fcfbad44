// SPDX-License-Identifier: Apache-2.0
// For threads that must not stop when memory runs out.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace starling {

/// Calls the function every 10 ms until it does not throw std::bad_alloc. Returns its result.
template <class Function>
void insist(const Function& function) {
  for (;;) {
    try {
      return function();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

}  // namespace starling
