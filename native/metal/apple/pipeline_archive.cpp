#include "pipeline_archive.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>

#include "command_buffer.h"
#include "kernel_source.h"

namespace anllm::metal::apple {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "pipelines-";

/** Differs after an update of the system, which may bring another compiler for the GPU. */
std::string SystemVersion() {
  utsname system{};
  return uname(&system) == 0 ? std::string(system.release) + system.version : "";
}

/** Lent to the current autorelease pool. */
Id UrlOf(const std::string& file) {
  return send::FileUrl(TheRuntime().get_class("NSURL"), StringOf(file.c_str()));
}

}  // namespace

PipelineArchive::PipelineArchive(Id device, const std::string& device_name, const std::string& folder)
    : device_(device) {
  if (folder.empty()) return;
  const AutoreleasePool pool;
  file_ = (fs::path(folder) / (kPrefix + KeyOfKernels(device_name + SystemVersion()))).string();
  std::error_code ignored;
  const bool has_file = fs::exists(file_, ignored);
  archive_ = Open(has_file);
  if (archive_ || !has_file) return;
  fs::remove(file_, ignored);
  archive_ = Open(false);
}

Reference PipelineArchive::Open(bool has_file) const {
  const Reference descriptor(send::New(TheRuntime().get_class("MTLBinaryArchiveDescriptor")));
  if (has_file) send::SetUrl(descriptor.get(), UrlOf(file_));
  Id error = nullptr;
  return Reference(send::NewBinaryArchive(device_, descriptor.get(), {&error}));
}

Reference PipelineArchive::Make(Id function, Id* error) {
  const Reference descriptor(send::New(TheRuntime().get_class("MTLComputePipelineDescriptor")));
  send::SetComputeFunction(descriptor.get(), function);
  if (archive_) {
    send::SetBinaryArchives(descriptor.get(),
                            send::ArrayWithObject(TheRuntime().get_class("NSArray"), archive_.get()));
    Id miss = nullptr;
    Reference found(send::NewPipeline(device_, descriptor.get(), kFailOnArchiveMiss, {nullptr}, {&miss}));
    if (found) return found;
  }
  Reference pipeline(send::NewPipeline(device_, descriptor.get(), kPipelineOptionNone, {nullptr}, {error}));
  Id ignored = nullptr;
  if (pipeline && archive_)
    has_news_ |= send::AddPipelineFunctions(archive_.get(), descriptor.get(), {&ignored});
  return pipeline;
}

void PipelineArchive::Save() {
  if (!has_news_) return;
  const AutoreleasePool pool;
  has_news_ = false;
  const std::string draft = file_ + "." + std::to_string(getpid()) + ".tmp";
  std::error_code failed;
  Id error = nullptr;
  if (send::SerializeToUrl(archive_.get(), UrlOf(draft), {&error})) fs::rename(draft, file_, failed);
  fs::remove(draft, failed);
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(file_).parent_path(), failed)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(kPrefix, 0) == 0 && entry.path() != file_) fs::remove(entry.path(), failed);
  }
}

}  // namespace anllm::metal::apple
