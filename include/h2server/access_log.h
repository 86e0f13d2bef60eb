// AccessLogOptions: where a line for each request goes, and what it looks like.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace h2server {

enum class AccessLogFormat : std::uint8_t {
  text,  // the combined format of Apache and nginx
  json,  // an object a line; its members have the names of OpenTelemetry's semantic conventions
};

// The log of one host with routes of its own.
struct HostLog {
  std::string host;    // a name of Server::host()
  std::string target;  // as AccessLogOptions::target
};

// A thread of the server writes the log. Workers leave lines in bounded queues, 4 MiB each, and
// never wait: lines that find no room are counted and dropped, and so are those that can't be
// written. Not with a process per connection.
struct AccessLogOptions {
  // The path of a file, "-" for standard output, or "syslog". Empty: no log, but for that of hosts.
  std::string target = {};
  std::vector<HostLog> hosts = {};  // of all others it is `target`
  AccessLogFormat format = AccessLogFormat::text;
  bool queries = true;  // false: leaves out the queries of targets and of referers
  // A file that reaches this size in bytes is renamed to FILE.1, FILE.1 to FILE.2 and so on; `keep`
  // of them stay. 0: never.
  std::uint64_t rotate_bytes = 0;
  unsigned keep = 5;
};

}  // namespace h2server
#pragma GCC visibility pop
