#ifndef PACELINE_COMMON_KEPT_MEMORY_H_
#define PACELINE_COMMON_KEPT_MEMORY_H_

namespace paceline {

// Fits the allocator to a process that tensors flow through: what one message
// has freed, the next one takes. By default glibc gives freed memory back to
// the system at once, and each page that comes again costs a fault. The price:
// up to 64 MiB that are free stay with each of the allocator's arenas. Blocks
// of weights, from 768 KiB on, are given back as before.
//
// For main(), before there are threads. Does nothing where GLIBC_TUNABLES or
// MALLOC_TRIM_THRESHOLD_ is set: who has tuned the allocator keeps it so.
void KeepFreedMemory();

}  // namespace paceline

#endif  // PACELINE_COMMON_KEPT_MEMORY_H_
