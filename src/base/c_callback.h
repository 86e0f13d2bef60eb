// Wraps C++ functions as callbacks for C libraries. No exception may pass through C frames.
#pragma once

#include <new>

#include "base/out_of_memory.h"

namespace h2server::base {

template <auto function>
struct CCallback;

template <class R, class... Args, R (*function)(Args...)>
struct CCallback<function> {
  static R call(Args... args) noexcept {
    try {
      return function(args...);
    } catch (const std::bad_alloc&) {
      out_of_memory();
    }
  }
};

// Calls `function`. Ends the process if it throws: by out_of_memory() on std::bad_alloc.
template <auto function>
inline constexpr auto c_callback = &CCallback<function>::call;

}  // namespace h2server::base
