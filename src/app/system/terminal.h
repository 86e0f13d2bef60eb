// What the terminal of the user shows.
#pragma once

#include <array>
#include <csignal>
#include <string>
#include <string_view>

namespace h2server::app {

// Returns a variable of the environment; empty if it is not set.
std::string_view variable(const char* name);

// Returns false if the environment asks for text without colours: NO_COLOR (no-color.org) is not
// empty, or TERM is missing or "dumb".
bool shows_colour();

// Signals that end a program at a terminal. A program that has changed the terminal restores it
// first.
inline constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

}  // namespace h2server::app
