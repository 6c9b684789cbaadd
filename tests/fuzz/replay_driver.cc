// Without libFuzzer: runs the seeds and mutations of them, the same ones in
// every run, or the files that are named.
//
//   TARGET RUNS      that many mutations
//   TARGET FILE...   those inputs, say what libFuzzer left of a finding
//
// An input that ends the process is written to stderr.

#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "tests/common/sanitized.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

// As a seed may be: what takes longer is for libFuzzer.
constexpr size_t kBytesMax = 64 << 10;

// A decoder that takes memory without end must not take the machine's. The
// sanitizers reserve more than they use.
void LimitMemory() {
  if (kSanitized) return;
  const rlimit limit = {.rlim_cur = 4ul << 30, .rlim_max = 4ul << 30};
  setrlimit(RLIMIT_AS, &limit);
}

std::string& Current() {
  static auto& current = *new std::string;
  return current;
}

// Allocates, which a handler should not; the process is at its end anyway.
void ShowCurrent(int) {
  std::fprintf(stderr, "the input was \"%s\"\n",
               absl::CHexEscape(Current()).c_str());
  std::signal(SIGABRT, SIG_DFL);
}

void Run(std::string input) {
  Current() = std::move(input);
  FuzzOne(Current());
}

// The bits of std::mt19937 are the same everywhere; those of distributions are
// not.
class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, uint32_t seed)
      : seeds_(std::move(seeds)), bits_(seed) {}

  std::string Next() {
    std::string input = Seed();
    for (size_t changes = 1 + Below(4); changes > 0; --changes) Change(input);
    if (input.size() > kBytesMax) input.resize(kBytesMax);
    return input;
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : bits_() % bound; }
  const std::string& Seed() { return seeds_[Below(seeds_.size())]; }

  void Change(std::string& input) {
    const size_t at = Below(input.size() + 1);
    switch (Below(7)) {
      case 0:
        input.insert(at, 1, static_cast<char>(bits_()));
        break;
      case 1:
        input.erase(at, 1 + Below(8));
        break;
      case 2:
        input.resize(at);
        break;
      case 3:  // Something of the same input again.
        input.insert(at, input.substr(Below(input.size()), 1 + Below(16)));
        break;
      case 4: {  // The head of one, the tail of another.
        const std::string& other = Seed();
        input.resize(at);
        input += other.substr(Below(other.size()));
        break;
      }
      case 5:
        if (at < input.size()) input[at] = static_cast<char>(1 << Below(8));
        break;
      default:
        if (at < input.size()) input[at] = static_cast<char>(bits_());
    }
  }

  const std::vector<std::string> seeds_;
  std::mt19937 bits_;
};

void RunMutations(int runs) {
  std::vector<std::string> seeds = FuzzSeeds();
  seeds.push_back("");
  for (const std::string& seed : seeds) Run(seed);
  Mutator mutator(std::move(seeds), /*seed=*/1);
  for (int run = 0; run < runs; ++run) Run(mutator.Next());
}

bool RunFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path);
    return false;
  }
  Run(std::string(std::istreambuf_iterator<char>(file), {}));
  return true;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  paceline::LimitMemory();
  std::signal(SIGABRT, paceline::ShowCurrent);
  int runs = 0;
  if (argc == 2 && absl::SimpleAtoi(argv[1], &runs)) {
    paceline::RunMutations(runs);
    return 0;
  }
  for (int i = 1; i < argc; ++i) {
    if (!paceline::RunFile(argv[i])) return 1;
  }
  return 0;
}
