#include "content/store/store_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

namespace h2server::content {

StoreError breaking_off(const Error& error, std::string_view what) {
  StoreError broken{.reason = fmt::format("{}: {}", what, error.message())};
  if (error.code == ECANCELED) broken.kind = StoreError::Kind::stopped;
  return broken;
}

Task<StoreResult<SmallObject>> read_small_object(Store& store, std::string key,
                                                 std::size_t bytes_max, bool expected) {
  GetOptions options;
  options.expected = expected;
  StoreResult<OpenedObject> opened = co_await store.get(key, std::move(options));
  if (!opened) co_return std::unexpected(std::move(opened.error()));
  SmallObject object{.bytes = {}, .info = std::move(opened->info)};
  if (object.info.size > bytes_max) {
    co_return std::unexpected(StoreError{.reason = key + " is larger than expected"});
  }
  for (;;) {
    const Result<std::string_view> piece = co_await opened->body->read();
    if (!piece) co_return std::unexpected(breaking_off(piece.error(), key));
    if (piece->empty()) co_return object;
    object.bytes += *piece;
  }
}

Task<StoreResult<std::vector<ListedObject>>> list_objects(Store& store, std::string prefix) {
  std::vector<ListedObject> objects;
  ListOptions options{.prefix = std::move(prefix)};
  for (;;) {
    StoreResult<ListPage> page = co_await store.list(options);
    if (!page) co_return std::unexpected(std::move(page.error()));
    std::ranges::move(page->objects, std::back_inserter(objects));
    if (page->next.empty()) co_return objects;
    options.after = std::move(page->next);
  }
}

}  // namespace h2server::content
