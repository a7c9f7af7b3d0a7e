#include "request.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace anllm::runner {

namespace {

bool ReadBytes(void* target, size_t size) {
  return size == 0 || std::fread(target, size, 1, stdin) == 1;
}

void WriteBytes(const void* source, size_t size) {
  if (size > 0 && std::fwrite(source, size, 1, stdout) != 1) throw std::runtime_error("stdout is closed");
}

void WriteStatus(uint32_t status, uint32_t size) {
  const uint32_t words[] = {status, size};
  WriteBytes(words, sizeof(words));
}

}  // namespace

bool Request::Read() {
  uint32_t length = 0;
  if (!ReadBytes(&length, sizeof(length))) return false;
  std::string header(length, '\0');
  if (!ReadBytes(header.data(), length)) return false;
  numbers_.clear();
  texts_.clear();
  buffers_.clear();
  order_.clear();
  allocated_.clear();
  std::istringstream lines(header);
  std::string kind, name;
  while (lines >> kind >> name) {
    if (kind == "op") {
      op_ = name;
    } else if (kind == "number") {
      lines >> numbers_[name];
    } else if (kind == "text") {
      lines >> texts_[name];
    } else {
      Named& named = buffers_[name];
      lines >> named.size;
      // Metal has no empty buffers.
      named.buffer = device_.NewBuffer(named.size == 0 ? 16 : named.size);
      named.is_output = kind != "in";
      order_.push_back(name);
      if (kind != "out" && !ReadBytes(named.buffer->contents(), named.size)) return false;
    }
  }
  return true;
}

double Request::Number(const std::string& name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) throw std::runtime_error("the request has no number " + name);
  return found->second;
}

const std::string& Request::Text(const std::string& name) const {
  const auto found = texts_.find(name);
  if (found == texts_.end()) throw std::runtime_error("the request has no text " + name);
  return found->second;
}

metal::BufferView Request::View(const std::string& name) const {
  const auto found = buffers_.find(name);
  if (found == buffers_.end()) return {};
  return {found->second.buffer.get(), 0, found->second.size};
}

metal::BufferView Request::Allocate(size_t bytes) {
  allocated_.push_back(device_.NewBuffer(bytes == 0 ? 16 : bytes));
  return {allocated_.back().get(), 0, bytes};
}

metal::BufferView Request::Allocate(const std::vector<int32_t>& contents) {
  const metal::BufferView view = Allocate(contents.size() * sizeof(int32_t));
  std::copy(contents.begin(), contents.end(), reinterpret_cast<int32_t*>(view.buffer->contents()));
  return view;
}

void Request::Reply() const {
  uint32_t size = 0;
  for (const auto& name : order_) size += buffers_.at(name).is_output ? buffers_.at(name).size : 0;
  WriteStatus(0, size);
  for (const auto& name : order_) {
    const Named& named = buffers_.at(name);
    if (named.is_output) WriteBytes(named.buffer->contents(), named.size);
  }
  std::fflush(stdout);
}

void Request::ReplyError(const std::string& message) {
  WriteStatus(1, static_cast<uint32_t>(message.size()));
  WriteBytes(message.data(), message.size());
  std::fflush(stdout);
}

}  // namespace anllm::runner
