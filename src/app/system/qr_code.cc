#include "app/system/qr_code.h"

#include <qrencode.h>

#include <memory>

namespace h2server::app {

namespace {

constexpr int margin = 2;  // modules; scanners of phones need no more than half of the standard's 4

struct Free {
  void operator()(QRcode* code) const noexcept { QRcode_free(code); }
};

bool is_dark(const QRcode& code, int x, int y) {
  if (x < 0 || y < 0 || x >= code.width || y >= code.width) return false;
  return (code.data[y * code.width + x] & 1) != 0;
}

}  // namespace

QrCode make_qr_code(const std::string& text) {
  const std::unique_ptr<QRcode, Free> code(QRcode_encodeString8bit(text.c_str(), 0, QR_ECLEVEL_L));
  QrCode made;
  if (code == nullptr) return made;
  made.columns = static_cast<unsigned>(code->width + 2 * margin);
  // A character is one module wide and two high.
  for (int y = -margin; y < code->width + margin; y += 2) {
    made.text += "  \x1b[30;107m";
    for (int x = -margin; x < code->width + margin; ++x) {
      const bool upper = is_dark(*code, x, y);
      const bool lower = is_dark(*code, x, y + 1);
      if (upper) made.text += lower ? "\u2588" : "\u2580";
      else made.text += lower ? "\u2584" : " ";
    }
    made.text += "\x1b[0m\n";
    ++made.lines;
  }
  return made;
}

}  // namespace h2server::app
