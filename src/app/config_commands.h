// The commands on the configuration: h2server check, h2server config.
#pragma once

namespace h2server::app {

// h2server check OPTIONS: prints what the server would serve, or what is wrong. Reads what the
// start would read, and makes nothing. The arguments begin with the command's name, as in the next
// function. Returns the exit status.
int run_check(int argc, char** argv);

// h2server config --effective OPTIONS, or --reference.
int run_config(int argc, char** argv);

}  // namespace h2server::app
