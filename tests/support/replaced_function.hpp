// SPDX-License-Identifier: Apache-2.0
// For test code that defines functions of the C library and passes their calls on.
#pragma once

#include <cstdarg>

#include <dlfcn.h>
#include <fcntl.h>

namespace starling::test {

/// Returns the C library's function of this name.
template <class Function>
Function* next_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Returns the mode of a call of open(), or 0 if the call has no mode.
inline mode_t mode_in(int flags, va_list arguments) {
  const bool makes_file = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes_file ? va_arg(arguments, mode_t) : 0;
}

}  // namespace starling::test
