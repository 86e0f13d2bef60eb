#include "h2server/store.h"

#include <expected>

namespace h2server {

namespace {

std::unexpected<StoreError> only_read() {
  return std::unexpected(
      StoreError{.kind = StoreError::Kind::denied, .reason = "the store is only read"});
}

}  // namespace

Task<StoreResult<ObjectInfo>> Store::put(std::string /*key*/, std::string /*bytes*/,
                                         PutOptions /*options*/) {
  co_return only_read();
}

Task<StoreResult<void>> Store::remove(std::string /*key*/) { co_return only_read(); }

Task<StoreResult<PartsId>> Store::begin_parts(std::string /*key*/, PutOptions /*options*/) {
  co_return only_read();
}

Task<StoreResult<StoredPart>> Store::put_part(PartsId /*parts*/, unsigned /*number*/,
                                              std::string /*bytes*/) {
  co_return only_read();
}

Task<StoreResult<std::vector<StoredPart>>> Store::list_parts(PartsId /*parts*/) {
  co_return only_read();
}

Task<StoreResult<ObjectInfo>> Store::complete_parts(PartsId /*parts*/,
                                                    std::vector<StoredPart> /*all*/,
                                                    PutOptions /*options*/) {
  co_return only_read();
}

Task<StoreResult<ObjectInfo>> Store::find_completed(PartsId /*parts*/) {
  co_return std::unexpected(StoreError{.kind = StoreError::Kind::absent});
}

Task<StoreResult<void>> Store::abandon_parts(PartsId /*parts*/) { co_return only_read(); }

}  // namespace h2server
