# SPDX-License-Identifier: Apache-2.0
# CTest reads this file after the tests of this folder. Tests that compare a
# time or memory with a bound run alone.
foreach(test access.KeyedServer.AReloadOfTheLargestFileHoldsTheLoopForNoLongTime
        stream.LoopTurnsTest.NoRequestHoldsTheLoop
        stream.LoopTurnsTest.NorDoThousandsOfStreamsAndSessions
        stream.StalledSocket.CostsAtMost16MiBAndNoSubscriberATick
        journal.Durability.AReplyToAdvanceTickDoesNotWaitForTheNextCommitByTheClock)
  set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
endforeach()
