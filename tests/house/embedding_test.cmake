# Installs the built project into a staging folder, builds PROGRAM_DIR against it as an outside
# user would, and runs its programs. Called by ctest with -D BUILD_DIR, BUILD_TYPE, SANITIZE, PROGRAM_DIR,
# WORK_DIR.
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
run(${CMAKE_COMMAND} -S ${PROGRAM_DIR} -B ${build} -G Ninja -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
    -DCMAKE_PREFIX_PATH=${stage} "-DCMAKE_CXX_FLAGS=${sanitizer_flags}")
run(${CMAKE_COMMAND} --build ${build})
run(${build}/lock_step)
run(${build}/vectors)
run(${build}/game_loop)
run(${stage}/bin/starling --version)
