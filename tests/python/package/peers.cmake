# SPDX-License-Identifier: Apache-2.0
# Runs scripts/python-peers (SCRIPT, FOLDER), and passes even if that fails: without the folder some
# tests are skipped.
execute_process(COMMAND ${SCRIPT} ${FOLDER} RESULT_VARIABLE result)
if(result)
  message("scikit-learn and pandas cannot be unpacked; tests that need them are skipped.")
endif()
