# Adds the ctest entry system.NAME for each tests/system/test_NAME.py, run by pytest against the
# program with its default scheme and engine.
#
# Labels beside `system`, for builds with sanitizers:
#   input    INPUT_TESTS, what reads a client's bytes or an operator's files
#   threads  THREAD_TESTS, what threads do together
#
# Further entries:
#   system.PAIR.NAME     label system: QUICK_TESTS with each pair of a scheme and an engine
#   matrix.PAIR.NAME     label matrix: the other tests with MATRIX_PAIRS; not part of `make test`
#   system.nghttp2.NAME  label system: HTTP2_TESTS with --h2 nghttp2
#   churn.PAIR           label churn: CHURN_CONNECTIONS short connections; not part of `make test`

set(H2SERVER_PAIRS
  "acceptor epoll" "acceptor io_uring" "reuseport epoll" "reuseport io_uring"
  "thread-pool blocking" "buffered-pool blocking"
  "thread-per-connection blocking" "process-per-connection blocking")
set(QUICK_TESTS http1 uploads paths)
# One of each kind; all tests run with the default one anyway.
set(MATRIX_PAIRS
  "acceptor epoll" "reuseport epoll" "thread-pool blocking" "process-per-connection blocking")
# Tests of the command line, of configuration files or an example, tests that iterate over the pairs
# themselves, slow clients whose requests other tests make, too, and tests of what handlers, certificates
# and pages say, which no pair changes.
set(TESTS_WITHOUT_PAIR
  access_log acme acme_store admin apt browser capacity churn cluster command_line completion compose config console counters
  credentials disappearing doctor documentation error_log examples firefox grpc hangups instructions
  io_uring_refused kubernetes leaks link listeners listing manual media middleware prometheus proxy_protocol
  put_command redbot reload resets resumable schemes service_manager site sites snapshots start
  status_page store store_cache store_client store_contract store_instructions store_resumable store_uploads tls_python top traces trailers
  trust tus upgrade upload_access upload_chaos upload_hook upload_page uppy webdav webdav_changes workloads)
set(CHURN_CONNECTIONS 20000)
set(HTTP2_TESTS clients h2spec large lifecycle put static uploads)

set(INPUT_TESTS
  burst clients config floods h2spec http1 paths proxy_protocol put resets resumable rules site sites static tls trailers
  tus upload_access upload_limits upload_refusals uploads webdav webdav_changes)
set(THREAD_TESTS churn load reload upgrade uploads)

set(HEAVY_TESTS load churn cluster)  # each counts as two parallel tests
set(SERIAL_TESTS h2spec)     # runs alone: each case has a timeout of 2 s

# Debian's interpreter first: another one (pyenv, a virtual environment) would not find
# python3-pytest, python3-httpx and python3-h2.
find_program(H2SERVER_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(H2SERVER_PYTHON python3)  # if there is none, only these tests fail
mark_as_advanced(H2SERVER_PYTHON)

# Tools without a Debian package. scripts/setup installs them there for every preset.
set(tools_dir "${PROJECT_SOURCE_DIR}/build/tools")

# add_system_test(ENTRY NAME LABEL VARIABLE=VALUE…): runs tests/system/test_NAME.py.
function(add_system_test entry name label)
  add_test(NAME ${entry}
    COMMAND "${H2SERVER_PYTHON}" -m pytest -q -rs -p no:cacheprovider
            "${PROJECT_SOURCE_DIR}/tests/system/test_${name}.py"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set(labels ${label})
  if(entry STREQUAL "system.${name}" AND name IN_LIST INPUT_TESTS)
    list(APPEND labels input)
  endif()
  if(label STREQUAL "system" AND name IN_LIST THREAD_TESTS)
    list(APPEND labels threads)
  endif()
  set_tests_properties(${entry} PROPERTIES
    LABELS "${labels}"
    TIMEOUT 1200  # against hanging; under a sanitizer on a busy machine some take 300 s
    ENVIRONMENT "\
H2SERVER_BINARY=${PROJECT_BINARY_DIR}/h2server;\
H2SERVER_BUILD_DIR=${PROJECT_BINARY_DIR};\
H2SERVER_SOURCE_DIR=${PROJECT_SOURCE_DIR};\
H2SERVER_TOOLS_DIR=${tools_dir};\
H2SERVER_SANITIZED=${H2SERVER_SANITIZE};\
NODE_PATH=${tools_dir}/node_modules;\
PYTHONDONTWRITEBYTECODE=1;\
UBSAN_OPTIONS=print_stacktrace=1;\
TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1;\
${ARGN}"
    ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${tools_dir}/bin")
  if(name IN_LIST HEAVY_TESTS)
    set_tests_properties(${entry} PROPERTIES PROCESSORS 2)
  elseif(name IN_LIST SERIAL_TESTS)
    set_tests_properties(${entry} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

file(GLOB system_tests CONFIGURE_DEPENDS tests/system/test_*.py)
list(TRANSFORM system_tests REPLACE ".*/test_(.+)\\.py$" "\\1")
foreach(name IN LISTS system_tests)
  add_system_test(system.${name} ${name} system)
endforeach()
foreach(name IN LISTS HTTP2_TESTS)
  add_system_test(system.nghttp2.${name} ${name} system "H2SERVER_TEST_H2=nghttp2")
endforeach()

foreach(pair IN LISTS H2SERVER_PAIRS)
  string(REPLACE " " "-" suffix "${pair}")
  add_system_test(churn.${suffix} churn churn
    "H2SERVER_TEST_PAIR=${pair}" "H2SERVER_CHURN=${CHURN_CONNECTIONS}")
  foreach(name IN LISTS system_tests)
    if(name IN_LIST QUICK_TESTS)
      add_system_test(system.${suffix}.${name} ${name} system "H2SERVER_TEST_PAIR=${pair}")
    elseif(pair IN_LIST MATRIX_PAIRS AND NOT name IN_LIST TESTS_WITHOUT_PAIR)
      add_system_test(matrix.${suffix}.${name} ${name} matrix
        "H2SERVER_TEST_PAIR=${pair}" "H2SERVER_LOAD_SECONDS=3")
    endif()
  endforeach()
endforeach()
