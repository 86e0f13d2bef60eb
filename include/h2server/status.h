// ServerStatus: what a running server does, see Server::status().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace h2server {

// Numbers of requests and bytes need ServerOptions::metrics; without it they are 0.
struct ServerStatus {
  struct Worker {
    unsigned number = 0;            // from 1
    std::uint64_t connections = 0;  // open
    std::uint64_t accepted = 0;     // since the start
    std::uint64_t streams = 0;      // open, of HTTP/2
    std::uint64_t waiting = 0;      // connections that it has not taken yet
    std::uint64_t turns = 0;        // of its event loop
    std::uint64_t requests = 0;     // that have ended
    // Turns by the time for which the worker served nobody else: what is in each bucket of
    // turn_bounds_us alone, and one bucket more, for what is above. And that of all of them.
    std::vector<std::uint64_t> turn_times = {};
    std::uint64_t turns_ms = 0;
  };
  struct Host {
    std::string name;            // empty: all hosts without routes of their own
    std::uint64_t requests = 0;  // that have ended
    std::uint64_t errors = 0;    // of them with 5xx
    std::uint64_t response_bytes = 0;
    std::uint64_t request_bytes = 0;
  };
  struct Connection {
    unsigned worker = 0;
    std::string protocol;  // "HTTP/1.1" or "HTTP/2"
    std::string tls;       // "TLSv1.3"; empty: none
    std::string client;    // the address; empty for a Unix socket
    double age_s = 0;
    std::uint64_t requests = 0;      // that have ended
    std::size_t active = 0;          // exchanges in flight
    std::uint64_t upload_bytes = 0;  // received of their bodies
  };
  // A request whose body has not arrived whole.
  struct Upload {
    std::string host;
    std::string path;
    std::uint64_t received = 0;  // bytes
    std::optional<std::uint64_t> size = {};
    double age_s = 0;
  };
  struct Path {
    std::string path;
    std::uint64_t count = 0;  // since the first call of status(), approximately
  };
  struct FileCache {
    std::size_t entries = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t snapshot_bytes = 0;
    std::uint64_t snapshot_bytes_max = 0;
    std::uint64_t hits = 0;   // of the workers' indexes
    std::uint64_t loads = 0;  // looks at the file system
  };
  // What clients make the process hold, see ServerOptions::memory_max. Of all its servers.
  struct Memory {
    struct Owner {
      std::string name;  // "requests", "buffers", "receiving", "bodies", "listings" …
      std::uint64_t bytes = 0;
    };
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t refused = 0;  // requests with 503 because memory was tight
    std::uint64_t cut_off = 0;  // clients whose connections were ended
    std::vector<Owner> owners;
  };
  struct AccessLog {
    std::uint64_t lines = 0;    // that found room in a queue
    std::uint64_t dropped = 0;  // that did not, or could not be written
  };

  std::vector<Worker> workers;                // none for schemes that block
  std::vector<std::uint32_t> turn_bounds_us;  // upper bounds of their turn_times in microseconds
  std::vector<Host> hosts;
  std::vector<Connection> connections;  // at most 1000
  std::size_t connections_left_out = 0;
  std::vector<Upload> uploads;  // at most 100
  std::vector<Path> paths;      // the 20 most requested ones while somebody calls status()
  // Of requests by duration: upper bounds in microseconds, and what is in each bucket alone. There
  // is one bucket more, for what is above.
  std::vector<std::uint32_t> duration_bounds_us;
  std::vector<std::uint64_t> durations;
  FileCache cache;
  Memory memory;
  AccessLog log;
};

}  // namespace h2server
#pragma GCC visibility pop
