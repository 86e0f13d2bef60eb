#include "net/tls/tls_memory.h"

#include <malloc.h>
#include <openssl/crypto.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace h2server::net {

namespace {

// buffer_bytes fits a record with header, padding and OpenSSL's alignment slack (RFC 8446, 5.2).
constexpr std::size_t record_content_bytes = 16 * 1024;
constexpr std::size_t buffer_bytes = 17 * 1024;
constexpr std::size_t rounding_bytes = 64;  // by which malloc may exceed the requested size
constexpr unsigned buffers_max = 4;         // a connection uses two at once

struct Free {
  Free* next;
};

// Trivial types, so that they may be used while the thread's other objects are destroyed.
thread_local Free* first = nullptr;
thread_local unsigned count = 0;

struct Release {
  ~Release() {
    count = buffers_max;  // later releases go to free()
    while (first != nullptr) {
      Free* const buffer = first;
      first = buffer->next;
      std::free(buffer);
    }
  }
};

void* allocate(std::size_t size, const char*, int) {
  if (size == 0) return nullptr;
  if (size <= record_content_bytes || size > buffer_bytes) return std::malloc(size);
  if (first == nullptr) return std::malloc(buffer_bytes);
  --count;
  Free* const buffer = first;
  first = buffer->next;
  return buffer;
}

void release(void* memory, const char*, int) {
  const std::size_t size = ::malloc_usable_size(memory);  // 0 for null
  if (size < buffer_bytes || size >= buffer_bytes + rounding_bytes || count == buffers_max) {
    std::free(memory);
    return;
  }
  thread_local const Release release_at_end;
  static_cast<void>(release_at_end);
  ++count;
  first = std::construct_at(static_cast<Free*>(memory), first);
}

void* reallocate(void* memory, std::size_t size, const char* file, int line) {
  if (memory == nullptr) return allocate(size, file, line);
  if (size > 0) return std::realloc(memory, size);
  release(memory, file, line);
  return nullptr;
}

}  // namespace

void keep_tls_record_buffers() { CRYPTO_set_mem_functions(allocate, reallocate, release); }

}  // namespace h2server::net
