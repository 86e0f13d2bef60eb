// For tests of connections without a network: an engine, a transport and a source of a body.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coro/event.h"
#include "h2server/body.h"
#include "io/engine.h"
#include "net/transport.h"

namespace h2server::http {

// Provides the time and buffers; does no I/O.
class FakeEngine final : public io::Engine {
 public:
  // A turn that is waited for begins at once, or with next_turn(); nothing else ever completes.
  bool start(io::Op& op) override {
    if (op.kind != io::Op::Kind::sleep || op.timeout_ms != 0) return false;
    ++turns;
    if (holds_turns) {
      turn_ = &op;
      return false;
    }
    op.state.phase = io::Op::State::Phase::complete;
    return true;
  }
  // `result`: 0, or -ECANCELED. Returns false if nobody waits for it.
  bool next_turn(int result = 0) {
    io::Op* const op = std::exchange(turn_, nullptr);
    if (op == nullptr) return false;
    op->state.result = result;
    op->state.waiter.resume();
    return true;
  }
  void cancel(io::Op&) override {}
  void cancel_all() override {}
  void run() override {}
  void stop() noexcept override {}
  void wake() noexcept override {}
  io::Lease borrow() override {
    return {*this, std::make_unique<char[]>(buffer_bytes).release(), buffer_bytes};
  }
  void take_back(char* buffer) noexcept override { std::unique_ptr<char[]> owned(buffer); }
  std::int64_t now_ms() const noexcept override { return time_ms; }
  std::int64_t unix_seconds() const noexcept override { return 784111777; }
  std::int64_t turn_ms() const noexcept override { return lasts_ms; }

  std::int64_t time_ms = 1'000'000;
  std::int64_t lasts_ms = 0;  // each turn
  int turns = 0;              // that were waited for
  bool holds_turns = false;
  static constexpr std::size_t buffer_bytes = 64 * 1024;

 private:
  void forget(io::Socket&) noexcept override {}

  io::Op* turn_ = nullptr;  // that waits for the next one
};

// Reads return what the test passes to arrive(), end() and fail(); each write is recorded.
class FakeTransport final : public net::Transport {
 public:
  explicit FakeTransport(FakeEngine& engine) : engine_(engine) {}

  void arrive(std::string_view bytes) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), engine_.buffer_bytes))) {
      add({std::string(bytes.substr(0, engine_.buffer_bytes)), 0});
    }
  }
  void end() { add({}); }
  void fail(int error) { add({{}, error}); }
  // Resets the transport for another connection.
  void forget_end() {
    reads_.clear();
    finished = false;
  }
  void cancel_read() override {
    if (arrived_.awaited()) fail(ECANCELED);
  }

  net::Read read(std::uint32_t timeout_ms) override { return wait(timeout_ms); }
  Task<Result<void>> write(base::BufferChain& bytes, base::Pace&) override {
    if (write_error != 0) co_return std::unexpected(Error{write_error, "write"});
    if (takes_nothing) co_await takes.wait();
    writes.emplace_back();
    for (; !bytes.empty(); bytes.consume(bytes.front().size())) writes.back() += bytes.front();
    co_return {};
  }
  Task<void> finish(std::uint32_t) override {
    finished = true;
    co_return;
  }
  bool bytes_go_to_kernel() const noexcept override { return true; }
  io::Engine& engine() const noexcept override { return engine_; }
  void move_to(io::Engine&) noexcept override {}

  std::vector<std::string> writes;
  std::vector<std::uint32_t> timeouts;  // of reads, in ms
  int write_error = 0;
  bool takes_nothing = false;  // writes wait for `takes`
  coro::Event takes;
  bool finished = false;

 private:
  Task<Result<io::Lease>> wait(std::uint32_t timeout_ms) {
    timeouts.push_back(timeout_ms);
    if (reads_.empty()) co_await arrived_.wait();
    const Read read = reads_.front();
    if (!read.bytes.empty() || read.error != 0) reads_.pop_front();
    if (read.error != 0) co_return std::unexpected(Error{read.error, "read"});
    io::Lease lease = engine_.borrow();
    std::ranges::copy(read.bytes, lease.room().begin());
    lease.set_size(read.bytes.size());
    co_return std::move(lease);
  }

  struct Read {
    std::string bytes;  // empty without an error: end of stream, for all later reads
    int error = 0;
  };
  void add(Read read) {
    reads_.push_back(std::move(read));
    if (arrived_.awaited()) arrived_.set();
  }

  FakeEngine& engine_;
  std::deque<Read> reads_;
  coro::Event arrived_;
};

// Yields pieces and then the end. "throw" throws, "fail" is an error.
class Pieces final : public BodySource {
 public:
  // Counts the reads in `*reads`, unless that is null.
  explicit Pieces(std::vector<std::string> pieces, std::vector<Field> trailers = {},
                  int* reads = nullptr)
      : pieces_(std::move(pieces)), trailers_(std::move(trailers)), reads_(reads) {}
  Task<Result<std::string_view>> read() override {
    if (reads_ != nullptr) ++*reads_;
    if (next_ == pieces_.size()) co_return std::string_view();
    if (pieces_[next_] == "throw") throw std::runtime_error("source");
    if (pieces_[next_] == "fail") co_return std::unexpected(Error{EIO, "source"});
    co_return std::string_view(pieces_[next_++]);
  }
  std::span<const Field> trailers() const noexcept override { return trailers_; }

 private:
  const std::vector<std::string> pieces_;
  const std::vector<Field> trailers_;
  std::size_t next_ = 0;
  int* const reads_;
};

}  // namespace h2server::http
