// Random numbers from the kernel.
#pragma once

#include <cstdint>

namespace h2server::base {

// One system call of 0.8 us, so there is no generator whose state a forked process would repeat.
// std::random_device takes 25 us on a virtual machine that intercepts RDRAND.
std::uint64_t random_number() noexcept;

}  // namespace h2server::base
