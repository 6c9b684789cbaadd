#include "services/worker/program/program_arenas.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "common/usable_memory.h"

namespace paceline {
namespace {

absl::Status NoMemory(uint64_t bytes, absl::string_view doing) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory to share ", bytes,
                   " bytes with a program: ", doing, ": ", strerror(errno)));
}

}  // namespace

ArenaLayout LayOut(absl::Span<const uint64_t> sizes) {
  ArenaLayout layout;
  for (const uint64_t size : sizes) {
    constexpr uint64_t kMask = ArenaLayout::kAlignment - 1;
    layout.offsets.push_back((layout.bytes + kMask) & ~kMask);
    // What has no place takes none.
    if (size == 0) {
      layout.offsets.back() = layout.bytes;
      continue;
    }
    layout.bytes = layout.offsets.back() + size;
  }
  return layout;
}

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::Create(
    const std::string& name, uint64_t bytes) {
  // A mapping of nothing is none.
  const uint64_t mapped = std::max<uint64_t>(bytes, 1);
  UniqueFd fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return NoMemory(bytes, "memfd_create");
  // All of it now, so that it counts to the agent whoever writes first, and a
  // lack of memory is an error here and not a signal there.
  errno = posix_fallocate(fd.get(), 0, static_cast<off_t>(mapped));
  if (errno != 0) return NoMemory(bytes, "posix_fallocate");
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
      0) {
    return NoMemory(bytes, "seal");
  }
  void* const data =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return NoMemory(bytes, "mmap");
  return absl::WrapUnique(
      new SharedMemory(std::move(fd), static_cast<char*>(data), mapped));
}

SharedMemory::~SharedMemory() { munmap(data_, bytes_); }

absl::StatusOr<std::shared_ptr<ProgramArenas>> ProgramArenas::Create(
    absl::Span<const ProgramTensor> tensors, DType wire) {
  std::shared_ptr<ProgramArenas> arenas(new ProgramArenas);
  std::vector<uint64_t> weight_bytes;
  for (const ProgramTensor& tensor : tensors) {
    const auto elements = static_cast<uint64_t>(tensor.size);
    arenas->elements_.push_back(elements);
    weight_bytes.push_back(elements * sizeof(float));
    arenas->gradient_bytes_.push_back(
        tensor.pushed() ? elements * ElementSize(wire) : 0);
  }
  arenas->weights_layout_ = LayOut(weight_bytes);
  arenas->gradients_layout_ = LayOut(arenas->gradient_bytes_);
  // The system would promise more than there is, and end somebody for it.
  const uint64_t wanted = arenas->weights_bytes() + arenas->gradients_bytes();
  const uint64_t usable = UsableMemory("");
  if (usable > 0 && wanted > usable) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the program's weights and gradients take ", wanted,
        " bytes, and this machine has ", usable, ": is a shape wrong?"));
  }
  PACELINE_ASSIGN_OR_RETURN(
      arenas->weights_,
      SharedMemory::Create("paceline-weights", arenas->weights_bytes()));
  PACELINE_ASSIGN_OR_RETURN(
      arenas->gradients_,
      SharedMemory::Create("paceline-gradients", arenas->gradients_bytes()));
  return arenas;
}

absl::Span<float> ProgramArenas::weights(size_t tensor) const {
  char* const data = weights_->data() + weights_layout_.offsets[tensor];
  return {reinterpret_cast<float*>(data), elements_[tensor]};
}

absl::string_view ProgramArenas::gradients(size_t tensor) const {
  return {gradients_->data() + gradients_layout_.offsets[tensor],
          gradient_bytes_[tensor]};
}

void ProgramArenas::CloseDescriptors() {
  weights_->CloseDescriptor();
  gradients_->CloseDescriptor();
}

}  // namespace paceline
