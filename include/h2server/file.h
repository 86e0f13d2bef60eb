// File: one version of a regular file, ready to be served.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace h2server::file {
class Content;
}
namespace h2server::http {
struct FileHead;
}

#pragma GCC visibility push(default)
namespace h2server {

// For the library itself: what another of its parts keeps with a file.
class FileExtension {
 public:
  FileExtension() = default;
  FileExtension(const FileExtension&) = delete;
  FileExtension& operator=(const FileExtension&) = delete;
  virtual ~FileExtension() = default;
};

// Immutable. Made by the file cache, which shares it among all workers.
class File {
 public:
  File(std::unique_ptr<const file::Content> content, std::unique_ptr<const http::FileHead> head,
       std::unique_ptr<FileExtension> extension = nullptr) noexcept;
  // Other content of the same version; shares the rest with `file`.
  File(std::unique_ptr<const file::Content> content, const File& file) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] std::uint64_t size() const noexcept;              // bytes
  [[nodiscard]] std::string_view content_type() const noexcept;   // a media type
  [[nodiscard]] std::string_view etag() const noexcept;           // strong, with its quotes
  [[nodiscard]] std::string_view last_modified() const noexcept;  // IMF-fixdate

  // For the library itself.
  [[nodiscard]] const file::Content& content() const noexcept { return *content_; }
  [[nodiscard]] const http::FileHead& head() const noexcept { return *head_; }
  // Returns null if there is none. It protects what it changes.
  [[nodiscard]] FileExtension* extension() const noexcept { return extension_.get(); }

 private:
  std::unique_ptr<const file::Content> content_;
  std::shared_ptr<const http::FileHead> head_;
  std::shared_ptr<FileExtension> extension_;
};

using FileRef = std::shared_ptr<const File>;

// Returns the file with that path below the server's root, from the file cache; null if there is
// none. May block on the disk. Call it in handlers only.
FileRef load_file_from_filecache(std::string_view path);

}  // namespace h2server
#pragma GCC visibility pop
