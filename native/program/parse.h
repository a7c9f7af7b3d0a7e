/** From the JavaScript form of a program to the C++ form. */
#pragma once

#include <napi.h>

#include "program.h"

namespace anllm::program {

/**
 * Checks types and ranges of single fields; what fields mean for each other is checked by Validate. Throws
 * Error internal that begins with the op: a wrong program is a fault of this engine, not of its user.
 */
Program Parse(const Napi::Value& program);

}  // namespace anllm::program
