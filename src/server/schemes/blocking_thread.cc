#include "server/schemes/blocking_thread.h"

#include <cerrno>
#include <memory>

namespace h2server::server {

namespace {

using Body = std::function<void()>;

void* run_thread_body(void* body) {
  const std::unique_ptr<Body> owned(static_cast<Body*>(body));
  (*owned)();
  return nullptr;
}

}  // namespace

Result<BlockingThread> BlockingThread::start(Body body) {
  auto owned = std::make_unique<Body>(std::move(body));
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ASSERT(::pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
  BlockingThread made;
  const int error = ::pthread_create(&made.handle_, &attributes, run_thread_body, owned.get());
  ::pthread_attr_destroy(&attributes);
  if (error != 0) return std::unexpected(Error{error, "pthread_create"});
  [[maybe_unused]] const Body* const given = owned.release();
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
