// The text on standard output once the server listens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/certificates/credentials.h"
#include "app/options/options.h"
#include "app/uploads/upload_tokens.h"
#include "h2server/server.h"

namespace h2server::app {

struct StartScreenFacts {
  const config::Configuration& configuration;
  const Credentials& credentials;
  std::uint16_t wanted_port;  // it would have been taken if it had been free
  bool terminal;              // standard output is one: room for keys and a QR code
  std::string admin_url;      // of the admin listener, or empty
  const std::vector<ShownToken>& tokens;
};

struct StartScreen {
  std::string text;
  // The first one, or that of this machine if there is no other. With a site's token that nobody
  // knows yet, the URL of its uploads.
  std::string url_for_others;
};

// URLs come first, and those for this machine before those for others.
StartScreen start_screen(const StartScreenFacts& facts, const Server& server);

}  // namespace h2server::app
