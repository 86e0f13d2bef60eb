// The command that uploads files: h2server put FILE… URL.
#pragma once

#include <string>
#include <vector>

#include "app/put/put_transfer.h"
#include "h2server/result.h"

namespace h2server::app {

struct PutOptions {
  std::vector<std::string> files;
  std::string url;
  std::string name = {};   // of the one file, at the server; empty: its base name
  std::string token = {};  // empty: that of the URL, or of H2SERVER_TOKEN
  ClientOptions client = {};
  PutPolicy policy = {};
  bool quiet = false;  // neither bar nor notes
  bool help = false;
};

// The error is a line for the user.
Result<PutOptions, std::string> parse_put_options(const std::vector<std::string>& arguments);

// Uploads the files, and prints what was stored. The arguments begin with the command's name.
// Returns the exit status: 0 if all files are stored, 1 if one is not, 2 for wrong use.
int run_put(int argc, char** argv);

}  // namespace h2server::app
