// What the terminal of the user shows.
#pragma once

namespace h2server::app {

// Returns false if the environment asks for text without colours: NO_COLOR (no-color.org) is not
// empty, or TERM is missing or "dumb".
bool shows_colour();

}  // namespace h2server::app
