# Installs the built project into a staging folder, checks that installed headers include only
# installed headers, builds examples/ against it as an outside user would, and runs the programs.
# Called by ctest with -D BUILD_DIR, BUILD_TYPE, SANITIZE, CUDA, EXAMPLES_DIR, WORK_DIR.
set(stage ${WORK_DIR}/stage)
set(build ${WORK_DIR}/build)
file(REMOVE_RECURSE ${WORK_DIR})

set(sanitizer_flags "")
if(SANITIZE)
  set(sanitizer_flags "-fsanitize=${SANITIZE}")
endif()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${stage})

# No installed header needs one that stayed behind.
file(GLOB_RECURSE headers RELATIVE ${stage}/include ${stage}/include/starling/*)
foreach(header IN LISTS headers)
  file(STRINGS ${stage}/include/${header} includes REGEX "^ *# *include \"")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" target "${line}")
    if(NOT target IN_LIST headers)
      message(FATAL_ERROR "${header} includes ${target}, which is not installed")
    endif()
  endforeach()
endforeach()
list(LENGTH headers header_count)
message("${header_count} headers installed")

run(${CMAKE_COMMAND} -S ${EXAMPLES_DIR} -B ${build} -G Ninja -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
    -DCMAKE_PREFIX_PATH=${stage} "-DCMAKE_CXX_FLAGS=${sanitizer_flags}")
run(${CMAKE_COMMAND} --build ${build})
if(CUDA AND NOT EXISTS ${build}/vector_search_cuda)
  message(FATAL_ERROR "starling::cuda is built but was not installed")
endif()
foreach(program own_clock vector_search vector_ticks game_loop)
  run(${build}/${program})
endforeach()
run(${stage}/bin/starling --version)
# A server on free ports of the loopback, which ends when the client has.
run(bash -c [=[
set -euo pipefail
"$1" serve --tick 20ms --commands 'tcp://127.0.0.1:*' --results 'tcp://127.0.0.1:*' \
  --http 127.0.0.1:0 --endpoints-file "$3/endpoints.json" --log-level warning &
server=$!
trap 'kill "$server"; wait "$server"' EXIT
for ((tries = 0; tries < 200; ++tries)); do
  [[ -f $3/endpoints.json ]] && break
  sleep 0.05
done
endpoint() { sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" "$2"; }
"$2/client" "$(endpoint commands "$3/endpoints.json")" "$(endpoint results "$3/endpoints.json")"
]=] client_test ${stage}/bin/starling ${build} ${WORK_DIR})
