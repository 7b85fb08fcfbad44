// SPDX-License-Identifier: Apache-2.0
// The functions of Asio and Beast that are no templates, compiled once for all files that call
// them: see BOOST_ASIO_SEPARATE_COMPILATION in CMakeLists.txt.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
