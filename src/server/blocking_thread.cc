#include "server/blocking_thread.h"

#include <cerrno>
#include <memory>

namespace h2server::server {

namespace {

using Life = std::function<void()>;

void* live(void* life) {
  const std::unique_ptr<Life> owned(static_cast<Life*>(life));
  (*owned)();
  return nullptr;
}

}  // namespace

Result<BlockingThread> BlockingThread::start(Life life) {
  auto owned = std::make_unique<Life>(std::move(life));
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ASSERT(::pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
  BlockingThread made;
  const int error = ::pthread_create(&made.handle_, &attributes, live, owned.get());
  ::pthread_attr_destroy(&attributes);
  if (error != 0) return std::unexpected(Error{error, "pthread_create"});
  [[maybe_unused]] const Life* const given = owned.release();
  made.started_ = true;
  return made;
}

void BlockingThread::join() noexcept {
  if (std::exchange(started_, false)) ASSERT(::pthread_join(handle_, nullptr) == 0);
}

void BlockingThread::leave_behind() noexcept {
  if (std::exchange(started_, false)) ASSERT(::pthread_detach(handle_) == 0);
}

}  // namespace h2server::server
