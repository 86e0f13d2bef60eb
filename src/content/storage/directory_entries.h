// Enumerates a directory.
#pragma once

#include <cstdint>
#include <functional>

#include "h2server/result.h"

namespace h2server::content {

// Calls `each` with every name in `directory` (an open descriptor), "." and ".." included, until it
// returns false. Entries added or removed meanwhile may be missing. May block on the disk. The
// error is an errno value.
Result<void, int> for_each_entry(int directory, const std::function<bool(const char*)>& each);
// The same from a position on, which is 0 or what `each` got with the name before: also of another
// descriptor. Where names come and go meanwhile, some file systems lose others or repeat them.
Result<void, int> for_each_entry_from(
    std::int64_t position, int directory,
    const std::function<bool(const char* name, std::int64_t next)>& each);
// The same for the folders in it, without "." and "..". Looks at nothing else on most file systems.
Result<void, int> for_each_folder(int directory, const std::function<bool(const char*)>& each);

}  // namespace h2server::content
