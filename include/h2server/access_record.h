// AccessRecord: what a log may say of an exchange that has ended. See ServerOptions::access_log and
// ServerOptions::exchange_hook.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#pragma GCC visibility push(default)
namespace h2server {

class Request;

// Why the response to a request did not end as it should.
enum class CutOff : std::uint8_t {
  none,
  client_left,   // it closed the connection or reset the stream
  too_slow,      // it moved fewer bytes than Limits::bytes_per_s_min
  deadline,      // Request::set_deadline()
  server_stops,  // the drain limit has passed
  aborted,       // Request::abort()
  failed,        // the body's source failed, or the file changed
  refused,       // the client broke the protocol or sent a flood, or its stream came too late
};

// What all exchanges of a connection have in common, as its lines have it; for the library itself.
struct ConnectionText {
  std::string_view client;        // the peer's address alone; empty for a Unix socket
  std::string_view members;       // name the peer as the client
  std::string_view peer_members;  // name it as the network's peer, beside a forwarded client
};

// All views are valid for the call that gets the record.
struct AccessRecord {
  std::int64_t begun_unix_us = 0;    // when the request's head was complete
  std::int64_t duration_us = 0;      // from then until the last byte was handed over or given up
  std::int64_t first_byte_us = 0;    // from then until the response began; -1: it never did
  int status = 0;                    // 0: there was no response
  std::uint64_t response_bytes = 0;  // of the body
  std::uint64_t request_bytes = 0;   // of the body
  std::uint32_t stream = 0;          // HTTP/2; 0: HTTP/1.x
  std::uint8_t version = 11;         // 10, 11 or 20
  bool encrypted = false;
  CutOff cut_off = CutOff::none;
  std::string_view method = {};  // empty if the head was refused before it was complete
  // As received, with the query; but "***" stands for the values of parameters named token,
  // access_token or signature, here and in `referer`, so that no log can be used to get in.
  std::string_view target = {};
  std::string_view authority = {};  // Host or :authority
  std::string_view user = {};       // who has authenticated; may be empty
  std::string_view referer = {};    // field lines; may be empty
  std::string_view user_agent = {};
  std::string_view trace_id = {};          // 32 digits or empty
  std::string_view route = {};             // the pattern, or empty
  std::string_view site = {};              // the first name of the host that has routes; or empty
  std::string_view forwarded_client = {};  // of forwarded_client(); else empty
  ConnectionText connection = {};
};

// Called once for each exchange that has ended, on its worker's thread and by all workers
// concurrently. The request is null if its head was refused. Must not throw.
using ExchangeHook = std::function<void(const Request*, const AccessRecord&)>;

}  // namespace h2server
#pragma GCC visibility pop
