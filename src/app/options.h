// The command line and the configuration file.
#pragma once

#include <string>

#include "h2server/result.h"
#include "h2server/server.h"
#include "h2server/uploads.h"

namespace h2server::app {

struct Options {
  ServerOptions server;
  std::string upload_directory;  // empty: no uploads
  UploadOptions uploads;
  bool self_signed = false;
};

// Why the process ends before it serves.
struct Stop {
  int status = 0;    // exit status
  std::string text;  // for standard output if status is 0, otherwise for standard error
};

// The error that the root and the upload directory lie one in the other.
Stop overlapping(const Options& options);

// The error is the reason to stop: help, version, or an invalid value (status 2).
Result<Options, Stop> parse_options(int argc, char** argv);

}  // namespace h2server::app
