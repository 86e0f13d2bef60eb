// The files of resumable uploads in an upload directory: h2_tmp_upload_<id> has the bytes,
// h2_tmp_upload_<id>.info the description.
//
// The order of creation and removal gives each state that a killed server can leave one meaning:
//   both files          the upload is pending; the size of the bytes is its offset
//   the description     the upload was stored: only the rename to its final name removes the bytes
//   the bytes           the upload is being created if they are locked, otherwise nobody knows it
// Hence the description is written after the bytes' file is made, and removed before it.
//
// Who changes an upload holds the lock (flock) of its bytes. Everything here may block on the disk.
// Errors are errno values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "content/storage/pending_description.h"
#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

inline constexpr std::string_view pending_upload_prefix = "h2_tmp_upload_";

// 128 random bits, as 32 hexadecimal digits in lower case.
std::string new_upload_id();
bool is_upload_id(std::string_view text);

std::string pending_bytes_name(std::string_view id);
std::string pending_info_name(std::string_view id);

// What a directory entry belongs to.
struct PendingEntry {
  enum class Kind : std::uint8_t { bytes, info, unfinished_info };
  std::string id;
  Kind kind = Kind::bytes;
};
std::optional<PendingEntry> parse_pending_entry(std::string_view name);
// Returns true for the name of a file with the bytes of a pending upload.
bool is_pending_bytes(std::string_view name);

// Makes the file for the bytes of a new upload, and locks it.
Result<base::Fd, int> make_pending_bytes(int directory, const std::string& id);
// Opens and locks the bytes of an upload. Fails with EWOULDBLOCK if another has the lock, and with
// ENOENT if there are none, or no more.
Result<base::Fd, int> lock_pending_bytes(int directory, const std::string& id);

// Replaces the description, at once. The caller has the lock.
Result<void, int> write_pending_info(int directory, const std::string& id,
                                     const PendingDescription& description, Durability durability);
// Fails with EBADMSG if the file is not a description.
Result<PendingDescription, int> read_pending_info(int directory, const std::string& id);

// Removes both files. The caller has the lock, unless there are no bytes.
void remove_pending(int directory, const std::string& id) noexcept;

struct FileFacts {
  std::uint64_t size = 0;
  std::int64_t modified_s = 0;  // since 1970
};
// Returns nullopt if there is no such regular file.
std::optional<FileFacts> look_at_file(int directory, const std::string& name) noexcept;

}  // namespace h2server::content
