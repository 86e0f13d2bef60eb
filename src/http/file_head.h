// FileHead: what the heads of a file's responses have in common, made once per file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "file/content.h"
#include "file/folder.h"
#include "h2server/file.h"
#include "h2server/message.h"
#include "h2server/response.h"
#include "http/fields/media_type.h"
#include "http/h2/prepared_head.h"

namespace h2server::http {

struct FileField {
  std::string_view name;
  std::string_view value;
  bool in_304;  // RFC 9110, 15.4.5: also where the client has the content already
};

// What distinguishes one representation of a file from others of the same path.
struct Representation {
  std::string_view coding = {};  // the Content-Encoding, in static storage; empty: none
  // Its size, if the server encoded the version itself. The version's tag then gets the coding as a
  // suffix: two representations must not have one strong tag (RFC 9110, 8.8.3.3).
  std::optional<std::uint64_t> encoded_size = {};  // bytes
  bool negotiated = false;  // the coding depends on Accept-Encoding, which Vary must say
};

// What a store has with an object. Views of what can be sent in fields.
struct ObjectHead {
  std::uint64_t size = 0;                       // bytes
  std::string_view etag = {};                   // strong, with its quotes; empty: none
  std::int64_t modified_s = 0;                  // since 1970; 0: unknown
  std::string_view type = {};                   // the value of Content-Type
  std::span<const Response::Line> fields = {};  // all others
};

// Immutable. All views refer to the strings.
struct FileHead {
  // `type` is the value of Content-Type. `now_s` is in seconds since 1970.
  FileHead(const file::FileVersion& version, std::string_view type, std::int64_t now_s,
           const Representation& representation = {});
  FileHead(const ObjectHead& object, std::int64_t now_s);
  FileHead(const FileHead&) = delete;
  FileHead& operator=(const FileHead&) = delete;

  std::string content_type;
  std::string etag;           // strong, with its quotes; empty if an object has none
  std::string last_modified;  // IMF-fixdate; empty if an object has none
  // Fields of every 200, 206 and, if they say so, 304 response with the file.
  std::vector<FileField> fields;

  // The encoded head of a 200 response with the whole file, without Date.
  std::string h1;
  http::h2::PreparedHead h2;

 private:
  // Encodes the head from what is in the fields.
  void encode();

  std::vector<Response::Line> stored_;  // of an object
  std::string size_;
  std::string names_;  // in lower case, as HTTP/2 wants them
};

// For file::FolderOptions. `path` decides on the media type, by the built-in table.
FileRef make_file(std::unique_ptr<const file::Content> content, std::string_view path,
                  std::int64_t now_s);
// Returns such a function with a table of its own.
decltype(file::FolderOptions::make_file) file_maker(MediaTypesRef types);

}  // namespace h2server::http
