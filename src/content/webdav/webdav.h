// WebDAV (RFC 4918), class 1 and 2, on an upload directory: for file managers and for programs such
// as rclone. And the three of its methods that a page needs to manage files: DELETE, MOVE, MKCOL.
//
// Files and folders are those below the directory; links, hidden names and temporary names of
// uploads do not exist for it. What copies and moves by killed servers left is removed when the
// routes are made. Requests of pages of other origins get 403. Handlers are shared by
// all workers. Locks are in memory: with a process per connection they exclude nobody.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "content/uploads/area/upload_directory.h"
#include "h2server/handler.h"
#include "h2server/request.h"
#include "h2server/routes.h"
#include "h2server/uploads.h"
#include "http/fields/media_type.h"

namespace h2server::content {

struct ManageOptions {
  std::string base =
      "/files";                // of the directory's URLs; begins with '/' and does not end with one
  UploadOptions uploads = {};  // limits of copies, and the durability of what is changed
};

// For DELETE of "base/{path...}": removes a file, or a folder with all that is in it. 204, or 207
// with what could not be removed.
Handler manage_delete(std::shared_ptr<UploadDirectory> directory,
                      const ManageOptions& options = {});
// For MOVE of "base/{path...}" to the URL of the field Destination. 201, or 204 if it replaced
// something, which the field "Overwrite: F" forbids (412). 409 if the target's folder is missing,
// or while an upload is taking one of the names; so for DELETE.
Handler manage_move(std::shared_ptr<UploadDirectory> directory, const ManageOptions& options = {});
// For MKCOL of "base/{path...}": makes a folder. 201; 405 if something is there, 409 if the folder
// above is missing.
Handler manage_make_folder(std::shared_ptr<UploadDirectory> directory,
                           const ManageOptions& options = {});

struct WebDavOptions {
  std::string base = "/files";
  std::shared_ptr<UploadDirectory> directory = {};
  UploadOptions uploads = {};
  http::MediaTypesRef types = std::make_shared<const http::MediaTypes>();
  // Takes the body of PUT of "base/{path...}" for a path in a folder that exists. It replaces
  // existing files. Not one that takes an Exchange.
  Handler put;
  // For GET of "base/{path...}"; unset: the route is added elsewhere.
  std::optional<Handler> get = {};
  // Returns who asks, to whom locks belong. Empty: the AuthenticatedUser, if there is one.
  std::function<std::string(const Request&)> user = {};
};

// Adds the methods of WebDAV for `base` and what is below it: OPTIONS and PROPFIND to `reading`,
// PUT, DELETE, MKCOL, COPY, MOVE, PROPPATCH, LOCK and UNLOCK to `writing`, which may have more
// middleware. Throws as Routes::route().
void add_webdav_routes(Routes& reading, Routes& writing, const WebDavOptions& options);

}  // namespace h2server::content
