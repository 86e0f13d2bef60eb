// ArchiveWalk: walks through a folder and makes its archive, step by step.
//
// Depth first, sorted by the bytes of the names within a folder. Archives folders, regular files,
// and links to regular files, as files with the content of their target. All are opened beneath
// the served folder (file/open_beneath.h). Leaves out, silently: links to folders (there may be
// cycles), links that lead nowhere or out of the served folder, sockets, FIFOs, devices, files that
// are still being received, and hidden names unless they are asked for. Leaves out and names in a
// last entry, "NOT INCLUDED.txt": what may not be opened or has vanished, and what lies too deep.
//
// A file has the size that it had when it was opened: what is added meanwhile is not archived. If
// it has become shorter, the step fails.
//
// Blocks on the disk. One thread at a time. Holds the names of the folders it is in, and what
// the framing holds; see the limits.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "content/archive/archive.h"
#include "content/archive/archive_framing.h"
#include "content/archive/omissions.h"
#include "content/archive/sorted_names.h"
#include "content/archive/zip_names.h"
#include "file/folder.h"
#include "h2server/result.h"

namespace h2server::content {

struct ArchiveLimits {
  std::size_t depth_max = 128;  // folders within each other, the top one included
  std::size_t names_bytes_max = 64UL * 1024 * 1024;  // of all folders at once: some million names
  std::size_t piece_bytes = 128UL * 1024;            // of a step: then another one takes the thread
  std::size_t entries_per_step = 64;                 // the same, where nothing is archived
};

class ArchiveWalk {
 public:
  ArchiveWalk(std::shared_ptr<const file::Folder> folder, std::string path, std::string name,
              ArchiveFormat format, ArchiveOptions options, const ArchiveLimits& limits = {});
  ArchiveWalk(const ArchiveWalk&) = delete;
  ArchiveWalk& operator=(const ArchiveWalk&) = delete;

  // Appends a part of the archive, maybe nothing. The part is at most a header, or a block of the
  // zip's directory, longer than piece_bytes. After a failure there is no next step.
  Result<void> step(std::string& out);
  [[nodiscard]] bool ended() const noexcept { return state_ == State::ended; }
  // Returns what names of folders, and a zip's directory, take, in bytes.
  [[nodiscard]] std::size_t bytes_held() const noexcept;

 private:
  // start → entries ⇄ content, then report → finish → ended.
  enum class State : std::uint8_t { start, entries, content, report, finish, ended };

  // A folder on the way from the top to the current entry.
  struct Level {
    SortedNames names;
    ZipNames zip_names;             // empty in a tar
    std::size_t path_bytes = 0;     // path_ is its path up to here
    std::size_t archive_bytes = 0;  // the same of archive_path_
  };

  // An entry to visit.
  struct Place {
    std::string path;          // beneath the served folder
    std::string archive_path;  // in the archive
  };

  Result<void> advance(std::string& out);
  Result<void> open_top(std::string& out);
  Result<void> next_entry(std::string& out);
  Result<void> visit(const Place& place, std::string& out);
  Result<void> enter(const Place& place, const base::Fd& folder, const struct stat& status,
                     std::string& out);
  Result<void> begin_file(const Place& place, base::Fd file, const struct stat& status,
                          std::string& out);
  Result<void> read_content(std::string& out);
  void end_file(std::string& out);
  void leave();
  Result<void> report(std::string& out);
  // Notes that the entry is left out, or fails if that is the system's failure.
  Result<void> leave_out(const Place& place, int code);

  [[nodiscard]] Result<Level, int> read_names(int folder, bool& too_many) const;
  [[nodiscard]] bool archives(std::string_view name) const;

  const std::shared_ptr<const file::Folder> folder_;
  const ArchiveFormat format_;
  const ArchiveOptions options_;
  const ArchiveLimits limits_;
  const std::unique_ptr<ArchiveFraming> framing_;
  State state_ = State::start;
  std::string path_;
  std::string archive_path_;
  std::vector<Level> levels_;
  Omissions omissions_;
  base::Fd file_;  // whose content is being read
  std::uint64_t offset_ = 0;
  std::uint64_t remaining_ = 0;
};

}  // namespace h2server::content
