// Bytes and secrets of tables for tests of TLS records.
#pragma once

#include <string>
#include <string_view>

#include "net/tls/tls_protection.h"

namespace h2server::net {

// Returns the bytes of hexadecimal digits; spaces are skipped.
inline std::string bytes_of(std::string_view digits) {
  std::string bytes;
  int high = -1;
  for (const char digit : digits) {
    if (digit == ' ') continue;
    const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    if (high >= 0) bytes += static_cast<char>(high * 16 + value);
    high = high >= 0 ? -1 : value;
  }
  return bytes;
}

inline TlsProtection::Secret secret_of(std::string_view bytes) {
  return TlsProtection::Secret(
      {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
}

}  // namespace h2server::net
