#include "common/kept_memory.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace paceline {

void KeepFreedMemory() {
#ifdef __GLIBC__
  if (std::getenv("GLIBC_TUNABLES") != nullptr) return;
  if (std::getenv("MALLOC_TRIM_THRESHOLD_") != nullptr) return;
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  // A block of weights is larger, and so goes back to the system as soon as its
  // job has ended. Among what is small it would be kept by its neighbours.
  mallopt(M_MMAP_THRESHOLD, 768 << 10);
#endif
}

}  // namespace paceline
