// SPDX-License-Identifier: Apache-2.0
// The functions of Beast that are no templates, compiled once for all files that call them: see
// BOOST_BEAST_SEPARATE_COMPILATION in CMakeLists.txt.
#include <boost/beast/src.hpp>
