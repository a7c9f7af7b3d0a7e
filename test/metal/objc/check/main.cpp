/**
 * Runs native/metal/apple against the stand-in runtime and prints one line a finding; nothing but "ok" lines
 * when all is well. The runtime itself ends the process where Apple's would crash.
 */
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "../../../../native/error.h"
#include "../../../../native/metal/apple/selectors.h"
#include "../../../../native/metal/create_device.h"
#include "../../../../native/metal/ops.h"

namespace anllm::metal {
namespace {

using apple::Message;

void Report(bool is_good, const std::string& what) {
  std::printf("%s %s\n", is_good ? "ok" : "WRONG", what.c_str());
}

template <class Function>
Function Exported(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen(ANLLM_OBJC_LIBRARY, RTLD_LAZY), name));
}

/** Some class has a method of this name and these types. */
template <class Result, class... Arguments>
void CheckEncoding(const Message<Result, Arguments...>& message) {
  constexpr const char* kClasses[] = {"MTLDevice",
                                      "MTLBuffer",
                                      "MTLLibrary",
                                      "MTLComputePipelineState",
                                      "MTLCommandQueue",
                                      "MTLCommandBuffer",
                                      "MTLComputeCommandEncoder",
                                      "MTLCompileOptions",
                                      "MTLFunctionConstantValues",
                                      "MTLComputePipelineDescriptor",
                                      "MTLBinaryArchiveDescriptor",
                                      "MTLBinaryArchive",
                                      "MTLResidencySet",
                                      "NSArray",
                                      "NSNumber",
                                      "NSURL",
                                      "NSString",
                                      "NSError"};
  const auto encoding_of = Exported<const char* (*)(const char*, const char*)>("anllm_encoding");
  std::string found = "none";
  for (const char* name : kClasses) {
    if (const char* encoding = encoding_of(name, message.name())) found = encoding;
  }
  Report(found == message.encoding(),
         std::string(message.name()) + " " + message.encoding() + ", there: " + found);
}

void CheckRun(Device& device, const char* what) {
  Dispatcher dispatcher(device);
  constexpr uint32_t kCount = 300;
  const auto a = device.NewBuffer(kCount * 4);
  const auto b = device.NewBuffer(kCount * 4);
  const auto out = device.NewBuffer(kCount * 4);
  const auto floats = [](Buffer& buffer) { return reinterpret_cast<float*>(buffer.contents()); };
  for (uint32_t i = 0; i < kCount; i++) floats(*a)[i] = floats(*b)[i] = static_cast<float>(i);
  const auto values = [](Buffer& buffer) { return Values{.view = {&buffer, 0, buffer.size()}}; };
  const auto commands = device.NewCommandBuffer();
  dispatcher.Begin(*commands);
  Add(dispatcher, kCount, values(*a), values(*b), values(*out));
  dispatcher.Barrier();
  Add(dispatcher, kCount, values(*out), values(*b), values(*a));
  commands->Commit();
  commands->WaitUntilCompleted();
  bool is_right = true;
  for (uint32_t i = 0; i < kCount; i++) is_right &= floats(*a)[i] == 3.0f * static_cast<float>(i);
  Report(is_right, what);
}

void CheckRefusal(const char* what, const char* expected, const std::function<void()>& body) {
  std::string message = "nothing";
  try {
    body();
  } catch (const Error& error) {
    message = error.what();
  }
  Report(message.find(expected) != std::string::npos, std::string(what) + ": " + message);
}

void CheckRefusals(Device& device) {
  CheckRefusal("a kernel that no file has", "no kernel is called abs",
               [&] { device.NewPipeline("abs", {}); });
  const auto pipeline = device.NewPipeline("add", {});
  Report(pipeline->max_threads() == 256, "a pipeline says what threads it takes");
  CheckRefusal("too many threads", "add: got 1024 threads, this GPU takes 256", [&] {
    const auto commands = device.NewCommandBuffer();
    Dispatcher dispatcher(device);
    dispatcher.Begin(*commands);
    dispatcher.Run({.kernel = "add", .constants = {}, .groups = {1, 1, 1}, .threads = 1024}, {},
                   ElementParams{});
  });
  CheckRefusal("a kernel that fails", "the GPU stopped: add", [&] {
    const auto buffer = device.NewBuffer(16);
    const auto commands = device.NewCommandBuffer();
    commands->SetPipeline(*pipeline);
    for (uint32_t i = 0; i < 3; i++) commands->SetBuffer(i, {buffer.get(), 0, 16});
    const ElementParams params{1000};
    commands->SetBytes(3, &params, sizeof(params));
    commands->Dispatch({4, 1, 1}, 256);
    commands->Commit();
    commands->WaitUntilCompleted();
  });
}

/** After the fault of CheckRefusals. */
void CheckRestart(Device& device) {
  CheckRefusal("a queue that saw a fault", "the GPU stopped: the queue has stopped", [&] {
    const auto commands = device.NewCommandBuffer();
    commands->Commit();
    commands->WaitUntilCompleted();
  });
  device.Restart();
  CheckRun(device, "two dispatches after a restart");
}

void CheckWrapping(Device& device) {
  alignas(4096) static uint8_t page[4096];
  page[7] = 42;
  const auto buffer = device.WrapMemory(page, sizeof(page));
  Report(buffer->contents()[7] == 42 && buffer->contents() == page, "memory of the caller is not copied");
}

/** Memory that is kept resident is let go before it is freed, also over a restart. */
void CheckResidency(Device& device) {
  for (const char* system : {"macOS 15", "macOS 14"}) {
    if (std::strcmp(system, "macOS 14") == 0) setenv("ANLLM_STAND_IN_MACOS_14", "1", 1);
    const auto buffer = device.NewBuffer(64);
    device.KeepResident({buffer.get()});
    device.Restart();
    CheckRun(device, system);
    if (std::strcmp(system, "macOS 15") == 0) {
      const auto requests = Exported<int (*)()>("anllm_residency_requests");
      const int before = requests();
      for (int i = 0; i < 200 && requests() < before + 2; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      Report(requests() >= before + 2, "memory is asked for again while nothing runs");
    }
    device.EndResidency();
  }
  unsetenv("ANLLM_STAND_IN_MACOS_14");
}

/** Of which kind of machine the stand-in is. */
class Machine {
 public:
  Machine(const char* variable, const char* value) : variable_(variable) { setenv(variable, value, 1); }
  ~Machine() { unsetenv(variable_); }

 private:
  const char* variable_;
};

void CheckMachines() {
  {
    const Machine machine("ANLLM_STAND_IN_NO_DISPLAY", "1");
    Report(CreateDevice()->name() == "stand-in", "without a default device the first one of all is taken");
  }
  {
    const Machine machine("ANLLM_STAND_IN_VIRTUAL", "1");
    CheckRefusal("a virtual GPU", "Apple Paravirtual device has no simdgroup matrices",
                 [] { CreateDevice(); });
  }
  {
    const Machine machine("ANLLM_STAND_IN_CORES", "10");
    Report(CreateDevice()->busy_simdgroups() == 160, "16 simdgroups a core");
  }
  {
    const Machine machine("ANLLM_STAND_IN_CORES", "123456");
    Report(CreateDevice()->busy_simdgroups() == 640, "a count that is none");
  }
  Report(CreateDevice()->busy_simdgroups() == 640, "a GPU of unknown size");
  Report(CreateDevice()->working_bytes() == size_t{1} << 33, "memory that the GPU works with");
}

/** Pipelines that a device compiles with an archive in `folder`. */
int CompiledIn(const std::string& folder, const char* kernel) {
  const auto compiled = Exported<int (*)()>("anllm_compiled_pipelines");
  const int before = compiled();
  const auto device = CreateDevice(folder);
  device->NewPipeline(kernel, {});
  device->SavePipelines();
  return compiled() - before;
}

void CheckArchive() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("anllm-archive-" + std::to_string(getpid()));
  fs::create_directory(folder);
  const auto only_file = [&] {
    std::vector<fs::path> files(fs::directory_iterator(folder), fs::directory_iterator{});
    Report(files.size() == 1, std::to_string(files.size()) + " archives");
    return files.empty() ? fs::path() : files[0];
  };
  Report(CompiledIn(folder, "add") == 1, "the first run compiles a pipeline");
  Report(CompiledIn(folder, "add") == 0, "the second one has it from the archive");
  Report(CompiledIn(folder, "scale") == 1, "another pipeline is added");
  Report(CompiledIn(folder, "add") + CompiledIn(folder, "scale") == 0, "both are there");
  std::ofstream(only_file()) << "of another system";
  Report(CompiledIn(folder, "add") == 1, "an archive that does not load is dropped");
  Report(CompiledIn(folder, "add") == 0, "and made anew");
  std::ofstream(folder / "pipelines-0") << "of other kernels";
  Report(CompiledIn(folder, "scale") == 1, "what is new is written");
  only_file();
  fs::remove_all(folder);
  Report(CompiledIn(folder, "add") == 1, "a folder that has gone is no error");
}

}  // namespace
}  // namespace anllm::metal

int main() {
  using namespace anllm::metal;
#define ANLLM_CHECK(name, selector, page, ...) CheckEncoding(apple::send::name);
  ANLLM_SELECTORS(ANLLM_CHECK) {
    const auto device = CreateDevice();
    Report(device->name() == "stand-in", "the device is there");
    CheckRun(*device, "two dispatches with a barrier between");
    CheckRefusals(*device);
    CheckRestart(*device);
    CheckResidency(*device);
    CheckWrapping(*device);
    CheckArchive();
  }
  CheckMachines();
  const int left = Exported<int (*)()>("anllm_live_objects")();
  Report(left == 0, std::to_string(left) + " objects are left at the end");
}
