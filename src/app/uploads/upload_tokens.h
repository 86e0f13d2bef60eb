// The tokens of an upload area: read from a file, or made when the server starts and shown once.
//
// A line of the file is NAME:{SHA256}DIGITS[:MODE[:QUOTA]], as a line of a password file for a
// program's token; DIGITS is the token's SHA-256, MODE drop, read or full, QUOTA a size like 10GB.
// Empty lines and those that begin with '#' are skipped. What is missing is as the options say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/options/options.h"
#include "content/uploads/access/upload_access.h"
#include "h2server/result.h"

namespace h2server::app {

struct UploadTokenOptions {
  content::AccessMode mode = content::AccessMode::full;
  std::string file = {};          // empty: a token for this run
  std::string run_token = {};     // that of the run, or of a missing file, if it was made before
  std::uint64_t quota_bytes = 0;  // of each token without its own; 0: no limit
  bool is_named = false;          // the site has a name
};

// A token that nobody knows yet.
struct ShownToken {
  std::string host = {};  // of the site; empty: of all hosts that no other site has
  std::string token;
  std::string file = {};  // where its digest is to be kept; empty: nowhere
};

// Writes the digest of a token that is shown now to its file, which is made (0600). Not before: a
// server that does not start would leave a token that nobody knows. The error is a line for the
// operator.
Result<void, std::string> keep_digest(const ShownToken& token);

// Returns a new token: 160 random bits, as 32 letters and digits that are hard to mistake.
std::string make_upload_token();

// The error begins with the number of the line.
Result<std::vector<content::UploadToken>, std::string> parse_upload_tokens(
    std::string_view text, const UploadTokenOptions& options);

// Reads the file, which may be missing, and makes nothing. The error is a line for the operator.
Result<void, std::string> check_upload_tokens(const std::string& file);

class UploadTokens {
 public:
  // Reads the file. Makes a token if there is none. The error's status is 2 for a file with
  // mistakes, else 1.
  static Result<UploadTokens, Stop> open(const UploadTokenOptions& options);

  // For the middleware. Without a state directory no links are accepted, and what was uploaded
  // counts for this run only; both are logged.
  [[nodiscard]] content::UploadAccessRef access() const { return access_; }
  // The token to show, since nobody knows it yet; empty: there is none.
  [[nodiscard]] const std::string& shown() const noexcept { return shown_; }

 private:
  content::UploadAccessRef access_;
  std::string shown_;
};

// Returns the URL that a QR code holds: "https://host:8443/files?token=…". `url` ends with a slash.
std::string url_with_token(std::string_view url, std::string_view token);

}  // namespace h2server::app
