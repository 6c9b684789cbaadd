#ifndef PACELINE_COMMON_USABLE_MEMORY_H_
#define PACELINE_COMMON_USABLE_MEMORY_H_

#include <cstdint>
#include <string>

namespace paceline {

// What the processes here may use: the machine's memory, or the smallest limit
// of the control groups (version 2, else 1) that this process is in. `root` is
// the folder that proc/ and sys/ are in, without its last '/': "" but in tests.
// 0 if nothing there can be read.
uint64_t UsableMemory(const std::string& root);

}  // namespace paceline

#endif  // PACELINE_COMMON_USABLE_MEMORY_H_
