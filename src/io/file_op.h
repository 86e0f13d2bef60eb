// A call on a file as an operation. It is tried at once and completes when the page cache has what
// it wants; else it goes where waiting for the disk holds up nobody: io_uring's workers, or
// FileThreads on epoll and for what io_uring has no operation for.
#pragma once

#include "h2server/task.h"
#include "io/file_call.h"
#include "io/op.h"

namespace h2server::io {

class FileOp final : public Op {
 public:
  FileOp(Engine& where, const FileCall& what) noexcept
      : Op(Kind::file, where, nullptr, 0), call(what) {}
  // As FileCall::make().
  int await_resume() const noexcept { return state.result; }

  const FileCall call;
};

// By the engine; without one the caller waits.
inline Task<int> make_call(Engine* engine, FileCall call) {
  if (engine == nullptr) co_return call.make(true);
  FileOp op(*engine, call);
  const int result = co_await op;
  co_return result;
}

}  // namespace h2server::io
