# fuzz/: the two HTTP/2 sessions are given the same bytes and compared.
#   fuzz_h2_replay      files, made-up conversations and mutations of both; the ctest entry fuzz.h2_session
#   h2_session_fuzzer   libFuzzer's, with H2SERVER_FUZZ: the preset fuzz, `make fuzz`
add_library(fuzz_parts STATIC
  fuzz/h2_client.cc fuzz/h2_compare.cc fuzz/h2_conversation.cc fuzz/h2_differences.cc)
target_include_directories(fuzz_parts PUBLIC src tests)
target_link_libraries(fuzz_parts
  PUBLIC h2server_core PRIVATE h2server_warnings PkgConfig::nghttp2)

add_executable(fuzz_h2_replay fuzz/h2_replay.cc)
target_link_libraries(fuzz_h2_replay PRIVATE fuzz_parts h2server_warnings)
add_test(NAME fuzz.h2_session COMMAND fuzz_h2_replay "${PROJECT_SOURCE_DIR}/fuzz/found"
  "${PROJECT_SOURCE_DIR}/../shared/corpora/fuzz-http2")
set_tests_properties(fuzz.h2_session PROPERTIES LABELS "unit;fuzz" TIMEOUT 300)

if(H2SERVER_FUZZ)
  add_executable(h2_session_fuzzer fuzz/h2_session_fuzzer.cc)
  target_link_libraries(h2_session_fuzzer PRIVATE fuzz_parts h2server_warnings)
  target_link_options(h2_session_fuzzer PRIVATE -fsanitize=fuzzer)
endif()
