// Defines H2SERVER_SANITIZED: 1 in a build with the address or thread sanitizer, else 0. GCC
// defines macros for the sanitizers; Clang 19 has __has_feature.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define H2SERVER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define H2SERVER_SANITIZED 1
#endif
#endif

#ifndef H2SERVER_SANITIZED
#define H2SERVER_SANITIZED 0
#endif
