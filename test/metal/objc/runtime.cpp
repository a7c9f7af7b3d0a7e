#include "runtime.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <vector>

namespace anllm::stand_in {

int Object::live_objects = 0;

void Wrong(const std::string& what) {
  std::fprintf(stderr, "stand-in runtime: %s\n", what.c_str());
  std::abort();
}

namespace {

thread_local std::vector<std::vector<Object*>> pools;

void Release(Object* object) {
  if (object->references <= 0) Wrong(std::string("too many releases of ") + object->isa->name);
  if (--object->references == 0) delete object;
}

}  // namespace

Object* Autorelease(Object* object) {
  if (pools.empty())
    Wrong(std::string(object->isa->name) + " is lent without an autorelease pool, and leaks");
  pools.back().push_back(object);
  return object;
}

}  // namespace anllm::stand_in

using namespace anllm::stand_in;

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* objc_getClass(const char* name) {
  static std::map<std::string, std::unique_ptr<Object>> classes;
  const auto found = Classes().find(name);
  if (found == Classes().end()) return nullptr;
  auto& object = classes[name];
  if (object == nullptr) {
    object = std::make_unique<Object>(&found->second);
    object->is_class = true;
    Object::live_objects--;
  }
  return object.get();
}

EXPORT const char* sel_registerName(const char* name) {
  static std::set<std::string> names;
  return names.insert(name).first->c_str();
}

EXPORT void* objc_retain(void* object) {
  if (object != nullptr) static_cast<Object*>(object)->references++;
  return object;
}

EXPORT void objc_release(void* object) {
  if (object != nullptr) Release(static_cast<Object*>(object));
}

EXPORT void* objc_autoreleasePoolPush() {
  pools.emplace_back();
  return reinterpret_cast<void*>(pools.size());
}

EXPORT void objc_autoreleasePoolPop(void* pool) {
  if (reinterpret_cast<size_t>(pool) != pools.size())
    Wrong("autorelease pools end in another order than they began");
  for (Object* object : pools.back()) Release(object);
  pools.pop_back();
}

/** For the tests. */
EXPORT int anllm_live_objects() {
  return Object::live_objects;
}
EXPORT const char* anllm_encoding(const char* class_name, const char* selector) {
  const Class& found = Classes().at(class_name);
  for (const auto* methods : {&found.methods, &found.class_methods}) {
    if (const auto method = methods->find(selector); method != methods->end()) return method->second.encoding;
  }
  return nullptr;
}

extern "C" void (*anllm_find_method(Object* self, const char* selector))() {
  const auto& methods = self->is_class ? self->isa->class_methods : self->isa->methods;
  const auto found = methods.find(selector);
  if (found == methods.end()) {
    Wrong(std::string(self->is_class ? "+[" : "-[") + self->isa->name + " " + selector +
          "]: unrecognized selector");
  }
  return found->second.function;
}

// Finds the method and jumps to it with all arguments where they are; nil answers 0.
#if defined(__x86_64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend,@function
objc_msgSend:
  testq %rdi, %rdi
  je 1f
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  subq $8, %rsp
  call anllm_find_method@PLT
  movq %rax, %r11
  addq $8, %rsp
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  jmpq *%r11
1:
  xorl %eax, %eax
  ret
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend,%function
objc_msgSend:
  cbz x0, 1f
  stp x29, x30, [sp, #-80]!
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  bl anllm_find_method
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldp x29, x30, [sp], #80
  br x16
1:
  ret
)");
#else
#error "runtime.cpp knows x86-64 and arm64"
#endif
