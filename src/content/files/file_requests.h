// What requests for files mean, on a disk or in a store. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file/cache_entry.h"
#include "h2server/query.h"
#include "h2server/request.h"
#include "h2server/response.h"

namespace h2server::content {

inline bool has_hidden_segment(std::string_view path) noexcept {
  return path.starts_with('.') || path.contains("/.");
}

// Returns true if a segment of the path begins with ".", unless that is the first one and reserved
// for clients that look for it (RFC 8615).
inline bool is_hidden(std::string_view path) noexcept {
  if (path.starts_with(".well-known/")) path.remove_prefix(1);
  return has_hidden_segment(path);
}

inline bool names_directory(std::string_view path) noexcept {
  return path.empty() || path.ends_with('/');
}

// Returns the thread's copy, which keeps its memory.
std::string& kept_copy(std::string_view path);

// Looks for the index file of a directory by `known`, which returns nullopt for what it does not
// know. Sets `path`, that of the directory, to where it is. `absent` if no index file exists.
template <class Known>
std::optional<file::Lookup> known_index(const std::vector<std::string>& names, std::string& path,
                                        Known known) {
  const std::size_t directory = path.size();
  for (const std::string& name : names) {
    path.resize(directory);
    path += name;
    std::optional<file::Lookup> found = known(path);
    if (!found || found->kind != file::Lookup::Kind::absent) return found;
  }
  return file::Lookup();
}

// Returns false only if the query does not have the parameter. Most queries are for scripts in the
// page. They are not taken apart, which would allocate.
inline bool may_have(const Request& request, std::string_view parameter) noexcept {
  return request.query().find(parameter) != std::string_view::npos;
}

// "?download": the file is to be saved.
inline bool asks_for_download(const Request& request) {
  return may_have(request, "download") && request.query_parameters().find("download").has_value();
}

// A request of a script for data must not get a page.
bool asks_for_page(const Request& request) noexcept;

// Relative links of a page need the slash. The rest of the target is kept as it came, so nothing is
// decoded or encoded twice.
Response redirect_to_directory(const Request& request);

}  // namespace h2server::content
