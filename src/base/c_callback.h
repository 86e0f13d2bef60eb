// C++ functions as callbacks of C libraries, through whose frames no exception may pass.
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

// Ends the process where `function` throws: by out_of_memory() if it has no memory.
template <auto function>
inline constexpr auto c_callback = &CCallback<function>::call;

}  // namespace h2server::base
