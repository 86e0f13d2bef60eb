// Fields of a request as libcurl takes them.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <new>

namespace h2server::app {

struct FreeFields {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using Fields = std::unique_ptr<curl_slist, FreeFields>;

// Adds "name: value".
inline void add_field(Fields& fields, const char* field) {
  curl_slist* const longer = curl_slist_append(fields.get(), field);
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(fields.release());
  fields.reset(longer);
}

}  // namespace h2server::app
