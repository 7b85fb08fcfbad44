# SPDX-License-Identifier: Apache-2.0
# Writes the header with STARLING_BUILD_ID: the version, and a hash of the compiler and of all files
# that both sides of the door are compiled from. Run with -D OUTPUT, VERSION, COMPILER and FILES, a
# list of paths with "|" between them. A header that stays the same is not written again.
cmake_policy(VERSION 3.25)
string(REPLACE "|" ";" files "${FILES}")
list(SORT files)
set(hashes "${COMPILER}")
foreach(file IN LISTS files)
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 8 hash)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
  "#pragma once\n#define STARLING_BUILD_ID \"@VERSION@+@hash@\"\n")
