# Programs of each fuzzer NAME in fuzz/:
#   fuzz_NAME_replay  runs files and mutations of them without libFuzzer; the ctest entry fuzz.NAME
#   NAME_fuzzer       uses libFuzzer, with H2SERVER_FUZZ: the preset fuzz, fuzz/run, `make fuzz`
# The parts of all fuzzers are one library. The linker leaves out what a fuzzer does not use.
set(fuzz_sources
  fuzz/inputs.cc fuzz/pieces.cc fuzz/require.cc
  fuzz/chunked_reference.cc fuzz/h1_conversation.cc fuzz/h1_rules.cc
  fuzz/h2_client.cc fuzz/h2_compare.cc fuzz/h2_conversation.cc fuzz/h2_differences.cc
  fuzz/multipart_reading.cc fuzz/multipart_reference.cc fuzz/multipart_rules.cc fuzz/part_names.cc
  fuzz/date_rules.cc fuzz/field_blocks.cc fuzz/field_values.cc fuzz/hpack_rules.cc
  fuzz/precondition_rules.cc fuzz/request_head_rules.cc
  fuzz/target_reference.cc fuzz/target_rules.cc
  fuzz/forwarded_reference.cc fuzz/proxy_header_reference.cc fuzz/upload_fields_reference.cc
  fuzz/tls_connection.cc fuzz/tls_expectation.cc fuzz/tls_reference.cc fuzz/tls_servers.cc)
list(TRANSFORM fuzz_sources PREPEND "${PROJECT_SOURCE_DIR}/")
add_library(fuzz_parts STATIC ${fuzz_sources})
compile_in_batches(fuzz_parts 10 ${fuzz_sources})
target_include_directories(fuzz_parts PUBLIC src tests)
target_link_libraries(fuzz_parts
  PUBLIC h2server_core PRIVATE h2server_warnings PkgConfig::nghttp2 PUBLIC OpenSSL::SSL)

# add_fuzz_programs(NAME MUTATIONS [CORPUS…] REPLAY FILES… FUZZER FILES…)
function(add_fuzz_programs name mutations)
  cmake_parse_arguments(PARSE_ARGV 2 of "" "" "REPLAY;FUZZER")
  list(TRANSFORM of_UNPARSED_ARGUMENTS PREPEND "${PROJECT_SOURCE_DIR}/../shared/corpora/"
    OUTPUT_VARIABLE corpora)

  add_executable(fuzz_${name}_replay ${of_REPLAY})
  target_link_libraries(fuzz_${name}_replay PRIVATE fuzz_parts h2server_warnings)
  add_test(NAME fuzz.${name} COMMAND fuzz_${name}_replay --mutations ${mutations}
    "${PROJECT_SOURCE_DIR}/fuzz/found/${name}" "${PROJECT_SOURCE_DIR}/fuzz/seeds/${name}" ${corpora})
  # A sanitizer aborts on a report, so that the input is kept as after a broken invariant.
  set_tests_properties(fuzz.${name} PROPERTIES LABELS "unit;fuzz" TIMEOUT 900
    ENVIRONMENT "ASAN_OPTIONS=abort_on_error=1;UBSAN_OPTIONS=abort_on_error=1")

  if(H2SERVER_FUZZ)
    add_executable(${name}_fuzzer ${of_FUZZER})
    target_link_libraries(${name}_fuzzer PRIVATE fuzz_parts h2server_warnings)
    target_link_options(${name}_fuzzer PRIVATE -fsanitize=fuzzer)
    list(JOIN corpora "\n" lines)
    file(WRITE "${PROJECT_BINARY_DIR}/${name}.corpora" "${lines}\n")  # fuzz/run reads it
  endif()
endfunction()

# Adds a fuzzer that consists of one function, check(): see fuzz/fuzzer.h.
function(add_fuzzer name mutations)
  add_fuzz_programs(${name} ${mutations} ${ARGN}
    REPLAY fuzz/${name}_fuzzer.cc fuzz/replay.cc FUZZER fuzz/${name}_fuzzer.cc fuzz/libfuzzer.cc)
endfunction()

add_fuzzer(h1 30000 fuzz-http1)
add_fuzzer(multipart 100000)
add_fuzzer(target 50000 fuzz-http1)
add_fuzzer(fields 10000 fuzz-http2 hpack-test-case)
add_fuzzer(tls_records 3000)
add_fuzzer(proxy_header 20000)
add_fuzzer(forwarded 50000)
add_fuzzer(upload_fields 200000)
if(TARGET h2server_app)
  add_fuzzer(webdav 50000)
  foreach(program IN ITEMS fuzz_webdav_replay webdav_fuzzer)
    if(TARGET ${program})
      target_link_libraries(${program} PRIVATE h2server_app)
    endif()
  endforeach()
endif()
# Compares both HTTP/2 sessions on the same bytes. The replay generates conversations.
add_fuzz_programs(h2_session 5000 fuzz-http2
  REPLAY fuzz/h2_replay.cc FUZZER fuzz/h2_session_fuzzer.cc)
