// Responses of WebDAV: 207 with what happened to each resource, and errors that name their cause
// (RFC 4918, 13 and 16). Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "content/webdav/webdav_tree.h"
#include "h2server/response.h"

namespace h2server::content {

inline constexpr std::string_view dav_media_type = "application/xml; charset=utf-8";
inline constexpr std::string_view multistatus_begin =
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n";
inline constexpr std::string_view multistatus_end = "</D:multistatus>\n";

// Appends "<D:href>/base/path</D:href>"; that of a folder ends with a slash.
void append_href(std::string& out, std::string_view base, std::string_view path, bool is_folder);
// Appends "<D:status>HTTP/1.1 403 Forbidden</D:status>".
void append_status(std::string& out, int status);

// Returns the response with an XML body.
Response dav_response(int status, std::string body);
// `condition` is the content of the element D:error: "<D:propfind-finite-depth/>".
Response dav_error(int status, std::string_view condition);
// 423: what `path` leads to is locked and the client named no token of the lock (16).
Response locked(std::string_view base, std::string_view path);
// The status of the failure if only `path` itself failed, otherwise 207. `failures` is not empty.
Response failed_response(std::string_view base, std::string_view path,
                         const TreeFailures& failures);

}  // namespace h2server::content
