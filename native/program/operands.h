/** The values that an instruction reads and writes. */
#pragma once

#include "program.h"

namespace anllm::program {

/** Values read; absent ones are left out. */
std::vector<ValueId> InputsOf(const Instruction& instruction);
/** Values written: a join writes its sum beside the result. */
std::vector<ValueId> OutputsOf(const Instruction& instruction);
const char* NameOf(const Instruction& instruction);

}  // namespace anllm::program
