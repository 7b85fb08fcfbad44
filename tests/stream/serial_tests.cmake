# SPDX-License-Identifier: Apache-2.0
# CTest reads this after the tests of test_stream: those that hold a time to a bound run alone.
foreach(test NoRequestHoldsTheLoop NorDoThousandsOfStreamsAndSessions)
  set_tests_properties(stream.LoopTurnsTest.${test} PROPERTIES RUN_SERIAL ON)
endforeach()
