/** Compiled pipelines on disk: what this machine has compiled once is loaded from then on. */
#pragma once

#include <string>

#include "objc.h"

namespace anllm::metal::apple {

class PipelineArchive {
 public:
  /**
   * `folder`: exists, or is empty, and then nothing is kept. `device_name`, the version of the system and the
   * text of the kernels name the file in it; one that does not load is removed.
   */
  PipelineArchive(Id device, const std::string& device_name, const std::string& folder);

  /** The pipeline of a function: from the archive, or compiled. No reference, and `error`, when it cannot be
   * made. */
  Reference Make(Id function, Id* error);
  /** Writes what was compiled, and removes archives of other kernels. A disk that is full is no error. */
  void Save();

 private:
  Reference Open(bool has_file) const;

  Id device_;
  std::string file_;
  Reference archive_;
  bool has_news_ = false;
};

}  // namespace anllm::metal::apple
