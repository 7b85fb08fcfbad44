// SPDX-License-Identifier: Apache-2.0
// For threads that must not stop when memory runs out.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace starling {

/// Calls the function until it finds memory.
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
