#include "fibre.h"

#include <sys/mman.h>

#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace anllm::soft {

namespace {

constexpr size_t kPage = 4096;
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kStackBytes = 64 * kPage;
#else
constexpr size_t kStackBytes = 16 * kPage;
#endif

}  // namespace

/** Saves the callee-saved registers on the current stack, stores its pointer in *from and goes on at `to`. */
extern "C" void anllm_switch_stack(void** from, void* to);
/** First return address of a new stack: calls the function with the argument, both in callee-saved registers.
 */
extern "C" void anllm_start_stack();

#if defined(__x86_64__)
asm(R"(
.text
.type anllm_switch_stack,@function
anllm_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.type anllm_start_stack,@function
anllm_start_stack:
  movq %r12, %rdi
  callq *%r13
  ud2
)");

static void* InitialStack(uint8_t* top, void (*function)(Fibre*), Fibre* argument) {
  void** sp = reinterpret_cast<void**>(top);
  *--sp = nullptr;  // two words, so that the stack is aligned to 16 bytes at the call
  *--sp = nullptr;
  *--sp = reinterpret_cast<void*>(&anllm_start_stack);
  *--sp = nullptr;                            // rbp
  *--sp = nullptr;                            // rbx
  *--sp = argument;                           // r12
  *--sp = reinterpret_cast<void*>(function);  // r13
  *--sp = nullptr;                            // r14
  *--sp = nullptr;                            // r15
  return sp;
}
#elif defined(__aarch64__)
asm(R"(
.text
.type anllm_switch_stack,%function
anllm_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.type anllm_start_stack,%function
anllm_start_stack:
  mov x0, x19
  blr x20
  brk #1
)");

static void* InitialStack(uint8_t* top, void (*function)(Fibre*), Fibre* argument) {
  void** sp = reinterpret_cast<void**>(top) - 20;
  for (int i = 0; i < 20; i++) sp[i] = nullptr;
  sp[0] = argument;                                      // x19
  sp[1] = reinterpret_cast<void*>(function);             // x20
  sp[11] = reinterpret_cast<void*>(&anllm_start_stack);  // x30
  return sp;
}
#else
#error "fibre.cpp knows x86-64 and arm64"
#endif

Fibre::Fibre() {
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  void* bottom = nullptr;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &bottom, &size_);
  pthread_attr_destroy(&attributes);
  bottom_ = bottom;
#endif
}

Fibre::Fibre(Body body, void* argument) : body_(body), argument_(argument) {
  // The lowest page stays unmapped, so that an overflow is a fault and not a silent overwrite.
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<uint8_t*>(memory);
  mprotect(memory_, kPage, PROT_NONE);
  bottom_ = memory_ + kPage;
  size_ = kStackBytes - kPage;
  stack_pointer_ = InitialStack(memory_ + kStackBytes, &Fibre::Start, this);
}

Fibre::~Fibre() {
  if (memory_ != nullptr) munmap(memory_, kStackBytes);
}

void Fibre::SwitchTo(Fibre& next) {
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, next.bottom_, next.size_);
  anllm_switch_stack(&stack_pointer_, next.stack_pointer_);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#else
  anllm_switch_stack(&stack_pointer_, next.stack_pointer_);
#endif
}

void Fibre::Start(Fibre* self) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  self->body_(self->argument_);
}

}  // namespace anllm::soft
