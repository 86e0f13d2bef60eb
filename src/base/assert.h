// ASSERT aborts the process on a broken invariant, in release builds too: continuing could lose or
// leak data.
#pragma once

#include <cstdio>
#include <cstdlib>

#define ASSERT(condition)                                                                   \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      std::fprintf(stderr, "h2server: broken invariant at %s:%d: %s\n", __FILE__, __LINE__, \
                   #condition);                                                             \
      std::abort();                                                                         \
    }                                                                                       \
  } while (false)
