// A QR code for a terminal.
#pragma once

#include <string>

namespace h2server::app {

struct QrCode {
  std::string text;    // lines with colours of their own: black on white, whatever the terminal has
  unsigned lines = 0;  // of the terminal
  unsigned columns = 0;
};

// Returns an empty code if the text is too long for one.
QrCode make_qr_code(const std::string& text);

}  // namespace h2server::app
