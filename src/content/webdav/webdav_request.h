// A request of WebDAV, understood: the path that it names, what it claims to hold, and the checks
// that all methods share.
//
// The checks may block on the disk. WebDav is shared by all workers; a DavRequest belongs to one
// request, whose head it refers to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/uploads/area/lock_table.h"
#include "content/uploads/area/upload_directory.h"
#include "content/webdav/webdav_fields.h"
#include "content/webdav/webdav_files.h"
#include "content/webdav/webdav_properties.h"
#include "content/xml/xml.h"
#include "file/stop_flag.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/uploads.h"
#include "http/fields/media_type.h"

namespace h2server::content {

// What all requests to one upload directory share. Immutable but for the directory.
struct WebDav {
  std::shared_ptr<UploadDirectory> directory;
  std::string base;  // of all URLs: "/files"
  UploadOptions uploads;
  http::MediaTypesRef types;
  std::function<std::string(const Request&)> user;  // who asks; empty: nobody authenticated

  [[nodiscard]] int root() const noexcept { return directory->fd(); }
  [[nodiscard]] LockTable& locks() const noexcept { return directory->locks(); }
  [[nodiscard]] PropertyContext properties() const { return {base, types, locks(), root()}; }
};

struct DavRequest {
  const Request& request;
  const RequestHead& head;
  std::string path;                 // below the upload directory, without slashes at its ends
  bool names_folder = false;        // it ended with a slash
  std::vector<IfList> lists;        // of If; empty: none
  std::vector<std::string> tokens;  // that If names
  std::string user;
  std::string client;  // its network, of LOCK
  std::optional<XmlNode> body;
  const file::StopFlag* stop = nullptr;  // ends changes of trees

  [[nodiscard]] Holder holder() const noexcept { return {tokens, user}; }
};

// `path` is what follows the base in the request's path, decoded. The error is the response: 400,
// 403 for a page of another origin, 404 for what does not exist here, or 403 if the method would
// make it.
Result<DavRequest, Response> understand(const WebDav& dav, const Request& request,
                                        std::string_view path);

// Evaluates If (RFC 4918, 10.4) and the preconditions of HTTP (RFC 9110, 13). Returns 412 if they
// fail.
std::optional<Response> check_conditions(const WebDav& dav, const DavRequest& asked);

// Returns 423 if a lock that the client does not hold forbids it.
std::optional<Response> check_locks(const WebDav& dav, const DavRequest& asked,
                                    const Change& change);

struct DavTarget {
  std::string path;
  bool overwrite = true;
};
// Destination and Overwrite (RFC 4918, 10.3 and 10.6). The error is 400, 403, 409 or 502.
Result<DavTarget, Response> find_target(const WebDav& dav, const DavRequest& asked);

}  // namespace h2server::content
