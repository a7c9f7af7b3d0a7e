/** One request of the tests: named numbers, and buffers of a device. The format is that of
 * test/metal/runner.ts. */
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../../../native/metal/device.h"

namespace anllm::runner {

class Request {
 public:
  explicit Request(metal::Device& device) : device_(device) {}

  /** Reads one from stdin; false at its end. */
  bool Read();

  const std::string& op() const { return op_; }
  bool Has(const std::string& name) const { return numbers_.contains(name) || buffers_.contains(name); }
  double Number(const std::string& name) const;
  uint32_t Int(const std::string& name) const { return static_cast<uint32_t>(Number(name)); }
  const std::string& Text(const std::string& name) const;
  /** 0 when the request does not have it. */
  uint32_t IntOrZero(const std::string& name) const { return Has(name) ? Int(name) : 0; }
  /** All of a buffer; a view without a buffer when the request does not have it. */
  metal::BufferView View(const std::string& name) const;

  /** Memory that lives until the next request. */
  metal::BufferView Allocate(size_t bytes);
  metal::BufferView Allocate(const std::vector<int32_t>& contents);

  /** Sends the contents of all outputs. */
  void Reply() const;
  static void ReplyError(const std::string& message);

 private:
  struct Named {
    std::unique_ptr<metal::Buffer> buffer;
    size_t size = 0;
    bool is_output = false;
  };
  metal::Device& device_;
  std::string op_;
  std::map<std::string, double> numbers_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, Named> buffers_;
  std::vector<std::string> order_;
  std::vector<std::unique_ptr<metal::Buffer>> allocated_;
};

}  // namespace anllm::runner
