// FolderEntries: the entries of a folder at one time, for listings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory/memory_budget.h"
#include "h2server/result.h"

namespace h2server::content {

struct FolderEntry {
  static constexpr std::int64_t time_unknown = INT64_MIN;  // of the folders of a store

  std::string name;
  std::uint64_t size = 0;  // bytes; 0 for folders
  std::int64_t modified_s = 0;
  bool is_folder = false;
};

struct ReadFolderOptions {
  bool hidden = false;         // also names that begin with "."
  bool folders = true;         // otherwise files only
  bool follow = true;          // links that stay beneath the root; otherwise none
  std::string_view skip = {};  // leaves out names with this prefix; empty: none
};

// Immutable once made; any thread.
struct FolderEntries {
  // More are not listed: 26 MB for names of 40 bytes.
  static constexpr std::size_t entries_max = 200'000;

  std::vector<FolderEntry> entries;  // folders first, then by name, see name_before()
  std::size_t folders = 0;
  std::uint64_t bytes = 0;              // of all files
  bool incomplete = false;              // there are more than entries_max
  std::size_t memory() const noexcept;  // bytes, about
  // Counts them as memory of listings, or no longer: while a cache holds them, its bound counts.
  void count(bool counted) const noexcept { charge.set(counted ? memory() : 0); }
  mutable base::MemoryCharge charge{base::MemoryOwner::listings};  // of count(), under that lock
};

// Returns the regular files and folders in `folder`, an open descriptor of a folder whose path
// below the open folder `root` is `path`, empty or ending in a slash. A link counts as what it
// leads to, if that lies beneath the root. Entries that vanish meanwhile are left out. The error is
// an errno value. Blocks on the disk.
Result<FolderEntries, int> read_folder(int root, const std::string& path, int folder,
                                       const ReadFolderOptions& options);

// The order of names that people expect: by letters without regard to case (ASCII), digits by their
// number ("file 9" before "file 10"), and the rest by bytes.
bool name_before(std::string_view a, std::string_view b) noexcept;

enum class SortKey : std::uint8_t { name, size, modified };

struct Selection {
  SortKey key = SortKey::name;
  bool descending = false;
  std::string filter;  // a part of the name, without regard to case (ASCII); empty: any
  // Returns true if it selects all, in the order that they have.
  [[nodiscard]] bool is_plain() const noexcept {
    return key == SortKey::name && !descending && filter.empty();
  }
};

// Returns the indexes of the selected entries in the order of `selection`, folders first.
std::vector<std::uint32_t> select(const FolderEntries& folder, const Selection& selection);

}  // namespace h2server::content
