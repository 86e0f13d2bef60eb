// FileOp: a FileCall as an operation. A loop engine tries it at once; it completes if it need not
// wait for the disk. Otherwise it runs on io_uring's workers, or on FileThreads with epoll and for
// calls that io_uring has no operation for, so the engine's thread does not wait.
#pragma once

#include "h2server/task.h"
#include "io/file_call.h"
#include "io/op.h"

namespace h2server::io {

class FileOp final : public Op {
 public:
  FileOp(Engine& where, const FileCall& what) noexcept
      : Op(Kind::file, where, nullptr, 0), call(what) {}
  // Returns as FileCall::make().
  int await_resume() const noexcept { return state.result; }

  const FileCall call;
};

// Makes `call` through `engine`. If `engine` is null, blocks the calling thread.
inline Task<int> make_call(Engine* engine, FileCall call) {
  if (engine == nullptr) co_return call.make(true);
  FileOp op(*engine, call);
  const int result = co_await op;
  co_return result;
}

}  // namespace h2server::io
