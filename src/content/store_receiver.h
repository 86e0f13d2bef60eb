// A receiver of a body whose bytes go to a store.
#pragma once

#include <string_view>

#include "content/receive_body.h"

namespace h2server::content {

class StoreReceiver : public BodyReceiver {
 public:
  // Takes the bytes and commits. Whatever is thrown, nothing is left.
  Task<Stored> finish(std::string_view bytes) final;

 protected:
  virtual Task<Stored> commit() = 0;
};

}  // namespace h2server::content
