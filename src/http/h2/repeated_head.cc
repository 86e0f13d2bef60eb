#include "http/h2/repeated_head.h"

#include <algorithm>
#include <atomic>

namespace h2server::http::h2 {

std::uint64_t RepeatedHead::next_connection() noexcept {
  static std::atomic<std::uint64_t> connections{0};
  return connections.fetch_add(1, std::memory_order_relaxed) + 1;
}

RepeatedHead& RepeatedHead::of_thread() {
  thread_local RepeatedHead head;
  return head;
}

bool RepeatedHead::restore(const Context& context, std::string_view block,
                           H2Exchange& exchange) const {
  if (!kept_ || context != context_ || block != std::string_view(block_.data(), block_size_)) {
    return false;
  }
  const char* at = exchange.arena.copy(text_).data();
  const std::uint16_t* size = sizes_.data();
  const auto next = [&] {
    const std::string_view piece(at, *size);
    at += *size++;
    return piece;
  };
  RequestHead& head = exchange.head;
  head.method = method_;
  head.method_name = next();
  head.target = next();
  head.authority = next();
  while (size != sizes_.data() + sizes_.size()) {
    const std::string_view name = next();
    head.fields.add(name, next());
  }
  exchange.stream.priority = priority_;
  return true;
}

void RepeatedHead::note(const Context& context, std::string_view block,
                        const H2Exchange& exchange) {
  if (block.size() > block_bytes_max) return;
  const bool repeats = context == context_ && block == std::string_view(block_.data(), block_size_);
  if (repeats) {
    misses_ = 0;
    return keep(exchange);
  }
  if (++misses_ == misses_max) {
    misses_ = 0;
    pause_ = pause_blocks;
  }
  kept_ = false;
  context_ = context;
  std::ranges::copy(block, block_.data());
  block_size_ = block.size();
}

void RepeatedHead::keep(const H2Exchange& exchange) {
  const RequestHead& head = exchange.head;
  const H2Exchange::SessionPart& session = exchange.session;
  if (head.content_length || session.expects_continue || session.head_too_large) return;
  std::size_t bytes = head.method_name.size() + head.target.size() + head.authority.size();
  for (const Field& field : head.fields) bytes += field.name.size() + field.value.size();
  if (bytes > text_bytes_max) return;
  text_.clear();
  sizes_.clear();
  const auto add = [this](std::string_view piece) {
    sizes_.push_back(static_cast<std::uint16_t>(piece.size()));
    text_ += piece;
  };
  add(head.method_name);
  add(head.target);
  add(head.authority);
  for (const Field& field : head.fields) {
    add(field.name);
    add(field.value);
  }
  method_ = head.method;
  priority_ = exchange.stream.priority;
  kept_ = true;
}

}  // namespace h2server::http::h2
