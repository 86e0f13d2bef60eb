// Gives a received file its final name, and writes it to the disk itself as far as the policy asks.
//
// Any thread. Everything here may block on the disk. Errors are errno values.
#pragma once

#include <cstdint>
#include <string>

#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

enum class Existing : std::uint8_t { refuse, replace };

// Renames `from` in the folder `from_directory` to `to` in `to_directory`. `file` is the same file,
// open for writing. Before, writes its content to the disk, and afterwards the folder, as
// `durability` says. Fails with EEXIST if the name is taken and `existing` is `refuse`, and with
// EISDIR if it is a folder's. If the folder can't be written to the disk, the file has its final
// name nevertheless.
Result<void, int> commit_file(int file, int from_directory, const std::string& from,
                              int to_directory, const std::string& to, Existing existing,
                              Durability durability);

// The steps of commit_file(). A file system that has nothing to write to succeeds.
Result<void, int> sync_file(int file);
// `directory` may have been opened with O_PATH.
Result<void, int> sync_directory(int directory);
Result<void, int> rename_file(int from_directory, const std::string& from, int to_directory,
                              const std::string& to, Existing existing);

// Returns the entity tag of the file `name` in `directory`, as downloads have it, or "" if it can't
// be opened. It changes when the file is renamed.
std::string etag_of(int directory, const std::string& name);

}  // namespace h2server::content
