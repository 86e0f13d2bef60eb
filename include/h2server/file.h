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

// Identifies a version. It differs once the file is written, truncated or replaced.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;  // bytes
  std::int64_t modified_s = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_s = 0;  // of content or attributes; unlike `modified`, it cannot be set
  std::int64_t changed_ns = 0;
  std::uint64_t links = 0;

  bool operator==(const FileVersion&) const = default;
};

// Created by the file cache; immutable. A small file's content is held in memory. A larger file is
// mapped: its bytes are those of `version` only while unchanged() returns true.
struct File {
  File() noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  const std::uint64_t number;  // unique in this process
  FileVersion version;
  std::string content_type;
  std::string etag;           // strong, with quotes
  std::string last_modified;  // IMF-fixdate

  const char* bytes = nullptr;  // version.size bytes
  bool mapped = false;
  int descriptor = -1;  // of a mapped file
  std::unique_ptr<char[]> held;

  // The precomputed head of a 200 response with the whole file, without Date.
  std::string h1_head;
  std::vector<Field> h2_fields;

  // Returns false if a mapped file may have changed since it was opened.
  [[nodiscard]] bool unchanged() const noexcept;
};

using FileRef = std::shared_ptr<const File>;

// Returns the file at `path` below the server's root, from the calling worker's cache; null if
// there is none. Only for handlers.
FileRef load_file_from_filecache(std::string_view path);

}  // namespace h2server
