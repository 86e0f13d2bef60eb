// The command line and the configuration file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/program_text.h"
#include "h2server/files.h"
#include "h2server/header_rules.h"
#include "h2server/result.h"
#include "h2server/server.h"
#include "h2server/uploads.h"

namespace h2server::app {

// Where certificate and key come from.
enum class CertificateSource : std::uint8_t {
  files,            // --cert and --key, which exist
  self_signed,      // the same, but made if neither exists
  own,              // made, kept and renewed in the user's state directory
  local_authority,  // issued by the user's local authority
};

// A part of the site whose visitors need a password.
struct ProtectedPath {
  std::string path;       // begins with '/'; it and all below
  std::string user_file;  // as PasswordFile reads it
};

// What is done to requests and responses besides serving files.
struct SiteOptions {
  std::vector<HeaderRule> headers;
  std::vector<ProtectedPath> protected_paths;
  std::vector<std::string> cors_origins;
  std::string error_pages;  // a directory with pages such as 404.html; empty: none
  bool hsts = false;        // Strict-Transport-Security
};

struct Options {
  ServerOptions server;
  FilesOptions files{.listing = true};
  std::string upload_directory;  // empty: no uploads
  UploadOptions uploads;
  SiteOptions site;
  CertificateSource certificate = CertificateSource::own;
  bool port_given = false;  // otherwise the next free one is taken
  bool serve_all = false;   // the root may be / or the user's home
};

// Why the process ends before it serves.
struct Stop {
  int status = 0;    // exit status
  std::string text;  // for standard output if status is 0, otherwise for standard error
};

// The error that the root and the upload directory lie one in the other.
Stop overlapping(const Options& options);

// Describes the options, for completion scripts and the manual page.
ProgramText program_text();

// Returns true if `file` lies below `directory`, so that serving `directory` would expose it.
bool lies_below(const std::string& file, const std::string& directory);

enum class Places : std::uint8_t {
  must_fit,  // the root exists; neither uploads nor the key would be served with it
  as_given,  // not looked at
};

// The error is the reason to stop: help, version, or an invalid value (status 2).
Result<Options, Stop> parse_options(int argc, char** argv, Places places = Places::must_fit);

}  // namespace h2server::app
