#include "io/fair_queue.h"

namespace h2server::io {

void FairQueue::add(FileOp& op) {
  Client& client = clients_[op.call.client];
  client.waiting.append(op);
  op.waits = true;
  ++size_;
  sort(op.call.client, client);
}

FileOp* FairQueue::take() {
  if (ready_.first == nullptr) return nullptr;
  Client& client = *ready_.first;
  FileOp& op = *client.waiting.first;
  client.waiting.remove(op);
  op.waits = false;
  --size_;
  ++client.running;
  ready_.remove(client);  // others come first
  client.ready = false;
  sort(op.call.client, client);
  return &op;
}

void FairQueue::end(std::uint64_t key) {
  Client& client = clients_.find(key)->second;
  --client.running;
  sort(key, client);
  forget_idle(key, client);
}

bool FairQueue::remove(FileOp& op) {
  if (!op.waits) return false;
  Client& client = clients_.find(op.call.client)->second;
  client.waiting.remove(op);
  op.waits = false;
  --size_;
  sort(op.call.client, client);
  forget_idle(op.call.client, client);
  return true;
}

void FairQueue::sort(std::uint64_t key, Client& client) noexcept {
  const bool may_run = key == 0 || client.running < running_max_;
  const bool ready = may_run && client.waiting.first != nullptr;
  if (ready == client.ready) return;
  client.ready = ready;
  if (ready) {
    ready_.append(client);
  } else {
    ready_.remove(client);
  }
}

void FairQueue::forget_idle(std::uint64_t key, const Client& client) {
  if (client.running == 0 && client.waiting.first == nullptr) clients_.erase(key);
}

}  // namespace h2server::io
