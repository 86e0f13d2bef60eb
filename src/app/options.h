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

struct Stop {
  int status = 0;    // of the process
  std::string text;  // for standard output at status 0, else for standard error
};

// That the root and the upload directory lie one in the other.
Stop overlapping(const Options& options);

// The error is the reason to stop: help, the version, or a wrong value, which is status 2.
Result<Options, Stop> parse_options(int argc, char** argv);

}  // namespace h2server::app
