# SPDX-License-Identifier: Apache-2.0
# Joins modules into one file with esbuild, whose command works without npm's install scripts.

# bundle(<entry in WORK_DIR> <output> [flags...])
function(bundle entry output)
  execute_process(
    COMMAND ${NODE} node_modules/esbuild/bin/esbuild ${entry} --outfile=${output} --bundle --minify
            --format=iife --target=es2022 --jsx=automatic --jsx-import-source=preact
            --define:inf=Infinity --preserve-symlinks --log-level=warning ${ARGN}
    WORKING_DIRECTORY ${WORK_DIR} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
