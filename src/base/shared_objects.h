// SharedObjects: one object for each key, as long as somebody holds it. So what a reload makes anew
// finds what belongs to the same thing before, and forgets nothing.
//
// Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace h2server::base {

template <class Key, class Object>
class SharedObjects {
 public:
  // Returns the object of that key, or one that is made of `arguments`.
  template <class... Arguments>
  std::shared_ptr<Object> get(const Key& key, Arguments&&... arguments) {
    const std::lock_guard lock(mutex_);
    std::erase_if(objects_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Object>& known = objects_[key];
    std::shared_ptr<Object> object = known.lock();
    if (object == nullptr) {
      object = std::make_shared<Object>(std::forward<Arguments>(arguments)...);
      known = object;
    }
    return object;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<Object>> objects_;
};

}  // namespace h2server::base
