#include "content/files/folder_entries.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/fd.h"
#include "base/text/text.h"
#include "content/storage/directory_entries.h"
#include "file/open_beneath.h"

namespace h2server::content {

namespace {

// Returns what the entry is, or nullopt if it is not to be listed.
std::optional<struct stat> look_at_entry(int root, const std::string& path, int folder,
                                         const char* name, bool follow) {
  struct stat status{};
  if (::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISLNK(status.st_mode)) return status;
  if (!follow) return std::nullopt;
  const Result<base::Fd, int> target = file::open_beneath_now(root, path + name, O_PATH);
  if (!target || ::fstat(target->get(), &status) != 0) return std::nullopt;
  return status;
}

// Returns the size of the number that the text begins with.
std::size_t digits_at(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, base::is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

// Removes the number that the text begins with. Returns it without leading zeros.
std::string_view take_number(std::string_view& text) {
  std::string_view digits = text.substr(0, digits_at(text));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// Returns less than 0, 0 or more than 0.
int compare_names(std::string_view a, std::string_view b) noexcept {
  while (!a.empty() && !b.empty()) {
    if (base::is_digit(a.front()) && base::is_digit(b.front())) {
      const std::string_view first = take_number(a);
      const std::string_view second = take_number(b);
      if (first.size() != second.size()) return first.size() < second.size() ? -1 : 1;
      if (const int order = first.compare(second); order != 0) return order;
      continue;
    }
    const auto x = static_cast<unsigned char>(base::to_lower(a.front()));
    const auto y = static_cast<unsigned char>(base::to_lower(b.front()));
    if (x != y) return x < y ? -1 : 1;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty() ? -1 : 1;
  return 0;
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return !std::ranges::search(text, part, {}, base::to_lower, base::to_lower).empty() ||
         part.empty();
}

}  // namespace

bool name_before(std::string_view a, std::string_view b) noexcept {
  const int order = compare_names(a, b);
  return order != 0 ? order < 0 : a < b;
}

std::size_t FolderEntries::memory() const noexcept {
  constexpr std::size_t in_place = 15;  // characters that a std::string holds itself
  std::size_t total = entries.capacity() * sizeof(FolderEntry);
  for (const FolderEntry& entry : entries) {
    if (entry.name.size() > in_place) total += entry.name.size() + 16;
  }
  return total;
}

Result<FolderEntries, int> read_folder(int root, const std::string& path, int folder,
                                       const ReadFolderOptions& options) {
  FolderEntries found;
  const auto add = [&](const char* entry) {
    const std::string_view name = entry;
    if (name == "." || name == ".." || (name.starts_with('.') && !options.hidden)) return true;
    if (!options.skip.empty() && name.starts_with(options.skip)) return true;
    const std::optional<struct stat> status =
        look_at_entry(root, path, folder, entry, options.follow);
    if (!status) return true;
    const bool is_folder = S_ISDIR(status->st_mode);
    if (is_folder ? !options.folders : !S_ISREG(status->st_mode)) return true;
    if (found.entries.size() == FolderEntries::entries_max) {
      found.incomplete = true;
      return false;
    }
    const auto size = is_folder ? 0 : static_cast<std::uint64_t>(status->st_size);
    found.entries.push_back({std::string(name), size, status->st_mtim.tv_sec, is_folder});
    found.bytes += size;
    if (is_folder) ++found.folders;
    return true;
  };
  const Result<void, int> walked = for_each_entry(folder, add);
  if (!walked) return std::unexpected(walked.error());
  std::ranges::sort(found.entries, [](const FolderEntry& a, const FolderEntry& b) {
    if (a.is_folder != b.is_folder) return a.is_folder;
    return name_before(a.name, b.name);
  });
  return found;
}

std::vector<std::uint32_t> select(const FolderEntries& folder, const Selection& selection) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < folder.entries.size(); ++i) {
    if (contains_ignoring_case(folder.entries[i].name, selection.filter)) order.push_back(i);
  }
  // The entries are sorted by name, so the index decides among equals.
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    if (folder.entries[a].is_folder != folder.entries[b].is_folder) {
      return folder.entries[a].is_folder;
    }
    const FolderEntry& first = folder.entries[selection.descending ? b : a];
    const FolderEntry& second = folder.entries[selection.descending ? a : b];
    if (selection.key == SortKey::size && first.size != second.size) {
      return first.size < second.size;
    }
    if (selection.key == SortKey::modified && first.modified_s != second.modified_s) {
      return first.modified_s < second.modified_s;
    }
    return selection.key == SortKey::name && selection.descending ? a > b : a < b;
  };
  if (!selection.is_plain()) std::ranges::sort(order, before);
  return order;
}

}  // namespace h2server::content
