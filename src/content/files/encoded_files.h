// EncodedFiles: sends the files of a folder with the content coding that suits the request best.
//
// A coding of a file is its sibling (page.html.br beside page.html), or a copy that the server
// makes of it when it is first asked for. A copy belongs to its File: all workers share it, and it
// goes when the file cache gives up that version. Large files are encoded while they are sent.
//
// The folder's files must be made by make_negotiated_file(), with the same types. One object for
// each folder, shared by all workers. Their requests take no lock and allocate nothing if the copy
// or the sibling is there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "content/coding/coding.h"
#include "content/coding/encoded_copies.h"
#include "file/content.h"
#include "file/folder.h"
#include "h2server/file.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/task.h"
#include "http/fields/media_type.h"

namespace h2server::content {

// For file::FolderOptions: files whose responses say that they depend on Accept-Encoding, if their
// type is compressible.
FileRef make_negotiated_file(std::unique_ptr<const file::Content> content, std::string_view path,
                             std::int64_t now_s);
// Returns such a function with a table of its own.
decltype(file::FolderOptions::make_file) negotiated_file_maker(http::MediaTypesRef types);

struct EncodedFilesOptions {
  bool siblings = true;                 // looks for NAME.zst, NAME.br and NAME.gz
  bool copies = true;                   // encodes files itself
  std::uint64_t copy_bytes_min = 1024;  // a smaller file fills one packet in any case
  // A larger file is not copied but encoded while it is sent, which takes 0.1 s of CPU time.
  std::uint64_t copy_bytes_max = 4 * 1024 * 1024;
  // A larger file is a download: its length and ranges are worth more.
  std::uint64_t streamed_bytes_max = 64 * 1024 * 1024;
  http::MediaTypesRef types = std::make_shared<const http::MediaTypes>();  // of siblings
  CopyBudget* budget = nullptr;  // null: that of the process. Must outlive all files
};

class EncodedFiles {
 public:
  // Throws std::system_error if the system lacks descriptors.
  explicit EncodedFiles(std::shared_ptr<const file::Folder> folder,
                        const EncodedFilesOptions& options = {});
  EncodedFiles(const EncodedFiles&) = delete;
  EncodedFiles& operator=(const EncodedFiles&) = delete;
  ~EncodedFiles();

  // Returns the response with `file`, which the folder has found at `path`, in the coding for this
  // request; also 304 and others, as Request::reply_ok_with_file() does. A request with Range gets
  // the file itself. Returns nullopt if find() has to look or to encode.
  [[nodiscard]] std::optional<Response> known(const Request& request, std::string_view path,
                                              FileRef file) const;
  // The same, but waits for the disk and for the end of the encoding, which is done once for all
  // that ask at the same time. If that is not possible, responds with the file itself. `request`
  // must outlive the task.
  [[nodiscard]] Task<Response> find(const Request& request, std::string path, FileRef file) const;

 private:
  using Siblings = std::array<FileRef, coding_count>;  // null: there is none that may be sent
  struct Wanted;

  // Returns nullopt if a sibling has to be looked for.
  [[nodiscard]] std::optional<Siblings> known_siblings(const Wanted& wanted, std::string_view path,
                                                       const File& file) const;
  [[nodiscard]] Task<Siblings> find_siblings(const Wanted& wanted, std::string path,
                                             FileRef file) const;
  // Returns nullopt if the chosen copy is not there; `coding` is then set to its coding.
  [[nodiscard]] std::optional<Response> choose(const Wanted& wanted, const FileRef& file,
                                               const Siblings& siblings, Coding& coding) const;
  [[nodiscard]] bool may_encode(const File& file, Coding coding) const;
  [[nodiscard]] bool is_streamed(const File& file) const;
  // Makes the copy unless another request does, and waits until it is there or can't be made.
  [[nodiscard]] Task<void> make_copy(FileRef file, Coding coding) const;

  const EncodedFilesOptions options_;
  CopyBudget& budget_;
  const std::unique_ptr<const file::Folder> siblings_;  // the same directory; null: not looked for
};

}  // namespace h2server::content
