#include "content/uploads/stored/store_receiver.h"

#include <exception>
#include <utility>

namespace h2server::content {

Task<Stored> StoreReceiver::finish(std::string_view bytes) {
  std::exception_ptr failure;
  try {
    Result<void, Response> taken = co_await take(bytes);
    if (!taken) co_return std::unexpected(std::move(taken.error()));
    Stored stored = co_await commit();
    co_return stored;
  } catch (...) {
    failure = std::current_exception();
  }
  co_await discard();
  std::rethrow_exception(failure);
}

}  // namespace h2server::content
