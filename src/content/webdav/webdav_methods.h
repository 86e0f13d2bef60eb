// The methods of WebDAV (RFC 4918, 9). Each gets a request that was understood, checks its
// conditions and the locks, and answers. They block on the disk; any thread.
#pragma once

#include <string>

#include "content/webdav/webdav_request.h"
#include "h2server/response.h"

namespace h2server::content {

// A pointer, since what reads a folder later keeps it.
using WebDavRef = std::shared_ptr<WebDav>;

// 9.1, without Depth: infinity. A large folder is read while it is sent.
Response answer_propfind(const WebDavRef& dav, const DavRequest& asked);
Response answer_proppatch(const WebDavRef& dav, const DavRequest& asked);
Response answer_mkcol(const WebDavRef& dav, const DavRequest& asked);
Response answer_delete(const WebDavRef& dav, const DavRequest& asked);
Response answer_copy(const WebDavRef& dav, const DavRequest& asked);
Response answer_move(const WebDavRef& dav, const DavRequest& asked);
Response answer_lock(const WebDavRef& dav, const DavRequest& asked);
Response answer_unlock(const WebDavRef& dav, const DavRequest& asked);

// Checks a PUT, whose body another handler takes. Returns the properties of the file that it
// replaces, see read_raw_properties(). The error is the response.
Result<std::string, Response> check_put(const WebDavRef& dav, const DavRequest& asked);
// Gives the new file the properties of the old one (9.7.1). Returns its entity tag, which has
// changed; empty if the file is gone.
std::string restore_properties(const WebDavRef& dav, const DavRequest& asked,
                               const std::string& properties);

}  // namespace h2server::content
