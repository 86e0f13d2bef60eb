// The text on standard output once the server listens.
#pragma once

#include <cstdint>
#include <string>

#include "app/credentials.h"
#include "app/options.h"
#include "h2server/server.h"

namespace h2server::app {

struct StartScreenFacts {
  const Options& options;
  const Credentials& credentials;
  std::uint16_t wanted_port;  // it would have been taken if it had been free
  bool terminal;              // standard output is one: room for keys and a QR code
};

struct StartScreen {
  std::string text;
  std::string url_for_others;  // the first one, or that of this machine if there is no other
};

// URLs come first, and those for this machine before those for others.
StartScreen start_screen(const StartScreenFacts& facts, const Server& server);

}  // namespace h2server::app
