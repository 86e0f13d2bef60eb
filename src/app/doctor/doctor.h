// h2server doctor: checks whether this machine gives the server what it needs, in plain words and
// with remedies. It changes nothing: it listens nowhere and writes no file.
//
// For one thread. It waits for the disk and, with a host name, for a name server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "h2server/options.h"

namespace h2server::app {

enum class Level : std::uint8_t {
  ok,
  note,     // the server runs, but not as well as it could
  problem,  // the server does not start, or clients are refused
};

struct Finding {
  Level level = Level::ok;
  std::string title;    // what was checked, in a word or two
  std::string finding;  // a sentence without its full stop
  std::string remedy;   // what the operator can do; empty if there is nothing to do
};

// What the server would be started with.
struct DoctorInput {
  std::string root;              // empty: none
  std::string upload_directory;  // empty: no uploads
  // Bytes that uploads leave free, as in UploadOptions.
  std::optional<std::uint64_t> reserve_bytes = {};
  std::string certificate_file;
  std::string key_file;
  bool self_signed = false;  // the server makes a certificate if there is none
  bool cleartext = false;
  std::string host = {};  // empty: all addresses
  std::uint16_t port = 443;
  unsigned threads = 0;  // 0: the scheme's default
  ServerScheme scheme = ServerScheme::reuseport;
  IoEngine io = IoEngine::automatic;
};

// Makes all checks that matter for the input, in the order in which they are shown.
std::vector<Finding> diagnose(const DoctorInput& input);

struct ScreenStyle {
  unsigned columns = 100;  // at least 60; only a single word may be longer
  bool colour = false;
};

// Returns the findings as a table with a last line that counts. Bytes that would control the
// terminal, from names of files and processes, are replaced.
std::string doctor_screen(const std::vector<Finding>& findings, ScreenStyle style);

// Makes the checks and prints them. Returns the exit status: 1 if there is a problem, else 0.
int doctor(const DoctorInput& input);

}  // namespace h2server::app
