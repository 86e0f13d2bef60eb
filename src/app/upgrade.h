// Hot restart: the running program starts the one that is now at its path, with its listening
// sockets, and ends when that serves.
//
// The successor finds in its environment H2SERVER_LISTENERS, a line "DESCRIPTOR,… NAME" for each
// name (an 'm' behind the descriptors: a service manager's), and H2SERVER_READY, a descriptor to
// which it writes a byte once it serves.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "app/listening_sockets.h"
#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::app {

// What the program was started with.
struct ProgramStart {
  std::string path;                // absolute, if it can be found
  std::vector<std::string> words;  // argv
};
// `argv` is main()'s.
ProgramStart program_start(int argc, char** argv);

// A successor that has not told yet that it serves.
struct Successor {
  pid_t process = -1;
  base::Fd ready;  // readable: a byte if it serves, the end if it has failed
};

// The error is a line for the operator.
Result<Successor, std::string> start_successor(const ProgramStart& program,
                                               const std::vector<ListeningSockets::Inherited>& all);
// Returns true if it serves. Otherwise it has ended, or is killed, and is waited for. Call it once
// `ready` is readable, or to give up.
bool has_succeeded(const Successor& successor);

// What a predecessor has passed on; without one, nothing.
struct Inheritance {
  std::vector<ListeningSockets::Inherited> listeners = {};
  base::Fd ready = {};

  // Tells the predecessor that this program serves.
  void tell_ready() noexcept;
};
// Takes it out of the environment, for the main thread before there are others. The error is a line
// for the operator.
Result<Inheritance, std::string> take_inheritance();

// h2server upgrade FILE: asks the program whose process id is in the file (--pid-file) to start its
// successor, and waits for that. The arguments begin with the command's name. Returns the exit
// status.
int run_upgrade(int argc, char** argv);

}  // namespace h2server::app
