// Small objects of a store.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"
#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content {

struct SmallObject {
  std::string bytes;
  ObjectInfo info;
};
// Fails if the object has more than `bytes_max`. `expected`: see GetOptions.
Task<StoreResult<SmallObject>> read_small_object(Store& store, std::string key,
                                                 std::size_t bytes_max, bool expected = false);

// Why a body that is read could not be read to its end.
StoreError breaking_off(const Error& error, std::string_view what);

// All objects directly below a prefix, which are few.
Task<StoreResult<std::vector<ListedObject>>> list_objects(Store& store, std::string prefix);

}  // namespace h2server::content
