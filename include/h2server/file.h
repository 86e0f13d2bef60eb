// One version of a regular file, open and ready to be served.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/message.h"
#include "h2server/result.h"

namespace h2server {

// Which version: a file that was written, truncated or replaced has another one.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;  // bytes
  std::int64_t modified_s = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_s = 0;  // of content or attributes: unlike `modified`, nobody can set it
  std::int64_t changed_ns = 0;
  std::uint64_t links = 0;

  bool operator==(const FileVersion&) const = default;
};

// Made by the file cache and immutable. A small file's content is held in memory; a larger one is
// mapped, and then its bytes are those of `version` only as long as unchanged() says so.
struct File {
  File() noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  const std::uint64_t number;  // of no other file of this process
  FileVersion version;
  std::string content_type;
  std::string etag;           // strong, with its quotes
  std::string last_modified;  // IMF-fixdate

  const char* bytes = nullptr;  // version.size of them
  bool mapped = false;
  int descriptor = -1;  // of a mapped file
  std::unique_ptr<char[]> held;

  // The head of a 200 response with the whole file, without Date, ready for HTTP/1.1 and HTTP/2.
  std::string h1_head;
  std::vector<Field> h2_fields;

  [[nodiscard]] bool unchanged() const noexcept;
};

using FileRef = std::shared_ptr<const File>;

// The file of that path below the server's root, from the cache of the worker that runs the caller;
// null when there is none. Only for handlers.
FileRef load_file_from_filecache(std::string_view path);

}  // namespace h2server
