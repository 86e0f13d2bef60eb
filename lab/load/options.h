// The command line, parsed and validated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "h2server/result.h"
#include "load/protocol.h"
#include "load/schedule.h"

namespace h2server::lab::load {

enum class ModeName : std::uint8_t { closed, open, exchange, churn, idle };

struct Options {
  ModeName mode = ModeName::closed;

  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string path = "/";
  ProtocolName protocol = ProtocolName::h1;
  bool tls = false;
  std::uint32_t connections = 1;
  std::uint32_t streams = 1;  // in flight on a connection; HTTP/1.1: 1
  unsigned window_bits = 30;  // HTTP/2, SPDY: 2^30 - 1 bytes, so that our windows never limit
  int status = 200;           // expected
  std::optional<std::uint64_t> body_bytes;  // expected
  double timeout_s = 30;                    // without a byte
  std::string hgrm_file;

  std::string method = "GET";
  std::optional<std::uint64_t> upload_bytes;
  bool multipart = false;

  std::uint64_t requests = 1;     // closed
  std::vector<unsigned> weights;  // closed
  Pace pace;                      // open
  bool closes = false;            // open and churn: one connection per request
  std::uint32_t clients = 1;      // exchange: concurrent
  std::uint32_t connections_each = 1;
  std::uint32_t messages = 1;  // on each connection
  std::uint32_t message_bytes = 1204;
  std::uint32_t concurrency = 1;  // churn
  bool resets = false;            // churn: closes by RST
};

// Reason to exit before the run. With status 0, `text` goes to the standard output.
struct Stop {
  int status = 0;
  std::string text;
};

Result<Options, Stop> parse_options(int argc, const char* const* argv);

}  // namespace h2server::lab::load
