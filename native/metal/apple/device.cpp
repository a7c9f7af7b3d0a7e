/** The Metal device behind the interface of device.h. */
#include <map>

#include "../../error.h"
#include "../create_device.h"
#include "command_buffer.h"
#include "gpu_cores.h"
#include "kernel_source.h"
#include "pipeline_archive.h"
#include "residency.h"

namespace anllm::metal::apple {
namespace {

/** Threads of a simdgroup that the kernels count on. */
constexpr UInteger kLanes = 32;
/** Simdgroups that keep a core busy; see native/metal/linear_plan.cpp. */
constexpr uint32_t kSimdgroupsOfCore = 16;

class MetalDevice : public Device {
 public:
  MetalDevice(Reference device, const std::string& pipeline_folder)
      : device_(std::move(device)),
        name_(NameOf(device_.get())),
        cores_(GpuCores(device_.get())),
        archive_(device_.get(), name_, pipeline_folder),
        residency_(device_.get()) {
    Restart();
  }

  void InScope(const std::function<void()>& work) override {
    residency_.Touch();
    const AutoreleasePool pool;
    work();
  }

  void Restart() override {
    const AutoreleasePool pool;
    // A queue that saw a fault may refuse all that comes after it.
    libraries_.clear();
    queue_ = Reference(send::NewCommandQueue(device_.get()));
    if (!queue_) throw Error("unavailable", "[metal] " + name_ + " gives no command queue");
    residency_.SetQueue(queue_.get());
  }

  void KeepResident(const std::vector<const Buffer*>& buffers) override { residency_.Keep(buffers); }
  void EndResidency() override { residency_.End(); }

  void SavePipelines() override { archive_.Save(); }

  std::string name() const override { return name_; }

  uint32_t busy_simdgroups() const override {
    return cores_ == 0 ? Device::busy_simdgroups() : cores_ * kSimdgroupsOfCore;
  }

  size_t working_bytes() const override { return send::RecommendedMaxWorkingSetSize(device_.get()); }

  std::unique_ptr<Buffer> NewBuffer(size_t bytes) override {
    return Made(send::NewBuffer(device_.get(), bytes, kStorageShared), bytes);
  }

  std::unique_ptr<Buffer> WrapMemory(void* pages, size_t bytes) override {
    return Made(send::NewBufferWithBytesNoCopy(device_.get(), {pages}, bytes, kStorageShared, {nullptr}),
                bytes);
  }

  std::unique_ptr<Pipeline> NewPipeline(const std::string& kernel, const Constants& constants) override {
    const AutoreleasePool pool;
    const KernelSource& source = SourceOfKernel(kernel);
    const Reference values(send::New(TheRuntime().get_class("MTLFunctionConstantValues")));
    for (UInteger id = 0; id < sizeof(Constants) / sizeof(uint32_t); id++) {
      const uint32_t* value = reinterpret_cast<const uint32_t*>(&constants) + id;
      send::SetConstantValue(values.get(), {value}, kDataTypeUInt, id);
    }
    Id error = nullptr;
    const Reference function(
        send::NewFunction(LibraryOf(source), StringOf(kernel.c_str()), values.get(), {&error}));
    if (!function) throw Unsupported("[metal] " + kernel + ": " + ReasonOf(error));
    Reference pipeline = archive_.Make(function.get(), &error);
    if (!pipeline) throw Unsupported("[metal] " + kernel + ": " + ReasonOf(error));
    if (send::ThreadExecutionWidth(pipeline.get()) != kLanes) {
      throw Unsupported("[metal] " + kernel + ": got simdgroups of " +
                        std::to_string(send::ThreadExecutionWidth(pipeline.get())) + " threads, expected 32");
    }
    return std::make_unique<MetalPipeline>(std::move(pipeline));
  }

  std::unique_ptr<CommandBuffer> NewCommandBuffer() override {
    return std::make_unique<MetalCommandBuffer>(queue_.get());
  }

 private:
  static std::string NameOf(Id device) {
    const AutoreleasePool pool;
    return TextOf(send::Name(device));
  }

  std::unique_ptr<Buffer> Made(Id buffer, size_t bytes) const {
    if (buffer != nullptr) return std::make_unique<MetalBuffer>(Reference(buffer), bytes);
    // The CPU may do with what the GPU is not given.
    throw Error("unavailable",
                "[metal] " + name_ + " gives no buffer of " + std::to_string(bytes) +
                    " bytes (its largest: " + std::to_string(send::MaxBufferLength(device_.get())) +
                    "); use a smaller model or context");
  }

  /** Compiled at first use: the time to the first token is the time of few files. */
  Id LibraryOf(const KernelSource& source) {
    Reference& library = libraries_[source.file];
    if (library) return library.get();
    const Reference options(send::New(TheRuntime().get_class("MTLCompileOptions")));
    send::SetLanguageVersion(options.get(), kLanguage31);
    send::SetFastMathEnabled(options.get(), false);
    Id error = nullptr;
    library = Reference(send::NewLibrary(device_.get(), StringOf(source.text), options.get(), {&error}));
    if (!library) throw Unsupported(std::string("[metal] ") + source.file + ": " + ReasonOf(error));
    return library.get();
  }

  Reference device_;
  const std::string name_;
  /** 0: unknown. */
  const uint32_t cores_;
  PipelineArchive archive_;
  Reference queue_;
  Residency residency_;
  std::map<std::string, Reference> libraries_;
};

/** A Mac with Apple silicon has one GPU, which is the default device but where nobody is logged in to a
 * display. */
Reference FindDevice(const Runtime& runtime) {
  Reference device(runtime.create_system_default_device());
  if (device) return device;
  const Reference all(runtime.copy_all_devices());
  return Reference::Retain(send::FirstObject(all.get()));
}

}  // namespace
}  // namespace anllm::metal::apple

namespace anllm::metal {

std::unique_ptr<Device> CreateDevice(const std::string& pipeline_folder) {
  using namespace apple;
  const Runtime* runtime = Runtime::Load();
  if (runtime == nullptr) return nullptr;
  const AutoreleasePool pool;
  Reference device = FindDevice(*runtime);
  if (!device) return nullptr;
  // Buffers are written by the CPU as they are, which Intel Macs with their own graphics memory do not allow.
  if (!send::SupportsFamily(device.get(), kFamilyApple7) || !send::HasUnifiedMemory(device.get())) {
    throw Error("unavailable",
                "[metal] " + TextOf(send::Name(device.get())) +
                    " has no simdgroup matrices, as the GPU of an M1 and later has (in a virtual "
                    "machine it has not); use --backend cpu");
  }
  return std::make_unique<MetalDevice>(std::move(device), pipeline_folder);
}

}  // namespace anllm::metal
