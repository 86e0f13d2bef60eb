// PutTarget: where h2server put sends files, found in the URL that the user gives.
//
//   https://host/                the upload area of h2server
//   https://host/files/DIR       a folder of it
//   https://host/files?token=T   as the server printed it; also with the query of a signed link
//   https://host/other           another server: an endpoint of tus, or a folder that takes PUT
//
// A value, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"

namespace h2server::app {

struct PutTarget {
  std::string origin;                 // "https://host:8443"
  std::vector<std::string> creators;  // URLs where an upload may be created, the likeliest first
  std::string folder;                 // URL of the folder, ends with a slash, without a query
  std::string name_prefix;            // of the file's name for tus: "DIR/", decoded
  std::string query;                  // of a signed link, goes with each request; may be empty
  std::string token;                  // of the URL; may be empty

  // The error is a line for the user.
  static Result<PutTarget, std::string> parse(const std::string& url);

  // Returns the URL for a plain PUT of a file. `name` may have slashes.
  [[nodiscard]] std::string file_url(std::string_view name) const;
  // Appends the query, unless the URL has one or is of another origin.
  [[nodiscard]] std::string with_query(std::string url) const;
  // Returns true if the token may be sent there.
  [[nodiscard]] bool is_own(std::string_view url) const;
};

}  // namespace h2server::app
