# Apache ECharts, which draws the page of `paceline simulate --plot`: from npm,
# once per build tree, checked against package-lock.json. Where it cannot be had
# the build goes on, and PlotPage() says what is missing.

set(PACELINE_ECHARTS "" CACHE FILEPATH
    "An echarts.min.js to use; empty: take it from npm")

# Fetches it into `folder`; `problem` is empty when it is there.
function(paceline_fetch_echarts folder problem)
  file(SHA256 ${CMAKE_CURRENT_SOURCE_DIR}/package-lock.json lock_hash)
  set(stamp "")
  if(EXISTS ${folder}/stamp AND EXISTS ${folder}/echarts.min.js)
    file(READ ${folder}/stamp stamp)
  endif()
  set(${problem} "" PARENT_SCOPE)
  if(stamp STREQUAL lock_hash)
    return()
  endif()
  find_program(PACELINE_NPM npm)
  if(NOT PACELINE_NPM)
    set(${problem} "npm was not found" PARENT_SCOPE)
    return()
  endif()
  file(COPY package.json package-lock.json DESTINATION ${folder})
  # Two short tries: without a network this must not take minutes.
  execute_process(
    COMMAND ${PACELINE_NPM} ci --ignore-scripts --no-audit --no-fund
            --fetch-retries=1 --fetch-retry-mintimeout=1000
            --fetch-retry-maxtimeout=2000 --fetch-timeout=30000
    WORKING_DIRECTORY ${folder}
    TIMEOUT 180
    RESULT_VARIABLE result
    OUTPUT_FILE ${folder}/npm.log
    ERROR_FILE ${folder}/npm.log)
  set(script ${folder}/node_modules/echarts/dist/echarts.min.js)
  if(NOT result STREQUAL "0" OR NOT EXISTS ${script})
    set(${problem} "npm could not fetch echarts, see ${folder}/npm.log"
        PARENT_SCOPE)
    return()
  endif()
  # One file of the package's thousands is used.
  file(COPY ${script} DESTINATION ${folder})
  file(REMOVE_RECURSE ${folder}/node_modules)
  file(WRITE ${folder}/stamp ${lock_hash})
endfunction()

# Sets `result` to the script's path, to that of an empty file if there is none.
function(paceline_find_echarts result)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/npm)
  set(found ${folder}/echarts.min.js)
  set(problem "")
  if(PACELINE_ECHARTS)
    set(found ${PACELINE_ECHARTS})
    if(NOT EXISTS ${found})
      set(problem "there is no ${found}")
    endif()
  else()
    paceline_fetch_echarts(${folder} problem)
  endif()
  if(problem)
    message(STATUS "paceline simulate --plot is left out: ${problem}")
    set(found ${folder}/none.js)
    file(WRITE ${found} "")
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()
