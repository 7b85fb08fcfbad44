# SPDX-License-Identifier: Apache-2.0
# Becomes tests/toys/CMakeLists.txt of the copy: the tests that show that the toys work, out of programs
# that take minutes to compile.
starling_test(toy_tables
  SOURCES ../stream/limit_table_test.cpp ../stream/metric_table_test.cpp
  LIBS starling_stream_peers starling_test_support PkgConfig::zmq Boost::headers)
target_compile_definitions(test_toy_tables PRIVATE STARLING_PROGRAM="$<TARGET_FILE:starling>"
                           STARLING_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
add_dependencies(test_toy_tables starling)
starling_test(toy_layouts
  SOURCES ../sim/data/traces/published_layouts_test.cpp ../sim/data/traces/trace_files_test.cpp
  LIBS starling::sim starling_stream_peers starling::stream starling::cpu Boost::headers ZLIB::ZLIB
       PkgConfig::zstd spdlog::spdlog)
starling_test(toy_scripts BACKENDS
  SOURCES ../conformance/engines.cpp ../conformance/misuse_test.cpp ../conformance/script.cpp
          ../conformance/script_test.cpp ../support/failing_new.cpp
  LIBS starling_engine_twins starling::cpu starling_test_support)
