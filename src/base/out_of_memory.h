// Ends the process with one line and status 1 when an allocation fails.
//
// All memory that a peer can make the server use is bounded, so this is the system's failure and
// affects every connection. A supervisor restarts the program.
#pragma once

namespace h2server::base {

// Writes "h2server: out of memory" to standard error and exits. Allocates nothing; runs no
// destructors and no exit handlers. Any thread.
[[noreturn]] void out_of_memory() noexcept;

}  // namespace h2server::base
