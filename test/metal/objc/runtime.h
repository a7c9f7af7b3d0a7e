/** A small Objective-C runtime for tests: classes of C functions, reference counts, autorelease pools. */
#pragma once

#include <map>
#include <string>

namespace anllm::stand_in {

struct Method {
  /** What Apple's documentation says of the types, written as the runtime encodes them. */
  const char* encoding;
  void (*function)();
};

struct Class {
  const char* name;
  std::map<std::string, Method> methods;
  std::map<std::string, Method> class_methods;
};

/** Every object begins so; a class is an object whose `methods` are those of the class. */
struct Object {
  explicit Object(const Class* of) : isa(of) { live_objects++; }
  virtual ~Object() { live_objects--; }

  const Class* isa;
  bool is_class = false;
  int references = 1;
  static int live_objects;
};

/** Prints what was done wrong and ends the process: Apple's runtime would crash, or worse. */
[[noreturn]] void Wrong(const std::string& what);

/** Hands an object to the innermost pool of this thread. */
Object* Autorelease(Object* object);

const std::map<std::string, Class>& Classes();

}  // namespace anllm::stand_in
