// What happens when an allocation fails: the process ends, with one line and status 1.
//
// All memory that a peer can make the server use is bounded, so this is the system's failure and
// concerns every connection. A supervisor starts the program again.
#pragma once

namespace h2server::base {

// Writes "h2server: out of memory" to standard error. Allocates nothing, runs no destructor and no
// exit handler. Any thread.
[[noreturn]] void out_of_memory() noexcept;

}  // namespace h2server::base
