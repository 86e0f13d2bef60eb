// Runs the program of a hook, with a time limit.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "h2server/result.h"

namespace h2server::app {

struct HookProgram {
  std::vector<std::string> arguments;    // the first one is the program's path
  std::vector<std::string> environment;  // "NAME=VALUE", beside that of this process
};

// Runs it in a process group of its own with default signal handling, without standard input and
// output, and with no other descriptor than standard error. Waits for its end, but until `end()` at
// most, which is asked again whenever `wake` becomes readable; then the group is killed. The error
// says what failed: "exit status 3", "no end in time".
//
// Waits for this process only, so other children and handlers of SIGCHLD don't matter; SIGCHLD must
// not be ignored.
Result<void, std::string> run_hook_program(
    const HookProgram& program, int wake,
    const std::function<std::chrono::steady_clock::time_point()>& end);

}  // namespace h2server::app
