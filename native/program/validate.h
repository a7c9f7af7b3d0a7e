/** What fields of a program mean for each other. */
#pragma once

#include "program.h"

namespace anllm::program {

/**
 * Throws Error internal `[op] …: got …, expected …` unless every index exists, every value is written once
 * before it is read, and every shape fits: after it, kernels may trust the program.
 */
void Validate(const Program& program);

}  // namespace anllm::program
